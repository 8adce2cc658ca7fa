import { parser as createParser, generate, type Packet } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { ReceivedBytes } from '../../../src/data-plane/broker/packets/received-bytes.ts';
import { CallbackParser } from './callback-parser.ts';

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

/** What mqtt-packet reads in chunks of a size, and how many bytes it has left after each. */
function parsed(size: number, isReplaced: boolean) {
  const packets: unknown[] = [];
  const left: number[] = [];
  const packet = (one: object) => void packets.push(structuredClone({ ...one }));
  const error = ({ message }: Error) => void packets.push(message);
  const parser = isReplaced ? new CallbackParser({ packet, error }) : createParser();
  if (!(parser instanceof CallbackParser)) parser.on('packet', packet).on('error', error);
  for (let at = 0; at < BYTES.length; at += size) left.push(parser.parse(BYTES.subarray(at, at + size)));
  return { packets, left };
}

test('mqtt-packet reads the same packets from it as from a list of bl, in chunks of all sizes', () => {
  for (let size = 1; size <= BYTES.length; size += 1) expect(parsed(size, true)).toEqual(parsed(size, false));
  expect(parsed(1, true).packets).toHaveLength(PACKETS.length);
  expect(new CallbackParser({})._list).toBeInstanceOf(ReceivedBytes);
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
