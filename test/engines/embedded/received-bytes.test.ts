import { parser as createParser, generate, type Packet } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { type PacketParser, useReceivedBytes } from '../../../src/engines/embedded/core/mqtt-packet-internals.ts';
import { ReceivedBytes } from '../../../src/engines/embedded/packets/received-bytes.ts';

const PUBLISH = { cmd: 'publish', topic: 'a/ö', qos: 1, messageId: 7, dup: false, retain: false } as const;
const PACKETS: Packet[] = [
  { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, clientId: 'x', keepalive: 9, clean: true },
  { ...PUBLISH, payload: Buffer.alloc(300, 'y'), properties: { contentType: 'text', messageExpiryInterval: 70_000 } },
  { cmd: 'subscribe', messageId: 8, subscriptions: [{ topic: 'a/#', qos: 2, nl: true, rap: true, rh: 1 }] },
  { cmd: 'pingreq' },
  { ...PUBLISH, payload: Buffer.alloc(0) },
  { cmd: 'disconnect', reasonCode: 4 },
];
const BYTES = Buffer.concat(PACKETS.map((packet) => generate(packet, { protocolVersion: 5 })));

/** What mqtt-packet emits for bytes in chunks of a size, and how many bytes it has left after each. */
function parsed(size: number) {
  const parser = createParser() as unknown as PacketParser;
  const packets: unknown[] = [];
  const left: number[] = [];
  parser.on('packet', (packet) => packets.push(structuredClone({ ...packet })));
  parser.on('error', (error) => packets.push(error.message));
  for (let at = 0; at < BYTES.length; at += size) left.push(parser.parse(BYTES.subarray(at, at + size)));
  return { packets, left };
}

test('mqtt-packet reads the same packets from it as from a list of bl, in chunks of all sizes', () => {
  const sizes = Array.from({ length: BYTES.length }, (_, index) => index + 1);
  const before = sizes.map(parsed);
  useReceivedBytes();
  expect((createParser() as unknown as { readonly _list: object })._list).toBeInstanceOf(ReceivedBytes);
  expect(sizes.map(parsed)).toEqual(before);
  expect(before[0]?.packets).toHaveLength(PACKETS.length);
});

test('bytes of the first chunk are not copied, and several chunks are copied once', () => {
  const bytes = new ReceivedBytes();
  const chunk = Buffer.from('abcdef');
  bytes.append(chunk);
  bytes.consume(1);
  expect(bytes.slice(0, 2).buffer).toBe(chunk.buffer);
  bytes.append(Buffer.from('gh'));
  const whole = bytes.slice();
  expect(String(whole)).toBe('bcdefgh');
  expect(bytes.slice().buffer).toBe(whole.buffer);
  bytes.consume(6);
  expect([bytes.length, bytes.toString('utf8', 0, 1)]).toEqual([1, 'h']);
});

test('it has no chunk when everything is consumed', () => {
  const bytes = new ReceivedBytes();
  bytes.append(Buffer.from('abc'));
  bytes.consume(3);
  expect([bytes.length, bytes._bufs.length, bytes.slice().length]).toEqual([0, 0, 0]);
});
