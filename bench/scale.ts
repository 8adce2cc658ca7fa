/**
 * Several processes on one PostgreSQL. The results are processor time, because three processes, the database and the
 * load share the processors of one machine.
 *
 * Reads: one, two and three processes on one database. The peers are as many processes that share nothing, each with a
 * database of its own: on one machine, more busy processes also share its processors and their caches. Short rounds
 * alternate; each process gets the same number of requests per second, few enough that the machine is not full, because
 * a process that waits for a processor reads several requests at once, which is cheaper. The result is requests per
 * second of processor time of the processes.
 *
 * Idle brokers: deployments of three processes without brokers, with few and with many, each broker with a stream.
 * All are measured in the same minutes. What a deployment without brokers uses is subtracted. The result is processor
 * time, memory and statements for each broker, and the ratio of many to few.
 *
 * `node bench/run.mjs scale [reads|idle]`. Linux only. Requires PostgreSQL and `ulimit -n` above 10,000.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { check } from './support/bars.ts';
import { type Deployment, startDeployment } from './support/deployment.ts';
import { median } from './support/figures.ts';
import { startIdleBrokers } from './support/idle-brokers.ts';
import { drive, type Load } from './support/load.ts';
import { startPostgres } from './support/postgres.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const ROUND_MS = 4_000;
/** To each process. */
const CONNECTIONS = 16;
/** Between two requests of a connection. */
const INTERVAL_MS = 16;
/** Rounds of each load without measurement, in which V8 compiles. */
const WARM_UP_ROUNDS = 3;
const READ_BROKERS = 20;
const SEVERAL = [2, 3];
const MIN_READ_RATIO = 0.95;

const FEW = 100;
const MANY = Number(process.env.BENCH_BROKERS ?? 1_000);
const IDLE_PROCESSES = 3;
const MINUTES = Number(process.env.BENCH_MINUTES ?? 3);
const SETTLE_MS = 60_000;
const ADDING_AT_ONCE = 8;
/** Of what a broker costs with many to what it costs with few. */
const MAX_IDLE_RATIO = 1.1;
const MAX_STATEMENTS = 2;

const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const STREAM = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { state } } }';
const PROCESS_BROKERS = '{ processes { brokerCount } }';
const READ = `query ($id: ID!) {
  project(id: $id) { name brokers(first: ${READ_BROKERS}) { nodes { id name description isConnected } } }
}`;

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-scale-'));
const postgres = await startPostgres(folder, [
  'max_connections=400',
  'shared_preload_libraries=pg_stat_statements',
  'pg_stat_statements.max=10000',
]);
const client = new pg.Client(postgres.url);
await client.connect();
await client.query('CREATE EXTENSION pg_stat_statements');
const deployments: Deployment[] = [];
const [part] = process.argv.slice(2);
try {
  console.log(`load of the machine: ${loadavg()[0]?.toFixed(1)}`);
  if (part !== 'idle') await compareReads();
  if (part !== 'reads') await compareIdle();
  console.log(`\nload of the machine: ${loadavg()[0]?.toFixed(1)}`);
} finally {
  await closeDeployments();
  await client.end();
  await postgres.close();
  rmSync(folder, { recursive: true, force: true });
}

async function compareReads(): Promise<void> {
  const brokers = await startIdleBrokers(READ_BROKERS);
  const add = async (processes: number) => {
    const deployment = await start(processes);
    await addBrokers(deployment, brokers.urls);
    return deployment;
  };
  const stages: (readonly Deployment[])[] = [[await add(1)]];
  for (const processes of SEVERAL) {
    // Each stage has processes of its own, which are then busy equally often: V8 and caches forget.
    const apart: Deployment[] = [];
    for (let n = 0; n < processes; n += 1) apart.push(await add(1));
    stages.push([await add(processes)], apart);
  }
  for (const [name, loadOf] of [
    ['GET /api/projects/{projectId}/brokers', restLoad],
    ['POST /graphql, a page of brokers', graphqlLoad],
  ] as const) {
    const rates = stages.map((): Rate[] => []);
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
      for (const [nth, stage] of stages.entries()) {
        const rate = await driven(stage, loadOf);
        if (round >= 0) rates[nth]?.push(rate);
      }
    }
    console.log(`\n${name}: requests per CPU second of the processes (of PostgreSQL)`);
    printRate('1 process', rates[0]);
    for (const [nth, processes] of SEVERAL.entries()) {
      const [together, apart] = [rates[1 + 2 * nth], rates[2 + 2 * nth]];
      printRate(`${processes} processes, each with its own database`, apart, rates[0]);
      printRate(`${processes} processes on one database`, together, rates[0]);
      const ratio = ratioOf(together, apart);
      check(`ratio of the two ${ratio.toFixed(2)}, at least ${MIN_READ_RATIO}`, ratio >= MIN_READ_RATIO);
    }
  }
  await closeDeployments();
  brokers.close();
}

interface Rate {
  readonly service: number;
  readonly database: number;
}

function printRate(name: string, rates: readonly Rate[] = [], one?: readonly Rate[]): void {
  const [service, database] = [median(rates.map((rate) => rate.service)), median(rates.map((rate) => rate.database))];
  const ratio = one === undefined ? '' : `, ratio to one process ${ratioOf(rates, one).toFixed(2)}`;
  console.log(`       ${name}: ${service.toFixed(0)} (${database.toFixed(0)})${ratio}`);
}

function ratioOf(rates: readonly Rate[] = [], others: readonly Rate[] = []): number {
  return median(rates.map(({ service }, round) => service / (others[round]?.service ?? Number.NaN)));
}

async function driven(stage: readonly Deployment[], loadOf: (deployment: Deployment) => Load): Promise<Rate> {
  const cpu = () => stage.reduce((sum, deployment) => sum + deployment.cpuSeconds(), 0);
  const [service, database] = [cpu(), postgres.cpuMs()];
  const targets = stage.flatMap((deployment) => deployment.ports.map((port) => ({ port, load: loadOf(deployment) })));
  const all = await Promise.all(targets.map(({ port, load }) => drive(port, load, CONNECTIONS, ROUND_MS, INTERVAL_MS)));
  const requests = all.reduce((sum, { answers }) => sum + answers, 0);
  return { service: requests / (cpu() - service), database: (requests / (postgres.cpuMs() - database)) * 1_000 };
}

function restLoad({ token, projectId }: Deployment): Load {
  const headers = { authorization: `Bearer ${token}` };
  return { method: 'GET', path: `/api/projects/${projectId}/brokers`, headers };
}

function graphqlLoad({ token, projectId }: Deployment): Load {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ query: READ, variables: { id: projectId } });
  return { method: 'POST', path: '/graphql', headers, body };
}

async function compareIdle(): Promise<void> {
  const counts = [0, FEW, MANY];
  const brokers = await startIdleBrokers(FEW + MANY);
  for (const count of counts) {
    const deployment = await start(IDLE_PROCESSES);
    const began = performance.now();
    await addBrokers(deployment, count === MANY ? brokers.urls.slice(FEW) : brokers.urls.slice(0, count));
    await placed(deployment, count);
    console.log(`${count} brokers added, ${((performance.now() - began) / 1_000).toFixed(0)} s`);
  }
  // Links and streams connect, and probes of capabilities end.
  await delay(SETTLE_MS);
  const memory = await Promise.all(deployments.map((deployment) => deployment.settledRss()));
  const minutes: { readonly cpu: number[]; readonly statements: number[]; readonly database: number }[] = [];
  for (let minute = 0; minute < MINUTES; minute += 1) minutes.push(await idleMinute());
  const settled = await Promise.all(deployments.map((deployment) => deployment.settledRss()));

  const perMinute = (of: (minute: (typeof minutes)[number]) => number) => median(minutes.map(of));
  console.log(`\nidle: ${IDLE_PROCESSES} processes, in a minute (median of ${MINUTES})`);
  for (const [nth, count] of counts.entries()) {
    const cpu = perMinute((minute) => minute.cpu[nth] ?? Number.NaN);
    const statements = perMinute((minute) => minute.statements[nth] ?? Number.NaN);
    const [before = 0, after = 0] = [memory[nth], settled[nth]];
    console.log(
      `       ${String(count).padStart(4)} brokers: ${cpu.toFixed(2)} CPU s, ${statements} statements, ${before.toFixed(0)} to ${after.toFixed(0)} MB`,
    );
  }
  console.log(`       PostgreSQL: ${(perMinute(({ database }) => database) / 1_000).toFixed(2)} CPU s for all of them`);
  const perBroker = (values: readonly number[], nth: number) =>
    ((values[nth] ?? Number.NaN) - (values[0] ?? Number.NaN)) / (counts[nth] ?? Number.NaN);
  const cpu = [1, 2].map((nth) => perMinute((minute) => perBroker(minute.cpu, nth)));
  const rss = [1, 2].map((nth) => perBroker(settled, nth));
  compare(
    'CPU milliseconds',
    cpu.map((seconds) => seconds * 1_000),
  );
  compare(
    'memory in kB',
    rss.map((megabytes) => megabytes * 1_024),
  );
  const statements = perMinute((minute) => (minute.statements[2] ?? Number.NaN) / MANY);
  const text = `statements for each of ${MANY} brokers and minute: ${statements.toFixed(2)}, at most ${MAX_STATEMENTS}`;
  check(text, statements <= MAX_STATEMENTS);
  await printStatements(deployments[2]?.database ?? '');
  brokers.close();
}

async function idleMinute() {
  const from = { cpu: cpuOfEach(), statements: await statementsOfEach(), database: postgres.cpuMs() };
  await delay(60_000);
  const to = { cpu: cpuOfEach(), statements: await statementsOfEach(), database: postgres.cpuMs() };
  const difference = (key: 'cpu' | 'statements') => to[key].map((value, nth) => value - (from[key][nth] ?? 0));
  return {
    cpu: difference('cpu'),
    statements: difference('statements'),
    database: to.database - from.database,
  };
}

function cpuOfEach(): number[] {
  return deployments.map((deployment) => deployment.cpuSeconds());
}

async function statementsOfEach(): Promise<number[]> {
  const { rows } = await client.query<{ datname: string; calls: number }>(
    `SELECT datname, sum(calls)::int AS calls FROM pg_stat_statements JOIN pg_database ON oid = dbid GROUP BY datname`,
  );
  return deployments.map(({ database }) => rows.find(({ datname }) => datname === database)?.calls ?? 0);
}

async function printStatements(database: string): Promise<void> {
  await client.query('SELECT pg_stat_statements_reset()');
  await delay(30_000);
  const { rows } = await client.query<{ query: string; calls: string }>(
    `SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 100) AS query, calls FROM pg_stat_statements
     JOIN pg_database ON oid = dbid WHERE datname = $1 ORDER BY calls DESC LIMIT 8`,
    [database],
  );
  console.log('       the most frequent statements, in 30 s:');
  for (const { query, calls } of rows) console.log(`       ${calls.padStart(5)}  ${query}`);
}

/** What a broker costs in both deployments. */
function compare(what: string, [few = Number.NaN, many = Number.NaN]: readonly number[]): void {
  const ratio = many / few;
  const text = `${what} for each broker: ${few.toFixed(1)} of ${FEW}, ${many.toFixed(1)} of ${MANY}`;
  check(`${text}, ratio ${ratio.toFixed(2)}, at most ${MAX_IDLE_RATIO}`, ratio <= MAX_IDLE_RATIO);
}

async function start(processes: number): Promise<Deployment> {
  const deployment = await startDeployment({ folder, postgres, processes });
  deployments.push(deployment);
  return deployment;
}

/** Adds the brokers, each with a stream. */
async function addBrokers({ projectId, client: connect }: Deployment, urls: readonly string[]): Promise<void> {
  const open = [...urls.entries()];
  const add = async () => {
    // Another process knows a new broker within a second.
    const graphql = connect();
    for (let next = open.shift(); next !== undefined; next = open.shift()) {
      const [nth, url] = next;
      const input = { projectId, name: `broker ${nth}`, description: 'The broker of a hall', url };
      const { id: brokerId } = (await graphql(ADD, { input })).addBroker.broker;
      await graphql(STREAM, { input: { brokerId, name: 'stream', sourceTopic: 'in/+', targetTopic: 'out' } });
    }
  };
  await Promise.all(Array.from({ length: ADDING_AT_ONCE }, add));
}

/** Resolves when the processes report that they run all brokers. */
async function placed({ graphql }: Deployment, count: number): Promise<void> {
  for (;;) {
    const { processes } = await graphql(PROCESS_BROKERS);
    const counts: number[] = processes.map(({ brokerCount }: { brokerCount: number | null }) => brokerCount ?? 0);
    if (counts.reduce((sum, one) => sum + one, 0) === count) return;
    await delay(1_000);
  }
}

async function closeDeployments(): Promise<void> {
  for (const deployment of deployments.splice(0)) await deployment.close();
}
