import { expect, test } from 'vitest';
import { startTestService } from '../../../support/service.ts';
import { addBroker, type StreamWorld, worldOf } from '../../streams/stream-world.ts';
import { type CommercialBridge, MONGO_CONFIG, startCommercialBridge } from './commercial-bridge.ts';

async function worldWith(broker: CommercialBridge): Promise<StreamWorld> {
  const service = await startTestService();
  return worldOf(service, await addBroker(service, broker.url), broker.url, {});
}

const LIST = 'query ($b: ID!) { broker(id: $b) { bridges { key isActive provider isConfigurable origin } } }';
const ONE = `query ($b: ID!) { broker(id: $b) { bridge(key: "mongodb-bridge") {
  key name isActive provider schema config status connections { name isConnected state error queuedMessages delivered }
} } }`;
const OURS = ['mqtt-bridge', 'postgresql-bridge', 'webhook-bridge'].map((key) => ({
  key,
  isActive: false,
  provider: 'GATEWAY',
  isConfigurable: true,
  origin: null,
}));
const UPDATE = `mutation ($b: ID!, $c: JSON!) {
  updateBridgeConfig(input: { brokerId: $b, bridgeKey: "mongodb-bridge", config: $c }) { bridge { id } }
}`;

test('below ADMIN the bridge of a broker is not configured with topics of $CONTROL/', async () => {
  const broker = await startCommercialBridge();
  const { service, brokerId } = await worldWith(broker);
  const editor = (await service.person('EDITOR')).token;
  const withTopic = (topic: unknown) => ({ ...MONGO_CONFIG, topicMappings: [{ name: 't1', mqttTopics: [topic] }] });
  const codeOf = async (config: unknown, token: string) =>
    (await service.graphql(UPDATE, { b: brokerId, c: config }, token)).errors?.[0]?.extensions.code;
  for (const topic of ['$CONTROL/#', '$CONTROL', '$CON', { '$CONTROL/dynamic-security/v1': 'a' }]) {
    expect([topic, await codeOf(withTopic(topic), editor)]).toEqual([topic, 'NOT_ALLOWED']);
  }
  expect(broker.config).toEqual(MONGO_CONFIG);
  expect(await codeOf(withTopic('plant/#'), editor)).toBeUndefined();
  expect(await codeOf(withTopic('$CONTROL/#'), service.root)).toBeUndefined();
});

const SECRET = /mongo password|another%20secret/;

test('the bridge of a commercial broker is listed, read, written and followed without its secrets', async () => {
  const broker = await startCommercialBridge();
  const world = await worldWith(broker);
  const mongo = { key: 'mongodb-bridge', isActive: true, provider: 'BROKER', isConfigurable: true, origin: null };
  expect((await world.graph(LIST)).broker.bridges).toEqual([...OURS, mongo]);
  expect((await world.rest('GET', '/bridges')).body).toContainEqual({ id: 'mongodb-bridge', isActive: true });

  const { bridge } = (await world.graph(ONE)).broker;
  expect(bridge).toMatchObject({
    name: 'mongodb-bridge',
    schema: broker.schema,
    status: broker.status,
    connections: [
      { name: 'm1', isConnected: true, state: 'CONNECTED', error: null, queuedMessages: 3, delivered: null },
    ],
  });
  expect(bridge.config.connections.map(({ connection }: { connection: unknown }) => connection)).toEqual([
    { hostname: 'mongo.example', port: 27017, database: 'plant', credentials: { username: 'bridge', password: '***' } },
    { connectionURI: 'mongodb://bridge:***@two.example/plant' },
  ]);
  const read = await world.rest('GET', '/bridges/mongodb-bridge/config');
  expect([read.status, read.body]).toEqual([200, bridge.config]);

  // What was read is written with one change: the secrets stay.
  const [first, second] = bridge.config.connections;
  const changed = { ...bridge.config, connections: [second, { ...first, options: { maxQueuedMessages: 200 } }] };
  expect((await world.rest('PUT', '/bridges/mongodb-bridge/config', changed)).status).toBe(204);
  expect(broker.config).toEqual({
    ...MONGO_CONFIG,
    connections: [MONGO_CONFIG.connections[1], { ...MONGO_CONFIG.connections[0], options: { maxQueuedMessages: 200 } }],
  });

  // But not for another host.
  const stolen = { ...first, connection: { ...first.connection, hostname: 'elsewhere.example' } };
  const before = broker.config;
  const theft = await world.rest('PUT', '/bridges/mongodb-bridge/config', { version: 'v1', connections: [stolen] });
  expect([theft.status, theft.body.code, theft.body.info.issues[0].path]).toEqual([
    400,
    'INVALID',
    '/connections/0/connection/credentials/password',
  ]);
  expect(broker.config).toBe(before);

  // A refusal that repeats the given secret is masked.
  broker.refusal = 'Cannot log in with "a new password" as bridge';
  const given = { ...MONGO_CONFIG, connections: [], password: 'a new password' };
  const refused = await world.unchanged('updateBridgeConfig', { bridgeKey: 'mongodb-bridge', config: given });
  expect(refused.extensions.code).toBe('BROKER_REJECTED');
  expect(JSON.stringify(refused)).toContain('Cannot log in with');
  expect(JSON.stringify(refused)).not.toContain('a new password');
  broker.refusal = 'Identical configChange is already queued';
  await world.change('updateBridgeConfig', { bridgeKey: 'mongodb-bridge', config: given });

  const feed = world.follow(
    'subscription ($b: ID!) { bridgeStatus(brokerId: $b, bridgeId: "mongodb-bridge") { kind sequence isConnected status connections { name isConnected error } } }',
  );
  const start = (await feed.until(() => true)).bridgeStatus;
  expect(start).toMatchObject({
    kind: 'SNAPSHOT',
    isConnected: true,
    connections: [{ name: 'm1', isConnected: true }],
  });
  broker.status = [
    {
      connectionName: 'm1',
      queuedMessages: 4,
      isConnected: false,
      error: 'no route to mongodb://bridge:another%20secret@x',
    },
    { connectionName: 'm2', credentials: { password: 'another%20secret' }, isConnected: true },
  ];
  const next = (await feed.until(() => true)).bridgeStatus;
  expect(next.sequence).toBe(start.sequence + 1);
  expect(next).toMatchObject({ kind: 'CHANGE', connections: [{ isConnected: false }, { name: 'm2' }] });
  expect(JSON.stringify([bridge, read, theft, start, next])).not.toMatch(SECRET);
});

test('invalid responses are refused or left out, and unreported bridges are not queried', async () => {
  const broker = await startCommercialBridge();
  const world = await worldWith(broker);
  const read = async (field: string) =>
    (await world.refused(`query ($b: ID!) { broker(id: $b) { bridge(key: "mongodb-bridge") { ${field} } } }`))
      .extensions;
  const deep = JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`);
  for (const odd of ['text', 7, null, true, { a: deep }]) {
    broker.odd = odd;
    expect((await read('config')).code).toBe('BROKER_REJECTED');
    expect((await read('schema')).code).toBe('BROKER_REJECTED');
    if (odd === null || typeof odd !== 'object') expect((await read('status')).code).toBe('BROKER_REJECTED');
  }
  broker.odd = { text: 'x'.repeat(1_000_000) };
  expect((await read('status')).code).toBe('BROKER_REJECTED');
  broker.odd = [
    { connectionName: 7 },
    null,
    { name: 'x', isConnected: 'yes', queuedMessages: -1, error: 9, since: 1e300 },
  ];
  const document = ONE.replace('schema config', '');
  expect((await world.graph(document)).broker.bridge.connections).toEqual([
    { name: 'x', isConnected: false, state: null, error: null, queuedMessages: null, delivered: null },
  ]);

  const before = broker.asked.size;
  const unknown = await world.rest('GET', '/bridges/kafka-bridge/status');
  expect([unknown.status, unknown.body.code]).toEqual([404, 'NOT_FOUND']);
  for (const id of ['nothing', 'x%2Fy-bridge', '%2B-bridge', 'connection-none']) {
    const { status, body } = await world.rest('GET', `/bridges/${id}/config`);
    expect([status, body.message]).toEqual([404, `There is no bridge "${decodeURIComponent(id)}"`]);
  }
  const refused = await world.unchanged('updateBridgeConfig', { bridgeKey: 'kafka-bridge', config: {} });
  expect(refused.extensions.code).toBe('NOT_FOUND');
  expect(broker.asked.size).toBe(before);
});

test('bridges are found by the license without plugins, on both response topics, and one that does not respond is not active', async () => {
  const broker = await startCommercialBridge({
    plugins: false,
    answersElsewhere: true,
    features: ['MongoDB Bridge', 'cedalo/kafka-bridge', 'ha', 'influxdb'],
  });
  const { bridges } = (await (await worldWith(broker)).graph(LIST)).broker;
  expect(
    bridges.slice(OURS.length).map(({ key, isActive }: { key: string; isActive: boolean }) => [key, isActive]),
  ).toEqual([
    ['mongodb-bridge', true],
    ['kafka-bridge', false],
    ['influxdb-bridge', false],
  ]);
});

test('a licensed broker that reports no bridge is queried for the known ones', async () => {
  const broker = await startCommercialBridge({ plugins: false, features: [] });
  const { bridges } = (await (await worldWith(broker)).graph(LIST)).broker;
  expect(bridges.slice(OURS.length)).toMatchObject([{ key: 'mongodb-bridge', isActive: true }]);
});
