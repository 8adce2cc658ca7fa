import type { UserProperties } from '../../../protocol/mqtt/publish-properties.ts';
import { FieldReader } from './field-reader.ts';
import { checkProperties } from './property-rules.ts';
import { CLIENT_ID_REJECTED, malformed, protocolError, RefusedPacket, tooMany } from './refused-packet.ts';

export interface PacketHeader {
  /** Name of the packet type in lower case. */
  readonly cmd: string;
  readonly qos: number;
  readonly dup: boolean;
}

/** Connect flags (MQTT 5, 3.1.2.3). */
const RESERVED = 0x01;
const WILL = 0x04;
const WILL_QOS = 0x18;
const WILL_RETAIN = 0x20;
const PASSWORD = 0x40;
const USERNAME = 0x80;
/** Bit of the protocol version with which Mosquitto's bridges connect. */
const BRIDGE = 0x80;
const VERSIONS: ReadonlyMap<string, readonly number[]> = new Map([
  ['MQTT', [4, 5]],
  ['MQIsdp', [3]],
]);

const CONNACK = 0x20;
/** Return codes of CONNACK (MQTT 3.1.1, 3.2.2.3). */
const UNACCEPTABLE_VERSION = 0x01;
const IDENTIFIER_REJECTED = 0x02;
/** Reason code of CONNACK (MQTT 5, 3.2.2.2). */
const UNSUPPORTED_VERSION = 0x84;
const AUTHENTICATION_METHOD = 0x15;
const AUTHENTICATION_DATA = 0x16;
const SUBSCRIPTION_IDENTIFIER = 0x0b;
const TOPIC_ALIAS = 0x23;
const SUBSCRIPTION_OPTIONS_RESERVED = 0xc0;
/** Topic filters of one packet. They are handled in one piece, while other clients wait. */
const MAX_FILTERS = 1_000;

/**
 * Checks one packet of a client against the specification, before mqtt-packet 9.0.2 reads it, which accepts most of
 * what is refused here. `body`: the bytes behind the fixed header, which mqtt-packet has checked. `version`: 3, 4 or 5,
 * `undefined` before CONNECT. Returns the user properties of a PUBLISH or a will; `undefined` if there are none.
 * Errors: RefusedPacket.
 */
export function checkPacket(
  header: PacketHeader,
  body: Buffer,
  version: number | undefined,
): UserProperties | undefined {
  if (header.cmd === 'connect') {
    // The checks of a first CONNECT use reason codes that DISCONNECT may not have.
    if (version !== undefined) throw protocolError('MQTT-3.1.0-2: a second CONNECT on the connection');
    return checkConnect(new FieldReader(body));
  }
  // aedes closes a connection that does not start with CONNECT [MQTT-3.1.0-1].
  if (version === undefined) return undefined;
  const check = CHECKS[header.cmd];
  if (!check) throw protocolError('2.1.2: only servers send this packet');
  const fields = new FieldReader(body);
  const userProperties = check(fields, version, header);
  fields.assertEnd();
  return userProperties;
}

type Check = (fields: FieldReader, version: number, header: PacketHeader) => UserProperties | undefined;

const nothing = (): undefined => {};

const CHECKS: Readonly<Record<string, Check | undefined>> = Object.assign(Object.create(null), {
  publish: checkPublish,
  puback: checkAcknowledgement,
  pubrec: checkAcknowledgement,
  pubrel: checkAcknowledgement,
  pubcomp: checkAcknowledgement,
  subscribe: checkSubscribe,
  unsubscribe: checkUnsubscribe,
  pingreq: nothing,
  disconnect: (fields, version) => (version === 5 ? checkReason(fields, 'disconnect') : undefined),
  // CONNECT with an authentication method is refused.
  auth: () => {
    throw protocolError('MQTT-4.12.0-7: AUTH without an authentication method in CONNECT');
  },
} satisfies Record<string, Check>);

function checkConnect(fields: FieldReader): UserProperties | undefined {
  const name = fields.string();
  const versions = VERSIONS.get(name);
  if (!versions) throw protocolError('MQTT-3.1.2-1: the protocol name is neither MQTT nor MQIsdp');
  const sent = fields.byte();
  const version = sent & ~BRIDGE;
  if (!versions.includes(version) || (version === 5 && sent !== 5)) {
    // [MQTT-3.1.2-2] of MQTT 5, and of MQTT 3.1.1.
    const connack = name === 'MQTT' && version > 5 ? connack5Of(UNSUPPORTED_VERSION) : connackOf(UNACCEPTABLE_VERSION);
    throw new RefusedPacket(UNSUPPORTED_VERSION, 'MQTT-3.1.2-2: the protocol version is not supported', { connack });
  }
  try {
    return checkConnectFields(fields, version);
  } catch (error) {
    if (version !== 5 || !(error instanceof RefusedPacket)) throw error;
    throw new RefusedPacket(error.reasonCode, error.message, { connack: connack5Of(error.reasonCode) });
  }
}

const connackOf = (returnCode: number): Buffer => Buffer.from([CONNACK, 2, 0, returnCode]);
const connack5Of = (reasonCode: number): Buffer => Buffer.from([CONNACK, 3, 0, reasonCode, 0]);

function checkConnectFields(fields: FieldReader, version: number): UserProperties | undefined {
  const flags = fields.byte();
  const has = (flag: number) => (flags & flag) !== 0;
  if (has(RESERVED)) {
    if (version > 3) throw malformed('MQTT-3.1.2-3: the reserved connect flag is set');
    // MQTT 3.1 does not use the bit. mqtt-packet 9.0.2 would refuse it.
    fields.clear(RESERVED);
  }
  if (!has(WILL) && (has(WILL_QOS) || has(WILL_RETAIN))) {
    throw malformed('MQTT-3.1.2-11: the connect flags have options of a will that is missing');
  }
  if ((flags & WILL_QOS) === WILL_QOS) throw malformed('MQTT-3.1.2-12: the will has QoS 3');
  if (has(PASSWORD) && !has(USERNAME) && version < 5) {
    throw malformed('MQTT-3.1.2-22 of MQTT 3.1.1: a password without a user name');
  }
  fields.uint16();
  if (version === 5) {
    const { identifiers } = checkProperties(fields, 'connect');
    if (identifiers.has(AUTHENTICATION_DATA) && !identifiers.has(AUTHENTICATION_METHOD)) {
      throw protocolError('3.1.2.11.10: authentication data without a method');
    }
  }
  const clientIdLength = fields.text();
  if (clientIdLength === 0 && version === 3) {
    const rule = '3.1 of MQTT 3.1: the client id is empty';
    throw new RefusedPacket(CLIENT_ID_REJECTED, rule, { connack: connackOf(IDENTIFIER_REJECTED) });
  }
  let willProperties: UserProperties | undefined;
  if (has(WILL)) {
    if (version === 5) willProperties = checkProperties(fields, 'will').userProperties;
    fields.text();
    fields.binary();
  }
  if (has(USERNAME)) fields.text();
  if (has(PASSWORD)) fields.binary();
  fields.assertEnd();
  return willProperties;
}

function checkPublish(fields: FieldReader, version: number, { qos, dup }: PacketHeader): UserProperties | undefined {
  if (dup && qos === 0) throw malformed('MQTT-3.3.1-2: DUP is set for QoS 0');
  const topicLength = fields.topic('MQTT-3.3.2-2');
  if (qos > 0) checkPacketId(fields);
  const properties = version === 5 ? checkProperties(fields, 'publish') : undefined;
  if (properties?.identifiers.has(SUBSCRIPTION_IDENTIFIER))
    throw protocolError('MQTT-3.3.4-6: a subscription identifier, which only servers send with PUBLISH');
  if (topicLength === 0 && !properties?.identifiers.has(TOPIC_ALIAS))
    throw protocolError('MQTT-4.7.3-1: the topic is empty');
  fields.skipRest();
  return properties?.userProperties;
}

function checkAcknowledgement(fields: FieldReader, version: number): undefined {
  checkPacketId(fields);
  if (version === 5) checkReason(fields, 'acknowledgement');
}

function checkSubscribe(fields: FieldReader, version: number): undefined {
  checkPacketId(fields);
  if (version === 5) checkProperties(fields, 'subscribe');
  if (fields.isAtEnd) throw protocolError('MQTT-3.8.3-2: SUBSCRIBE has no filter');
  for (let count = 1; !fields.isAtEnd; count += 1) {
    readFilter(fields, count);
    const options = fields.byte();
    if ((options & 3) === 3) throw protocolError('3.8.3.1: the QoS is 3');
    if ((options & SUBSCRIPTION_OPTIONS_RESERVED) !== 0) throw malformed('MQTT-3.8.3-5: reserved bits are set');
  }
}

function checkUnsubscribe(fields: FieldReader, version: number): undefined {
  checkPacketId(fields);
  if (version === 5) checkProperties(fields, 'unsubscribe');
  if (fields.isAtEnd) throw protocolError('MQTT-3.10.3-2: UNSUBSCRIBE has no filter');
  for (let count = 1; !fields.isAtEnd; count += 1) readFilter(fields, count);
}

function readFilter(fields: FieldReader, count: number): void {
  if (count > MAX_FILTERS) throw tooMany(`more than ${MAX_FILTERS} topic filters in one packet`);
  fields.text();
}

/** Reason code and properties, which may be omitted if they are 0 and none (MQTT 5, 3.4.2.1, 3.14.2.1). */
function checkReason(fields: FieldReader, owner: 'acknowledgement' | 'disconnect'): undefined {
  if (fields.isAtEnd) return;
  fields.byte();
  if (!fields.isAtEnd) checkProperties(fields, owner);
}

function checkPacketId(fields: FieldReader): void {
  if (fields.uint16() === 0) throw protocolError('MQTT-2.2.1-3: the packet identifier is 0');
}
