import { once } from 'node:events';
import { createConnection } from 'node:net';
import fc from 'fast-check';
import { generate, type IPublishPacket } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import type { StreamMessage } from '../../../src/data-plane/streams/model/stream-session.ts';
import { rawClient } from './raw-client.ts';
import { BROKERS, PORTS } from './shared.ts';
import { startTappedCore } from './tapped-core.ts';

/** Packets that mqtt-packet writes, in pieces that end anywhere. */

const levels = fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', ' '), minLength: 1, maxLength: 40 }), {
  minLength: 1,
  maxLength: 5,
});
const messages = fc.record({
  topic: levels.map((parts) => parts.join('/')),
  size: fc.oneof(fc.integer({ max: 200, min: 0 }), fc.integer({ max: 70_000, min: 0 })),
  qos: fc.constantFrom(0 as const, 1 as const, 2 as const),
  contentType: fc.option(fc.string({ unit: 'grapheme-ascii', maxLength: 20 }), { nil: undefined }),
});
const cuts = fc.array(fc.nat(), { maxLength: 30 });

const bytesOf = (
  number: number,
  sent: { topic: string; size: number; qos: 0 | 1 | 2; contentType?: string | undefined },
) => {
  const { topic, size, qos, contentType } = sent;
  const properties = contentType === undefined ? {} : { properties: { contentType } };
  const packet: IPublishPacket = {
    cmd: 'publish',
    topic,
    payload: Buffer.alloc(size, number),
    qos,
    messageId: number,
    dup: false,
    retain: false,
    ...properties,
  };
  return generate(packet, { protocolVersion: 5 });
};

test('messages arrive whole and in order, wherever the pieces of their packets end', async () => {
  const { port, core, problems, faults } = await startTappedCore();
  const received: StreamMessage[] = [];
  core.tap.listen('#', (message) => received.push({ ...message, payload: Buffer.from(message.payload) }));
  const connect = generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, clientId: 'c', keepalive: 0 });
  const one = async (sent: Parameters<typeof bytesOf>[1][], ends: number[]) => {
    received.length = 0;
    const bytes = Buffer.concat([connect, ...sent.map((message, index) => bytesOf(index + 1, message))]);
    const socket = createConnection(port, '127.0.0.1').setNoDelay();
    onTestFinished(() => void socket.destroy());
    socket.resume();
    let from = 0;
    for (const end of [...ends.map((cut) => cut % bytes.length).sort((a, b) => a - b), bytes.length]) {
      await new Promise((resolve) => socket.write(bytes.subarray(from, end), resolve));
      from = end;
    }
    await expect.poll(() => received.length).toBe(sent.length);
    expect(received.map(({ topic, qos }) => ({ topic, qos }))).toEqual(sent.map(({ topic, qos }) => ({ topic, qos })));
    for (const [index, { size }] of sent.entries()) {
      expect(received[index]?.payload.equals(Buffer.alloc(size, index + 1))).toBe(true);
    }
    socket.destroy();
    await once(socket, 'close');
  };
  await fc.assert(fc.asyncProperty(fc.array(messages, { minLength: 1, maxLength: 10 }), cuts, one), { numRuns: 25 });
  expect([problems, faults]).toEqual([[], []]);
});

test.each(BROKERS)(
  'of connections with one client id at the same time, one stays [MQTT-3.1.4-3] (%s)',
  async (name) => {
    const port = await PORTS[name]();
    const fields = { clientId: 'same', clean: false, properties: { sessionExpiryInterval: 60 } };
    const clients = await Promise.all(Array.from({ length: 8 }, () => rawClient(port, fields)));
    let count = 0;
    for (const { closed } of clients) {
      void closed.then(() => {
        count += 1;
      });
    }
    await expect.poll(() => count).toBe(7);
    const again = await rawClient(port, fields);
    expect(again.packets[0]).toMatchObject({ cmd: 'connack', sessionPresent: true });
    await again.settle();
    await expect.poll(() => count).toBe(8);
  },
);
