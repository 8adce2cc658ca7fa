import type { MqttClient } from 'mqtt';
import { expect } from 'vitest';
import { startClient, startMosquitto } from '../../support/mosquitto.ts';
import { bridgeFolder, listen, startTestBridge, statusOf, type TestBridgeOptions } from './bridge-world.ts';

const RESTARTS = 3;
const WINDOW = 500;
const MOST_AHEAD = 10_000;

export interface Restarts {
  /** Messages that came there more than once: sent again because their acknowledgement was lost. */
  readonly repeated: number;
  /** Milliseconds from a broker's end, and from its start, until the status told it. */
  readonly untilLost: readonly number[];
  readonly untilBack: readonly number[];
  readonly seconds: number;
}

/**
 * Publishes `count` messages of QoS 1 here while the broker there is stopped and started three times, bridged both ways on the same
 * topics. Asserts that none is lost, and that none comes back.
 */
export async function passThroughRestarts(
  count: number,
  local: TestBridgeOptions['local'],
  here: () => Promise<MqttClient>,
): Promise<Restarts> {
  const kept = bridgeFolder();
  const there = await startMosquitto({
    lines: ['max_queued_messages 0', 'persistence true', `persistence_location ${kept}/`],
  });
  const bridge = startTestBridge({ local });
  await bridge.apply({
    connections: [{ name: 'test', url: there.url, topics: [{ pattern: 'restarts/#', direction: 'both', qos: 1 }] }],
  });
  await statusOf(bridge, ({ state }) => state === 'CONNECTED');

  const heardHere = await listen(await here(), 'restarts/#');
  const times = new Map<string, number>();
  let isAllThere = () => {};
  const allThere = new Promise<void>((resolve) => {
    isAllThere = resolve;
  });
  // A session that outlives the broker.
  const receiver = await startClient(there.url, { clean: false, clientId: 'receiver', reconnectPeriod: 50 });
  receiver.on('message', (_topic, payload) => {
    const text = payload.toString();
    times.set(text, (times.get(text) ?? 0) + 1);
    if (times.size === count) isAllThere();
  });
  await receiver.subscribeAsync('restarts/#', { qos: 1 });

  const publisher = await here();
  const began = performance.now();
  let published = 0;
  /** All are acknowledged when it resolves; `midway` when half of them are on their way. */
  const publish = (messages: number, midway = () => {}) => {
    const until = published + messages;
    const half = published + messages / 2;
    const send = async () => {
      while (published < until) {
        published += 1;
        const number = published;
        if (published >= half) midway();
        // The broker here keeps 20,000 for the bridge, no more.
        const least = number - MOST_AHEAD;
        if ((bridge.status()[0]?.received ?? 0) < least) await statusOf(bridge, ({ received }) => received >= least);
        await publisher.publishAsync('restarts/a', String(number), { qos: 1 });
      }
    };
    return Promise.all(Array.from({ length: WINDOW }, send));
  };
  const part = Math.floor(count / (2 * RESTARTS + 1));
  const untilLost: number[] = [];
  const untilBack: number[] = [];
  for (let restart = 1; restart <= RESTARTS; restart += 1) {
    let publishing: Promise<unknown> | null = null;
    await new Promise<void>((resolve) => {
      publishing = publish(part, resolve);
    });
    const lost = statusOf(bridge, ({ state }) => state !== 'CONNECTED').then(() => performance.now());
    await there.stop();
    const stopped = performance.now();
    untilLost.push((await lost) - stopped);
    await publishing;
    await publish(part);
    await statusOf(bridge, ({ queuedMessages }) => queuedMessages >= part);
    await there.start();
    const started = performance.now();
    await statusOf(bridge, ({ state }) => state === 'CONNECTED');
    untilBack.push(performance.now() - started);
  }
  await publish(count - published);
  await allThere;
  const seconds = (performance.now() - began) / 1_000;
  await heardHere.until(() => heardHere.heard.length >= count);
  const status = await statusOf(bridge, ({ queuedMessages }) => queuedMessages === 0);
  // Whatever came back would be before this.
  const other = await startClient(there.url);
  await other.publishAsync('restarts/end', 'end', { qos: 1 });
  await heardHere.text('end');
  expect(heardHere.heard).toHaveLength(count + 1);
  expect(new Set(heardHere.texts()).size).toBe(count + 1);
  expect(status).toMatchObject({ received: count, delivered: count, dropped: 0, rejected: 0 });
  const repeated = [...times.values()].reduce((sum, each) => sum + each - 1, 0);
  return { repeated, untilLost, untilBack, seconds };
}
