/** Packets of MQTT as bytes, also such that no library writes. */
import type { IPublishPacket } from 'mqtt-packet';

export const text = (value: string | Buffer) => {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes]);
};

/** A packet with a Remaining Length below 16,384. */
export const packet = (first: number, ...parts: readonly Buffer[]) => {
  const body = Buffer.concat(parts);
  const { length } = body;
  return Buffer.concat([Buffer.of(first, ...(length < 128 ? [length] : [(length & 127) | 128, length >> 7])), body]);
};

export const properties = (...parts: readonly Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.of(body.length), body]);
};

export const publish = (fields: Partial<IPublishPacket>): IPublishPacket => ({
  cmd: 'publish',
  topic: 'own/x',
  payload: '',
  qos: 0,
  retain: false,
  dup: false,
  ...fields,
});
