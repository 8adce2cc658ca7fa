import { bytesOf, type ConnectPacket, type Damage, type FuzzPacket, type Property, type Text } from './packets.ts';

/** The credentials of a CONNECT without its own. */
export interface Account {
  readonly username: string;
  readonly password: string;
}

const TYPES = {
  connect: 1,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  unsubscribe: 10,
  pingreq: 12,
  disconnect: 14,
  auth: 15,
} as const;

const BYTES = new Set([1, 23, 25, 36, 37, 40, 41, 42]);
const TWO_BYTES = new Set([19, 33, 34, 35]);
const FOUR_BYTES = new Set([2, 17, 24, 39]);
const SUBSCRIPTION_IDENTIFIER = 11;

/** Encodes a packet for a protocol version, with the damage that the packet describes. */
export function encode(packet: FuzzPacket, version: number, account: Account): Buffer {
  if (packet.type === 'raw') return Buffer.from(packet.hex, 'hex');
  return framed((TYPES[packet.type] << 4) | flagsOf(packet), bodyOf(packet, version, account), packet.damage);
}

function flagsOf(packet: FuzzPacket): number {
  if (packet.type === 'publish') {
    return (packet.dup ? 8 : 0) | ((packet.qos & 3) << 1) | (packet.retain ? 1 : 0);
  }
  return packet.type === 'subscribe' || packet.type === 'unsubscribe' || packet.type === 'pubrel' ? 2 : 0;
}

function bodyOf(packet: Exclude<FuzzPacket, { type: 'raw' }>, version: number, account: Account): Buffer {
  if (packet.type === 'connect') return connectBody(packet, account);
  const properties = version === 5 ? propertyBytes(packet.properties ?? []) : Buffer.alloc(0);
  switch (packet.type) {
    case 'publish': {
      const packetId = packet.qos > 0 ? uint16(packet.packetId ?? 1) : Buffer.alloc(0);
      return Buffer.concat([text(packet.topic), packetId, properties, bytesOf(packet.payload)]);
    }
    case 'subscribe': {
      const filters = packet.filters.flatMap(({ filter, options }) => [text(filter), Buffer.of(options)]);
      return Buffer.concat([uint16(packet.packetId), properties, ...filters]);
    }
    case 'unsubscribe':
      return Buffer.concat([uint16(packet.packetId), properties, ...packet.filters.map(text)]);
    case 'pingreq':
      return Buffer.alloc(0);
    case 'disconnect':
    case 'auth':
      return reasonBytes(packet.reason, packet.properties, version);
    default:
      return Buffer.concat([uint16(packet.packetId), reasonBytes(packet.reason, packet.properties, version)]);
  }
}

/** MQTT 5 allows a packet to omit empty properties, and a reason of 0 if there are no properties. */
function reasonBytes(reason: number | undefined, properties: readonly Property[] | undefined, version: number): Buffer {
  if (version !== 5 || (reason === undefined && properties === undefined)) return Buffer.alloc(0);
  return Buffer.concat([
    Buffer.of(reason ?? 0),
    properties === undefined ? Buffer.alloc(0) : propertyBytes(properties),
  ]);
}

function connectBody(packet: ConnectPacket, account: Account): Buffer {
  const { version, id, clean, keepAlive = 0, will, properties = [] } = packet;
  const username = packet.username === undefined ? account.username : packet.username;
  const password = packet.password === undefined && username !== null ? account.password : (packet.password ?? null);
  const flags =
    (username === null ? 0 : 0x80) |
    (password === null ? 0 : 0x40) |
    (will ? 4 | ((will.qos & 3) << 3) | (will.retain ? 0x20 : 0) : 0) |
    (clean ? 2 : 0);
  return Buffer.concat([
    text(version === 3 ? 'MQIsdp' : 'MQTT'),
    Buffer.of(version & 0xff, flags),
    uint16(keepAlive),
    ...(version === 5 ? [propertyBytes(properties)] : []),
    text(id),
    ...(will && version === 5 ? [propertyBytes(will.properties ?? [])] : []),
    ...(will ? [text(will.topic), text(will.payload)] : []),
    ...(username === null ? [] : [text(username)]),
    ...(password === null ? [] : [text(password)]),
  ]);
}

function propertyBytes(properties: readonly Property[]): Buffer {
  const encoded = Buffer.concat(
    properties.map((property) => Buffer.concat([Buffer.of(property.id), valueBytes(property)])),
  );
  return Buffer.concat([variableInteger(encoded.length), encoded]);
}

function valueBytes({ id, value, hex }: Property): Buffer {
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  if (typeof value !== 'number') return Array.isArray(value) ? Buffer.concat(value.map(text)) : text(value as Text);
  if (BYTES.has(id)) return Buffer.of(value & 0xff);
  if (TWO_BYTES.has(id)) return uint16(value);
  if (FOUR_BYTES.has(id)) return uint32(value);
  return id === SUBSCRIPTION_IDENTIFIER ? variableInteger(value) : uint16(value);
}

function framed(first: number, body: Buffer, damage: Damage | undefined): Buffer {
  const frame = (content: Buffer, length = content.length) =>
    Buffer.concat([Buffer.of(first), variableInteger(length), content]);
  switch (damage?.kind) {
    case undefined:
      return frame(body);
    case 'truncated':
      return frame(body).subarray(0, Math.max(1, frame(body).length - damage.bytes));
    case 'cut':
      return frame(body.subarray(0, Math.max(0, body.length - damage.bytes)));
    case 'grown':
      return frame(Buffer.concat([body, Buffer.from(damage.hex, 'hex')]));
    case 'length':
      return frame(body, damage.length);
    case 'changed': {
      const bytes = frame(body);
      bytes[damage.at % bytes.length] = damage.to;
      return bytes;
    }
  }
}

const uint16 = (value: number): Buffer => Buffer.of((value >> 8) & 0xff, value & 0xff);

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

function variableInteger(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; bytes.length === 0 || rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
  }
  return Buffer.from(bytes);
}

/** A string with its length of two bytes, truncated to 65,535 bytes. */
function text(value: Text): Buffer {
  const bytes = bytesOf(value).subarray(0, 65_535);
  return Buffer.concat([uint16(bytes.length), bytes]);
}
