import type { Random } from '../random.ts';
import { anyText, topic } from './names.ts';
import type { Property } from './packets.ts';

/** Identifiers of MQTT 5, section 2.2.2.2. */
const PAYLOAD_FORMAT = 1;
const MESSAGE_EXPIRY = 2;
const CONTENT_TYPE = 3;
const RESPONSE_TOPIC = 8;
const CORRELATION_DATA = 9;
const SUBSCRIPTION_IDENTIFIER = 11;
const SESSION_EXPIRY = 17;
const AUTHENTICATION_METHOD = 21;
const AUTHENTICATION_DATA = 22;
const REQUEST_PROBLEM_INFORMATION = 23;
const WILL_DELAY = 24;
const REQUEST_RESPONSE_INFORMATION = 25;
const SERVER_REFERENCE = 28;
const REASON_STRING = 31;
const RECEIVE_MAXIMUM = 33;
const TOPIC_ALIAS_MAXIMUM = 34;
const TOPIC_ALIAS = 35;
const USER_PROPERTY = 38;
const MAXIMUM_PACKET_SIZE = 39;

const NUMBERS: Readonly<Record<number, readonly number[]>> = {
  [PAYLOAD_FORMAT]: [0, 1, 2, 255],
  [MESSAGE_EXPIRY]: [0, 1, 60, 0xffff_ffff],
  [SUBSCRIPTION_IDENTIFIER]: [0, 1, 2, 268_435_455],
  [SESSION_EXPIRY]: [0, 1, 1_000, 1_000, 0xffff_ffff],
  [REQUEST_PROBLEM_INFORMATION]: [0, 1, 2],
  [WILL_DELAY]: [0, 1, 1_000, 0xffff_ffff],
  [REQUEST_RESPONSE_INFORMATION]: [0, 1, 2],
  [RECEIVE_MAXIMUM]: [0, 1, 2, 65_535],
  [TOPIC_ALIAS_MAXIMUM]: [0, 1, 10, 65_535],
  [TOPIC_ALIAS]: [0, 1, 2, 10, 11, 65_535],
  [MAXIMUM_PACKET_SIZE]: [0, 1, 20, 100, 1_000_000, 0xffff_ffff],
};

const PUBLISH = [
  PAYLOAD_FORMAT,
  MESSAGE_EXPIRY,
  CONTENT_TYPE,
  RESPONSE_TOPIC,
  CORRELATION_DATA,
  TOPIC_ALIAS,
  USER_PROPERTY,
];
const KINDS = {
  connect: [
    SESSION_EXPIRY,
    SESSION_EXPIRY,
    RECEIVE_MAXIMUM,
    MAXIMUM_PACKET_SIZE,
    TOPIC_ALIAS_MAXIMUM,
    REQUEST_PROBLEM_INFORMATION,
    REQUEST_RESPONSE_INFORMATION,
    USER_PROPERTY,
  ],
  will: [WILL_DELAY, PAYLOAD_FORMAT, MESSAGE_EXPIRY, CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION_DATA, USER_PROPERTY],
  publish: PUBLISH,
  subscribe: [SUBSCRIPTION_IDENTIFIER, USER_PROPERTY],
  unsubscribe: [USER_PROPERTY],
  acknowledgement: [REASON_STRING, USER_PROPERTY],
  disconnect: [SESSION_EXPIRY, REASON_STRING, SERVER_REFERENCE, USER_PROPERTY],
  auth: [AUTHENTICATION_METHOD, AUTHENTICATION_DATA, REASON_STRING, USER_PROPERTY],
};
export type PropertiesOf = keyof typeof KINDS;

const ALL = [...new Set([...Object.values(KINDS).flat(), 0, 18, 19, 26, 36, 37, 40, 41, 42, 127, 255])];

/** Properties of one packet: mostly allowed ones, sometimes duplicate, of other packets, unknown, or truncated. */
export function properties(random: Random, kind: PropertiesOf): readonly Property[] {
  const count = random.pick([0, 0, 0, 1, 1, 2, 3, 5]);
  return Array.from({ length: count }, () => property(random, random.pick(random.chance(0.93) ? KINDS[kind] : ALL)));
}

function property(random: Random, id: number): Property {
  const numbers = NUMBERS[id];
  const value = numbers
    ? random.pick(numbers)
    : id === USER_PROPERTY
      ? ([anyText(random), anyText(random)] as const)
      : id === RESPONSE_TOPIC
        ? topic(random)
        : anyText(random);
  return random.chance(0.04)
    ? { id, value, hex: random.pick(['', '00', '0001', 'ffff', 'ffffffff', 'ffff61']) }
    : { id, value };
}
