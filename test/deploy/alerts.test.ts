import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { startMosquitto } from '../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../support/postgres.ts';
import { hasPromtool, PROMTOOL_MISSING } from '../support/promtool.ts';
import { startRelay } from '../support/relay.ts';
import { connected, sharedDatabase, startTestService, type TestService } from '../support/service.ts';

const RULES = fileURLToPath(new URL('../../deploy/alerts.yaml', import.meta.url));
const postgres = usePostgres();

/** The series of a scrape with their values. */
function seriesOf(text: string): Map<string, string> {
  const lines = text.split('\n').filter((line) => line.startsWith('brokergraph_') && !line.includes('_bucket{'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), line.slice(end + 1)] as const;
    }),
  );
}

const UP = 'up{job="brokergraph"}';
const RESPONSE = 'brokergraph_database_response_seconds';

const scraped = async ({ url }: TestService) => seriesOf(await (await fetch(`${url}/metrics`)).text());

/** Without what depends on how busy, and how full, the machine of the test is. */
const scrape = async (service: TestService) =>
  (await scraped(service))
    .set(UP, '1')
    .set('brokergraph_process_load', '0.1')
    .set(RESPONSE, '0.01')
    .set('brokergraph_data_free_bytes', '1e10');

type Series = ReadonlyMap<string, string>;

/** The alerts that fire within 30 minutes: the first five are as in `before`, and the others as in `during`. */
function alertsOf(before: Series, during: Series): string[] {
  const folder = temporaryFolder();
  const input = [...new Set([...before.keys(), ...during.keys()])].map((series) => {
    const [first, then] = [before.get(series), during.get(series)];
    return {
      series,
      values: `${first === undefined ? '_x5' : `${first}x5`} ${then === undefined ? '_x25' : `${then}x25`}`,
    };
  });
  const promql_expr_test = [
    {
      expr: 'count by (alertname) (max_over_time(ALERTS{alertstate="firing"}[30m]))',
      eval_time: '30m',
      exp_samples: [],
    },
  ];
  const tests = [{ interval: '1m', input_series: input, promql_expr_test }];
  const file = join(folder, 'test.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
  const { status, stderr, stdout } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  if (status === 0) return [];
  // No alert is expected, so the failure names those that fire.
  const said = `${stdout}${stderr}`;
  expect(said).toContain('got:');
  return [...said.matchAll(/alertname="(\w+)"/g)].map(([, name = '']) => name).sort();
}

const startLogged = async (env: Record<string, string> = {}, embeddedBroker = false) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const service = await startTestService({ env, log, embeddedBroker });
  return { service, said: (level: number) => lines.filter((line) => line.level === level) };
};

const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const BRIDGE = 'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }';
const TARGET = 'mutation ($input: SetTargetStateInput!) { setTargetState(input: $input) { __typename } }';
const LOGIN = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';

describe.skipIf(!hasPromtool)(`the alerts of deploy/alerts.yaml ${hasPromtool ? '' : `(${PROMTOOL_MISSING})`}`, () => {
  test('are valid, and docs/operation.md names the file', () => {
    execFileSync('promtool', ['check', 'rules', RULES]);
    expect(readFileSync(new URL('../../docs/operation.md', import.meta.url), 'utf8')).toContain('deploy/alerts.yaml');
  });

  test('fire for a broker and a bridge that are down, guessed passwords and a full disk, and the log names each cause', async () => {
    const [line, centre] = [await startMosquitto(), await startMosquitto()];
    const { service, said } = await startLogged();
    const { graphql, projectId } = service;
    const add = async (name: string, url: string) =>
      (await graphql(ADD, { input: { projectId, name, url } })).data.addBroker.broker.id as string;
    const [brokerId, lost] = [await add('line', line.url), await add('press', centre.url)];
    await connected(service, brokerId);
    await connected(service, lost);
    const healthy = await scrape(service);
    expect(alertsOf(healthy, healthy)).toEqual([]);
    const gone = new Map(healthy);
    gone.delete(UP);
    for (const away of [gone, new Map(healthy).set(UP, '0')])
      expect(alertsOf(healthy, away)).toEqual(['BrokergraphDown']);
    const critical = (kind: string) => `brokergraph_problems{kind="${kind}",severity="CRITICAL"}`;
    expect(healthy.get(critical('BRIDGE_LOOP'))).toBe('0');
    const loop = new Map(healthy).set(critical('BRIDGE_LOOP'), '1').set(critical('BROKER_UNREACHABLE'), '1');
    expect(alertsOf(healthy, loop)).toEqual(['BrokergraphCriticalProblem']);
    for (const [series, alert] of [
      ['brokergraph_history_up', 'BrokergraphHistoryNotWritten'],
      ['brokergraph_notification_channels_failing', 'BrokergraphNotificationsFail'],
      ['brokergraph_cloud_broker_disk_faults', 'BrokergraphBrokerNotStoring'],
    ] as const) {
      const now = Number(healthy.get(series));
      expect(alertsOf(healthy, new Map(healthy).set(series, String(1 - now)))).toEqual([alert]);
    }
    expect(alertsOf(healthy, new Map(healthy).set('brokergraph_data_free_bytes', '9e8'))).toEqual([
      'BrokergraphDiskAlmostFull',
    ]);

    await centre.stop();
    const down = () => said(40).filter(({ msg }) => msg === 'the connection to a broker is down');
    await expect.poll(down).toHaveLength(1);
    expect(down()).toMatchObject([
      { brokerId: lost, name: 'press', since: expect.any(String), error: expect.any(String) },
    ]);
    expect(alertsOf(healthy, await scrape(service))).toEqual(['BrokergraphBrokerDown']);
    await centre.start();
    await expect
      .poll(() => said(30), { timeout: 60_000 })
      .toContainEqual(
        expect.objectContaining({
          msg: 'the connection to a broker is back',
          name: 'press',
          seconds: expect.any(Number),
        }),
      );
    expect(alertsOf(healthy, await scrape(service))).toEqual([]);

    const url = `http://127.0.0.1:${await freePort()}/`;
    const connections = [
      { name: 'mill', url, secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}`, topics: ['plant/#'] },
    ];
    const input = { brokerId, bridgeKey: 'webhook-bridge', config: { connections } };
    expect((await graphql(BRIDGE, { input })).errors).toBeUndefined();
    const device = await line.client();
    const away = () => said(40).filter(({ msg }) => msg === 'a connection of a bridge is down');
    // The bridge may subscribe only after the first message.
    await expect.poll(() => device.publishAsync('plant/a', '1', { qos: 1 }).then(away)).toHaveLength(1);
    expect(away()).toMatchObject([
      { brokerId, name: 'line', bridge: 'webhook-bridge', connection: 'mill', state: 'UNREACHABLE' },
    ]);
    // Readings of the last second are used again.
    const both = ['BrokergraphBridgeDown', 'BrokergraphCriticalProblem'];
    await expect.poll(async () => alertsOf(healthy, await scrape(service))).toEqual(both);
    const noBridge = { brokerId, bridgeKey: 'webhook-bridge', config: { connections: [] } };
    await graphql(BRIDGE, { input: noBridge });

    const guess = (n: number) =>
      graphql(LOGIN, { input: { email: `guess-${n % 3}@example.com`, password: `${n}` } }, null);
    for (let n = 0; n < 30; n += 1) await guess(n);
    const guessed = await scrape(service);
    expect(alertsOf(healthy, guessed)).toContain('BrokergraphSignInsRefused');
    expect(said(40)).toContainEqual(expect.objectContaining({ msg: 'log-ins are failing; slowed down' }));

    if (service.storage.engine !== 'sqlite') return;
    // A database that cannot grow, as on a full disk.
    await service.storage.db.$queryRawUnsafe('PRAGMA max_page_count = 1');
    const project = { name: 'P', description: 'long '.repeat(100) };
    const isStored = async () =>
      (
        await graphql('mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }', {
          input: project,
        })
      ).errors === undefined;
    // Free pages are used first.
    for (let n = 0; n < 100 && (await isStored()); n += 1);
    expect(alertsOf(guessed, await scrape(service))).toContain('BrokergraphErrors');
    expect(JSON.stringify(said(50))).toContain('full');
    await service.storage.db.$queryRawUnsafe('PRAGMA max_page_count = 1000000');
  });

  test('fire for a broker of this service whose port another program has, and the log names the program', async () => {
    const { service, said } = await startLogged({}, true);
    const { db } = service.storage;
    const { id } = await db.broker.findFirstOrThrow();
    const { port } = await db.brokerListener.findFirstOrThrow({ where: { brokerId: id }, orderBy: { number: 'asc' } });
    await connected(service, id);
    const healthy = await scrape(service);
    const states = async () => [...(await scrape(service))].filter(([series]) => series.includes('cloud_brokers{'));
    const turn = (targetState: string) => service.graphql(TARGET, { input: { brokerId: id, targetState } });
    await turn('INACTIVE');
    await expect.poll(states).toContainEqual(['brokergraph_cloud_brokers{state="inactive"}', '1']);
    const program = createServer().listen(port, '127.0.0.1');
    onTestFinished(() => void program.close());
    await once(program, 'listening');
    await turn('ACTIVE');
    await expect.poll(states).toContainEqual(['brokergraph_cloud_brokers{state="error"}', '1']);
    expect(alertsOf(healthy, await scrape(service))).toContain('BrokergraphCloudBrokerFailed');
    expect(said(50)).toContainEqual(
      expect.objectContaining({
        msg: 'a broker of this service cannot run',
        brokerId: id,
        err: expect.objectContaining({ message: expect.stringContaining(`port ${port} is in use by `) }),
      }),
    );
    program.close();
    await connected(service, id);
    expect(alertsOf(healthy, await scrape(service))).toEqual([]);
  });

  test.skipIf(!postgres.available)(
    `fire for a database that is away or slow ${postgres.available ? '' : `(${UNAVAILABLE})`}`,
    async () => {
      const databaseUrl = new URL(await sharedDatabase(postgres));
      const port = Number(databaseUrl.port);
      let delay = 0;
      const relay = await startRelay(port, { delayMs: () => delay });
      databaseUrl.port = new URL(relay.url).port;
      const { service } = await startLogged({ DATABASE_URL: databaseUrl.href });
      const healthy = await scrape(service);
      expect(healthy.get('brokergraph_database_connections{state="waiting"}')).toBe('0');
      delay = 400;
      const slow = async () => new Map(healthy).set(RESPONSE, (await scraped(service)).get(RESPONSE) ?? '');
      await expect.poll(async () => Number((await slow()).get(RESPONSE))).toBeGreaterThan(0.3);
      expect(alertsOf(healthy, await slow())).toEqual(['BrokergraphDatabaseSlow']);
      delay = 0;
      relay.stop();
      await expect.poll(async () => (await scrape(service)).get('brokergraph_database_up')).toBe('0');
      const away = await scrape(service);
      await startRelay(port, { at: Number(databaseUrl.port) });
      await expect.poll(async () => (await scrape(service)).get('brokergraph_database_up')).toBe('1');
      expect(alertsOf(healthy, away)).toContain('BrokergraphDatabaseDown');
    },
  );
});
