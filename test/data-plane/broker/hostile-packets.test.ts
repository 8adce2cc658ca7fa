import { once } from 'node:events';
import { createConnection } from 'node:net';
import { parser as createParser, generate, type IConnectPacket, type IPublishPacket, type Packet } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { ADMINISTRATOR, connect, control, packetsOf, useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { publish } from './wire.ts';

/** What one connection sends ends at most that connection: the broker runs on, and reports what it caught. */

const DEEP = `${'a/'.repeat(200)}z`;
/** Names that every object inherits, or that are its prototype. */
const INHERITED = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
const VERSIONS = [4, 5] as const;

/** The states of the broker, and what it logged as an error. */
const states: string[] = [];
const errors: { readonly text: string; readonly stack?: string }[] = [];
const faults: string[] = [];
const broker = useTestBroker({
  log: {
    info: () => {},
    warn: () => {},
    error: (fields: object, text: string) => void errors.push({ ...fields, text }),
  },
  onState: (state) => void states.push(state),
  onFault: (kind) => void faults.push(kind),
});

/** The broker serves a client, and was not restarted. */
async function expectSound() {
  const reader = await connect(broker().mqttPort);
  await reader.subscribeAsync('sound', { qos: 1 });
  const { until } = packetsOf(reader);
  await reader.publishAsync('sound', 'yes', { qos: 1 });
  await until((packets) => packets.some(({ topic }) => topic === 'sound'));
  await reader.endAsync();
  expect(states).toEqual(['STARTING', 'RUNNING']);
  expect(errors).toEqual([]);
  expect(faults).toEqual([]);
}

const connectPacket = (fields: Partial<IConnectPacket>): IConnectPacket => ({
  cmd: 'connect',
  protocolId: 'MQTT',
  clientId: 'raw',
  clean: true,
  keepalive: 0,
  username: ADMINISTRATOR.username,
  password: Buffer.from(ADMINISTRATOR.password),
  ...fields,
});

/** Sends bytes, and returns what came back when the broker has closed the connection. */
async function exchange(port: number, protocolVersion: 4 | 5, ...bytes: readonly Buffer[]): Promise<Packet[]> {
  const socket = createConnection(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const parser = createParser({ protocolVersion });
  const packets: Packet[] = [];
  parser.on('packet', (packet) => void packets.push(packet));
  socket.on('data', (chunk) => parser.parse(chunk));
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  socket.write(Buffer.concat(bytes));
  await closed;
  return packets;
}

const bytesOf = (protocolVersion: 4 | 5, ...packets: readonly Packet[]) =>
  Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion })));
const subscribe = (...topics: readonly string[]): Packet => ({
  cmd: 'subscribe',
  messageId: 1,
  subscriptions: topics.map((topic) => ({ topic, qos: 1, nl: false, rap: false, rh: 0 })),
});

const will = (topic: string) => ({ topic, payload: Buffer.from('gone'), qos: 1, retain: true }) as const;

const BAD_WILLS = [DEEP, 'a/#', '+/b', 'a\0b'];

test.each(VERSIONS)('a CONNECT whose will cannot be published is refused (protocol %i)', async (protocolVersion) => {
  const { mqttPort } = broker();
  for (const topic of BAD_WILLS) {
    const sent = connectPacket({ protocolVersion, will: will(topic) });
    const [answer] = await exchange(mqttPort, protocolVersion, generate(sent));
    // With NUL the packet itself is malformed, for which MQTT 3 has no return code.
    const isMalformed = topic.includes('\0');
    const refusal = protocolVersion === 5 ? { reasonCode: isMalformed ? 0x81 : 0x90 } : { returnCode: 5 };
    if (isMalformed && protocolVersion === 4) expect(answer).toBeUndefined();
    else expect(answer).toMatchObject({ cmd: 'connack', ...refusal });
  }
  const allowed = await rawClient(mqttPort, { protocolVersion, clientId: 'deep', will: will(DEEP.slice(2)) });
  expect(allowed.packets[0]).toMatchObject({
    cmd: 'connack',
    [protocolVersion === 5 ? 'reasonCode' : 'returnCode']: 0,
  });
  await allowed.leave();
  const reader = await connect(mqttPort);
  const { until } = packetsOf(reader);
  await reader.subscribeAsync('#');
  const [seen] = await until((packets) => packets.length > 0);
  expect(seen).toMatchObject({ topic: DEEP.slice(2), text: 'gone' });
  await reader.publishAsync(DEEP.slice(2), '', { qos: 1, retain: true });
  await expectSound();
});

test('a CONNECT is refused if its will has no topic, QoS 3, or a Response Topic with wildcards', async () => {
  const { mqttPort } = broker();
  const five = { protocolVersion: 5 } as const;
  const topic = bytesOf(5, connectPacket({ ...five, will: will('x') }));
  const marker = Buffer.from('\0\x01x\0\x04gone');
  const at = topic.indexOf(marker);
  const empty = Buffer.concat([
    topic.subarray(0, at),
    Buffer.from('\0\0\0\x05xgone'),
    topic.subarray(at + marker.length),
  ]);
  expect(await exchange(mqttPort, 5, empty)).toMatchObject([{ cmd: 'connack', reasonCode: 0x90 }]);
  const highest = bytesOf(5, connectPacket({ ...five, will: { ...will('x'), qos: 2 } }));
  // Connect flags: behind the fixed header, the protocol name and the version.
  highest.writeUInt8(highest.readUInt8(9) | 0x18, 9);
  expect(await exchange(mqttPort, 5, highest)).toMatchObject([{ cmd: 'connack', reasonCode: 0x81 }]);
  const answered = { ...will('x'), properties: { responseTopic: 'a/#' } };
  const sent = bytesOf(5, connectPacket({ ...five, will: answered }));
  expect(await exchange(mqttPort, 5, sent)).toMatchObject([{ cmd: 'connack', reasonCode: 0x81 }]);
  await expectSound();
});

test.each(VERSIONS)('two PUBRELs in one segment get two responses (protocol %i)', async (protocolVersion) => {
  const { mqttPort } = broker();
  for (const clean of [true, false]) {
    const clientId = `released-${clean}`;
    const expiry = clean ? {} : { properties: { sessionExpiryInterval: 60 } };
    const { until, packets, write, packet } = await rawClient(mqttPort, {
      protocolVersion,
      clientId,
      clean,
      ...expiry,
    });
    const release = { cmd: 'pubrel', messageId: 5 } as const;
    write(Buffer.concat([publish({ qos: 2, messageId: 5 }), release, release].map(packet)));
    await until('pubcomp', 2);
    const answers = packets.filter(({ cmd }) => cmd === 'pubcomp');
    expect(answers).toMatchObject([{ messageId: 5 }, { messageId: 5 }]);
    if (protocolVersion === 5) expect(answers).toMatchObject([{ reasonCode: 0 }, { reasonCode: 0x92 }]);
    write(packet({ cmd: 'pubrel', messageId: 77 }));
    await until('pubcomp', 3);
    if (protocolVersion === 5) expect(packets.at(-1)).toMatchObject({ messageId: 77, reasonCode: 0x92 });
  }
  await expectSound();
});

test.each(VERSIONS)(
  'CONNECT, PUBLISH of QoS 2, PUBREL and PUBREL in one segment (protocol %i)',
  async (protocolVersion) => {
    const { mqttPort } = broker();
    const release = { cmd: 'pubrel', messageId: 5 } as const;
    const end = { cmd: 'disconnect' } as const;
    const sent = [connectPacket({ protocolVersion }), publish({ qos: 2, messageId: 5 }), release, release];
    const client = createConnection(mqttPort, '127.0.0.1');
    onTestFinished(() => void client.destroy());
    const parser = createParser({ protocolVersion });
    const answers: string[] = [];
    const done = new Promise<void>((resolve) => {
      parser.on('packet', ({ cmd }) => {
        answers.push(cmd);
        if (answers.filter((answer) => answer === 'pubcomp').length === 2) resolve();
      });
    });
    client.on('data', (chunk) => parser.parse(chunk));
    client.write(bytesOf(protocolVersion, ...sent));
    await done;
    client.end(bytesOf(protocolVersion, end));
    expect(answers).toEqual(expect.arrayContaining(['connack', 'pubrec']));
    await expectSound();
  },
);

test.each(VERSIONS)(
  'a QoS 2 message whose PUBREL arrives before PUBREC is delivered once (protocol %i)',
  async (protocolVersion) => {
    const { mqttPort } = broker();
    const subscriber = await rawClient(mqttPort, { protocolVersion: 4, clientId: 'subscriber' }, 'early');
    const publisher = await rawClient(mqttPort, { protocolVersion, clientId: 'publisher' });
    const message = (payload: string) => publish({ topic: 'early', payload, qos: 2, messageId: 5 });
    const early = [message('first'), { cmd: 'pubrel', messageId: 5 } as const];
    publisher.write(Buffer.concat(early.map(publisher.packet)));
    await publisher.until('pubcomp', 1);
    publisher.send(message('second'));
    await publisher.until('pubrec', 2);
    await subscriber.until('publish', 2);
    await subscriber.settle();
    const received = subscriber.packets.flatMap((packet) =>
      packet.cmd === 'publish' ? [String((packet as IPublishPacket).payload)] : [],
    );
    expect(received).toEqual(['first', 'second']);
  },
);

test.each(VERSIONS)(
  'names of inherited properties are ordinary filters, topics and client ids (protocol %i)',
  async (version) => {
    const { mqttPort } = broker();
    for (const clientId of INHERITED) {
      const expiry = version === 5 ? { properties: { sessionExpiryInterval: 60 } } : {};
      const fields = { protocolVersion: version, clientId, clean: false, ...expiry };
      const first = await rawClient(mqttPort, fields);
      first.send(subscribe(...INHERITED, 'a'));
      await first.until('suback', 1);
      expect(first.packets.at(-1)).toMatchObject({ granted: [1, 1, 1, 1, 1] });
      await first.leave();
      // The session is taken up twice: once from memory of this connection, once more after that.
      for (const _time of [1, 2]) {
        const again = await rawClient(mqttPort, fields);
        expect(again.packets[0]).toMatchObject({ cmd: 'connack', sessionPresent: true });
        for (const [index, topic] of INHERITED.entries()) again.send(publish({ topic, qos: 1, messageId: index + 1 }));
        await again.until('publish', INHERITED.length);
        const seen = again.packets.filter(({ cmd }) => cmd === 'publish') as IPublishPacket[];
        expect(seen.map(({ topic }) => topic)).toEqual(INHERITED);
        for (const { messageId = 0 } of seen) again.send({ cmd: 'puback', messageId });
        await again.settle();
        await again.leave();
      }
      const last = await rawClient(mqttPort, fields);
      last.send({ cmd: 'unsubscribe', messageId: 9, unsubscriptions: [...INHERITED, 'a'] });
      await last.until('unsuback', 1);
      await last.leave();
    }
    await expectSound();
  },
);

test('names of inherited properties are ordinary retained topics, wills, aliases and user properties', async () => {
  const { mqttPort } = broker();
  const reader = await connect(mqttPort, { protocolVersion: 5 });
  const { until } = packetsOf(reader);
  const userProperties = Object.fromEntries(INHERITED.map((name) => [name, [`${name} 1`, `${name} 2`]]));
  for (const [index, topic] of INHERITED.entries()) {
    const client = await rawClient(mqttPort, { clientId: `sender-${topic}`, will: will(`will/${topic}`) });
    const properties = { topicAlias: index + 1, userProperties };
    client.send(publish({ topic, qos: 1, messageId: 1, retain: true, payload: 'retained', properties }));
    client.send(publish({ topic: '', qos: 1, messageId: 2, payload: 'alias', properties: { topicAlias: index + 1 } }));
    await client.until('puback', 2);
    await client.leave();
  }
  await reader.subscribeAsync(['#'], { qos: 1 });
  const seen = await until((packets) => packets.length >= 2 * INHERITED.length);
  expect(seen.map(({ topic }) => topic).sort()).toEqual(
    [...INHERITED, ...INHERITED.map((name) => `will/${name}`)].sort(),
  );
  for (const { properties } of seen.filter(({ topic }) => !topic.startsWith('will/'))) {
    const own = Object.entries(properties?.userProperties ?? {}).map(([name, value]) => [name, value]);
    expect(own.sort()).toEqual(Object.entries(userProperties).sort());
  }
  for (const { topic } of [...seen]) await reader.publishAsync(topic, '', { qos: 1, retain: true });
  await expectSound();
});

test('names of inherited properties are ordinary user names, roles and groups', async () => {
  const { mqttPort } = broker();
  const administrator = await connect(mqttPort);
  for (const name of INHERITED) {
    const commands = [
      { command: 'createRole', rolename: name, acls: [{ acltype: 'publishClientSend', topic: name, allow: true }] },
      { command: 'createGroup', groupname: name, roles: [{ rolename: name }] },
      { command: 'createClient', username: name, password: 'p', groups: [{ groupname: name }] },
    ];
    const answers = await control(administrator, 'dynamic-security', { commands });
    expect(answers.filter(({ error }) => error !== undefined)).toEqual([]);
    const client = await connect(mqttPort, { username: name, password: 'p', clientId: `as-${name}` });
    await client.publishAsync(name, 'text', { qos: 1 });
    await client.endAsync();
  }
  await expectSound();
});

/** PUBLISH on `topic`, QoS 1, packet id 0x1234, whose properties are as said, and then what is left as payload. */
const cutOff = (properties: string, left = '7061796c6f6164') => {
  const rest = Buffer.from(`0005746f7069631234${properties}${left}`, 'hex');
  return Buffer.concat([Buffer.from([0x32, rest.length]), rest]);
};

test.each([['a Response Topic', '3212', '0005746F70696312340108', '7061796C6F6164']])(
  '%s that is truncated closes the connection',
  async (_name, header, head, payload) => {
    const { mqttPort } = broker();
    const hello = generate(connectPacket({ protocolVersion: 5 }));
    const packets = await exchange(mqttPort, 5, hello, Buffer.from(`${header}${head}${payload}`, 'hex'));
    // Both came in one segment, so that DISCONNECT may come before the client is connected, and is not sent then.
    expect(packets.every(({ cmd }) => cmd === 'connack' || cmd === 'disconnect')).toBe(true);
    await expectSound();
  },
);

test.each([
  ['a Response Topic', '0108', undefined],
  ['a Content Type that reads the payload', '0103', '000270616161'],
  ['Correlation Data', '0109', undefined],
  ['a Message Expiry Interval', '0302', '00'],
  ['a Message Expiry Interval at the end', '030200', ''],
  ['a user property', '0126', undefined],
  ['the value of a user property', '0426000161', undefined],
  ['a Topic Alias', '0123', ''],
  ['a property that MQTT does not have', '017f', undefined],
  ['a length beyond the packet', '7f0101', undefined],
  ['a length without an end', 'ffffffff01', undefined],
])('%s that is truncated closes the connection with 0x81', async (_name, properties, left) => {
  const { mqttPort } = broker();
  const watcher = await rawClient(mqttPort, { clientId: 'watcher' }, '#');
  const client = await rawClient(mqttPort, { clientId: 'sender' });
  client.write(cutOff(properties, left));
  await client.until('disconnect', 1);
  expect(client.packets.at(-1)).toMatchObject({ cmd: 'disconnect', reasonCode: 0x81 });
  await watcher.settle();
  expect(watcher.count('publish')).toBe(0);
  await expectSound();
});

test.each([
  ['no reason code', 'e000'],
  ['a reason code and no properties', 'e00100'],
])('DISCONNECT with %s discards the will, whatever follows', async (_name, disconnect) => {
  const { mqttPort } = broker();
  const watcher = await rawClient(mqttPort, { clientId: 'watcher' }, '#');
  const client = await rawClient(mqttPort, { clientId: 'leaving', will: will('gone') });
  // A client that acknowledges messages in another thread may send PUBACK behind DISCONNECT.
  client.write(Buffer.from(`${disconnect}40020001`, 'hex'));
  await client.closed;
  await watcher.settle();
  expect(watcher.count('publish')).toBe(0);
  expect(client.count('disconnect')).toBe(0);
  await expectSound();
});

test('complete properties are delivered unchanged', async () => {
  const { mqttPort } = broker();
  const watcher = await rawClient(mqttPort, { clientId: 'watcher' }, '#');
  const properties = {
    payloadFormatIndicator: false,
    messageExpiryInterval: 0xffff_ffff,
    contentType: '',
    responseTopic: 'answer\ufffd/here',
    correlationData: Buffer.alloc(0),
    userProperties: { '': ['', 'x'], ä: '😀' },
  };
  const client = await rawClient(mqttPort, { clientId: 'sender' });
  client.send(publish({ topic: 'whole', qos: 1, messageId: 1, properties }));
  await watcher.until('publish', 1);
  const [seen] = watcher.packets.filter(({ cmd }) => cmd === 'publish');
  expect(seen).toMatchObject({ topic: 'whole', properties: { responseTopic: 'answer\ufffd/here' } });
  await expectSound();
});

const text = (bytes: Buffer) => Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
const packetOf = (head: number, ...parts: readonly Buffer[]) => {
  const rest = Buffer.concat(parts);
  const length: number[] = [];
  for (let left = rest.length; ; left = Math.floor(left / 128)) {
    length.push((left % 128) | (left >= 128 ? 0x80 : 0));
    if (left < 128) break;
  }
  return Buffer.concat([Buffer.from([head, ...length]), rest]);
};
const LONG = Buffer.alloc(65_535, 'x');
const ILL_FORMED = {
  'half a surrogate pair': Buffer.from('eda080', 'hex'),
  'bytes that no character begins with': Buffer.alloc(65_535, 0xff),
  'a character that is cut off': Buffer.from('61f09f98', 'hex'),
  'a longer form than need be': Buffer.from('c0af', 'hex'),
  NUL: Buffer.from('610062', 'hex'),
};
const ID = Buffer.from([0, 1]);

test.each(VERSIONS)('strings at the limits of MQTT close at most their connection (protocol %i)', async (version) => {
  const { mqttPort } = broker();
  const watcher = await rawClient(mqttPort, { clientId: 'watcher', protocolVersion: 4 }, '#');
  const empty = version === 5 ? Buffer.from([0]) : Buffer.alloc(0);
  const hello = generate(connectPacket({ protocolVersion: version, clientId: 'edge' }));
  const bye = version === 5 ? Buffer.from([0xe0, 0]) : Buffer.from([0xe0, 0]);
  const send = (...packets: readonly Buffer[]) => exchange(mqttPort, version, hello, ...packets, bye);
  const options = Buffer.from([1]);
  for (const bytes of Object.values(ILL_FORMED)) {
    await send(packetOf(0x30, text(bytes), empty));
    await send(packetOf(0x32, text(bytes), ID, empty));
    await send(packetOf(0x82, ID, empty, text(bytes), options));
    await send(packetOf(0xa2, ID, empty, text(bytes)));
    const clientId = packetOf(0x10, text(Buffer.from('MQTT')), Buffer.from([version, 2, 0, 0]), empty, text(bytes));
    await exchange(mqttPort, version, clientId, bye);
  }
  await watcher.settle();
  expect(watcher.count('publish')).toBe(0);

  await send(packetOf(0x30, text(LONG), empty));
  await watcher.until('publish', 1);
  await send(packetOf(0x82, ID, empty, text(LONG), options), packetOf(0xa2, ID, empty, text(LONG)));
  const slashes = text(Buffer.alloc(65_535, '/'));
  await send(packetOf(0x30, slashes, empty));
  // A valid filter before an invalid one: neither is stored.
  await send(packetOf(0x82, ID, empty, text(Buffer.from('a')), options, slashes, Buffer.from([0])));
  await send(packetOf(0xa2, ID, empty, slashes));
  await send(packetOf(0x30, text(Buffer.alloc(0)), empty));
  await send(packetOf(0x82, ID, empty, text(Buffer.alloc(0)), options));
  await send(packetOf(0x82, ID, empty));
  await send(packetOf(0xa2, ID, empty));
  await expectSound();
});

test.each(VERSIONS)(
  'a filter of 65,536 levels in a persistent session closes only the connection (protocol %i)',
  async (version) => {
    const { mqttPort } = broker();
    const expiry = version === 5 ? { properties: { sessionExpiryInterval: 60 } } : {};
    const fields = { protocolVersion: version, clientId: 'stays', clean: false, ...expiry };
    for (const filter of ['/'.repeat(65_535), DEEP, 'a/#/b', 'a+']) {
      const client = await rawClient(mqttPort, fields);
      const sent = {
        cmd: 'subscribe',
        messageId: 1,
        subscriptions: [
          { topic: 'a', qos: 1 },
          { topic: filter, qos: 0 },
        ],
      };
      client.send(sent as Packet);
      if (version === 5) {
        await client.until('disconnect', 1);
        expect(client.packets.at(-1)).toMatchObject({ reasonCode: 0x8f });
      }
      await client.closed;
    }
    const back = await rawClient(mqttPort, fields);
    back.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: ['a'] });
    await back.until('unsuback', 1);
    if (version === 5) expect(back.packets.at(-1)).toMatchObject({ granted: [0x11] });
    await expectSound();
  },
);

test.each(VERSIONS)(
  'packet id 0, and packets that only a server sends, close at most their connection (protocol %i)',
  async (version) => {
    const { mqttPort } = broker();
    const hello = generate(connectPacket({ protocolVersion: version, clientId: 'odd' }));
    const empty = version === 5 ? Buffer.from([0]) : Buffer.alloc(0);
    const zero = Buffer.from([0, 0]);
    const odd = [
      ...[0x32, 0x34].map((head) => packetOf(head, text(Buffer.from('t')), zero, empty)),
      packetOf(0x82, zero, empty, text(Buffer.from('t')), Buffer.from([1])),
      packetOf(0xa2, zero, empty, text(Buffer.from('t'))),
      ...[0x40, 0x50, 0x62, 0x70].map((head) => packetOf(head, zero)),
      ...[0x40, 0x50, 0x62, 0x70, 0x82, 0xa2, 0x20, 0x90, 0xb0, 0xf0, 0xc0, 0xd0, 0x00].map((head) => packetOf(head)),
      ...[0x20, 0x90, 0xb0, 0xf0].map((head) => packetOf(head, zero, zero)),
      packetOf(0x40, Buffer.from([0])),
      Buffer.from([0xe0, 0x01, 0x00]),
      Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff]),
      hello,
    ];
    const bye = Buffer.from([0xe0, 0]);
    for (const packet of odd) {
      await exchange(mqttPort, version, hello, packet, bye);
      const open = await rawClient(mqttPort, { protocolVersion: version, clientId: 'odd' });
      open.write(packet);
      await Promise.race([open.settle(), open.closed]);
      const client = await rawClient(mqttPort, { protocolVersion: version, clientId: 'odd' });
      client.write(Buffer.concat([packet, bye]));
      await client.closed;
    }
    await expectSound();
  },
);
