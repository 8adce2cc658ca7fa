import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import mqtt, { type IClientOptions, type IConnackPacket, type IDisconnectPacket, type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { dynsecDone } from './dynsec.ts';
import { ADMINISTRATOR, collect, connect, packetsOf, startBrokerHere, startTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';

const run = promisify(execFile);
const v5 = { protocolVersion: 5 } as const;
const PROPERTIES = {
  payloadFormatIndicator: true,
  contentType: 'text/plain',
  responseTopic: 'answers/1',
  correlationData: Buffer.from([0, 1, 255]),
  userProperties: { unit: 'C', tag: ['a', 'b'] },
};

/** What the broker said when it ended the connection. */
const reasonOf = (client: MqttClient) =>
  new Promise<number | undefined>((resolve) => {
    client.once('disconnect', ({ reasonCode }: IDisconnectPacket) => resolve(reasonCode));
  });

/** Connects, with what CONNACK said, collecting from the first message on. */
async function connectTold(port: number, options: IClientOptions) {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...ADMINISTRATOR, ...v5, reconnectPeriod: 0, ...options });
  onTestFinished(() => client.endAsync(true).then(() => {}));
  client.on('error', () => {});
  const seen = packetsOf(client);
  const said = await new Promise<IConnackPacket>((resolve) => client.once('connect', resolve));
  return { client, said, ...seen };
}

test.each([0, 1, 2] as const)(
  'MQTT 5 subscribers get properties, and others get the message without them (QoS %i)',
  async (qos) => {
    const { mqttPort } = await startBrokerHere();
    const subscriber = await connect(mqttPort, v5);
    const older = await connect(mqttPort);
    const [seen, plain] = [packetsOf(subscriber), collect(older)];
    await subscriber.subscribeAsync('a', { qos });
    await older.subscribeAsync('a', { qos });
    const publisher = await connect(mqttPort, v5);
    // A topic alias is about this connection alone, and resolved.
    const properties = { ...PROPERTIES, messageExpiryInterval: 60, topicAlias: 3 };
    await publisher.publishAsync('a', 'x', { qos, properties });
    const [packet] = await seen.until((packets) => packets.length > 0);
    expect(packet).toMatchObject({ qos, retain: false, properties: { ...PROPERTIES, messageExpiryInterval: 60 } });
    expect(packet?.properties).not.toHaveProperty('topicAlias');
    expect((await plain.until((messages) => messages.length > 0))[0]).toMatchObject({ text: 'x', qos });
  },
);

test('a refusal has a reason code, and the connection stays open', async () => {
  const { mqttPort } = await startBrokerHere();
  const url = `mqtt://127.0.0.1:${mqttPort}`;
  const wrong = mqtt.connectAsync(url, { ...ADMINISTRATOR, password: 'wrong', ...v5, reconnectPeriod: 0 });
  await expect(wrong).rejects.toMatchObject({ code: 135 });

  const client = await connect(mqttPort, v5);
  for (const qos of [1, 2] as const) {
    await expect(client.publishAsync('$SYS/forged', 'x', { qos })).rejects.toMatchObject({ code: 135 });
    await expect(client.publishAsync('fine', 'x', { qos })).resolves.toBeDefined();
  }
  const granted = await rawClient(mqttPort, {}, 'a');
  const subscriptions = ['$nowhere', '$share/g/$nowhere', 'b'].map((topic) => ({
    topic,
    qos: 1 as const,
    nl: false,
    rap: false,
    rh: 0 as const,
  }));
  granted.send({ cmd: 'subscribe', messageId: 2, subscriptions });
  await granted.until('suback', 2);
  expect(granted.packets.at(-1)).toMatchObject({ granted: [135, 1, 1] });
  granted.send({ cmd: 'unsubscribe', messageId: 3, unsubscriptions: ['b', 'never'] });
  await granted.until('unsuback', 1);
  expect(granted.packets.at(-1)).toMatchObject({ granted: [0, 17] });
});

test('dynamic security uses reason codes, and a kicked client gets the reason of an administrative action', async () => {
  const { mqttPort } = await startBrokerHere();
  const admin = await connect(mqttPort, v5);
  const acls = ['subscribePattern', 'publishClientSend', 'publishClientReceive', 'unsubscribePattern'].map(
    (acltype) => ({
      acltype,
      topic: 'mine/#',
      allow: true,
    }),
  );
  const never = [{ acltype: 'unsubscribePattern', topic: 'mine/always', priority: 9, allow: false }];
  const [username, password] = ['device', 'secret'];
  await dynsecDone(
    admin,
    { command: 'createRole', rolename: 'own', acls: [...acls, ...never] },
    { command: 'createClient', username, password, roles: [{ rolename: 'own' }] },
    ...['subscribe', 'publishClientSend'].map((acltype) => ({
      command: 'setDefaultACLAccess',
      acls: [{ acltype, allow: false }],
    })),
  );
  const login = { username, password: Buffer.from(password) };
  const raw = await rawClient(mqttPort, login, 'mine/#');
  const subscriptions = ['other', 'mine/always', 'mine/x'].map((topic) => ({
    topic,
    qos: 1 as const,
    nl: false,
    rap: false,
    rh: 0 as const,
  }));
  raw.send({ cmd: 'subscribe', messageId: 2, subscriptions });
  await raw.until('suback', 2);
  expect(raw.packets.at(-1)).toMatchObject({ granted: [135, 1, 1] });
  raw.send({ cmd: 'unsubscribe', messageId: 3, unsubscriptions: ['mine/never', 'mine/always', 'mine/x'] });
  await raw.until('unsuback', 1);
  expect(raw.packets.at(-1)).toMatchObject({ granted: [17, 135, 0] });

  const will = { topic: 'mine/will', payload: Buffer.from('w'), qos: 1, retain: false } as const;
  const device = await connect(mqttPort, { ...v5, username, password, will });
  await expect(device.publishAsync('other', 'x', { qos: 1 })).rejects.toMatchObject({ code: 135 });
  await expect(device.publishAsync('mine/x', 'x', { qos: 1 })).resolves.toBeDefined();
  const wills = packetsOf(admin);
  await admin.subscribeAsync('mine/#', { qos: 1 });
  const kicked = reasonOf(device);
  await dynsecDone(admin, { command: 'disableClient', username });
  expect(await kicked).toBe(152);
  await admin.publishAsync('mine/end', 'end', { qos: 1 });
  // The client has not sent DISCONNECT [MQTT-3.1.2-8].
  await wills.until((packets) => packets.some(({ text }) => text === 'end'));
  expect(wills.packets.map(({ text }) => text)).toContain('w');
});

test('CONNACK has the capabilities of the broker and the assigned client id', async () => {
  const { mqttPort } = await startBrokerHere();
  const { said } = await connectTold(mqttPort, { clientId: '', clean: true });
  expect(said).toMatchObject({
    sessionPresent: false,
    properties: { topicAliasMaximum: 10, maximumPacketSize: 10 * 1_048_576 },
  });
  // MQTT 5, 3.2.2.3.13: available unless it is said otherwise.
  expect(said.properties?.sharedSubscriptionAvailable).toBeUndefined();
  expect(said.properties?.assignedClientIdentifier).toMatch(/^auto-/);
});

test('the broker closes connections with a reason: taken over, shutting down, packet too large', async () => {
  const broker = await startBrokerHere();
  const port = broker.mqttPort;
  const first = await connect(port, { ...v5, clientId: 'one' });
  const takenOver = reasonOf(first);
  const second = await connect(port, { ...v5, clientId: 'one' });
  expect(await takenOver).toBe(142);

  // A PUBLISH of 11 MiB, by its fixed header alone.
  const large = await rawClient(port, {}, 'a');
  large.write(Buffer.from([0x30, 0x80, 0x80, 0xc0, 0x05]));
  await large.until('disconnect', 1);
  expect(large.packets.at(-1)).toMatchObject({ reasonCode: 149 });

  const shuttingDown = reasonOf(second);
  await broker.close();
  expect(await shuttingDown).toBe(139);
});

test('No Local, Retain As Published and Retain Handling apply to live and queued messages', async () => {
  const { mqttPort } = await startBrokerHere();
  const session = { ...v5, clientId: 'device', clean: false, properties: { sessionExpiryInterval: 600 } };
  const device = await connect(mqttPort, session);
  const other = await connect(mqttPort, v5);
  await other.publishAsync('kept/old', 'old', { qos: 1, retain: true });
  const { packets, until } = packetsOf(device);
  await device.subscribeAsync('kept/#', { qos: 1, nl: true, rap: true, rh: 2 });
  await device.publishAsync('kept/own', 'own', { qos: 1 });
  await other.publishAsync('kept/new', 'new', { qos: 1, retain: true });
  await other.publishAsync('kept/new', 'zero', { qos: 0, retain: true });
  await other.publishAsync('kept/plain', 'end', { qos: 1 });
  await until((seen) => seen.some(({ text }) => text === 'end'));
  // Neither the one that was retained before (rh 2) nor its own.
  expect(packets.map(({ text, retain }) => [text, retain]).sort()).toEqual([
    ['end', false],
    ['new', true],
    ['zero', true],
  ]);
  // A retained message counts in the session until it is acknowledged.
  await device.endAsync();
  await other.publishAsync('kept/away', 'away', { qos: 1, retain: true });
  const again = await connectTold(mqttPort, session);
  await other.publishAsync('kept/last', 'last', { qos: 1 });
  const seen = await again.until((messages) => messages.at(-1)?.text === 'last');
  expect(seen.map(({ text, retain }) => [text, retain])).toEqual([
    ['away', true],
    ['last', false],
  ]);

  // rh 1: only for a subscription that is new.
  const fresh = await connect(mqttPort, v5);
  const kept = packetsOf(fresh);
  await fresh.subscribeAsync('kept/old', { qos: 1, rh: 1 });
  await kept.until((messages) => messages.length === 1);
  await fresh.subscribeAsync('kept/old', { qos: 1, rh: 1 });
  await other.publishAsync('kept/old', 'live', { qos: 1 });
  await kept.until((messages) => messages.at(-1)?.text === 'live');
  expect(kept.packets.map(({ text }) => text)).toEqual(['old', 'live']);
});

test('a message has the identifiers of all matching subscriptions, also from a queue', async () => {
  const { mqttPort } = await startBrokerHere();
  const session = { ...v5, clientId: 'device', clean: false, properties: { sessionExpiryInterval: 600 } };
  const first = await connect(mqttPort, session);
  const live = packetsOf(first);
  await first.subscribeAsync('a/#', { qos: 1, properties: { subscriptionIdentifier: 7 } });
  await first.subscribeAsync('a/b', { qos: 1, properties: { subscriptionIdentifier: 9 } });
  await first.subscribeAsync('c', { qos: 1 });
  const publisher = await connect(mqttPort);
  await publisher.publishAsync('a/b', 'live', { qos: 1 });
  await live.until((packets) => packets.length > 0);
  expect([live.packets[0]?.properties?.subscriptionIdentifier].flat().sort()).toEqual([7, 9]);
  await first.endAsync();
  await publisher.publishAsync('a/x', 'queued', { qos: 1 });
  await publisher.publishAsync('c', 'none', { qos: 1 });
  const { until } = await connectTold(mqttPort, session);
  const queued = await until((packets) => packets.length === 2);
  expect(queued.map(({ properties }) => properties?.subscriptionIdentifier)).toEqual([7, undefined]);
});

test.each([
  ['a clean session', { clean: true }],
  ['a session that stays', { clean: false, properties: { sessionExpiryInterval: 600 } }],
])('%s gets messages in order, and no more than its Receive Maximum', async (_name, options) => {
  const { mqttPort } = await startBrokerHere();
  const properties = { ...('properties' in options ? options.properties : {}), receiveMaximum: 3 };
  const client = await rawClient(mqttPort, { ...options, properties }, 'n');
  const publisher = await connect(mqttPort);
  for (let index = 0; index < 10; index += 1) await publisher.publishAsync('n', String(index), { qos: 1 });
  await client.settle();
  expect(client.count('publish')).toBe(3);
  for (let sent = 0; sent < 10; sent += 1) {
    await client.until('publish', sent + 1);
    const publishes = client.packets.filter((packet) => packet.cmd === 'publish');
    client.send({ cmd: 'puback', messageId: publishes[sent]?.messageId ?? 0, reasonCode: 0 });
    await client.settle();
    expect(client.count('publish')).toBe(Math.min(10, sent + 4));
  }
  // Live again.
  await publisher.publishAsync('n', '10', { qos: 1 });
  await client.until('publish', 11);
  const texts = client.packets.flatMap((packet) => (packet.cmd === 'publish' ? [packet.payload.toString()] : []));
  expect(texts).toEqual(Array.from({ length: 11 }, (_, index) => String(index)));
});

test('a queue of QoS 2 reaches a client that takes two at a time, once and in order', async () => {
  const { mqttPort } = await startBrokerHere();
  const session = { ...v5, clientId: 'slow', clean: false };
  const first = await connect(mqttPort, { ...session, properties: { sessionExpiryInterval: 600 } });
  await first.subscribeAsync('n', { qos: 2 });
  await first.endAsync();
  const publisher = await connect(mqttPort);
  const sent = Array.from({ length: 50 }, (_, index) => String(index));
  for (const text of sent.slice(0, 25)) await publisher.publishAsync('n', text, { qos: 2 });
  const properties = { sessionExpiryInterval: 600, receiveMaximum: 2 };
  const { until } = await connectTold(mqttPort, { ...session, properties });
  for (const text of sent.slice(25)) await publisher.publishAsync('n', text, { qos: 2 });
  const seen = await until((packets) => packets.length === sent.length);
  expect(seen.map(({ text }) => text)).toEqual(sent);
});

test('a message beyond the Maximum Packet Size of a client is not sent', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await connect(mqttPort, { ...v5, properties: { maximumPacketSize: 100 } });
  const { until } = packetsOf(client);
  await client.subscribeAsync('a', { qos: 1 });
  const publisher = await connect(mqttPort);
  await publisher.publishAsync('a', 'x'.repeat(100), { qos: 1 });
  await publisher.publishAsync('a', 'small', { qos: 1 });
  expect((await until((packets) => packets.length > 0)).map(({ text }) => text)).toEqual(['small']);
});

test('names of inherited properties are ordinary client ids and filters', async () => {
  const { mqttPort } = await startTestBroker();
  const publisher = await connect(mqttPort);
  for (const clientId of ['constructor', '__proto__', 'toString']) {
    const client = await connect(mqttPort, { ...v5, clientId });
    const { until } = packetsOf(client);
    await client.subscribeAsync(clientId, { qos: 1 });
    await publisher.publishAsync(clientId, 'x', { qos: 1 });
    expect((await until((packets) => packets.length > 0))[0]?.topic).toBe(clientId);
    await client.endAsync();
  }
  const raw = await rawClient(mqttPort, {}, 'a');
  const subscriptions = (['b', '__proto__', '7'] as const).map((topic, index) => ({
    topic,
    qos: index as 0 | 1 | 2,
    nl: false,
    rap: false,
    rh: 0 as const,
  }));
  raw.send({ cmd: 'subscribe', messageId: 2, subscriptions });
  await raw.until('suback', 2);
  expect(raw.packets.at(-1)).toMatchObject({ granted: [0, 1, 2] });
});

test('mosquitto_ctrl and mosquitto_sub work with MQTT 5', async () => {
  const { mqttPort } = await startBrokerHere();
  const { username, password } = ADMINISTRATOR;
  const options = ['-h', '127.0.0.1', '-p', String(mqttPort), '-u', username, '-P', password];
  const { stdout } = await run('mosquitto_ctrl', [...options, 'dynsec', 'listClients']);
  expect(stdout.trim()).toBe('admin');

  const publisher = await connect(mqttPort, v5);
  await publisher.publishAsync('kept', 'x', { retain: true, qos: 1, properties: { userProperties: { unit: 'C' } } });
  const told = await run('mosquitto_sub', [...options, '-V', '5', '-t', 'kept', '-C', '1', '-F', '%t %p %P']);
  expect(told.stdout.trim()).toBe('kept x unit:C');
});
