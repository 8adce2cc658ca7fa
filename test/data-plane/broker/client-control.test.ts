import fc from 'fast-check';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { runs } from '../../support/suite.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startBrokerProcess } from './broker-process.ts';
import { clearAccess, dynsecDone } from './dynsec.ts';
import { ADMINISTRATOR, collect, connect, control, packetsOf, startTestBroker, useTestBroker } from './embedded.ts';

const API = 'cedalo/client-control';
const VERSIONS = [4, 5] as const;

const shared = useTestBroker();

type Fields = Readonly<Record<string, unknown>>;

/** Runs one command and gives its answer without what only says which one it is to. */
async function run(admin: MqttClient, command: string, fields: Fields): Promise<Fields> {
  const [answer] = await control(admin, API, { commands: [{ command, ...fields, correlationData: 'x' }] });
  expect(answer).toMatchObject({ command, correlationData: 'x' });
  const { command: _command, correlationData: _correlation, ...rest } = answer ?? {};
  return rest;
}

const DONE = { data: {} };
const NOT_FOUND = { error: 'Client not found' };

async function inspect(admin: MqttClient, clientid: string): Promise<Fields> {
  const [answer] = await control(admin, 'cedalo/inspect', { commands: [{ command: 'getClient', clientid }] });
  return (answer?.data ?? {}) as Fields;
}

/** Connects and keeps what came from the first message on. */
async function device(port: number, clientId: string, options: IClientOptions = {}) {
  const client = await connect(port, { clientId, ...options });
  return { client, ...packetsOf(client) };
}

/** The same with what the broker sends right behind CONNACK. */
function returning(port: number, clientId: string, options: IClientOptions) {
  const url = `mqtt://127.0.0.1:${port}`;
  const client = mqtt.connect(url, { ...ADMINISTRATOR, reconnectPeriod: 0, clientId, ...options });
  onTestFinished(() => client.endAsync(true).then(() => {}));
  client.on('error', () => {});
  return packetsOf(client);
}

const persistent = (version: 4 | 5): IClientOptions =>
  version === 5
    ? { protocolVersion: 5, clean: false, properties: { sessionExpiryInterval: 3_600 } }
    : { protocolVersion: 4, clean: false };

const retainedOf = (client: MqttClient, topic: string, text: string, qos: 0 | 1 | 2 = 1) =>
  client.publishAsync(topic, text, { qos, retain: true });

test.each(VERSIONS)(
  '[MQTT-3.1.2-8] a client is disconnected alone, with its will unless that is discarded, and its session stays (MQTT %i)',
  async (version) => {
    const { mqttPort } = shared();
    const admin = await connect(mqttPort);
    const { messages, until } = collect(admin);
    const wills = () => messages.filter(({ topic }) => topic.startsWith('wills/')).map(({ topic }) => topic);
    await admin.subscribeAsync(`wills/${version}/#`, { qos: 1 });
    const will = (name: string) =>
      ({ topic: `wills/${version}/${name}`, payload: Buffer.from('gone'), qos: 1, retain: false }) as const;
    const id = `kicked-${version}`;
    const { client } = await device(mqttPort, id, { ...persistent(version), will: will(id) });
    await device(mqttPort, `other-${version}`, { will: will('other') });
    await client.subscribeAsync('kept', { qos: 1 });
    const reason = new Promise((resolve) => client.once('disconnect', ({ reasonCode }) => resolve(reasonCode)));
    const closed = new Promise((resolve) => client.once('close', () => resolve(undefined)));

    expect(await run(admin, 'disconnectClient', { clientid: id, discardWill: 'yes' })).toEqual({
      error: 'Invalid discardWill',
    });
    expect(await run(admin, 'disconnectClient', { clientid: id, discardWill: true })).toEqual(DONE);
    expect(await inspect(admin, id)).toMatchObject({ connected: false, subscriptions: ['kept'] });
    // There is nothing to disconnect any more.
    expect(await run(admin, 'disconnectClient', { clientid: id })).toEqual(NOT_FOUND);
    expect(await run(admin, 'disconnectClient', { clientid: 'nobody' })).toEqual(NOT_FOUND);
    expect(await Promise.race([reason, closed])).toBe(version === 5 ? 0x98 : undefined);
    expect(await inspect(admin, `other-${version}`)).toMatchObject({ connected: true });
    expect(await run(admin, 'disconnectClient', { clientid: `other-${version}` })).toEqual(DONE);
    await until(() => wills().length > 0);
    expect(wills()).toEqual([`wills/${version}/other`]);

    const again = await device(mqttPort, id, persistent(version));
    await admin.publishAsync('kept', 'x', { qos: 1 });
    expect(await again.until((seen) => seen.length > 0)).toMatchObject([{ topic: 'kept', text: 'x' }]);
  },
);

test('[MQTT-3.1.3-9] the session of an offline client is deleted with its queue, and its delayed will is published', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  const { messages } = collect(admin);
  await admin.subscribeAsync('ended/#', { qos: 1 });
  const wills = () => messages.filter(({ topic }) => topic === 'ended/will').length;
  const message = { topic: 'ended/will', payload: Buffer.from('gone'), qos: 1, retain: false } as const;
  const will = { ...message, properties: { willDelayInterval: 600 } };
  const { client } = await device(mqttPort, 'ended', { ...persistent(5), will });
  await client.subscribeAsync('queued', { qos: 1 });
  expect(await run(admin, 'deleteSession', { clientid: 'ended' })).toEqual({
    error: 'The client is connected: disconnect it first',
  });
  client.stream.destroy();
  await expect.poll(async () => (await inspect(admin, 'ended')).connected).toBe(false);
  await admin.publishAsync('queued', 'x', { qos: 1 });
  expect(wills()).toBe(0);
  expect(await run(admin, 'deleteSession', { clientid: 'ended' })).toEqual(DONE);
  await expect.poll(wills).toBe(1);
  expect(await inspect(admin, 'ended')).toEqual({});
  expect(await run(admin, 'deleteSession', { clientid: 'ended' })).toEqual(NOT_FOUND);
});

test('commands work for a client over WebSocket, and for one that has just disconnected with a clean session', async () => {
  const { mqttPort, wsPort } = shared();
  const admin = await connect(mqttPort);
  const web = await connect(wsPort, { clientId: 'web', ws: true });
  const closed = new Promise<void>((resolve) => web.once('close', () => resolve()));
  expect(await run(admin, 'disconnectClient', { clientid: 'web' })).toEqual(DONE);
  await closed;
  expect(await run(admin, 'subscribeClient', { clientid: 'web', topic: 'a', qos: 1 })).toEqual(NOT_FOUND);
  expect(await run(admin, 'unsubscribeClient', { clientid: 'web', topic: 'a' })).toEqual(NOT_FOUND);
});

test.each(VERSIONS)(
  'a connected client is subscribed and unsubscribed as if it had asked (MQTT %i)',
  async (version) => {
    const { mqttPort } = shared();
    const admin = await connect(mqttPort);
    const id = `live-${version}`;
    const { client, packets, until } = await device(mqttPort, id, { protocolVersion: version });
    expect(await run(admin, 'subscribeClient', { clientid: id, topic: `live/${version}/+`, qos: 1 })).toEqual(DONE);
    expect(await inspect(admin, id)).toMatchObject({ subscriptions: [`live/${version}/+`], subscriptionQos: [1] });
    await admin.publishAsync(`live/${version}/a`, 'at 1', { qos: 2 });
    await until((seen) => seen.length === 1);
    expect(packets).toMatchObject([{ text: 'at 1', qos: 1, retain: false }]);

    // The same filter again: its QoS is replaced, and it is one subscription still.
    expect(await run(admin, 'subscribeClient', { clientid: id, topic: `live/${version}/+`, qos: 2 })).toEqual(DONE);
    await admin.publishAsync(`live/${version}/a`, 'at 2', { qos: 2 });
    await until((seen) => seen.length === 2);
    expect(packets[1]).toMatchObject({ text: 'at 2', qos: 2 });
    expect(await inspect(admin, id)).toMatchObject({ subscriptions: [`live/${version}/+`], subscriptionQos: [2] });

    expect(await run(admin, 'unsubscribeClient', { clientid: id, topic: `live/${version}/+` })).toEqual(DONE);
    expect(await inspect(admin, id)).toMatchObject({ subscriptions: [], numSubscriptions: 0 });
    await client.subscribeAsync(`end/${version}`);
    await admin.publishAsync(`live/${version}/a`, 'too late', { qos: 1 });
    await admin.publishAsync(`end/${version}`, 'end', { qos: 1 });
    await until((seen) => seen.some(({ text }) => text === 'end'));
    expect(packets.map(({ text }) => text)).toEqual(['at 1', 'at 2', 'end']);
    // As UNSUBACK 0x11 does: that there was none is no failure.
    expect(await run(admin, 'unsubscribeClient', { clientid: id, topic: 'never/subscribed' })).toEqual(DONE);
  },
);

test.each(VERSIONS)('retained messages are sent as send_retain says (MQTT %i)', async (version) => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  const id = `retain-${version}`;
  const base = `retain/${version}`;
  await retainedOf(admin, `${base}/a`, 'kept', 2);
  const { packets, until } = await device(mqttPort, id, { protocolVersion: version });
  const subscribe = (options: unknown) =>
    run(admin, 'subscribeClient', {
      clientid: id,
      topic: `${base}/#`,
      qos: 1,
      ...(options === undefined ? {} : { options }),
    });
  /** What came until a message that is published now. */
  const arrived = async () => {
    const marker = `marker ${packets.length}`;
    await admin.publishAsync(`${base}/marker`, marker, { qos: 1 });
    await until((seen) => seen.some(({ text }) => text === marker));
    return packets
      .splice(0)
      .map(({ text, retain }) => (retain ? `${text}, retained` : text))
      .filter((text) => text !== marker);
  };
  expect(await subscribe({ send_retain: 'never' })).toEqual(DONE);
  expect(await arrived()).toEqual([]);
  expect(await subscribe({ send_retain: 'new' })).toEqual(DONE);
  expect(await arrived()).toEqual([]);
  for (const options of [
    { send_retain: 'always' },
    { send_retain: null },
    { send_retain: 'null' },
    {},
    null,
    undefined,
  ]) {
    expect(await subscribe(options)).toEqual(DONE);
    expect(await arrived()).toEqual(['kept, retained']);
  }
  await run(admin, 'unsubscribeClient', { clientid: id, topic: `${base}/#` });
  expect(await subscribe({ send_retain: 'new' })).toEqual(DONE);
  expect(await arrived()).toEqual(['kept, retained']);
});

test.each(VERSIONS)('own messages and the retain flag are sent according to the options (MQTT %i)', async (version) => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  const id = `options-${version}`;
  const topic = `options/${version}`;
  const { client, packets, until } = await device(mqttPort, id, { protocolVersion: version });
  const fields = { clientid: id, topic, qos: 1, subscription_identifier: 77 };
  const options = { no_local: true, retain_as_published: true, send_retain: 'never' };
  expect(await run(admin, 'subscribeClient', { ...fields, options })).toEqual(DONE);
  await client.publishAsync(topic, 'own', { qos: 1 });
  await admin.publishAsync(topic, 'flagged', { qos: 1, retain: true });
  await until((seen) => seen.length > 0);
  expect(packets).toMatchObject([{ text: 'flagged', retain: true }]);
  // Only MQTT 5 has a place for it.
  expect(packets[0]?.properties?.subscriptionIdentifier).toBe(version === 5 ? 77 : undefined);

  expect(
    await run(admin, 'subscribeClient', { clientid: id, topic, qos: 1, options: { send_retain: 'never' } }),
  ).toEqual(DONE);
  await client.publishAsync(topic, 'own again', { qos: 1 });
  await admin.publishAsync(topic, 'flagged again', { qos: 1, retain: true });
  await until((seen) => seen.length > 2);
  expect(packets.slice(1)).toMatchObject([
    { text: 'own again', retain: false },
    { text: 'flagged again', retain: false },
  ]);
});

test('an offline client gets and loses subscriptions, with retained messages of QoS 1 and 2', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  for (const qos of [0, 1, 2] as const) await retainedOf(admin, `away/kept/${qos}`, `kept ${qos}`, qos);
  const first = await device(mqttPort, 'away', persistent(5));
  await first.client.subscribeAsync('away/own', { qos: 1 });
  await first.client.endAsync();
  const subscribe = (topic: string, fields: Fields) =>
    run(admin, 'subscribeClient', { clientid: 'away', topic, qos: 2, ...fields });
  const options = { send_retain: 'new', no_local: true };
  expect(await subscribe('away/kept/+', { subscription_identifier: 9, options })).toEqual(DONE);
  expect(await subscribe('away/kept/+', { subscription_identifier: 9, options })).toEqual(DONE);
  expect(await subscribe('away/never', { qos: 0, options: { retain_as_published: true } })).toEqual(DONE);
  expect(await inspect(admin, 'away')).toMatchObject({
    connected: false,
    subscriptions: ['away/own', 'away/kept/+', 'away/never'],
    subscriptionQos: [1, 2, 0],
    subscriptionOptions: [
      { no_local: false, retain_as_published: false },
      { no_local: true, retain_as_published: false },
      { no_local: false, retain_as_published: true },
    ],
    queues: { messagesOut: 2, bytesOut: 12 },
  });
  expect(await run(admin, 'unsubscribeClient', { clientid: 'away', topic: 'away/own' })).toEqual(DONE);
  await admin.publishAsync('away/own', 'lost', { qos: 1 });
  await admin.publishAsync('away/kept/new', 'queued', { qos: 1 });

  const again = returning(mqttPort, 'away', persistent(5));
  await again.until((seen) => seen.length === 3);
  // mqtt.js reports a QoS 2 message when its handshake is complete.
  expect(again.packets.sort((a, b) => (a.text < b.text ? -1 : 1))).toMatchObject([
    { text: 'kept 1', qos: 1, retain: true, properties: { subscriptionIdentifier: 9 } },
    { text: 'kept 2', qos: 2, retain: true, properties: { subscriptionIdentifier: 9 } },
    { text: 'queued', qos: 1, retain: false },
  ]);
});

test('forbidden subscriptions are refused for connected and offline clients, and roles decide who may send commands', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  await clearAccess(admin);
  const acl = (rolename: string, acltype: string, topic: string) =>
    ({ command: 'addRoleACL', rolename, acltype, topic, allow: true }) as const;
  await dynsecDone(
    admin,
    { command: 'createRole', rolename: 'device' },
    acl('device', 'subscribePattern', 'own/#'),
    acl('device', 'publishClientReceive', 'own/#'),
    { command: 'createClient', username: 'device', password: 'x', roles: [{ rolename: 'device' }] },
    { command: 'createRole', rolename: 'operator' },
    acl('operator', 'publishClientSend', `$CONTROL/${API}/v1`),
    acl('operator', 'subscribePattern', '$CONTROL/#'),
    acl('operator', 'publishClientReceive', '$CONTROL/#'),
    { command: 'createClient', username: 'operator', password: 'x', roles: [{ rolename: 'operator' }] },
    { command: 'createClient', username: 'watcher', password: 'x' },
  );
  const as = (username: string) => ({ username, password: 'x' });
  const live = await device(mqttPort, 'guarded', { ...as('device'), ...persistent(5) });
  const operator = await connect(mqttPort, as('operator'));
  const subscribe = (topic: string) => run(operator, 'subscribeClient', { clientid: 'guarded', topic, qos: 1 });
  for (const _where of ['connected', 'away']) {
    for (const topic of ['foreign', '#', '$nowhere']) {
      expect(await subscribe(topic)).toEqual({
        error: expect.stringMatching(/^The client may not subscribe to this topic/),
      });
    }
    expect(await subscribe('own/a')).toEqual(DONE);
    expect(await inspect(admin, 'guarded')).toMatchObject({ subscriptions: ['own/a'] });
    await live.client.endAsync();
  }
  const watcher = await connect(mqttPort, { ...as('watcher'), protocolVersion: 5 });
  const refused = watcher.publishAsync(
    `$CONTROL/${API}/v1`,
    JSON.stringify({ commands: [{ command: 'unsubscribeClient', clientid: 'guarded', topic: 'own/a' }] }),
    { qos: 1 },
  );
  await expect(refused).rejects.toMatchObject({ code: 0x87 });
  expect(await inspect(admin, 'guarded')).toMatchObject({ subscriptions: ['own/a'] });
  expect(await run(operator, 'unsubscribeClient', { clientid: 'guarded', topic: 'own/a' })).toEqual(DONE);
  expect(await inspect(admin, 'guarded')).toMatchObject({ subscriptions: [] });
});

test('the limit of filters applies to all ways to subscribe, and the filters are restored with the session', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  const { client } = await device(mqttPort, 'full', persistent(4));
  const filters = Array.from({ length: 10_000 }, (_, index) => `full/${index}`);
  for (let from = 0; from < 10_000; from += 1_000)
    await client.subscribeAsync(filters.slice(from, from + 1_000), { qos: 1 });
  const subscribe = (topic: string) => run(admin, 'subscribeClient', { clientid: 'full', topic, qos: 1 });
  const tooMany = { error: 'The client has as many subscriptions as it may have' };
  expect(await subscribe('one/more')).toEqual(tooMany);
  expect(await subscribe('full/0')).toEqual(DONE);
  await client.endAsync();
  expect(await inspect(admin, 'full')).toMatchObject({ numSubscriptions: 10_000 });
  expect(await subscribe('one/more')).toEqual(tooMany);
  expect(await run(admin, 'unsubscribeClient', { clientid: 'full', topic: 'full/0' })).toEqual(DONE);
  expect(await subscribe('one/more')).toEqual(DONE);
});

test.each<[string, Fields]>([
  ['Invalid/missing clientid', { topic: 'a', qos: 1 }],
  ['Invalid/missing clientid', { clientid: '', topic: 'a', qos: 1 }],
  ['Invalid/missing clientid', { clientid: 7, topic: 'a', qos: 1 }],
  ['Invalid/missing topic', { clientid: 'c', qos: 1 }],
  ['Invalid/missing topic', { clientid: 'c', topic: '', qos: 1 }],
  ['Invalid/missing topic', { clientid: 'c', topic: null, qos: 1 }],
  ['Invalid topic: # must be the whole last level', { clientid: 'c', topic: 'a/#/b', qos: 1 }],
  ['Invalid topic: + must be a whole level', { clientid: 'c', topic: 'a+', qos: 1 }],
  ['Invalid topic: must not have more than 200 levels', { clientid: 'c', topic: 'a/'.repeat(200), qos: 1 }],
  ['Invalid topic: must not exceed 65535 bytes', { clientid: 'c', topic: 'x'.repeat(65_536), qos: 1 }],
  ['Invalid/missing qos', { clientid: 'c', topic: 'a' }],
  ['Invalid/missing qos', { clientid: 'c', topic: 'a', qos: 3 }],
  ['Invalid/missing qos', { clientid: 'c', topic: 'a', qos: '1' }],
  ['Invalid/missing qos', { clientid: 'c', topic: 'a', qos: 0.5 }],
  ['Invalid options', { clientid: 'c', topic: 'a', qos: 1, options: 'none' }],
  ['Invalid no_local', { clientid: 'c', topic: 'a', qos: 1, options: { no_local: 1 } }],
  ['Invalid retain_as_published', { clientid: 'c', topic: 'a', qos: 1, options: { retain_as_published: 'yes' } }],
  ['Invalid send_retain', { clientid: 'c', topic: 'a', qos: 1, options: { send_retain: 'sometimes' } }],
  ['Invalid subscription_identifier', { clientid: 'c', topic: 'a', qos: 1, subscription_identifier: 0 }],
  ['Invalid subscription_identifier', { clientid: 'c', topic: 'a', qos: 1, subscription_identifier: 268_435_456 }],
  ['Client not found', { clientid: 'c', topic: 'a', qos: 1 }],
])('a refusal names the field: %s', async (error, fields) => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  expect(await run(admin, 'subscribeClient', fields)).toEqual({ error });
});

test('commands of one request run in order, and a refused one does not stop the next', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  await device(mqttPort, 'ordered', { protocolVersion: 5 });
  const commands = [
    { command: 'subscribeClient', clientid: 'ordered', topic: 'a', qos: 0 },
    { command: 'subscribeClient', clientid: 'ordered', topic: 'b', qos: 9 },
    { command: 'SUBSCRIBECLIENT', ClientId: 'ordered', TOPIC: 'c', QoS: 1 },
    { command: 'unsubscribeClient', clientid: 'ordered', topic: 'a' },
    { command: 'noSuchCommand' },
  ];
  const answers = await control(admin, API, { commands });
  expect(answers.map(({ data, error }) => error ?? data)).toEqual([
    {},
    'Invalid/missing qos',
    {},
    {},
    'Unknown command',
  ]);
  expect(await inspect(admin, 'ordered')).toMatchObject({ subscriptions: ['c'] });
});

test('confirmed changes survive kill -9, for connected and offline clients', async () => {
  const folder = temporaryFolder();
  let broker = await startBrokerProcess(folder);
  let admin = await connect(broker.port);
  const { client } = await device(broker.port, 'away', persistent(4));
  await client.subscribeAsync(['old', 'stays'], { qos: 1 });
  await client.endAsync();
  await device(broker.port, 'there', persistent(5));
  await retainedOf(admin, 'k/retained', 'kept');
  for (const clientid of ['away', 'there']) {
    const options = { no_local: true, retain_as_published: true };
    const fields = { clientid, topic: 'k/+', qos: 2, subscription_identifier: 5, options };
    expect(await run(admin, 'subscribeClient', fields)).toEqual(DONE);
    expect(await run(admin, 'subscribeClient', { clientid, topic: 'gone', qos: 1 })).toEqual(DONE);
    expect(await run(admin, 'unsubscribeClient', { clientid, topic: 'gone' })).toEqual(DONE);
  }
  expect(await run(admin, 'unsubscribeClient', { clientid: 'away', topic: 'old' })).toEqual(DONE);
  await broker.kill();

  broker = await startBrokerProcess(folder);
  admin = await connect(broker.port);
  expect(await inspect(admin, 'away')).toMatchObject({ subscriptions: ['k/+', 'stays'], queues: { messagesOut: 1 } });
  expect(await inspect(admin, 'there')).toMatchObject({ subscriptions: ['k/+'], subscriptionQos: [2] });
  await admin.publishAsync('k/x', 'flagged', { qos: 2, retain: true });
  for (const [clientId, version] of [
    ['away', 4],
    ['there', 5],
  ] as const) {
    const { packets, until } = returning(broker.port, clientId, persistent(version));
    await until((seen) => seen.some(({ text }) => text === 'flagged'));
    expect(packets.at(-1)).toMatchObject({ text: 'flagged', qos: 2, retain: true });
    expect(packets.at(-1)?.properties?.subscriptionIdentifier).toBe(version === 5 ? 5 : undefined);
  }
});

test('no payload ends the broker, and refused commands leave nothing behind', async () => {
  const failures: string[] = [];
  const { mqttPort } = await startTestBroker({ onState: (state) => void (state === 'FAILED' && failures.push(state)) });
  const admin = await connect(mqttPort, { clientId: 'admin-1' });
  await device(mqttPort, 'live', persistent(5));
  await (await device(mqttPort, 'away', persistent(4))).client.endAsync();
  const ids = ['live', 'away'] as const;
  const text = fc.oneof(
    fc.constantFrom('a', 'a/+', '#', '__proto__', 'constructor', '$share/g/a', '', '\ud800'),
    fc.string(),
  );
  const command = fc.record(
    {
      command: fc.constantFrom('subscribeClient', 'unsubscribeClient', 'disconnectClient', '__proto__', 'toString'),
      clientid: fc.oneof(fc.constantFrom('live', 'away', '__proto__', 'nobody'), fc.jsonValue()),
      topic: fc.oneof({ weight: 3, arbitrary: text }, { weight: 1, arbitrary: fc.jsonValue() }),
      qos: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(0, 1, 2) }, { weight: 1, arbitrary: fc.jsonValue() }),
      subscription_identifier: fc.oneof(fc.constantFrom(null, 0, 1, 268_435_455, 268_435_456, -1, 1.5), fc.jsonValue()),
      options: fc.oneof(
        fc.record(
          {
            no_local: fc.oneof(fc.boolean(), fc.jsonValue()),
            retain_as_published: fc.oneof(fc.boolean(), fc.jsonValue()),
            send_retain: fc.oneof(fc.constantFrom('always', 'new', 'never', null), fc.jsonValue()),
          },
          { requiredKeys: [] },
        ),
        fc.jsonValue(),
      ),
    },
    { requiredKeys: ['command'] },
  );
  // The filters that each client was given and keeps, by what was answered.
  const kept: Record<string, Set<string>> = { live: new Set(), away: new Set() };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 9, arbitrary: command }, { weight: 1, arbitrary: fc.jsonValue() }), { maxLength: 8 }),
      async (commands) => {
        const answers = await control(admin, API, JSON.stringify({ commands }));
        for (const [index, answer] of answers.entries()) {
          expect(answer.error).not.toBe('Internal error');
          const sent = commands[index] as { command?: unknown; clientid?: unknown; topic?: unknown } | null;
          const filters = typeof sent?.clientid === 'string' ? kept[sent.clientid] : undefined;
          if (answer.error !== undefined || !(filters instanceof Set)) continue;
          if (sent?.command === 'subscribeClient') filters.add(String(sent.topic));
          if (sent?.command === 'unsubscribeClient') filters.delete(String(sent.topic));
        }
      },
    ),
    { numRuns: runs(300) },
  );
  for (const clientid of ids) {
    const { subscriptions } = await inspect(admin, clientid);
    expect([...(subscriptions as string[])].sort()).toEqual([...(kept[clientid] ?? [])].sort());
  }
  expect(failures).toEqual([]);
});
