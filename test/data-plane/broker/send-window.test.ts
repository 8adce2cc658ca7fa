import fc from 'fast-check';
import type { IPublishPacket, Packet } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { runs } from '../../support/suite.ts';
import { connect, useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';

const shared = useTestBroker();
/** What the broker sends one client at a time, if that allows more. */
const LARGEST_WINDOW = 100;
const texts = (count: number, prefix = '') => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** A client whose session stays, over several connections: it notes what it gets, and what it should not have got. */
class Receiver {
  readonly #clientId: string;
  readonly #receiveMaximum: number;
  /** Turns of the event loop until it sends an acknowledgement. */
  readonly #turns: () => number;
  /** Each message of QoS 2 once, of QoS 1 as often as it came. */
  readonly received: string[] = [];
  readonly wrong: string[] = [];
  /** Of QoS 2, by packet id, until PUBREL. They belong to the session. */
  readonly #unreleased = new Map<number, string>();
  #raw: Awaited<ReturnType<typeof rawClient>> | null = null;
  #check = () => {};
  #waiting = 0;

  constructor(clientId: string, receiveMaximum: number, turns: () => number) {
    this.#clientId = clientId;
    this.#receiveMaximum = receiveMaximum;
    this.#turns = turns;
  }

  async join(): Promise<void> {
    const properties = { sessionExpiryInterval: 600, receiveMaximum: this.#receiveMaximum };
    const options = { clientId: this.#clientId, clean: false, properties };
    const raw = await rawClient(shared().mqttPort, options, this.#raw === null ? this.#clientId : undefined);
    this.#raw = raw;
    const earlier = new Set(this.received);
    const here = new Set<string>();
    const inFlight = new Set<number>();
    raw.each((packet) => {
      if (packet.cmd === 'publish') this.#take(packet, { earlier, here, inFlight });
      if (packet.cmd === 'pubrel') this.#unreleased.delete(packet.messageId ?? 0);
      const answer = answerTo(packet);
      if (!answer) return;
      this.#waiting += 1;
      later(this.#turns(), () => {
        this.#waiting -= 1;
        if (answer.cmd !== 'pubrec') inFlight.delete(answer.messageId ?? 0);
        raw.send(answer);
        this.#check();
      });
    });
  }

  async leave(): Promise<void> {
    await this.#raw?.leave();
  }

  /** Resolves when it has all of these and has acknowledged whatever came. */
  async has(wanted: readonly string[]): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#check = () => {
        const received = new Set(this.received);
        const isDone = this.#waiting === 0 && this.#unreleased.size === 0;
        if (isDone && wanted.every((text) => received.has(text))) resolve();
      };
      this.#check();
    });
    await this.#raw?.settle();
  }

  #take({ qos, dup, payload, messageId = 0 }: IPublishPacket, { earlier, here, inFlight }: Taken): void {
    const text = payload.toString();
    const about = `${text}, QoS ${qos}, packet id ${messageId}`;
    if (here.has(text)) this.wrong.push(`twice on one connection: ${about}`);
    here.add(text);
    if (earlier.has(text) && !dup) this.wrong.push(`again without the flag: ${about}`);
    if (inFlight.has(messageId)) this.wrong.push(`packet id in use: ${about}`);
    inFlight.add(messageId);
    if (inFlight.size > Math.min(this.#receiveMaximum, LARGEST_WINDOW)) this.wrong.push(`too many at a time: ${about}`);
    const unreleased = this.#unreleased.get(messageId);
    if (unreleased !== undefined && unreleased !== text) this.wrong.push(`swallowed by ${unreleased}: ${about}`);
    if (unreleased === undefined) this.received.push(text);
    if (qos === 2) this.#unreleased.set(messageId, text);
  }
}

interface Taken {
  readonly earlier: ReadonlySet<string>;
  readonly here: Set<string>;
  readonly inFlight: Set<number>;
}

function answerTo({ cmd, messageId, ...rest }: Packet): Packet | null {
  if (cmd === 'pubrel') return { cmd: 'pubcomp', messageId, reasonCode: 0 } as Packet;
  if (cmd !== 'publish') return null;
  return { cmd: (rest as IPublishPacket).qos === 2 ? 'pubrec' : 'puback', messageId, reasonCode: 0 } as Packet;
}

function later(turns: number, act: () => void): void {
  if (turns === 0) act();
  else setImmediate(() => later(turns - 1, act));
}

test.each([1, 2] as const)('a session gets more messages than its window once each, in order (QoS %i)', async (qos) => {
  const id = `burst-${qos}`;
  const receiver = new Receiver(id, 4_000, () => 0);
  await receiver.join();
  const publisher = await connect(shared().mqttPort);
  const sent = texts(500);
  await Promise.all(sent.map((text) => publisher.publishAsync(id, text, { qos })));
  await receiver.has(sent);
  expect(receiver.wrong).toEqual([]);
  expect(receiver.received).toEqual(sent);
});

const bursts = fc.array(
  fc.record({
    qos: fc.array(fc.constantFrom(1 as const, 2 as const), { minLength: 1, maxLength: 5 }),
    count: fc.integer({ min: 1, max: 250 }),
    leaves: fc.constantFrom('stays', 'comes back meanwhile', 'comes back afterwards'),
  }),
  { minLength: 1, maxLength: 3 },
);
const clients = fc.record({
  receiveMaximum: fc.constantFrom(1, 2, 7, 99, 100, 101, 65_535),
  turns: fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 7 }),
  bursts,
});

test('a connected session gets each message once, however late it acknowledges', async () => {
  const publisher = await connect(shared().mqttPort);
  let run = 0;
  await fc.assert(
    fc.asyncProperty(clients, async ({ receiveMaximum, turns, bursts }) => {
      run += 1;
      const id = `random-${run}`;
      let acknowledged = 0;
      const nextTurns = () => turns[acknowledged++ % turns.length] ?? 0;
      const receiver = new Receiver(id, receiveMaximum, nextTurns);
      await receiver.join();
      const all: string[] = [];
      for (const [index, { qos, count, leaves }] of bursts.entries()) {
        if (leaves === 'comes back afterwards') await receiver.leave();
        const sent = texts(count, `${index}:`);
        const published = Promise.all(
          sent.map((text, place) => publisher.publishAsync(id, text, { qos: qos[place % qos.length] ?? 1 })),
        );
        if (leaves === 'comes back meanwhile') {
          await receiver.leave();
          await receiver.join();
        }
        await published;
        if (leaves === 'comes back afterwards') await receiver.join();
        all.push(...sent);
      }
      await receiver.has(all);
      expect(receiver.wrong).toEqual([]);
      expect(new Set(receiver.received)).toEqual(new Set(all));
      await receiver.leave();
    }),
    { numRuns: runs(12), endOnFailure: true },
  );
});

test.each([1, 2] as const)(
  'a message that is too large for a client leaves its window open for later messages (QoS %i)',
  async (qos) => {
    const id = `large-${qos}`;
    const properties = { sessionExpiryInterval: 600, receiveMaximum: 1, maximumPacketSize: 100 };
    const first = await rawClient(shared().mqttPort, { clientId: id, clean: false, properties }, id);
    await first.leave();
    const publisher = await connect(shared().mqttPort);
    for (const text of ['x'.repeat(100), 'small']) await publisher.publishAsync(id, text, { qos });
    const back = await rawClient(shared().mqttPort, { clientId: id, clean: false, properties });
    await back.until('publish', 1);
    expect(back.packets.at(-1)).toMatchObject({ cmd: 'publish', payload: Buffer.from('small') });
  },
);
