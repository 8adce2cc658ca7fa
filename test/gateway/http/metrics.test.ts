import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { BUILD } from '../../../src/platform/build.ts';
import { useSqlite } from '../../support/database.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { hasPromtool, PROMTOOL_MISSING } from '../../support/promtool.ts';
import { bearer, connected, PASSWORD, startTestService } from '../../support/service.ts';
import { send } from './requests.ts';

const TOKEN = 'a token for scrapers';
const FORWARDED = { 'x-forwarded-for': '203.0.113.9' };

const read = async (port: number, headers: Record<string, string> = {}) =>
  (await send(port, '/metrics', { headers })).status;

test('without settings only callers on this machine and root administrators read the metrics', async () => {
  const { port, root, person } = await startTestService();
  const { token } = await person('ADMIN');
  expect(await read(port)).toBe(200);
  expect(await read(port, FORWARDED)).toBe(401);
  expect(await read(port, { ...FORWARDED, ...bearer(token) })).toBe(401);
  expect(await read(port, { ...FORWARDED, ...bearer('brg_session_unknown') })).toBe(401);
  expect(await read(port, { ...FORWARDED, ...bearer(root) })).toBe(200);
});

test.each([{ TRUST_PROXY: 'on' }, { PUBLIC_URL: 'https://brokers.example.com' }])(
  'behind a proxy (%o) no caller reads the metrics without credentials, although nginx adds no header by default',
  async (env) => {
    const { port, root } = await startTestService({ env });
    expect(await read(port)).toBe(401);
    expect(await read(port, bearer(root))).toBe(200);
    const withToken = await startTestService({ env: { ...env, METRICS_TOKEN: TOKEN } });
    expect([await read(withToken.port), await read(withToken.port, bearer(TOKEN))]).toEqual([401, 200]);
  },
);

test('METRICS_TOKEN is required from every caller but root administrators', async () => {
  const { port, root, person } = await startTestService({ env: { METRICS_TOKEN: TOKEN } });
  const { token } = await person('ADMIN');
  expect(await read(port)).toBe(401);
  expect(await read(port, bearer(`${TOKEN}x`))).toBe(401);
  expect(await read(port, bearer(token))).toBe(401);
  expect(await read(port, bearer(TOKEN))).toBe(200);
  expect(await read(port, bearer(root))).toBe(200);
});

test('METRICS_HOST serves the metrics on a listener of their own, and the main port no longer does', async () => {
  const { port, metricsPort } = await startTestService({ env: { METRICS_HOST: '127.0.0.1:0' } });
  expect(await read(port)).toBe(404);
  const { status, text } = await send(metricsPort ?? 0, '/metrics', { headers: FORWARDED });
  expect(status).toBe(200);
  expect(text).toContain('brokergraph_brokers{connected="true"}');
  const build = `version="${BUILD.version}",commit="unknown",date="unknown"`;
  expect(text).toContain(`brokergraph_build_info{${build}} 1\n`);
  expect((await send(metricsPort ?? 0, '/graphql?query={__typename}')).status).toBe(404);
  expect(await read(metricsPort ?? 0, { host: 'rebound.example.com' })).toBe(421);
});

test('METRICS_HOST with METRICS_TOKEN requires the token', async () => {
  const env = { METRICS_HOST: '127.0.0.1:0', METRICS_TOKEN: TOKEN };
  const { metricsPort } = await startTestService({ env });
  expect(await read(metricsPort ?? 0)).toBe(401);
  expect(await read(metricsPort ?? 0, bearer(TOKEN))).toBe(200);
});

test('a start fails if the port of METRICS_HOST is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(startTestService({ env: { METRICS_HOST: `127.0.0.1:${port}` } })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
});

/** The lines of the metrics that match, without comments. */
async function lines(port: number, pattern: RegExp): Promise<string[]> {
  const { text } = await send(port, '/metrics');
  return text.split('\n').filter((line) => pattern.test(line));
}

test('errors are counted by their code, and operations by their first root field, although GraphQL responds with 200', async () => {
  const { port, graphql, rest, projectId, root } = await startTestService();
  const LOGIN = 'mutation Anything($input: LoginInput!) { login(input: $input) { token } }';
  const input = { email: 'nobody@example.com', password: PASSWORD };
  expect(await lines(port, /_errors_total\{.*\} [1-9]/)).toEqual([]);
  expect(await lines(port, /^brokergraph_rest_errors_total\{code="RATE_LIMITED"\} 0$/)).toHaveLength(1);
  for (const _ of [1, 2]) await graphql(LOGIN, { input }, null);
  await graphql('{ nothing }');
  await graphql('query ($id: ID!) { broker(id: $id) { id } viewer { name } }', { id: 'brk_unknown' });
  await graphql('query NotInTheMetrics { ... { viewer { name } } }');
  await rest('GET', '/api/projects/prj_unknown/brokers');
  await rest('GET', `/api/projects/${projectId}/brokers`, null);
  await rest('GET', `/api/projects/${projectId}/brokers`, root);
  expect(await lines(port, /_errors_total\{.*\} [1-9]/)).toEqual([
    'brokergraph_graphql_errors_total{code="INVALID"} 1',
    'brokergraph_graphql_errors_total{code="UNAUTHORIZED"} 2',
    'brokergraph_graphql_errors_total{code="NOT_FOUND"} 1',
    'brokergraph_rest_errors_total{code="UNAUTHORIZED"} 1',
    'brokergraph_rest_errors_total{code="NOT_FOUND"} 1',
  ]);
  expect(await lines(port, /^brokergraph_graphql_operations_total/)).toEqual([
    // Of this test's service.
    'brokergraph_graphql_operations_total{operation="createProject"} 1',
    'brokergraph_graphql_operations_total{operation="login"} 2',
    'brokergraph_graphql_operations_total{operation="broker"} 1',
    'brokergraph_graphql_operations_total{operation="other"} 1',
  ]);
  expect(await lines(port, /^brokergraph_graphql_operation_seconds_total\{operation="login"\} \d/)).toHaveLength(1);
});

test('an operation above SLOW_OPERATION_MS is a line with its name and its caller, a few times; others are not', async () => {
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void logged.push(JSON.parse(line)) });
  const slow = () => logged.filter(({ msg }) => msg === 'slow operation');
  const patient = await startTestService({ log, env: { SLOW_OPERATION_MS: '600000' } });
  await patient.graphql('{ projects { nodes { id } } }');
  expect(slow()).toEqual([]);
  const { graphql, rest, person } = await startTestService({ log, env: { SLOW_OPERATION_MS: '1' } });
  const { token, email, id } = await person('ADMIN');
  // Argon2 takes longer than a millisecond.
  await graphql('mutation { login(input: { email: "a@b.c", password: "x" }) { token } }', {}, null);
  for (let i = 0; i < 50; i += 1)
    await graphql('mutation { createProject(input: { name: "P" }) { project { id } } }', {}, token);
  await rest('GET', '/api/projects', token);
  const about = (name: string) => slow().filter(({ operation }) => operation === name);
  expect(about('login')).toMatchObject([{ caller: null, address: '127.0.0.1', ms: expect.any(Number) }]);
  expect(about('createProject').at(-1)).toMatchObject({
    kind: 'mutation',
    via: 'GRAPHQL',
    caller: { kind: 'USER', id, name: email },
    requestId: expect.any(String),
  });
  expect(about('createProject').length).toBeLessThan(10);
});

test('single brokers, the database and its connections have metrics, and the load has a window of its own', async () => {
  const broker = await startMosquitto();
  const service = await startTestService();
  const { port, projectId } = service;
  const add = async (name: string, url: string) => {
    const mutation = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
    return (await service.graphql(mutation, { input: { projectId, name, url } })).data.addBroker.broker.id as string;
  };
  const id = await add('press "3"', broker.url);
  const down = await add('down', 'mqtt://127.0.0.1:1');
  await connected(service, id);
  expect(new Set(await lines(port, /^brokergraph_broker_connected/))).toEqual(
    new Set([
      `brokergraph_broker_connected{broker="${id}",name="press \\"3\\""} 1`,
      `brokergraph_broker_connected{broker="${down}",name="down"} 0`,
    ]),
  );
  expect(await lines(port, /^brokergraph_database_up/)).toEqual(['brokergraph_database_up 1']);
  expect(await lines(port, /^brokergraph_database_response_seconds \d/)).toHaveLength(1);
  const states = await lines(port, /^brokergraph_database_connections/);
  expect(states).toHaveLength(service.storage.engine === 'sqlite' ? 0 : 3);
  // Since the last scrape the main thread did nothing else.
  const loads = [1, 2, 3].map(async () => Number((await lines(port, /^brokergraph_process_load/))[0]?.split(' ')[1]));
  const [one = 0, two = 0, three = 0] = await Promise.all(loads);
  expect(Math.abs(one - two) + Math.abs(two - three)).toBeLessThan(0.1);
  if (hasPromtool) {
    const { text } = await send(port, '/metrics');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    expect([status, stdout, stderr]).toEqual([0, '', '']);
  } else console.info(`    ${PROMTOOL_MISSING}`);
});

test('a scrape does not wait for statements of others, and a database that does not respond is down', async () => {
  useSqlite();
  const { port, storage } = await startTestService();
  const up = () => lines(port, /^brokergraph_database_up/);
  await storage.db.$transaction(
    async (busy) => {
      await busy.$queryRaw`SELECT 1`;
      expect(await up()).toEqual(['brokergraph_database_up 1']);
      await expect.poll(up, { timeout: 60_000 }).toEqual(['brokergraph_database_up 0']);
    },
    { timeout: 120_000 },
  );
  await expect.poll(up, { timeout: 60_000 }).toEqual(['brokergraph_database_up 1']);
});
