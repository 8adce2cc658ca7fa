import type { FieldReader } from './field-reader.ts';
import type { ConnectPacket, PacketProperties, ProtocolVersion, ReceivedWill } from './incoming-packet.ts';
import { CONNACK_BYTES, connackOf } from './packet-bytes.ts';
import { NO_PROPERTIES, readProperties } from './property-rules.ts';
import {
  BAD_AUTHENTICATION_METHOD,
  CLIENT_ID_REJECTED,
  malformed,
  protocolError,
  RefusedPacket,
} from './refused-packet.ts';

/** Connect flags (MQTT 5, 3.1.2.3). */
const RESERVED = 0x01;
const CLEAN = 0x02;
const WILL = 0x04;
const WILL_QOS = 0x18;
const WILL_QOS_SHIFT = 3;
const WILL_RETAIN = 0x20;
const PASSWORD = 0x40;
const USERNAME = 0x80;
/** Bit of the protocol version with which Mosquitto's bridges connect. */
const BRIDGE = 0x80;
const VERSIONS: ReadonlyMap<string, readonly number[]> = new Map([
  ['MQTT', [4, 5]],
  ['MQIsdp', [3]],
]);

/** Return codes of CONNACK (MQTT 3.1.1, 3.2.2.3). */
const UNACCEPTABLE_VERSION = 0x01;
const IDENTIFIER_REJECTED = 0x02;
/** Reason code of CONNACK (MQTT 5, 3.2.2.2). */
const UNSUPPORTED_VERSION = 0x84;

/** Reads the first CONNECT of a connection. Errors: RefusedPacket, with CONNACK if the client gets one. */
export function readConnect(fields: FieldReader): ConnectPacket {
  const name = fields.text();
  const versions = VERSIONS.get(name);
  if (!versions) throw protocolError('MQTT-3.1.2-1: the protocol name is neither MQTT nor MQIsdp');
  const sent = fields.byte();
  const version = sent & ~BRIDGE;
  if (!versions.includes(version) || (version === 5 && sent !== 5)) {
    // [MQTT-3.1.2-2] of MQTT 5, and of MQTT 3.1.1.
    const connack =
      name === 'MQTT' && version > 5 ? connackOf(5, UNSUPPORTED_VERSION) : connackOf(4, UNACCEPTABLE_VERSION);
    throw new RefusedPacket(UNSUPPORTED_VERSION, 'MQTT-3.1.2-2: the protocol version is not supported', { connack });
  }
  const isBridge = sent !== version;
  try {
    return { cmd: 'connect', isBridge, ...readFields(fields, version as ProtocolVersion) };
  } catch (error) {
    if (version !== 5 || !(error instanceof RefusedPacket) || error.connack) throw error;
    throw new RefusedPacket(error.reasonCode, error.message, { connack: connackOf(5, error.reasonCode) });
  }
}

function readFields(fields: FieldReader, version: ProtocolVersion): Omit<ConnectPacket, 'cmd' | 'isBridge'> {
  const flags = fields.byte();
  const has = (flag: number) => (flags & flag) !== 0;
  assertFlags(flags, version);
  const keepalive = fields.uint16();
  const properties = version === 5 ? readProperties(fields, 'connect') : NO_PROPERTIES;
  assertAuthentication(properties);
  const clientId = fields.text();
  if (clientId === '') assertMayHaveNoId(version, has(CLEAN));
  const will = has(WILL) ? readWill(fields, flags, version) : null;
  const username = has(USERNAME) ? fields.text() : undefined;
  const password = has(PASSWORD) ? fields.binary() : undefined;
  fields.assertEnd();
  return { protocolVersion: version, clean: has(CLEAN), keepalive, properties, clientId, will, username, password };
}

function assertFlags(flags: number, version: ProtocolVersion): void {
  const has = (flag: number) => (flags & flag) !== 0;
  // MQTT 3.1 does not use the bit.
  if (has(RESERVED) && version > 3) throw malformed('MQTT-3.1.2-3: the reserved connect flag is set');
  if (!has(WILL) && (has(WILL_QOS) || has(WILL_RETAIN))) {
    throw malformed('MQTT-3.1.2-11: the connect flags have options of a will that is missing');
  }
  if ((flags & WILL_QOS) === WILL_QOS) throw malformed('MQTT-3.1.2-12: the will has QoS 3');
  if (has(PASSWORD) && !has(USERNAME) && version < 5) {
    throw malformed('MQTT-3.1.2-22 of MQTT 3.1.1: a password without a user name');
  }
}

function assertAuthentication({ authenticationMethod, authenticationData, maximumPacketSize }: PacketProperties): void {
  if (authenticationMethod === undefined) {
    if (authenticationData) throw protocolError('3.1.2.11.10: authentication data without a method');
    return;
  }
  const rule = 'enhanced authentication is not supported';
  // [MQTT-3.1.2-24]
  const isTooLarge = maximumPacketSize !== undefined && maximumPacketSize < CONNACK_BYTES;
  const connack = isTooLarge ? null : connackOf(5, BAD_AUTHENTICATION_METHOD);
  throw new RefusedPacket(BAD_AUTHENTICATION_METHOD, rule, { connack });
}

function assertMayHaveNoId(version: ProtocolVersion, clean: boolean): void {
  if (version === 5 || (version === 4 && clean)) return;
  const rule = `${version === 3 ? '3.1 of MQTT 3.1' : 'MQTT-3.1.3-8 of MQTT 3.1.1'}: the client id is empty`;
  throw new RefusedPacket(CLIENT_ID_REJECTED, rule, { connack: connackOf(version, IDENTIFIER_REJECTED) });
}

function readWill(fields: FieldReader, flags: number, version: ProtocolVersion): ReceivedWill {
  const properties = version === 5 ? readProperties(fields, 'will') : NO_PROPERTIES;
  const qos = ((flags & WILL_QOS) >> WILL_QOS_SHIFT) as 0 | 1 | 2;
  return { topic: fields.text(), payload: fields.binary(), qos, retain: (flags & WILL_RETAIN) !== 0, properties };
}
