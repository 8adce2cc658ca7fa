import { once } from 'node:events';
import { createConnection } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sinceVersion, startMosquitto } from '../../support/mosquitto.ts';
import { ADMINISTRATOR, useTestBroker } from './embedded.ts';
import { packet, properties, text } from './wire.ts';

/**
 * Packets that MQTT forbids, each with one that it allows, sent to the embedded broker and to Mosquitto. A row
 * is named by statements of MQTT 5, or of 3.1.1 for its packets.
 */

type Version = 3 | 4 | 5;

const hex = (value: string) => Buffer.from(value.replaceAll(' ', ''), 'hex');
const NONE = Buffer.of(0);
const ID = Buffer.of(0, 9);
const NO_ID = Buffer.of(0, 0);
const QOS_0 = Buffer.of(0);
const USER_PROPERTY = Buffer.concat([hex('26'), text('name'), text('value')]);

interface ConnectFields {
  readonly name?: string;
  readonly level?: number;
  /** Connect flags that differ from user name, password and clean start. */
  readonly flags?: number;
  readonly properties?: Buffer;
  readonly clientId?: string | Buffer;
  readonly will?: Buffer;
  readonly username?: Buffer;
  readonly password?: Buffer;
  readonly end?: Buffer;
}

let clients = 0;
function connectPacket(version: Version, fields: ConnectFields = {}): Buffer {
  clients += 1;
  const {
    name = version === 3 ? 'MQIsdp' : 'MQTT',
    level = version,
    flags = 0,
    clientId = `client-${clients}`,
  } = fields;
  const empty = Buffer.alloc(0);
  return packet(
    0x10,
    text(name),
    Buffer.of(level, 0xc2 ^ flags, 0, 60),
    version === 5 ? (fields.properties ?? NONE) : empty,
    text(clientId),
    fields.will ?? empty,
    fields.username ?? text(ADMINISTRATOR.username),
    fields.password ?? text(ADMINISTRATOR.password),
    fields.end ?? empty,
  );
}

const PINGREQ = hex('c0 00');
/** The first bytes of packets that end an exchange. */
const PINGRESP = 0xd0;
const DISCONNECT = 0xe0;

/** How the broker answered: it goes on, it has closed the connection, or it has said why before. */
type Answer = 'SERVED' | 'CLOSED' | number;

/** Sends packets and then PINGREQ. With `isConnect` the first packet is a CONNECT, and the answer its CONNACK. */
async function exchange(port: number, sent: readonly Buffer[], isConnect: boolean): Promise<Answer> {
  const socket = createConnection(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  const [first, ...others] = sent;
  let received = Buffer.alloc(0);
  const answer = new Promise<Answer>((resolve) => {
    socket.on('close', () => resolve('CLOSED'));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      for (;;) {
        const length = 2 + (received[1] ?? 0xff);
        if (received.length < length) return;
        const [type = 0, , , code = 0] = received;
        const reason = received[2] ?? 0;
        received = received.subarray(length);
        if (type === 0x20 && code !== 0) resolve(code);
        else if (type === 0x20 && isConnect) resolve('SERVED');
        else if (type === 0x20) socket.write(Buffer.concat([...others, PINGREQ]));
        else if (type === DISCONNECT) resolve(reason);
        else if (type === PINGRESP) resolve('SERVED');
      }
    });
  });
  await once(socket, 'connect');
  socket.write(first ?? PINGREQ);
  const answered = await answer;
  socket.destroy();
  return answered;
}

interface Row {
  readonly rule: string;
  readonly versions: readonly Version[];
  readonly refused: (version: Version) => Buffer;
  readonly allowed: (version: Version) => Buffer;
  /** Reason code of MQTT 5. */
  readonly reason: number;
  /** Why Mosquitto accepts what is refused here. */
  readonly mosquittoAccepts?: string;
  /** The versions in which Mosquitto accepts it. Default: those of the row. */
  readonly acceptedVersions?: readonly Version[];
}

const ALL = [3, 4, 5] as const;
const FIVE = [5] as const;
const MALFORMED = 0x81;
const PROTOCOL_ERROR = 0x82;

/** The properties of a packet: none in MQTT 3. */
const none = (version: Version) => (version === 5 ? NONE : Buffer.alloc(0));
const publish = (topic: string | Buffer, version: Version, payload = 'text') =>
  packet(0x30, text(topic), none(version), Buffer.from(payload));
const withProperties = (...parts: readonly Buffer[]) =>
  packet(0x30, text('rules/a'), properties(...parts), Buffer.from('text'));
const subscribe = (filter: string | Buffer, version: Version, options = QOS_0) =>
  packet(0x82, ID, none(version), text(filter), options);
const unsubscribe = (filter: string | Buffer, version: Version) => packet(0xa2, ID, none(version), text(filter));

const TEXTS = {
  'MQTT-1.5.4-1: half a surrogate pair': hex('61 eda080'),
  'MQTT-1.5.4-1: a character that is cut off': hex('61 f09f98'),
  'MQTT-1.5.4-1: a form that is too long': hex('61 c0af'),
  'MQTT-1.5.4-2: U+0000': hex('61 00 62'),
  '1.5.4: a control character': hex('61 07 62'),
  '1.5.4: a control character of two bytes': hex('61 c285 62'),
  '1.5.4: a noncharacter': hex('61 efbfbf'),
};
/** The longest and shortest code points, U+FEFF [MQTT-1.5.4-3], and U+FFFD itself. */
const VALID_TEXT = 'aé€😀\ufeff\ufffd';

const textRows = Object.entries(TEXTS).flatMap(([rule, bad]): Row[] => [
  {
    rule: `${rule} in a topic`,
    versions: ALL,
    refused: (version) => publish(bad, version),
    allowed: (version) => publish(VALID_TEXT, version),
    reason: MALFORMED,
  },
  {
    rule: `${rule} in a filter of SUBSCRIBE`,
    versions: ALL,
    refused: (version) => subscribe(bad, version),
    allowed: (version) => subscribe(VALID_TEXT, version),
    reason: MALFORMED,
  },
  {
    rule: `${rule} in a filter of UNSUBSCRIBE`,
    versions: ALL,
    refused: (version) => unsubscribe(bad, version),
    allowed: (version) => unsubscribe(VALID_TEXT, version),
    reason: MALFORMED,
  },
  {
    rule: `${rule} in a user property`,
    versions: FIVE,
    refused: () => withProperties(Buffer.concat([hex('26'), text('name'), text(bad)])),
    allowed: () => withProperties(Buffer.concat([hex('26'), text('name'), text(VALID_TEXT)])),
    reason: MALFORMED,
  },
]);

/** Complete properties of MQTT 5 by identifier, and whether a client may send them with PUBLISH. */
const PROPERTIES: readonly (readonly [name: string, bytes: Buffer, isOfPublish: boolean])[] = [
  ['Payload Format Indicator', hex('01 01'), true],
  ['Message Expiry Interval', hex('02 00000009'), true],
  ['Content Type', Buffer.concat([hex('03'), text('a/b')]), true],
  ['Response Topic', Buffer.concat([hex('08'), text('a/b')]), true],
  ['Correlation Data', Buffer.concat([hex('09'), text('a')]), true],
  ['Subscription Identifier', hex('0b 01'), false],
  ['Session Expiry Interval', hex('11 00000009'), false],
  ['Assigned Client Identifier', Buffer.concat([hex('12'), text('a')]), false],
  ['Server Keep Alive', hex('13 0009'), false],
  ['Authentication Method', Buffer.concat([hex('15'), text('a')]), false],
  ['Authentication Data', Buffer.concat([hex('16'), text('a')]), false],
  ['Request Problem Information', hex('17 01'), false],
  ['Will Delay Interval', hex('18 00000009'), false],
  ['Request Response Information', hex('19 01'), false],
  ['Response Information', Buffer.concat([hex('1a'), text('a')]), false],
  ['Server Reference', Buffer.concat([hex('1c'), text('a')]), false],
  ['Reason String', Buffer.concat([hex('1f'), text('a')]), false],
  ['Receive Maximum', hex('21 0009'), false],
  ['Topic Alias Maximum', hex('22 0009'), false],
  ['Topic Alias', hex('23 0001'), true],
  ['Maximum QoS', hex('24 01'), false],
  ['Retain Available', hex('25 01'), false],
  ['Maximum Packet Size', hex('27 00000999'), false],
  ['Wildcard Subscription Available', hex('28 01'), false],
  ['Subscription Identifiers Available', hex('29 01'), false],
  ['Shared Subscription Available', hex('2a 01'), false],
];

const propertyRows = PROPERTIES.map(([name, bytes, isOfPublish]): Row => {
  if (!isOfPublish) {
    return {
      rule: `2.2.2.2: a PUBLISH with ${name}`,
      versions: FIVE,
      refused: () => withProperties(bytes),
      allowed: () => withProperties(USER_PROPERTY, USER_PROPERTY),
      ...(name === 'Subscription Identifier'
        ? { reason: PROTOCOL_ERROR, mosquittoAccepts: 'its bridges receive it with PUBLISH' }
        : { reason: MALFORMED }),
    };
  }
  return {
    rule: `2.2.2.2: a PUBLISH with ${name} twice`,
    versions: FIVE,
    refused: () => withProperties(bytes, USER_PROPERTY, bytes),
    allowed: () => withProperties(bytes, USER_PROPERTY),
    reason: PROTOCOL_ERROR,
  };
});

const ROWS: readonly Row[] = [
  ...textRows,
  ...propertyRows,
  {
    rule: '2.2.2.2: a property that MQTT does not have',
    versions: FIVE,
    refused: () => withProperties(hex('7f 01')),
    allowed: () => withProperties(USER_PROPERTY),
    reason: MALFORMED,
  },
  {
    rule: '2.2.2.1: properties that are longer than the packet',
    versions: FIVE,
    refused: () => packet(0x30, text('rules/a'), hex('7f 01 01')),
    allowed: () => packet(0x30, text('rules/a'), hex('02 01 01')),
    reason: MALFORMED,
  },
  {
    rule: '3.3.2.3.2: a Payload Format Indicator of 2',
    versions: FIVE,
    refused: () => withProperties(hex('01 02')),
    allowed: () => withProperties(hex('01 00')),
    reason: PROTOCOL_ERROR,
    mosquittoAccepts: 'it passes the value on',
  },
  {
    rule: 'MQTT-3.3.2-14: a Response Topic with a wildcard',
    versions: FIVE,
    refused: () => withProperties(Buffer.concat([hex('08'), text('a/+')])),
    allowed: () => withProperties(Buffer.concat([hex('08'), text('a/b')])),
    reason: MALFORMED,
    mosquittoAccepts: 'it does not look at the Response Topic',
  },
  {
    rule: 'MQTT-3.1.0-2: a second CONNECT',
    versions: ALL,
    refused: (version) => connectPacket(version),
    allowed: () => PINGREQ,
    reason: PROTOCOL_ERROR,
  },
  {
    // MQTT 5, 3.14.2.1: DISCONNECT may not have the reason code 0x84 of CONNACK.
    rule: 'MQTT-3.1.0-2: a second CONNECT of an unknown version',
    versions: ALL,
    refused: (version) => connectPacket(version, { level: 81 }),
    allowed: () => PINGREQ,
    reason: PROTOCOL_ERROR,
  },
  {
    rule: 'MQTT-3.3.2-8: a Topic Alias of 0',
    versions: FIVE,
    refused: () => withProperties(hex('23 0000')),
    allowed: () => withProperties(hex('23 0001')),
    reason: 0x94,
  },
  {
    rule: '3.3.2.3.4: a Topic Alias that was not set',
    versions: FIVE,
    refused: () => packet(0x30, text(''), properties(hex('23 0002'))),
    allowed: () => Buffer.concat([withProperties(hex('23 0002')), packet(0x30, text(''), properties(hex('23 0002')))]),
    reason: PROTOCOL_ERROR,
  },
  {
    rule: 'MQTT-4.7.3-1: a PUBLISH without a topic',
    versions: ALL,
    refused: (version) => publish('', version),
    allowed: (version) => publish('/', version),
    reason: PROTOCOL_ERROR,
  },
  {
    rule: 'MQTT-3.3.2-2: a topic with a wildcard',
    versions: ALL,
    refused: (version) => publish('rules/#', version),
    allowed: (version) => publish('rules/$', version),
    reason: MALFORMED,
  },
  {
    rule: 'MQTT-3.3.1-2: DUP with QoS 0',
    versions: ALL,
    refused: (version) => packet(0x38, text('rules/a'), none(version)),
    allowed: (version) => packet(0x3a, text('rules/a'), ID, none(version)),
    reason: MALFORMED,
    mosquittoAccepts: 'it ignores the flag',
  },
  {
    rule: 'MQTT-3.3.1-4: QoS 3',
    versions: ALL,
    refused: (version) => packet(0x36, text('rules/a'), ID, none(version)),
    allowed: (version) => packet(0x34, text('rules/a'), ID, none(version)),
    reason: MALFORMED,
  },
  {
    rule: 'MQTT-2.2.1-3: PUBLISH with the packet identifier 0',
    versions: ALL,
    refused: (version) => packet(0x32, text('rules/a'), NO_ID, none(version)),
    allowed: (version) => packet(0x32, text('rules/a'), ID, none(version)),
    reason: PROTOCOL_ERROR,
  },
  {
    rule: 'MQTT-2.2.1-3: SUBSCRIBE with the packet identifier 0',
    versions: ALL,
    refused: (version) => packet(0x82, NO_ID, none(version), text('rules/a'), QOS_0),
    allowed: (version) => subscribe('rules/a', version),
    reason: PROTOCOL_ERROR,
  },
  {
    rule: 'MQTT-2.2.1-3: UNSUBSCRIBE with the packet identifier 0',
    versions: ALL,
    refused: (version) => packet(0xa2, NO_ID, none(version), text('rules/a')),
    allowed: (version) => unsubscribe('rules/a', version),
    reason: PROTOCOL_ERROR,
  },
  {
    rule: 'MQTT-2.2.1-3: PUBACK with the packet identifier 0',
    versions: ALL,
    refused: () => packet(0x40, NO_ID),
    allowed: () => packet(0x40, ID),
    reason: PROTOCOL_ERROR,
  },
  {
    rule: '3.8.2.1.2: a Subscription Identifier twice in SUBSCRIBE',
    versions: FIVE,
    refused: () => packet(0x82, ID, properties(hex('0b 01 0b 01')), text('rules/a'), QOS_0),
    allowed: () => packet(0x82, ID, properties(hex('0b 01')), text('rules/a'), QOS_0),
    reason: PROTOCOL_ERROR,
  },
  {
    rule: 'MQTT-3.8.3-2: SUBSCRIBE without a filter',
    versions: ALL,
    refused: (version) => packet(0x82, ID, none(version)),
    allowed: (version) => subscribe('rules/a', version),
    reason: PROTOCOL_ERROR,
    mosquittoAccepts: 'MQTT 3.1 does not ask for one',
    acceptedVersions: [3],
  },
  {
    rule: 'MQTT-3.8.3-5: reserved bits of the subscription options',
    versions: ALL,
    refused: (version) => subscribe('rules/a', version, Buffer.of(0xc0)),
    allowed: (version) => subscribe('rules/a', version, Buffer.of(2)),
    reason: MALFORMED,
  },
  {
    rule: '3.8.3.1: a subscription with QoS 3',
    versions: ALL,
    refused: (version) => subscribe('rules/a', version, Buffer.of(3)),
    allowed: (version) => subscribe('rules/a', version, Buffer.of(1)),
    reason: PROTOCOL_ERROR,
  },
  {
    rule: 'MQTT-3.10.3-2: UNSUBSCRIBE without a filter',
    versions: ALL,
    refused: (version) => packet(0xa2, ID, none(version)),
    allowed: (version) => unsubscribe('rules/a', version),
    reason: PROTOCOL_ERROR,
    mosquittoAccepts: 'MQTT 3.1 does not ask for one',
    acceptedVersions: [3],
  },
  {
    rule: 'MQTT-4.7.1-1: the filter a#',
    versions: ALL,
    refused: (version) => subscribe('a#', version),
    allowed: (version) => subscribe('a/#', version),
    reason: 0x8f,
  },
  {
    rule: '2.1.4: an UNSUBSCRIBE that ends in a filter',
    versions: ALL,
    refused: (version) => packet(0xa2, ID, none(version), hex('0009 61')),
    allowed: (version) => unsubscribe('a', version),
    reason: MALFORMED,
  },
  {
    rule: '2.1.4: a PUBACK of one byte',
    versions: ALL,
    refused: () => packet(0x40, Buffer.of(9)),
    allowed: () => packet(0x40, ID),
    reason: MALFORMED,
  },
  {
    rule: '2.1.4: a PUBACK with bytes behind its fields',
    versions: FIVE,
    refused: () => packet(0x40, ID, hex('00 00 00')),
    allowed: () => packet(0x40, ID, hex('00 00')),
    reason: MALFORMED,
    mosquittoAccepts: 'it ignores bytes behind the fields',
  },
  {
    rule: '2.1.2: a packet that only servers send',
    versions: ALL,
    refused: (version) => packet(0x90, ID, none(version), QOS_0),
    allowed: () => PINGREQ,
    reason: PROTOCOL_ERROR,
    mosquittoAccepts: 'its bridges receive SUBACK on the same path',
  },
  {
    rule: 'MQTT-4.12.0-7: AUTH without an authentication method in CONNECT',
    versions: ALL,
    refused: () => packet(0xf0, hex('18 00')),
    allowed: () => PINGREQ,
    reason: PROTOCOL_ERROR,
  },
  {
    rule: 'MQTT-3.12.4-1: a PINGREQ with content',
    versions: ALL,
    refused: () => packet(0xc0, Buffer.of(1)),
    allowed: () => PINGREQ,
    reason: MALFORMED,
    mosquittoAccepts: 'it ignores bytes behind the fields',
  },
];

const will = (topic: string, version: Version) => Buffer.concat([none(version), text(topic), text('gone')]);
const CONNECT_ROWS: readonly (readonly [
  rule: string,
  versions: readonly Version[],
  refused: (version: Version) => ConnectFields,
  allowed: (version: Version) => ConnectFields,
  answer: Answer,
])[] = [
  ['MQTT-3.1.2-2 of 3.1.1: protocol version 2', [4], () => ({ level: 2 }), () => ({}), 1],
  ['MQTT-3.1.2-2: protocol version 6', [5], () => ({ level: 6 }), () => ({}), 0x84],
  [
    '3.1.2.11.9: an authentication method',
    [5],
    () => ({ properties: properties(hex('15'), text('SCRAM-SHA-1')) }),
    () => ({ properties: properties(hex('11 00000001')) }),
    0x8c,
  ],
  ['MQTT-3.1.2-2 of 3.1.1: protocol version 4 of MQIsdp', [3], () => ({ level: 4 }), () => ({}), 1],
  ['MQTT-3.1.2-1: another protocol name', [4], () => ({ name: 'MQTZ' }), () => ({ name: 'MQTT' }), 'CLOSED'],
  ['MQTT-3.1.2-3: the reserved connect flag', [4], () => ({ flags: 1 }), () => ({}), 'CLOSED'],
  ['MQTT-3.1.2-3: the reserved connect flag', [5], () => ({ flags: 1 }), () => ({}), MALFORMED],
  ['MQTT-3.1.2-11: QoS of a will that is missing', [4], () => ({ flags: 8 }), () => ({}), 'CLOSED'],
  ['MQTT-3.1.2-11: RETAIN of a will that is missing', [5], () => ({ flags: 0x20 }), () => ({}), MALFORMED],
  [
    'MQTT-3.1.2-12: a will with QoS 3',
    [5],
    (version) => ({ flags: 0x1c, will: will('rules/w', version) }),
    (version) => ({ flags: 0x14, will: will('rules/w', version) }),
    MALFORMED,
  ],
  [
    'MQTT-3.1.2-22 of 3.1.1: a password without a user name',
    [4],
    () => ({ flags: 0x80, username: Buffer.alloc(0) }),
    () => ({}),
    'CLOSED',
  ],
  ['2.1.4: bytes behind the fields of CONNECT', [4], () => ({ end: text('more') }), () => ({}), 'CLOSED'],
  ['2.1.4: bytes behind the fields of CONNECT', [5], () => ({ end: text('more') }), () => ({}), MALFORMED],
  ['MQTT-1.5.4-2: U+0000 in a client id', [5], () => ({ clientId: 'a\0' }), () => ({ clientId: 'a😀' }), MALFORMED],
  ['MQTT-1.5.4-1: a user name that is not UTF-8', [5], () => ({ username: text(hex('ff')) }), () => ({}), MALFORMED],
  [
    '3.1.2.11.3: a Receive Maximum of 0',
    [5],
    () => ({ properties: properties(hex('21 0000')) }),
    () => ({ properties: properties(hex('21 0001')) }),
    PROTOCOL_ERROR,
  ],
  [
    '3.1.2.11.4: a Maximum Packet Size of 0',
    [5],
    () => ({ properties: properties(hex('27 00000000')) }),
    () => ({ properties: properties(hex('27 00000100')) }),
    PROTOCOL_ERROR,
  ],
  [
    '3.1.2.11.2: a Session Expiry Interval twice',
    [5],
    () => ({ properties: properties(hex('11 00000000 11 00000000')) }),
    () => ({ properties: properties(hex('11 00000000')) }),
    PROTOCOL_ERROR,
  ],
  [
    '2.2.2.2: a Topic Alias in CONNECT',
    [5],
    () => ({ properties: properties(hex('23 0001')) }),
    () => ({ properties: properties(hex('22 0001')) }),
    MALFORMED,
  ],
  [
    '2.2.2.2: a Receive Maximum in a will',
    [5],
    () => ({ flags: 4, will: Buffer.concat([properties(hex('21 0001')), text('rules/w'), text('gone')]) }),
    () => ({ flags: 4, will: Buffer.concat([properties(hex('18 00000001')), text('rules/w'), text('gone')]) }),
    MALFORMED,
  ],
  ['MQTT 3.1: an empty client id', [3], () => ({ clientId: '' }), () => ({}), 2],
];

const embedded = useTestBroker();

/** The first packets of a row, and whether its first one is the CONNECT in question. */
const exchangesOf = (version: Version) => [
  ...ROWS.filter(({ versions }) => versions.includes(version)).map((row) => ({
    rule: row.rule,
    refused: () => [connectPacket(version), row.refused(version)],
    allowed: () => [connectPacket(version), row.allowed(version)],
    isConnect: false,
    isAccepted: row.mosquittoAccepts !== undefined && (row.acceptedVersions ?? row.versions).includes(version),
  })),
  ...CONNECT_ROWS.filter(([, versions]) => versions.includes(version)).map(([rule, , refused, allowed]) => ({
    rule,
    refused: () => [connectPacket(version, refused(version))],
    allowed: () => [connectPacket(version, allowed(version))],
    isConnect: true,
    isAccepted: false,
  })),
];

describe.each(ROWS)('$rule', ({ versions, refused, allowed, reason }) => {
  test.each(versions)('in version %i', async (version) => {
    const { mqttPort } = embedded();
    const send = (sent: Buffer) => exchange(mqttPort, [connectPacket(version), sent], false);
    expect(await send(allowed(version))).toBe('SERVED');
    expect(await send(refused(version))).toBe(version === 5 ? reason : 'CLOSED');
  });
});

for (const [rule, versions, refused, allowed, answer] of CONNECT_ROWS) {
  test.each(versions)(`${rule}, in version %i`, async (version) => {
    const { mqttPort } = embedded();
    const send = (fields: ConnectFields) => exchange(mqttPort, [connectPacket(version, fields)], true);
    expect(await send(allowed(version))).toBe('SERVED');
    expect(await send(refused(version))).toBe(answer);
  });
}

test.each(ALL)('Mosquitto refuses and allows the same, unless a row says why not (version %i)', async (version) => {
  const { port } = await startMosquitto();
  const accepted: string[] = [];
  const refusedAllowed: string[] = [];
  for (const { rule, refused, allowed, isConnect } of exchangesOf(version)) {
    if ((await exchange(port, refused(), isConnect)) === 'SERVED') accepted.push(rule);
    if ((await exchange(port, allowed(), isConnect)) !== 'SERVED') refusedAllowed.push(rule);
  }
  const rows = exchangesOf(version).filter(({ isAccepted }) => isAccepted);
  const rules = rows.map(({ rule }) => rule);
  const those = (pattern: RegExp) => rules.filter((rule) => pattern.test(rule));
  // Newer versions accept less.
  const expected = sinceVersion({
    '2.0.0': rules,
    '2.0.22': those(/ without a filter$| with Subscription Identifier$/),
    '2.1.0': those(/ without a filter$/),
  });
  expect(accepted).toEqual(expected);
  expect(refusedAllowed).toEqual([]);
});

test('3.1.2.11.10: authentication data without a method, which Mosquitto ignores', async () => {
  const sent = [connectPacket(5, { properties: properties(hex('16'), text('data')) })];
  expect(await exchange(embedded().mqttPort, sent, true)).toBe(PROTOCOL_ERROR);
});

test('MQTT 3.1 does not use the reserved connect flag', async () => {
  const sent = [connectPacket(3, { flags: 1 })];
  expect(await exchange(embedded().mqttPort, sent, true)).toBe('SERVED');
});
