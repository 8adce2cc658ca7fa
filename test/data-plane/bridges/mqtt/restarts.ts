import type { IClientOptions, MqttClient } from 'mqtt';
import { expect } from 'vitest';
import { PATH_PROPERTY } from '../../../../src/data-plane/bridges/mqtt/bridge-path.ts';
import { startClient, startMosquitto } from '../../../support/mosquitto.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { startTestBridge, statusOf, type TestBridgeOptions } from './bridge-world.ts';
import { startTally, type Tally } from './tally.ts';

const RESTARTS = 3;
/** Messages that a publisher has sent and that are not acknowledged to it. */
const WINDOW = 200;
/** By how many the one publisher may be before the other, so that both are at it whenever the broker stops. */
const LEAD = 1_000;
/** Messages on their way to the bridge; a broker keeps 20,000 for one client, no more. */
const MOST_AHEAD = 8_000;
const MOST_AHEAD_THERE = 500;
/** Of a receiver. */
const RECEIVE_MAXIMUM = 100;
/** What a restart may make come twice: what the bridge has under way there, and what Mosquitto has to the receiver. */
const MOST_REPEATED_THERE = RESTARTS * (2_000 + RECEIVE_MAXIMUM);
/** What the publisher there sends again, as the same and as a new one. */
const MOST_PUBLISHED_AGAIN = RESTARTS * 2 * WINDOW;
/** With what the bridge had and had not acknowledged. */
const MOST_REPEATED_HERE = MOST_PUBLISHED_AGAIN + RESTARTS * MOST_AHEAD_THERE;

export interface Restarts {
  /** Messages that came to the other side more than once: sent again because their acknowledgement was lost. */
  readonly repeatedThere: number;
  readonly repeatedHere: number;
  /** Milliseconds from a stop and from a start of a broker until the status reports it. */
  readonly untilLost: readonly number[];
  readonly untilBack: readonly number[];
  readonly seconds: number;
}

/**
 * Publishes `count` messages of QoS 1 on each side while the broker there is restarted three times. The bridge forwards
 * both ways on the same topics. Asserts that none is lost or comes back, and that at most those in flight come twice.
 */
export async function passThroughRestarts(
  count: number,
  local: TestBridgeOptions['local'],
  here: (options?: IClientOptions) => Promise<MqttClient>,
): Promise<Restarts> {
  const kept = temporaryFolder();
  const there = await startMosquitto({
    lines: ['max_queued_messages 0', 'persistence true', `persistence_location ${kept}/`],
  });
  const bridge = startTestBridge({ local });
  await bridge.apply({
    connections: [{ name: 'test', url: there.url, topics: [{ pattern: 'restarts/#', direction: 'both', qos: 1 }] }],
  });
  await statusOf(bridge, ({ state }) => state === 'CONNECTED');

  // Sessions that outlive the broker; MQTT 5, by which it shows what has passed the bridge.
  const session = (clientId: string): IClientOptions => ({
    protocolVersion: 5,
    clean: false,
    clientId,
    properties: { sessionExpiryInterval: 3_600, receiveMaximum: RECEIVE_MAXIMUM },
  });
  const [heardHere, heardThere] = await Promise.all([
    startTally(await here(session('receiver-here')), 'restarts/#', PATH_PROPERTY),
    startTally(
      await startClient(there.url, { ...session('receiver-there'), reconnectPeriod: 50 }),
      'restarts/#',
      PATH_PROPERTY,
    ),
  ]);
  const publisherHere = await here();
  // Sends again what was not acknowledged, and waits while the broker is not there.
  const publisherThere = await startClient(there.url, { reconnectPeriod: 50 });

  const began = performance.now();
  let isThere = true;
  let begunHere = 0;
  let begunThere = 0;
  let acknowledgedThere = 0;
  let wakeUp: (() => void)[] = [];
  const look = () => {
    const waiting = wakeUp;
    wakeUp = [];
    for (const wake of waiting) wake();
  };
  const stopLooking = bridge.onStatus(look);
  heardHere.onHeard(look);
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise<void>((resolve) => wakeUp.push(resolve));
  };
  const received = () => bridge.status()[0]?.received ?? 0;
  const mayHere = () =>
    (!isThere || begunHere < begunThere + LEAD) &&
    begunHere + begunThere - received() < MOST_AHEAD &&
    begunHere - heardHere.own('here') < MOST_AHEAD;
  const mayThere = () =>
    isThere && begunThere < begunHere + LEAD && begunThere - heardHere.own('there') < MOST_AHEAD_THERE;

  /** All are acknowledged when it resolves; `midway` when half of them are on their way. */
  const publishHere = (messages: number, midway = () => {}) => {
    const last = begunHere + messages;
    const half = begunHere + messages / 2;
    return inParallel(WINDOW, async () => {
      while (begunHere < last) {
        if (!mayHere()) {
          await until(() => mayHere() || begunHere >= last);
          continue;
        }
        begunHere += 1;
        if (begunHere >= half) midway();
        look();
        await publisherHere.publishAsync('restarts/here', `here ${begunHere}`, { qos: 1 });
      }
    });
  };
  const allThere = inParallel(WINDOW, async () => {
    while (begunThere < count) {
      if (!mayThere()) {
        await until(() => mayThere() || begunThere >= count);
        continue;
      }
      begunThere += 1;
      look();
      const text = `there ${begunThere}`;
      // A client that loses its connection while it sends again gives up what is left.
      while (!(await isAcknowledged(publisherThere, text))) await until(() => isThere);
      acknowledgedThere += 1;
    }
  });
  const part = Math.floor(count / (2 * RESTARTS + 1));
  const untilLost: number[] = [];
  const untilBack: number[] = [];
  for (let restart = 1; restart <= RESTARTS; restart += 1) {
    let publishing: Promise<unknown> | null = null;
    await new Promise<void>((resolve) => {
      publishing = publishHere(part, resolve);
    });
    const lost = statusOf(bridge, ({ state }) => state !== 'CONNECTED').then(() => performance.now());
    await there.stop();
    const stopped = performance.now();
    isThere = false;
    look();
    expect(begunThere).toBeGreaterThan(0);
    expect(acknowledgedThere).toBeLessThan(count);
    untilLost.push((await lost) - stopped);
    await publishing;
    await publishHere(part);
    await statusOf(bridge, ({ queuedMessages }) => queuedMessages >= part);
    await there.start();
    const started = performance.now();
    isThere = true;
    look();
    await statusOf(bridge, ({ state }) => state === 'CONNECTED');
    untilBack.push(performance.now() - started);
  }
  await Promise.all([publishHere(count - begunHere), allThere]);
  await Promise.all([heardThere.untilAll('here', count), heardHere.untilAll('there', count)]);
  const seconds = (performance.now() - began) / 1_000;
  stopLooking();
  const status = await statusOf(bridge, ({ queuedMessages }) => queuedMessages === 0);
  // Whatever came back would be before these.
  await publisherHere.publishAsync('restarts/here', 'end of here', { qos: 1 });
  await publisherThere.publishAsync('restarts/there', 'end of there', { qos: 1 });
  await Promise.all([heardHere, heardThere].flatMap((tally) => [tally.end('here'), tally.end('there')]));

  const repeatedThere = repeats(heardThere, 'here', count);
  const repeatedHere = repeats(heardHere, 'there', count);
  expect(repeatedThere).toBeLessThanOrEqual(MOST_REPEATED_THERE);
  expect(repeatedHere).toBeLessThanOrEqual(MOST_REPEATED_HERE);
  // Its own side has each as often as it was published: the broker here was there all the time.
  expect(repeats(heardHere, 'here', count)).toBe(0);
  expect(repeats(heardThere, 'there', count)).toBeLessThanOrEqual(MOST_PUBLISHED_AGAIN + RESTARTS * RECEIVE_MAXIMUM);
  expect([heardHere.passed('here'), heardThere.passed('there')]).toEqual([0, 0]);
  expect(heardHere.passed('there')).toBe(count + repeatedHere);
  expect(heardThere.passed('here')).toBe(count + repeatedThere);
  expect(status).toMatchObject({ dropped: 0, rejected: 0, delivered: status.received });
  expect(status.received).toBeGreaterThanOrEqual(2 * count);
  expect(status.received).toBeLessThanOrEqual(2 * count + MOST_REPEATED_HERE);
  return { repeatedThere, repeatedHere, untilLost, untilBack, seconds };
}

async function isAcknowledged(publisher: MqttClient, text: string): Promise<boolean> {
  try {
    await publisher.publishAsync('restarts/there', text, { qos: 1 });
    return true;
  } catch {
    return false;
  }
}

/** Number of duplicates of the `count` messages, which all arrived. */
function repeats(tally: Tally, side: string, count: number): number {
  expect(tally.own(side)).toBe(count);
  return tally.all(side) - count;
}

const inParallel = (count: number, work: () => Promise<void>) => Promise.all(Array.from({ length: count }, work));
