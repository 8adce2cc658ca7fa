import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectDatabase } from '../../../data-plane/bridges/postgresql/bridge-to-postgresql.ts';
import { startEndpoint } from '../../../data-plane/bridges/webhook/endpoint.ts';
import { createAuthority } from '../../../support/certificates.ts';
import { ADMIN, startMosquitto } from '../../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { startTestService } from '../../../support/service.ts';
import { addBroker } from '../../streams/stream-world.ts';

const TEST = `mutation ($input: TestBridgeConnectionInput!) {
  testBridgeConnection(input: $input) { state error responseStatus }
}`;
const UPDATE = 'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }';
const STRICT = 'mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }';
const CONFIG = `query ($b: ID!) { broker(id: $b) {
  bridges { key config connections { state since } }
} }`;

const SECRET = `whsec_${Buffer.alloc(24, 'a secret').toString('base64')}`;
const webhook = (url: string, more: object = {}) => ({ name: 'hook', url, secret: SECRET, topics: ['in/#'], ...more });
const mqtt = (url: string, more: object = {}) => ({
  ...{ name: 'other', url, topics: [{ pattern: 'in/#', direction: 'out' }] },
  ...more,
});
const PASSED = { state: 'CONNECTED', error: null, responseStatus: null };

interface Asked {
  readonly token?: string;
  readonly connectionName?: string;
}

/** A broker, and tests of the only connection of a configuration. */
async function startWorld(env: Record<string, string> = {}) {
  const service = await startTestService({ env });
  const brokerId = await addBroker(service, (await startMosquitto()).url);
  // The first search for the bridges of a broker may take longer than its timeout.
  await expect.poll(async () => (await service.graphql(CONFIG, { b: brokerId })).data.broker.bridges).toHaveLength(3);
  const ask = async (bridgeKey: string, connection: { name: string }, { token, connectionName }: Asked = {}) => {
    const input = { brokerId, bridgeKey, config: { connections: [connection] } };
    return service.graphql(TEST, { input: { ...input, connectionName: connectionName ?? connection.name } }, token);
  };
  return {
    service,
    brokerId,
    found: async (bridgeKey: string, connection: { name: string }, token?: string) =>
      (await ask(bridgeKey, connection, token === undefined ? {} : { token })).data.testBridgeConnection,
    refused: async (bridgeKey: string, connection: { name: string }, asked: Asked = {}) =>
      (await ask(bridgeKey, connection, asked)).errors?.[0]?.extensions,
    save: async (bridgeKey: string, connection: object) => {
      const input = { brokerId, bridgeKey, config: { connections: [connection] } };
      expect((await service.graphql(UPDATE, { input })).errors).toBeUndefined();
    },
  };
}

/** Ports that accept connections without a response, and that refuse them. */
async function startSilent(): Promise<{ silent: number; closed: number }> {
  const open = async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return { server, port: (server.address() as { port: number }).port };
  };
  const [silent, closed] = [await open(), await open()];
  closed.server.close();
  return { silent: silent.port, closed: closed.port };
}

test('a webhook is tested by one OPTIONS request with its headers, without a message or a signature', async () => {
  let status = 405;
  const endpoint = await startEndpoint((_request, response) => {
    if (status === 301) response.setHeader('location', '/elsewhere');
    return status;
  });
  const { service, brokerId, found, refused, save } = await startWorld();
  const headers = { Authorization: 'Bearer of the plant' };
  expect(await found('webhook-bridge', webhook(endpoint.url, { headers, active: false }))).toEqual({
    ...PASSED,
    responseStatus: 405,
  });
  const [request] = endpoint.requests;
  expect(request).toMatchObject({
    path: '/hooks?from=test',
    text: '',
    headers: { authorization: headers.Authorization },
  });
  expect(Object.keys(request?.headers ?? {}).filter((name) => name.startsWith('webhook'))).toEqual([]);

  status = 301;
  expect(await found('webhook-bridge', webhook(endpoint.url))).toMatchObject({
    state: 'FAILED',
    error: expect.stringContaining('redirects are not followed'),
  });
  expect(endpoint.requests).toHaveLength(2);
  const { bridges } = (await service.graphql(CONFIG, { b: brokerId })).data.broker;
  expect(bridges.map(({ config }: { config: unknown }) => config)).toEqual(Array(3).fill({ connections: [] }));

  // Stored secrets are used for the same address only.
  status = 204;
  const masked = { secret: '***', headers: { Authorization: '***' } };
  await save('webhook-bridge', webhook(endpoint.url, { headers, active: false }));
  expect(await found('webhook-bridge', webhook(endpoint.url, masked))).toMatchObject({ responseStatus: 204 });
  expect(endpoint.requests.at(-1)?.headers.authorization).toBe(headers.Authorization);
  expect(await refused('webhook-bridge', webhook(`${endpoint.url}/other`, masked))).toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: '/connections/0/secret' }, { path: '/connections/0/headers/Authorization' }] },
  });
  expect(await refused('webhook-bridge', webhook(endpoint.url), { connectionName: 'another' })).toMatchObject({
    info: { issues: [{ path: 'input.connectionName' }] },
  });
  expect(endpoint.requests).toHaveLength(3);
});

test('a certificate that is not valid is found, and is valid with its authority', async () => {
  const authority = createAuthority();
  const { cert, key } = authority.issue();
  const endpoint = await startEndpoint(() => 200, 0, { cert, key });
  const { found, service } = await startWorld();
  const editor = await service.person('EDITOR');
  expect(await found('webhook-bridge', webhook(endpoint.url), editor.token)).toEqual({
    state: 'UNREACHABLE',
    error: expect.stringContaining('certificate'),
    responseStatus: null,
  });
  expect(await found('webhook-bridge', webhook(endpoint.url, { ca: authority.cert }))).toMatchObject({
    state: 'CONNECTED',
    responseStatus: 200,
  });
});

test('only administrators of the project learn whether the port of a target is open, and no test takes longer than the timeout', async () => {
  const { silent, closed } = await startSilent();
  const { found, service } = await startWorld({ BROKER_TIMEOUT_MS: '2000' });
  const [admin, editor] = [await service.person('ADMIN'), await service.person('EDITOR')];
  const mapping = { name: 'm', topics: ['in/#'], table: 't', columns: [{ column: 'c', source: 'payload' }] };
  const targets: readonly (readonly [string, (port: number) => { name: string }])[] = [
    ['webhook-bridge', (port) => webhook(`http://127.0.0.1:${port}`)],
    ['postgresql-bridge', (port) => ({ name: 'd', url: `postgresql://u@127.0.0.1:${port}/d`, mappings: [mapping] })],
    ['mqtt-bridge', (port) => mqtt(`mqtt://127.0.0.1:${port}`)],
  ];
  for (const [key, to] of targets) {
    const asked = [silent, closed].flatMap((port) => [admin, editor].map(({ token }) => found(key, to(port), token)));
    const [ofSilent, seenSilent, ofClosed, seenClosed] = await Promise.all(asked);
    expect([ofSilent.state, ofClosed.state]).toEqual(['UNREACHABLE', 'UNREACHABLE']);
    expect(ofClosed.error).toMatch(/refused/i);
    expect(ofSilent.error).not.toMatch(/refused/i);
    expect(seenSilent).toEqual(seenClosed);
    expect(seenSilent.error).toContain('administrators of the project see the reason');
  }
});

test('who may configure a bridge may test it, as often as connections to brokers', async () => {
  const { refused, service } = await startWorld();
  const endpoint = await startEndpoint();
  const hook = webhook(endpoint.url);
  const [viewer, editor, stranger] = await Promise.all(
    (['VIEWER', 'EDITOR', null] as const).map((role) => service.person(role)),
  );
  const codeOf = async (token?: string) => (await refused('webhook-bridge', hook, token ? { token } : {}))?.code;
  expect([await codeOf(viewer?.token), await codeOf(stranger?.token)]).toEqual([undefined, 'NOT_FOUND']);
  await service.graphql(STRICT, { input: { projectId: service.projectId, hasStrictRoles: true } });
  expect([await codeOf(viewer?.token), await codeOf(editor?.token)]).toEqual(['NOT_ALLOWED', undefined]);
  expect(await refused('other-bridge', hook)).toMatchObject({ code: 'NOT_FOUND' });

  const TEST_BROKER = 'mutation ($p: ID!) { testBroker(input: { projectId: $p }) { __typename } }';
  const admin = await service.person('ADMIN');
  for (let count = 0; count < 10; count += 1) await service.graphql(TEST_BROKER, { p: service.projectId }, admin.token);
  expect(await codeOf(admin.token)).toBe('RATE_LIMITED');
  expect(endpoint.requests).toHaveLength(2);
  const AUDIT = `query ($p: ID!) { project(id: $p) {
    auditEvents(filter: { operation: "testBridgeConnection" }) { nodes { result targetKind targetId after } }
  } }`;
  const { nodes } = (await service.graphql(AUDIT, { p: service.projectId })).data.project.auditEvents;
  expect(JSON.stringify(nodes)).not.toContain(SECRET);
  expect(nodes).toContainEqual(expect.objectContaining({ result: 'DONE', targetKind: 'bridge' }));
});

test('an MQTT bridge is tested without taking over the client id of its running connection', async () => {
  const remote = await startMosquitto({ access: 'passwords' });
  const { service, brokerId, found, save } = await startWorld();
  const own = { ...ADMIN, clientId: 'the-bridge' };
  await save('mqtt-bridge', mqtt(remote.url, own));
  const connection = async () => {
    const { bridges } = (await service.graphql(CONFIG, { b: brokerId })).data.broker;
    return bridges[0].connections[0];
  };
  await expect.poll(async () => (await connection()).state).toBe('CONNECTED');
  const before = await connection();
  expect(await found('mqtt-bridge', mqtt(remote.url, { ...own, password: '***' }))).toEqual(PASSED);
  expect(await found('mqtt-bridge', mqtt(remote.url, { ...own, password: 'wrong' }))).toMatchObject({
    state: 'UNAUTHORIZED',
    error: 'The broker does not allow this user to connect',
  });
  expect(await connection()).toEqual(before);
});

const postgres = usePostgres();

describe.skipIf(!postgres.available)(postgres.available ? 'PostgreSQL' : UNAVAILABLE, () => {
  test('is tested with its tables, columns and permissions, and nothing is changed', async () => {
    const url = await postgres.createDatabase();
    const database = await connectDatabase(url);
    const role = `role_${new URL(url).pathname.slice(1)}`;
    await database.query(`CREATE TABLE speeds (id uuid PRIMARY KEY, line text); CREATE TABLE closed (line text);
      CREATE TABLE failed (topic text, payload bytea, error text, received_at timestamptz);
      CREATE SCHEMA plant; CREATE TABLE plant.speeds (line text);
      CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA plant TO ${role}; GRANT INSERT ON plant.speeds TO ${role}; GRANT INSERT, SELECT ON speeds TO ${role}`);
    onTestFinished(async () => {
      await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    });
    const { found, service } = await startWorld();
    const to = (mapping: object, more: object = {}) => {
      const columns = [{ column: 'line', source: 'topic[1]' }];
      return {
        name: 'd',
        url,
        mappings: [{ name: 'm', topics: ['in/#'], table: 'speeds', columns, ...mapping }],
        ...more,
      };
    };
    const editor = await service.person('EDITOR');
    const tested = (mapping: object, more?: object) => found('postgresql-bridge', to(mapping, more), editor.token);
    expect(await tested({ idColumn: 'id', deadLetterTable: 'new_one' })).toEqual(PASSED);
    expect(await found('postgresql-bridge', to({ deadLetterTable: 'failed' }))).toEqual(PASSED);
    const VIEW_COLUMNS = [{ column: 'viewname', source: 'topic' }];
    const failures: readonly (readonly [object, object, string])[] = [
      [{ table: 'missing' }, {}, 'There is no table "public"."missing"'],
      [{ columns: [{ column: 'none', source: 'topic' }] }, {}, 'has no column "none"'],
      [{ table: 'closed' }, { username: role }, 'permission denied'],
      [{ deadLetterTable: 'failed' }, { username: role }, 'permission denied'],
      [{ schema: 'plant', deadLetterTable: 'new_one' }, { username: role }, 'the role may not create it'],
      [{ schema: 'pg_catalog', table: 'pg_views', columns: VIEW_COLUMNS }, {}, 'cannot insert into view'],
    ];
    for (const [mapping, more, error] of failures) {
      expect(await tested(mapping, more)).toMatchObject({ state: 'FAILED', error: expect.stringContaining(error) });
    }
    expect(await tested({}, { username: 'nobody' })).toMatchObject({ state: 'UNAUTHORIZED' });
    const { rows } = await database.query(`SELECT table_name AS name, (SELECT count(*)::int FROM speeds) AS count
      FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`);
    expect(rows).toEqual(['closed', 'failed', 'speeds'].map((name) => ({ name, count: 0 })));
  });
});
