import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { buildSchema, getNamedType, isInputObjectType, isObjectType } from 'graphql';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../../support/database.ts';
import { type Mosquitto, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../../support/service.ts';

/** The setting as it is by default. */
const NOTHING_LISTED = { BROKER_ALLOWED_HOSTS: '' };
const SECRET = `whsec_${Buffer.alloc(24, 'a secret').toString('base64')}`;

/** A server inside, and what reached it. */
async function startInside(host = '127.0.0.1') {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume();
    response.end();
  }).listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as { port: number }).port, requests };
}

const webhook = (url: string, more: object = {}) => ({
  connections: [{ name: 'hook', url, secret: SECRET, topics: ['in/#'], ...more }],
});
const postgresql = (url: string) => ({
  connections: [
    {
      name: 'base',
      url,
      mappings: [{ name: 'm', topics: ['in/#'], table: 't', columns: [{ column: 'c', source: 'payload' }] }],
    },
  ],
});
const mqtt = (url: string) => ({
  connections: [{ name: 'other', url, topics: [{ pattern: 'in/#', direction: 'out' }] }],
});

async function addBroker({ graphql, projectId }: TestService, { url }: Pick<Mosquitto, 'url'>): Promise<string> {
  const { data } = await graphql(ADD, { input: { projectId, name: 'line', url } });
  return data.addBroker.broker.id;
}

/** Writes configurations of one broker's bridges; resolves with the issues, or null. */
const writer =
  ({ graphql }: TestService, brokerId: string) =>
  async (bridgeKey: string, config: object, token?: string) => {
    const { errors } = await graphql(
      'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }',
      { input: { brokerId, bridgeKey, config } },
      token,
    );
    const [error] = errors ?? [];
    if (error === undefined) return null;
    expect(error.extensions.code).toBe('INVALID');
    return (error.extensions.info as { issues: { path: string; reason: string }[] }).issues;
  };

const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const UPDATE = 'mutation ($input: UpdateBrokerInput!) { updateBroker(input: $input) { broker { id } } }';
const TEST = 'mutation ($input: TestBrokerInput!) { testBroker(input: $input) { __typename } }';

const REFUSED = (path: string) => [{ path, reason: expect.stringContaining('BROKER_ALLOWED_HOSTS') }];

const REFUSED_URL = REFUSED('/connections/0/url');

test('only a root administrator can configure a bridge to an internal address, and this trust is stored', async () => {
  const inside = await startInside();
  const mosquitto = await startMosquitto();
  const dataDir = temporaryFolder();
  const first = await startTestService({ dataDir, env: NOTHING_LISTED });
  const id = await addBroker(first, mosquitto);
  await expect.poll(() => first.services.runtimes.status(id).state).toBe('CONNECTED');
  const viewer = await first.person('VIEWER');
  const write = writer(first, id);
  const path = `:${inside.port}/latest/meta-data/`;
  for (const host of ['127.0.0.1', 'localhost', '127.1', '2130706433', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0']) {
    expect(await write('webhook-bridge', webhook(`http://${host}${path}`), viewer.token)).toEqual(
      REFUSED('/connections/0/url'),
    );
  }
  for (const host of ['169.254.169.254', '[fe80::1]', '[fd00:ec2::254]', '100.100.100.200', '[64:ff9b::a9fe:a9fe]']) {
    expect(await write('webhook-bridge', webhook(`http://${host}/latest`), viewer.token)).toHaveLength(1);
    expect(await write('postgresql-bridge', postgresql(`postgresql://u@${host}/d`), viewer.token)).toHaveLength(1);
    expect(await write('mqtt-bridge', mqtt(`mqtt://${host}`), viewer.token)).toEqual(REFUSED('/connections/0/url'));
  }
  expect(await write('postgresql-bridge', postgresql('postgresql://u@127.0.0.1/d'), viewer.token)).toEqual(
    REFUSED('/connections/0/url'),
  );
  for (const host of ['127.0.0.1', 'localhost', '[::1]'])
    expect(await write('mqtt-bridge', mqtt(`mqtt://${host}:${mosquitto.port}`), viewer.token)).toHaveLength(1);
  expect(await write('webhook-bridge', webhook('https://hooks.example/a'), viewer.token)).toBeNull();

  const url = `http://127.0.0.1${path}`;
  expect(await write('webhook-bridge', webhook(url))).toBeNull();
  const client = await mosquitto.client();
  await expect
    .poll(async () => {
      await client.publishAsync('in/a', 'x', { qos: 1 });
      return inside.requests.length;
    })
    .toBeGreaterThan(0);
  // Other fields may change, the address may not; nor is the address trusted that was replaced meanwhile.
  const other = { headers: { 'X-Other': '1' } };
  expect(await write('webhook-bridge', webhook(url, other), viewer.token)).toBeNull();
  expect(await write('webhook-bridge', webhook(`${url}other`, other), viewer.token)).toEqual(
    REFUSED('/connections/0/url'),
  );
  expect(await write('webhook-bridge', webhook(url, { ...other, isTrusted: true }), viewer.token)).toEqual([
    expect.objectContaining({ path: expect.stringContaining('/connections/0') }),
  ]);
  await first.close();

  const databaseUrl = first.config.databaseUrl;
  const env = databaseUrl === undefined ? NOTHING_LISTED : { ...NOTHING_LISTED, DATABASE_URL: databaseUrl };
  const second = await startTestService({ dataDir, env });
  await expect
    .poll(async () => {
      await client.publishAsync('in/a', 'y', { qos: 1 });
      return inside.requests.filter(({ headers }) => headers['x-other'] === '1').length;
    })
    .toBeGreaterThan(0);
  const again = writer(second, id);
  expect(await again('webhook-bridge', webhook('https://hooks.example/a'), viewer.token)).toBeNull();
  expect(await again('webhook-bridge', webhook(url), viewer.token)).toEqual(REFUSED('/connections/0/url'));

  // A configuration from before addresses were noted goes on; another address is checked.
  expect(await again('webhook-bridge', webhook(url))).toBeNull();
  await second.storage.db.bridgeConfig.updateMany({ data: { trustedAddresses: null } });
  await second.close();
  const third = await startTestService({ dataDir, env });
  const before = inside.requests.length;
  await expect
    .poll(async () => {
      await client.publishAsync('in/a', 'z', { qos: 1 });
      return inside.requests.length;
    })
    .toBeGreaterThan(before);
  expect(await writer(third, id)('webhook-bridge', webhook(url, other), viewer.token)).toBeNull();
  expect(await writer(third, id)('webhook-bridge', webhook(`${url}x`), viewer.token)).toHaveLength(1);
});

const ownName = await lookup(hostname()).catch(() => null);

test.skipIf(ownName === null || !/^127\./.test(ownName.address))(
  'a host name that resolves to an internal address is refused when the bridge connects',
  async () => {
    const inside = await startInside();
    const mosquitto = await startMosquitto();
    const service = await startTestService({ env: NOTHING_LISTED });
    const id = await addBroker(service, mosquitto);
    await expect.poll(() => service.services.runtimes.status(id).state).toBe('CONNECTED');
    const editor = await service.person('EDITOR');
    const write = writer(service, id);
    const config = webhook(`http://${hostname()}:${inside.port}/`);
    expect(await write('webhook-bridge', config, editor.token)).toBeNull();
    const client = await mosquitto.client();
    const statusOf = async () => {
      await client.publishAsync('in/a', 'x', { qos: 1 });
      const query = 'query ($id: ID!) { broker(id: $id) { bridge(key: "webhook-bridge") { status } } }';
      const { data } = await service.graphql(query, { id });
      return JSON.stringify(data.broker.bridge.status);
    };
    await expect.poll(statusOf).toContain('BROKER_ALLOWED_HOSTS');
    expect(inside.requests).toHaveLength(0);
    // The same, entered by a root administrator.
    expect(await write('webhook-bridge', config)).toBeNull();
    await expect.poll(async () => [await statusOf(), inside.requests.length][1]).toBeGreaterThan(0);
  },
);

test('a webhook keeps its secret only for its own path', async () => {
  const inside = await startInside();
  const mosquitto = await startMosquitto();
  const service = await startTestService();
  const id = await addBroker(service, mosquitto);
  await expect.poll(() => service.services.runtimes.status(id).state).toBe('CONNECTED');
  const viewer = await service.person('VIEWER');
  const write = writer(service, id);
  const url = `http://127.0.0.1:${inside.port}`;
  const headers = { Authorization: 'Bearer of tenant a' };
  expect(await write('webhook-bridge', webhook(`${url}/tenant-a`, { headers }))).toBeNull();
  const masked = { secret: '***', headers: { Authorization: '***' } };
  expect(await write('webhook-bridge', webhook(`${url}/attacker-path`, masked), viewer.token)).toMatchObject([
    { path: '/connections/0/secret', reason: expect.stringContaining('given again') },
    { path: '/connections/0/headers/Authorization' },
  ]);
  expect(await write('webhook-bridge', webhook(`${url}/tenant-a`, { ...masked, qos: 0 }), viewer.token)).toBeNull();
});

test('addresses of the interfaces of this machine are internal, for brokers, webhooks and databases', async () => {
  const inside = await startInside('::');
  const mosquitto = await startMosquitto();
  const service = await startTestService({ env: NOTHING_LISTED });
  const id = await addBroker(service, mosquitto);
  await expect.poll(() => service.services.runtimes.status(id).state).toBe('CONNECTED');
  const viewer = await service.person('VIEWER');
  const write = writer(service, id);
  const found = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  for (const { address, family } of found) {
    const hosts = family === 'IPv6' ? [`[${address}]`] : [address, `[::ffff:${address}]`, `[64:ff9b::${address}]`];
    for (const host of hosts) {
      const to = `${host}:${inside.port}`;
      expect(await write('webhook-bridge', webhook(`http://${to}/by-viewer`), viewer.token)).toEqual(REFUSED_URL);
      expect(await write('mqtt-bridge', mqtt(`ws://${to}/by-viewer`), viewer.token)).toEqual(REFUSED_URL);
      expect(await write('postgresql-bridge', postgresql(`postgresql://u@${to}/d`), viewer.token)).toEqual(REFUSED_URL);
    }
  }
  expect(inside.requests).toEqual([]);
});

test('everybody may build a bridge to a broker that this service runs, at its own ports only', async () => {
  const service = await startTestService({ env: NOTHING_LISTED, embeddedBroker: true });
  const { id, url } = await service.storage.db.broker.findFirstOrThrow();
  if (url === null) throw new Error('has no address');
  const write = writer(service, id);
  const viewer = await service.person('VIEWER');
  const inside = await startInside();
  expect(await write('mqtt-bridge', mqtt(url), viewer.token)).toBeNull();
  expect(await write('mqtt-bridge', mqtt(url.replace('127.0.0.1', 'localhost')), viewer.token)).toBeNull();
  expect(await write('mqtt-bridge', mqtt(`mqtt://127.0.0.1:${inside.port}`), viewer.token)).toEqual(REFUSED_URL);
  expect(await write('webhook-bridge', webhook(url.replace('mqtt:', 'http:')), viewer.token)).toEqual(REFUSED_URL);
  const admin = await service.person('ADMIN');
  const add = async (to: string) =>
    (await service.graphql(ADD, { input: { projectId: service.projectId, name: 'b', url: to } }, admin.token)).errors;
  expect(await add(url)).toBeUndefined();
  expect(await add(`mqtt://127.0.0.1:${inside.port}`)).toHaveLength(1);
});

test('texts that are sent before a server has responded have no control characters', async () => {
  const mosquitto = await startMosquitto();
  const service = await startTestService();
  const id = await addBroker(service, mosquitto);
  await expect.poll(() => service.services.runtimes.status(id).state).toBe('CONNECTED');
  const lines = ['\r\nFLUSHALL\r\n', 'a\nb', 'a\tb', '\u007f', '\u0085'];
  const issue = (path: string) => ({ path, reason: 'must not contain control characters' });
  const base = { projectId: service.projectId, name: 'b', url: mosquitto.url };
  for (const text of lines) {
    for (const field of ['username', 'password']) {
      const answers = [
        await service.graphql(ADD, { input: { ...base, [field]: text } }),
        await service.graphql(UPDATE, { input: { brokerId: id, [field]: text } }),
      ];
      for (const { errors } of answers)
        expect(errors?.[0]?.extensions.info).toMatchObject({ issues: [issue(`input.${field}`)] });
    }
    const write = writer(service, id);
    const [toMqtt] = mqtt('mqtt://broker.example').connections;
    for (const field of ['username', 'password', 'clientId']) {
      const config = { connections: [{ ...toMqtt, [field]: text }] };
      expect(await write('mqtt-bridge', config)).toEqual([issue(`/connections/0/${field}`)]);
    }
    const encoded = encodeURIComponent(text);
    for (const url of [`${encoded}@db.example/d`, `u:${encoded}@db.example/d`, `u@db.example/${encoded}`])
      expect(await write('postgresql-bridge', postgresql(`postgresql://${url}`))).toEqual([
        issue('/connections/0/url'),
      ]);
  }
});

test('only administrators of the project learn whether a port of a broker is open', async () => {
  const silent = createTcpServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  onTestFinished(() => void silent.close());
  const closed = createTcpServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port: closedPort } = closed.address() as { port: number };
  closed.close();
  const service = await startTestService({ env: { BROKER_TIMEOUT_MS: '1000' } });
  const ids = await Promise.all([port, closedPort].map((at) => addBroker(service, { url: `mqtt://127.0.0.1:${at}` })));
  const [admin, editor, viewer] = await Promise.all([
    service.person('ADMIN'),
    service.person('EDITOR'),
    service.person('VIEWER'),
  ]);
  const seen = async (token: string) => {
    const texts = [];
    for (const id of ids) {
      const query = 'query ($id: ID!) { broker(id: $id) { connection { lastError } } }';
      await expect
        .poll(async () => (await service.graphql(query, { id }, token)).data.broker.connection.lastError)
        .not.toBeNull();
      texts.push((await service.graphql(query, { id }, token)).data.broker.connection.lastError);
    }
    return texts;
  };
  expect(await seen(admin.token)).toEqual([expect.stringContaining('in time'), expect.stringContaining('refused')]);
  for (const { token } of [editor, viewer]) expect(new Set(await seen(token)).size).toBe(1);

  const CLIENTS = 'query ($id: ID!) { broker(id: $id) { connectedClients { totalCount } } }';
  const TOPICS = 'query ($id: ID!) { broker(id: $id) { topicTree { reason } } }';
  const PUBLISH =
    'mutation ($id: ID!) { publishMessage(input: { brokerId: $id, topic: "a", payload: { text: "" } }) { outcome } }';
  const results = (id: string, token: string) =>
    Promise.all([
      ...[CLIENTS, TOPICS, PUBLISH].map((text) => service.graphql(text, { id }, token)),
      service.rest('GET', `/api/projects/${service.projectId}/brokers/${id}/client-inspect`, token),
    ]);
  for (const { token } of [viewer, editor, admin]) {
    const [ofSilent = '', ofClosed] = await Promise.all(
      ids.map(async (id) => {
        const found = await results(id, token);
        return JSON.stringify(found, (key, value) => (key === 'headers' ? undefined : value)).replaceAll(id, 'id');
      }),
    );
    expect(ofClosed).toBe(ofSilent);
    expect(ofSilent.split('administrators of the project see the reason').length).toBeGreaterThan(3);
  }
});

const CREATE_CHANNEL =
  'mutation ($input: CreateNotificationChannelInput!) { createNotificationChannel(input: $input) { __typename } }';
const WRITE_BRIDGE =
  'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }';
const TEST_BRIDGE = 'mutation ($input: TestBridgeConnectionInput!) { testBridgeConnection(input: $input) { state } }';

/** Sends an inside host in the field. */
type Send = (world: {
  readonly projectId: string;
  readonly brokerId: string;
}) => readonly [query: string, input: object];

/** All input fields and arguments for a host, a URL or a JSON document: how it is sent, or why it is not checked. */
const FIELDS_WITH_HOSTS: Readonly<Record<string, string | Send>> = {
  'AddBrokerInput.url': ({ projectId }) => [ADD, { projectId, name: 'inside', url: 'mqtt://127.0.0.1:1' }],
  'TestBrokerInput.url': ({ projectId }) => [TEST, { projectId, url: 'mqtt://127.0.0.1:1' }],
  'UpdateBrokerInput.url': ({ brokerId }) => [UPDATE, { brokerId, url: 'mqtt://127.0.0.1:1' }],
  'UpdateBridgeConfigInput.config': ({ brokerId }) => [
    WRITE_BRIDGE,
    { brokerId, bridgeKey: 'webhook-bridge', config: webhook('http://127.0.0.1:1/') },
  ],
  'TestBridgeConnectionInput.config': ({ brokerId }) => [
    TEST_BRIDGE,
    { brokerId, bridgeKey: 'webhook-bridge', config: webhook('http://127.0.0.1:1/'), connectionName: 'hook' },
  ],
  'NotificationWebhookInput.url': ({ projectId }) => [
    CREATE_CHANNEL,
    { projectId, name: 'inside', target: { webhook: { url: 'http://127.0.0.1:1/' } } },
  ],
  'CreateNotificationChannelInput.target': 'has the fields of NotificationTargetInput',
  'UpdateNotificationChannelInput.target': 'has the fields of NotificationTargetInput',
  'AccessGroupFilter.target': 'names a field',
  'AccessRoleFilter.target': 'names a field',
  'AccountFilter.target': 'names a field',
  'AuditFilter.targetId': 'names an object',
  'AuditFilter.targetKind': 'names an object',
  'CreateStreamInput.targetQos': 'is a QoS',
  'CreateStreamInput.targetTopic': 'is a topic',
  'UpdateStreamInput.targetQos': 'is a QoS',
  'UpdateStreamInput.targetTopic': 'is a topic',
  'SetTargetStateInput.targetState': 'is a state',
  'NotificationWebhookInput.variables': 'has no addresses',
  'ClusterNodeInput.address': 'sent to the nodes',
  'ClusterNodeInput.url': 'compared with a stored URL',
  'JoinClusterInput.address': 'sent to the nodes',
  'JoinClusterInput.url': 'compared with a stored URL',
  'LeaveClusterInput.url': 'compared with a stored URL',
  'ClientEventFilter.address': 'compared with addresses of clients',
  'ConnectedClientFilter.address': 'compared with addresses of clients',
  'CertificateListenerInput.bindAddress': 'names a listener of the broker',
  'AccessControlImportInput.document': 'has no addresses',
  'CreateStreamInput.query': 'has no addresses',
  'UpdateStreamInput.query': 'has no addresses',
  'MessagePayloadInput.json': 'is published',
  'previewStream.query': 'has no addresses',
  'previewStream.samples': 'is transformed',
};

test('every field of the graph that takes a host is known', () => {
  const schema = buildSchema(readFileSync(new URL('../../../../schema.graphql', import.meta.url), 'utf8'));
  const inputs = Object.values(schema.getTypeMap()).flatMap((type) => {
    if (isInputObjectType(type)) return [[type.name, Object.values(type.getFields())] as const];
    if (!isObjectType(type)) return [];
    return Object.values(type.getFields()).map(({ name, args }) => [name, args] as const);
  });
  const found = inputs.flatMap(([owner, fields]) =>
    fields
      .filter(
        ({ name, type }) =>
          /url|uri|host|address|endpoint|server|target|domain/i.test(name) || getNamedType(type).name === 'JSON',
      )
      .map(({ name }) => `${owner}.${name}`),
  );
  expect(found.sort()).toEqual(Object.keys(FIELDS_WITH_HOSTS).sort());
});

test.each(Object.entries(FIELDS_WITH_HOSTS).filter(([, send]) => typeof send === 'function'))(
  '%s refuses an inside host of an administrator of the project',
  async (_field, send) => {
    if (typeof send === 'string') return;
    const service = await startTestService({ env: NOTHING_LISTED });
    const admin = await service.person('ADMIN');
    const brokerId = await addBroker(service, await startMosquitto());
    await expect.poll(() => service.services.runtimes.status(brokerId).state).toBe('CONNECTED');
    const [query, input] = send({ projectId: service.projectId, brokerId });
    const { errors } = await service.graphql(query, { input }, admin.token);
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ reason: expect.stringContaining('BROKER_ALLOWED_HOSTS') }] },
    });
  },
);

test('only root administrators can use internal brokers', async () => {
  const mosquitto = await startMosquitto();
  const add = async (service: TestService, url: string, token?: string) => {
    const input = { projectId: service.projectId, name: 'b', url };
    const { data, errors } = await service.graphql(ADD, { input }, token);
    expect(errors?.[0]?.extensions.code ?? 'INVALID').toBe('INVALID');
    return (data?.addBroker?.broker.id ?? null) as string | null;
  };
  const local = await startTestService({ env: NOTHING_LISTED });
  const localAdmin = await local.person('ADMIN');
  expect(await add(local, mosquitto.url, localAdmin.token)).toBeNull();
  expect(await add(local, `ws://localhost:${mosquitto.port}/any/path`, localAdmin.token)).toBeNull();
  expect(await add(local, 'mqtt://169.254.169.254', localAdmin.token)).toBeNull();
  expect(await add(local, 'mqtt://169.254.169.254')).not.toBeNull();

  const service = await startTestService({ env: { ...NOTHING_LISTED, HOST: '0.0.0.0' } });
  const admin = await service.person('ADMIN');
  expect(await add(service, mosquitto.url, admin.token)).toBeNull();
  expect(await add(service, `ws://2130706433:${mosquitto.port}`, admin.token)).toBeNull();
  const id = String(await add(service, mosquitto.url));
  const { runtimes } = service.services;
  await expect.poll(() => runtimes.status(id).state).toBe('CONNECTED');
  const update = async (change: object, token?: string) => {
    const { errors } = await service.graphql(UPDATE, { input: { brokerId: id, ...change } }, token);
    return errors?.[0]?.extensions.info ?? null;
  };
  // Other fields, and the same address, keep it.
  expect(await update({ name: 'renamed', url: mosquitto.url, username: 'u' }, admin.token)).toBeNull();
  await expect.poll(() => runtimes.status(id).state).toBe('CONNECTED');
  expect(await update({ url: `${mosquitto.url}/x` }, admin.token)).toMatchObject({
    issues: [{ path: 'input.url', reason: expect.stringContaining('BROKER_ALLOWED_HOSTS') }],
  });
  expect(await update({ url: 'mqtt://broker.example' }, admin.token)).toBeNull();
  expect(await update({ url: mosquitto.url }, admin.token)).not.toBeNull();

  const listed = await startTestService({ env: { BROKER_ALLOWED_HOSTS: '*,127.0.0.1', HOST: '0.0.0.0' } });
  const allowed = await listed.person('ADMIN');
  expect(await add(listed, mosquitto.url, allowed.token)).not.toBeNull();
  expect(await add(listed, 'mqtt://127.0.0.2', allowed.token)).toBeNull();
});
