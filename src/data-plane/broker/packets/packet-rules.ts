import { readConnect } from './connect-reader.ts';
import type { FieldReader } from './field-reader.ts';
import type {
  DisconnectPacket,
  IncomingPacket,
  ProtocolVersion,
  ReceivedAcknowledgement,
  ReceivedPublish,
  SubscribePacket,
  UnsubscribePacket,
} from './incoming-packet.ts';
import { NO_PROPERTIES, readProperties } from './property-rules.ts';
import { malformed, protocolError, tooMany } from './refused-packet.ts';

/** What CONNECT said about later packets. */
export interface Protocol {
  readonly protocolVersion: ProtocolVersion;
  readonly isBridge: boolean;
}

/** Types of packets (MQTT 5, 2.1.2). */
const CONNECT = 1;
const PUBLISH = 3;
/** Flags of the first byte (2.1.3). Those of PUBLISH are its own. */
const REQUIRED_FLAGS: Readonly<Record<number, number>> = { 6: 2, 8: 2, 10: 2 };
const RETAIN = 0x01;
const DUP = 0x08;
const QOS_3 = 3;
/** Subscription options (3.8.3.1). */
const NO_LOCAL = 0x04;
const RETAIN_AS_PUBLISHED = 0x08;
const RESERVED_OPTIONS = 0xc0;
const RESERVED_OPTIONS_3 = 0xfc;
/** Topic filters of one packet. They are handled in one piece, while other clients wait. */
const MAX_FILTERS = 1_000;
/** Reason codes that clients may send (3.4.2.1, 3.6.2.1, 3.14.2.1). */
const RECEIVED = new Set([0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99]);
const RELEASED = new Set([0x00, 0x92]);
const DISCONNECTED = new Set([
  ...[0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8b, 0x8d, 0x8e, 0x8f, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98],
  ...[0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2],
]);

/** Checks the first byte of a packet. Errors: RefusedPacket. */
export function checkFirstByte(first: number): void {
  const type = first >> 4;
  if (type === PUBLISH) {
    if (((first >> 1) & QOS_3) === QOS_3) throw malformed('MQTT-3.3.1-4: a PUBLISH has QoS 3');
  } else if ((first & 0x0f) !== (REQUIRED_FLAGS[type] ?? 0)) {
    throw malformed('MQTT-2.1.3-1: reserved flags of the first byte are set');
  }
}

/**
 * Reads one packet of a client. `fields`: behind the fixed header. `protocol`: `undefined` before CONNECT. Payloads and
 * binary fields are views of the bytes. Errors: RefusedPacket.
 */
export function readPacket(first: number, fields: FieldReader, protocol: Protocol | undefined): IncomingPacket {
  const type = first >> 4;
  if (protocol === undefined) {
    if (type === CONNECT) return readConnect(fields);
    throw protocolError('MQTT-3.1.0-1: the first packet is not CONNECT');
  }
  // The checks of a first CONNECT use reason codes that DISCONNECT may not have.
  if (type === CONNECT) throw protocolError('MQTT-3.1.0-2: a second CONNECT on the connection');
  const read = READERS[type];
  if (!read) throw protocolError('2.1.2: only servers send this packet');
  const packet = read(fields, protocol, first);
  fields.assertEnd();
  return packet;
}

type Read = (fields: FieldReader, protocol: Protocol, first: number) => IncomingPacket;

const PINGREQ = { cmd: 'pingreq' } as const;

const READERS: Readonly<Record<number, Read>> = {
  [PUBLISH]: readPublish,
  4: acknowledgement('puback', RECEIVED),
  5: acknowledgement('pubrec', RECEIVED),
  6: acknowledgement('pubrel', RELEASED),
  7: acknowledgement('pubcomp', RELEASED),
  8: readSubscribe,
  10: readUnsubscribe,
  12: () => PINGREQ,
  14: readDisconnect,
  // CONNECT with an authentication method is refused.
  15: () => {
    throw protocolError('MQTT-4.12.0-7: AUTH without an authentication method in CONNECT');
  },
};

function readPublish(fields: FieldReader, { protocolVersion }: Protocol, first: number): ReceivedPublish {
  const qos = ((first >> 1) & QOS_3) as 0 | 1 | 2;
  if (qos === 0 && (first & DUP) !== 0) throw malformed('MQTT-3.3.1-2: DUP is set for QoS 0');
  const topic = fields.topic('MQTT-3.3.2-2');
  const messageId = qos > 0 ? readPacketId(fields) : 0;
  const properties = protocolVersion === 5 ? readProperties(fields, 'publish') : NO_PROPERTIES;
  if (properties.subscriptionIdentifier !== undefined)
    throw protocolError('MQTT-3.3.4-6: a subscription identifier, which only servers send with PUBLISH');
  if (topic === '' && properties.topicAlias === undefined) throw protocolError('MQTT-4.7.3-1: the topic is empty');
  const payload = fields.rest();
  return { cmd: 'publish', topic, payload, qos, retain: (first & RETAIN) !== 0, messageId, properties };
}

function acknowledgement(cmd: ReceivedAcknowledgement['cmd'], reasons: ReadonlySet<number>): Read {
  return (fields, { protocolVersion }) => {
    const messageId = readPacketId(fields);
    if (protocolVersion < 5 || fields.isAtEnd) return { cmd, messageId, reasonCode: 0 };
    const reasonCode = readReason(fields, reasons);
    if (!fields.isAtEnd) readProperties(fields, 'acknowledgement');
    return { cmd, messageId, reasonCode };
  };
}

function readSubscribe(fields: FieldReader, { protocolVersion, isBridge }: Protocol): SubscribePacket {
  const messageId = readPacketId(fields);
  const properties = protocolVersion === 5 ? readProperties(fields, 'subscribe') : NO_PROPERTIES;
  if (fields.isAtEnd) throw protocolError('MQTT-3.8.3-2: SUBSCRIBE has no filter');
  const subscriptions: SubscribePacket['subscriptions'][number][] = [];
  const reserved = protocolVersion === 5 ? RESERVED_OPTIONS : RESERVED_OPTIONS_3;
  while (!fields.isAtEnd) {
    const topic = readFilter(fields, subscriptions.length);
    const options = fields.byte();
    const qos = options & 3;
    if (qos === QOS_3) throw protocolError('3.8.3.1: the QoS is 3');
    if ((options & reserved) !== 0) throw malformed('MQTT-3.8.3-5: reserved bits are set');
    const rh = (options >> 4) & 3;
    if (rh === 3) throw malformed('3.8.3.1: the Retain Handling is 3');
    const subscription = { topic, qos: qos as 0 | 1 | 2 };
    if (protocolVersion === 5) {
      const [nl, rap] = [(options & NO_LOCAL) !== 0, (options & RETAIN_AS_PUBLISHED) !== 0];
      subscriptions.push({ ...subscription, nl, rap, rh });
    } else subscriptions.push(isBridge ? { ...subscription, rh: 0, rap: true, nl: true } : subscription);
  }
  return { cmd: 'subscribe', messageId, subscriptions, properties };
}

function readUnsubscribe(fields: FieldReader, { protocolVersion }: Protocol): UnsubscribePacket {
  const messageId = readPacketId(fields);
  if (protocolVersion === 5) readProperties(fields, 'unsubscribe');
  if (fields.isAtEnd) throw protocolError('MQTT-3.10.3-2: UNSUBSCRIBE has no filter');
  const unsubscriptions: string[] = [];
  while (!fields.isAtEnd) unsubscriptions.push(readFilter(fields, unsubscriptions.length));
  return { cmd: 'unsubscribe', messageId, unsubscriptions };
}

function readFilter(fields: FieldReader, count: number): string {
  if (count >= MAX_FILTERS) throw tooMany(`more than ${MAX_FILTERS} topic filters in one packet`);
  return fields.text();
}

/** Reason code and properties may be omitted if they are 0 and none (MQTT 5, 3.14.2.1). */
function readDisconnect(fields: FieldReader, { protocolVersion }: Protocol): DisconnectPacket {
  if (protocolVersion < 5 || fields.isAtEnd) return { cmd: 'disconnect', reasonCode: 0, properties: NO_PROPERTIES };
  const reasonCode = readReason(fields, DISCONNECTED);
  const properties = fields.isAtEnd ? NO_PROPERTIES : readProperties(fields, 'disconnect');
  return { cmd: 'disconnect', reasonCode, properties };
}

function readReason(fields: FieldReader, allowed: ReadonlySet<number>): number {
  const reasonCode = fields.byte();
  if (!allowed.has(reasonCode)) throw malformed('2.4: the packet cannot have this reason code');
  return reasonCode;
}

function readPacketId(fields: FieldReader): number {
  const packetId = fields.uint16();
  if (packetId === 0) throw protocolError('MQTT-2.2.1-3: the packet identifier is 0');
  return packetId;
}
