/** Packets of MQTT 3.1.1, encoded in advance. */
import { generate } from 'mqtt-packet';
import type { Account } from '../frame-wire.ts';

export const PUBACK_BYTES = 4;
export const DISCONNECT = generate({ cmd: 'disconnect' });
const PAYLOAD = Buffer.alloc(64, 'x');
const KEEP_ALIVE_SECONDS = 600;

export const connectPacket = (clientId: string, account: Account | null): Buffer =>
  generate({
    cmd: 'connect',
    clientId,
    clean: true,
    keepalive: KEEP_ALIVE_SECONDS,
    ...(account && { username: account.username, password: Buffer.from(account.password) }),
  });

export const subscribePacket = (topic: string, qos: 0 | 1): Buffer =>
  generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos }] });

export const publishPacket = (topic: string, qos: 0 | 1, messageId: number, retain = false): Buffer =>
  generate({ cmd: 'publish', topic, payload: PAYLOAD, qos, retain, dup: false, messageId });

/** Topics of retained messages. All have the same length. */
export const retainedTopic = (n: number): string => `retained/${digits(n % 100, 2)}/${digits(n, 6)}`;

const digits = (n: number, length: number): string => String(n).padStart(length, '0');
