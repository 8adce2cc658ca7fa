import { type RawMessage, uint16 } from './poison-broker.ts';

const LONGEST = 65_535;
const text = (value: string | Buffer): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint16(bytes.length), bytes]);
};
const NO_UTF8 = Buffer.alloc(LONGEST, 0xff);

/** What stands in the place of a text that should be valid UTF-8 without U+0000. */
const TEXTS: Readonly<Record<string, Buffer>> = {
  'U+0000': Buffer.from('a\0b'),
  'no UTF-8': Buffer.from([0x61, 0xff, 0xfe]),
  'half a surrogate pair': Buffer.from([0xed, 0xa0, 0x80]),
  'the longest text': Buffer.alloc(LONGEST, 'x'),
  'the longest text that is no UTF-8': NO_UTF8,
  'controls and noncharacters': Buffer.from('\u0001\u007f\ufffe\u{10ffff}'),
  'a name of JavaScript': Buffer.from('__proto__'),
  'no text': Buffer.alloc(0),
};

/** Topics that are no texts of MQTT, or unusual ones. */
const TOPICS: Readonly<Record<string, Buffer>> = {
  ...Object.fromEntries(Object.entries(TEXTS).filter(([, bytes]) => bytes.length > 0)),
  'empty levels': Buffer.from('//a///'),
  'a slash': Buffer.from('/'),
  '65,535 levels': Buffer.alloc(LONGEST, '/'),
  'names of JavaScript': Buffer.from('constructor/toString/__proto__/hasOwnProperty'),
};

const user = (name: string | Buffer, value: string | Buffer): Buffer =>
  Buffer.concat([Buffer.of(0x26), text(name), text(value)]);

const PROPERTIES: Readonly<Record<string, Buffer>> = {
  ...Object.fromEntries(
    Object.entries(TEXTS).flatMap(([what, bytes]) => [
      [`a name of a user property with ${what}`, user(bytes, 'value')],
      [`a value of a user property with ${what}`, user('name', bytes)],
      [`a content type with ${what}`, Buffer.concat([Buffer.of(0x03), text(bytes)])],
      [`a response topic with ${what}`, Buffer.concat([Buffer.of(0x08), text(bytes)])],
      [`a path of bridges with ${what}`, user('brokergraph-path', bytes)],
      [`an id of a message with ${what}`, user('brokergraph-message-id', bytes)],
    ]),
  ),
  'correlation data of 65,535 bytes': Buffer.concat([Buffer.of(0x09), text(NO_UTF8)]),
  '1,000 equal user properties': Buffer.concat(Array.from({ length: 1_000 }, () => user('name', 'value'))),
  'an expiry of 0 s': Buffer.from('0200000000', 'hex'),
  'an expiry of 4,294,967,295 s': Buffer.from('02ffffffff', 'hex'),
  'a payload format that does not exist': Buffer.from('0107', 'hex'),
  'an expiry and two content types': Buffer.concat([
    Buffer.from('0200000000', 'hex'),
    Buffer.from('03000161', 'hex'),
    Buffer.from('03000162', 'hex'),
  ]),
};

const deep = (open: string, close: string, levels: number) => `${open.repeat(levels)}0${close.repeat(levels)}`;

/** Values for `value` in a message of JSON, as texts. */
const VALUES: readonly string[] = [
  deep('[', ']', 90_000),
  deep('{"a":', '}', 40_000),
  deep('[', ']', 999),
  deep('[', ']', 1_001),
  '1e400',
  '-0',
  '-1e-400',
  `1e${'9'.repeat(1_000)}`,
  '9'.repeat(100_000),
  '9007199254740993',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u0000"',
  '"-000001-12-31T00:00:00Z"',
  '"+010000-01-01T00:00:00Z"',
  '"+275761-01-01T00:00:00Z"',
  '8640000000000001',
  '-62198755200001',
  '{"__proto__":1,"constructor":2,"toString":3}',
  '{"toJSON":1}',
  '""',
  'null',
  'true',
  '[]',
  '{}',
  `"${'x'.repeat(300_000)}"`,
  `"${'\\u0001'.repeat(50_000)}"`,
  `[${'{},'.repeat(60_000)}0]`,
  `{${Array.from({ length: 20_000 }, (_, at) => `"k${at}":0`)}}`,
];

/** Payloads that are no JSON object, or no JSON. */
export const PAYLOADS: readonly Buffer[] = [
  ...[
    '',
    '1',
    '"text"',
    'null',
    '[]',
    '[{"value":1}]',
    '{',
    '{"value":1}{',
    '\ufeff{"value":1}',
    '{"value":1,"value":2}',
  ],
  ...['{"__proto__":{"value":1}}', '{"constructor":null,"toString":1}', '\0', '\u2028'],
]
  .map((one) => Buffer.from(one))
  .concat(Buffer.from([0xff, 0xfe]), Buffer.from([0xed, 0xa0, 0x80]), Buffer.alloc(1_000_000, 0x7b), NO_UTF8);

interface Poison extends RawMessage {
  readonly what: string;
}

const TOPIC = Buffer.from('poison/plain');
export const ordinaryPayload = (number: number): Buffer => Buffer.from(`{"value":${number}}`);

/** Messages of which each may stop what reads it. */
export const POISONS: readonly Poison[] = [
  ...Object.entries(TOPICS).map(([what, topic]) => ({
    what: `a topic with ${what}`,
    topic,
    payload: ordinaryPayload(-1),
  })),
  ...Object.entries(PROPERTIES).map(([what, properties], nth) => ({
    what,
    topic: TOPIC,
    properties,
    payload: ordinaryPayload(-2),
    retain: nth % 2 === 1,
    dup: nth % 3 === 1,
  })),
  ...VALUES.map((value) => ({
    what: `a value ${value.slice(0, 40)} of ${value.length} characters`,
    topic: TOPIC,
    payload: Buffer.from(`{"value":${value}}`),
  })),
  ...PAYLOADS.map((payload) => ({
    what: `a payload ${payload.toString('hex', 0, 20)} of ${payload.length} bytes`,
    topic: TOPIC,
    payload,
  })),
];
