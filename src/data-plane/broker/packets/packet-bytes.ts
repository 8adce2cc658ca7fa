import { TOPIC_ALIASES } from './property-rules.ts';

/** First bytes of packets (MQTT 5, 2.1.2). */
const CONNACK = 0x20;
const DISCONNECT = 0xe0;

/** Properties (MQTT 5, 2.2.2.2). */
const ASSIGNED_CLIENT_ID = 0x12;
const TOPIC_ALIAS_MAXIMUM = 0x22;
const MAXIMUM_PACKET_SIZE = 0x27;

/** Size of a CONNACK of MQTT 5 without properties. */
export const CONNACK_BYTES = 5;

/** A CONNACK without properties that refuses a client, or accepts one of MQTT 3. MQTT 3.1 has no Session Present. */
export function connackOf(version: number, code: number, sessionPresent = false): Buffer {
  const flags = sessionPresent && version > 3 ? 1 : 0;
  return version === 5 ? Buffer.of(CONNACK, 3, flags, code, 0) : Buffer.of(CONNACK, 2, flags, code);
}

/** The CONNACK that accepts a client of MQTT 5. `assignedId`: the client id if the client sent none. */
export function connack5(sessionPresent: boolean, maxPacketBytes: number, assignedId: string | null): Buffer {
  const properties = Buffer.alloc(8);
  properties[0] = TOPIC_ALIAS_MAXIMUM;
  properties.writeUInt16BE(TOPIC_ALIASES, 1);
  properties[3] = MAXIMUM_PACKET_SIZE;
  properties.writeUInt32BE(maxPacketBytes, 4);
  const all =
    assignedId === null ? properties : Buffer.concat([properties, textProperty(ASSIGNED_CLIENT_ID, assignedId)]);
  return Buffer.concat([Buffer.of(CONNACK, 3 + all.length, sessionPresent ? 1 : 0, 0, all.length), all]);
}

/** A short text: its property, and the packet, have less than 128 bytes. */
export const textProperty = (identifier: number, text: string): Buffer =>
  Buffer.concat([Buffer.of(identifier, 0, Buffer.byteLength(text)), Buffer.from(text)]);

export const disconnectOf = (reasonCode: number): Buffer => Buffer.of(DISCONNECT, 2, reasonCode, 0);
