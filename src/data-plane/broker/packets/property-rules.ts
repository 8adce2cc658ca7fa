import type { FieldReader } from './field-reader.ts';
import type { PacketProperties } from './incoming-packet.ts';
import { malformed, protocolError, RefusedPacket, TOPIC_ALIAS_INVALID, tooMany } from './refused-packet.ts';

/** What has properties. `acknowledgement`: PUBACK, PUBREC, PUBREL and PUBCOMP. */
type PropertyOwner = 'connect' | 'will' | 'publish' | 'acknowledgement' | 'subscribe' | 'unsubscribe' | 'disconnect';

interface PropertyRule {
  /** `null`: the broker does not use the property. */
  readonly name: keyof PacketProperties | null;
  readonly owners: readonly PropertyOwner[];
  readonly read: (fields: FieldReader) => unknown;
}

const text = (fields: FieldReader): string => fields.text();
const binary = (fields: FieldReader): Buffer => fields.binary();
const uint32 = (fields: FieldReader): number => fields.uint32();
const uint16 = (fields: FieldReader): number => fields.uint16();
const flag = (fields: FieldReader): boolean => {
  const value = fields.byte();
  if (value > 1) throw protocolError('2.2.2.2: the value of a property is neither 0 nor 1');
  return value === 1;
};
const notZero = (value: number): number => {
  if (value === 0) throw protocolError('2.2.2.2: the value of a property must not be 0');
  return value;
};
/** [MQTT-3.3.2-8] */
const alias = (fields: FieldReader): number => {
  const value = fields.uint16();
  if (value >= 1 && value <= TOPIC_ALIASES) return value;
  throw new RefusedPacket(TOPIC_ALIAS_INVALID, `MQTT-3.3.2-8: the topic alias is ${value}`);
};
/** Topic Alias Maximum, as in Mosquitto. */
export const TOPIC_ALIASES = 10;
const MESSAGE: readonly PropertyOwner[] = ['publish', 'will'];
const CONNECT: readonly PropertyOwner[] = ['connect'];
const USER_PROPERTY = 0x26;
/** User properties of one packet, or of a will. */
const MAX_USER_PROPERTIES = 1_000;

/** MQTT 5, table 2-4, for the packets of clients. */
const RULES = new Map<number, PropertyRule>([
  [0x01, { name: 'payloadFormatIndicator', owners: MESSAGE, read: flag }],
  [0x02, { name: 'messageExpiryInterval', owners: MESSAGE, read: uint32 }],
  [0x03, { name: 'contentType', owners: MESSAGE, read: text }],
  [0x08, { name: 'responseTopic', owners: MESSAGE, read: (fields) => fields.topic('MQTT-3.3.2-14') }],
  [0x09, { name: 'correlationData', owners: MESSAGE, read: binary }],
  [
    0x0b,
    {
      name: 'subscriptionIdentifier',
      owners: ['subscribe', 'publish'],
      read: (fields) => notZero(fields.variable()),
    },
  ],
  [0x11, { name: 'sessionExpiryInterval', owners: ['connect', 'disconnect'], read: uint32 }],
  [0x15, { name: 'authenticationMethod', owners: CONNECT, read: text }],
  [0x16, { name: 'authenticationData', owners: CONNECT, read: binary }],
  [0x17, { name: 'requestProblemInformation', owners: CONNECT, read: flag }],
  [0x18, { name: 'willDelayInterval', owners: ['will'], read: uint32 }],
  // Request Response Information.
  [0x19, { name: null, owners: CONNECT, read: flag }],
  // Server Reference: only servers send it (3.14.2.2.5), but table 2-4 allows it in DISCONNECT.
  [0x1c, { name: null, owners: ['disconnect'], read: text }],
  // Reason String.
  [0x1f, { name: null, owners: ['acknowledgement', 'disconnect'], read: text }],
  [0x21, { name: 'receiveMaximum', owners: CONNECT, read: (fields) => notZero(fields.uint16()) }],
  // Topic Alias Maximum: the broker sends no aliases.
  [0x22, { name: null, owners: CONNECT, read: uint16 }],
  [0x23, { name: 'topicAlias', owners: ['publish'], read: alias }],
  [0x27, { name: 'maximumPacketSize', owners: CONNECT, read: (fields) => notZero(fields.uint32()) }],
]);

/** Reads the properties of MQTT 5 (2.2.2). User properties of a message are in order [MQTT-3.3.2-18]. */
export function readProperties(fields: FieldReader, owner: PropertyOwner): PacketProperties {
  const length = fields.variable();
  if (length === 0) return NO_PROPERTIES;
  const seen = new Set<number>();
  const properties: Record<string, unknown> = {};
  let userProperties: [string, string][] | undefined;
  let count = 0;
  fields.part(length, () => {
    const identifier = fields.variable();
    if (identifier === USER_PROPERTY) {
      count += 1;
      if (count > MAX_USER_PROPERTIES) throw tooMany(`more than ${MAX_USER_PROPERTIES} user properties in one packet`);
      const pair: [string, string] = [fields.text(), fields.text()];
      if (!MESSAGE.includes(owner)) return;
      userProperties ??= [];
      userProperties.push(pair);
      return;
    }
    const rule = RULES.get(identifier);
    if (!rule?.owners.includes(owner)) throw malformed('2.2.2.2: a property is not allowed in the packet');
    if (seen.has(identifier)) throw protocolError('2.2.2.2: a property occurs twice');
    seen.add(identifier);
    const value = rule.read(fields);
    if (rule.name !== null) properties[rule.name] = value;
  });
  if (userProperties) properties.userProperties = userProperties;
  return properties as PacketProperties;
}

export const NO_PROPERTIES: PacketProperties = Object.freeze({});
