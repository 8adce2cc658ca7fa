import type { UserProperties } from '../../../protocol/mqtt/publish-properties.ts';
import type { FieldReader } from './field-reader.ts';
import { malformed, protocolError, RefusedPacket, TOPIC_ALIAS_INVALID, tooMany } from './refused-packet.ts';

/** What has properties. `acknowledgement`: PUBACK, PUBREC, PUBREL and PUBCOMP. */
type PropertyOwner = 'connect' | 'will' | 'publish' | 'acknowledgement' | 'subscribe' | 'unsubscribe' | 'disconnect';

interface PropertyRule {
  readonly owners: readonly PropertyOwner[];
  readonly read: (fields: FieldReader) => void;
}

const text = (fields: FieldReader): void => void fields.text();
const binary = (fields: FieldReader): void => void fields.binary();
const uint32 = (fields: FieldReader): void => void fields.uint32();
const uint16 = (fields: FieldReader): void => void fields.uint16();
const flag = (fields: FieldReader): void => {
  if (fields.byte() > 1) throw protocolError('2.2.2.2: the value of a property is neither 0 nor 1');
};
const notZero = (value: number): void => {
  if (value === 0) throw protocolError('2.2.2.2: the value of a property must not be 0');
};
/** [MQTT-3.3.2-8] Beyond the Topic Alias Maximum aedes refuses an alias. */
const alias = (fields: FieldReader): void => {
  if (fields.uint16() === 0) throw new RefusedPacket(TOPIC_ALIAS_INVALID, 'MQTT-3.3.2-8: the topic alias is 0');
};
const MESSAGE: readonly PropertyOwner[] = ['publish', 'will'];
const USER_PROPERTY = 0x26;
/** User properties of one packet, or of a will. */
const MAX_USER_PROPERTIES = 1_000;

/** MQTT 5, table 2-4, for the packets of clients. */
const RULES = new Map<number, PropertyRule>([
  [0x01, { owners: MESSAGE, read: flag }],
  [0x02, { owners: MESSAGE, read: uint32 }],
  [0x03, { owners: MESSAGE, read: text }],
  [0x08, { owners: MESSAGE, read: (fields) => void fields.topic('MQTT-3.3.2-14') }],
  [0x09, { owners: MESSAGE, read: binary }],
  [0x0b, { owners: ['subscribe', 'publish'], read: (fields) => notZero(fields.variable()) }],
  [0x11, { owners: ['connect', 'disconnect'], read: uint32 }],
  [0x15, { owners: ['connect'], read: text }],
  [0x16, { owners: ['connect'], read: binary }],
  [0x17, { owners: ['connect'], read: flag }],
  [0x18, { owners: ['will'], read: uint32 }],
  [0x19, { owners: ['connect'], read: flag }],
  // 3.14.2.2.5: only servers send it, but table 2-4 allows it in DISCONNECT.
  [0x1c, { owners: ['disconnect'], read: text }],
  [0x1f, { owners: ['acknowledgement', 'disconnect'], read: text }],
  [0x21, { owners: ['connect'], read: (fields) => notZero(fields.uint16()) }],
  [0x22, { owners: ['connect'], read: uint16 }],
  [0x23, { owners: ['publish'], read: alias }],
  [0x27, { owners: ['connect'], read: (fields) => notZero(fields.uint32()) }],
]);

interface CheckedProperties {
  /** The identifiers of all properties except user properties. */
  readonly identifiers: ReadonlySet<number>;
  /** Of a message, in order [MQTT-3.3.2-18]. `undefined` if there are none. */
  readonly userProperties: UserProperties | undefined;
}

/** Reads the properties of MQTT 5 (2.2.2). */
export function checkProperties(fields: FieldReader, owner: PropertyOwner): CheckedProperties {
  const length = fields.variable();
  if (length === 0) return NONE;
  const seen = new Set<number>();
  let userProperties: [string, string][] | undefined;
  let count = 0;
  fields.part(length, () => {
    const identifier = fields.variable();
    if (identifier === USER_PROPERTY) {
      count += 1;
      if (count > MAX_USER_PROPERTIES) throw tooMany(`more than ${MAX_USER_PROPERTIES} user properties in one packet`);
      if (!MESSAGE.includes(owner)) {
        fields.text();
        fields.text();
      } else {
        userProperties ??= [];
        userProperties.push([fields.string(), fields.string()]);
      }
      return;
    }
    const rule = RULES.get(identifier);
    if (!rule?.owners.includes(owner)) throw malformed('2.2.2.2: a property is not allowed in the packet');
    if (seen.has(identifier)) throw protocolError('2.2.2.2: a property occurs twice');
    seen.add(identifier);
    rule.read(fields);
  });
  return { identifiers: seen, userProperties };
}

const NONE: CheckedProperties = { identifiers: new Set(), userProperties: undefined };
