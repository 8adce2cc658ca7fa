import { PassThrough } from 'node:stream';
import { parser } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { type BufferedMessage, BufferedMessages } from '../../../src/protocol/mqtt/message-buffers.ts';
import { PacketOrder } from '../../../src/protocol/mqtt/packet-order.ts';
import { PacketWriter } from '../../../src/protocol/mqtt/packet-writer.ts';

/** What comes over a connection, and what goes back. */
function connection(received = new Set<number>()) {
  const stream = new PassThrough();
  const writer = new PacketWriter(stream, 5);
  const held = new BufferedMessages(writer, received);
  const sent: string[] = [];
  const packets = parser({ protocolVersion: 5 });
  packets.on('packet', ({ cmd, messageId }) => sent.push(`${cmd} ${messageId}`));
  const arrive = (messageId: number, qos: 0 | 1 | 2, dup = false): (() => void) | null => {
    const message: BufferedMessage | null = held.received({
      topic: 't',
      payload: Buffer.from('x'),
      retain: false,
      dup,
      qos,
      messageId,
    });
    const release = message?.hold() ?? null;
    message?.release();
    return release;
  };
  const answers = () => {
    writer.close(true);
    packets.parse(stream.read(stream.readableLength) ?? Buffer.alloc(0));
    return sent;
  };
  return { held, arrive, answers, received };
}

test('messages are acknowledged in the order of arrival, whichever is released first [MQTT-4.6.0-2]', () => {
  const { arrive, answers, held } = connection();
  const releases = [arrive(1, 1), arrive(2, 2), arrive(3, 1), arrive(4, 1)];
  releases[2]?.();
  releases[1]?.();
  expect(held.size).toBe(4);
  releases[0]?.();
  releases[0]?.();
  expect(held.size).toBe(1);
  expect(answers()).toEqual(['puback 1', 'pubrec 2', 'puback 3']);
});

test('a QoS 2 message that is repeated before PUBREL is acknowledged and not delivered; after PUBREL it is a new message', () => {
  const { arrive, answers, held } = connection();
  arrive(7, 2)?.();
  expect(arrive(7, 2, true)).toBeNull();
  held.released(7);
  const again = arrive(7, 2, true);
  expect(again).not.toBeNull();
  expect(answers()).toEqual(['pubrec 7', 'pubrec 7', 'pubcomp 7']);
});

test('a message that is released after the connection ended is not acknowledged, and is sent again on the next connection', () => {
  const first = connection();
  const done = first.arrive(1, 2);
  const waiting = first.arrive(2, 2);
  done?.();
  first.held.close();
  waiting?.();
  const second = connection(first.received);
  expect(second.arrive(1, 2, true)).toBeNull();
  expect(second.arrive(2, 2, true)).not.toBeNull();
  expect(first.answers()).toEqual(['pubrec 1']);
  expect(second.answers()).toEqual(['pubrec 1']);
});

test('a message without DUP is new, even if PUBREL of the previous message never arrived', () => {
  const { arrive, answers } = connection();
  arrive(7, 2)?.();
  const other = arrive(7, 2);
  expect(other).not.toBeNull();
  // A held message is sent again on the next connection only.
  other?.();
  expect(arrive(7, 2, true)).toBeNull();
  expect(answers()).toEqual(['pubrec 7', 'pubrec 7', 'pubrec 7']);
});

test('a released message that waits for its acknowledgement does not retain its payload', () => {
  const held = new BufferedMessages(new PacketWriter(new PassThrough(), 5), new Set());
  const packet = { topic: 't', qos: 1, retain: false, dup: false } as const;
  held.received({ ...packet, messageId: 1, payload: Buffer.from('held') });
  const behind = held.received({ ...packet, messageId: 2, payload: Buffer.alloc(1_000) });
  behind?.release();
  expect([held.size, behind?.payload.length]).toEqual([2, 0]);
});

test('a message that an earlier connection of the session reported is marked, and another one that is sent again is not', () => {
  const order = new PacketOrder();
  const packet = { topic: 't', payload: Buffer.alloc(0), qos: 1, retain: false } as const;
  const connected = () => new BufferedMessages(new PacketWriter(new PassThrough(), 5), new Set(), order);
  const first = connected();
  for (const messageId of [1, 2]) first.received({ ...packet, messageId, dup: false })?.release();
  first.close();
  const next = connected();
  const again = [2, 3].map((messageId) => next.received({ ...packet, messageId, dup: true }));
  expect(again.map((message) => message?.isRepeated)).toEqual([true, false]);
  expect(next.received({ ...packet, messageId: 5, dup: false })).toMatchObject({ isRepeated: false, gapsBefore: 1 });
});

test('a message without holders is acknowledged immediately, and QoS 0 never', () => {
  const { answers, held } = connection();
  const packet = { topic: 't', payload: Buffer.alloc(0), retain: false, dup: false } as const;
  held.received({ ...packet, qos: 0 })?.release();
  held.received({ ...packet, qos: 1, messageId: 9 })?.release();
  expect(answers()).toEqual(['puback 9']);
});
