/**
 * The history of events of clients on SQLite and on PostgreSQL (or one of them: BENCH_ENGINES). There is no peer: the
 * figures have bounds. Requires `node scripts/build.mjs`.
 * - `node bench/run.mjs client-events rate`: records 2,000 events a second for a minute (or BENCH_SECONDS), from the
 *   log of a provider to the disk. Prints lost events, the processor time and the delay of the main thread.
 * - `node bench/run.mjs client-events page`: pages of one client and of one account among BENCH_STORED events of 30
 *   days (one million; 50 million take about 20 GB and an hour).
 * Without a part, both.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { pino } from 'pino';
import type { EventPage } from '../src/data-plane/history/client-events/event-pages.ts';
import { HistoryThread } from '../src/data-plane/history/hosting/history-thread.ts';
import { eventHistoryOf } from '../src/domains/history/client-events/client-events.ts';
import { EventWriter } from '../src/domains/history/client-events/event-writer.ts';
import { NumberedEvents } from '../src/domains/history/client-events/numbered-events.ts';
import { ClientEventLog } from '../src/protocol/apis/clients/client-event-log.ts';
import type { ControlCaller } from '../src/protocol/control/plugin.ts';
import { atMost } from './support/bars.ts';
import { type Postgres, startPostgres } from './support/postgres.ts';

const SECONDS = Number(process.env.BENCH_SECONDS ?? 60);
const RATE = 2_000;
const STEP_MS = 50;
const STORED = Number(process.env.BENCH_STORED ?? 1_000_000);
const CLIENTS = 10_000;
const ACCOUNTS = 100;
const DAYS = 30;
const DAY_MS = 86_400_000;
const ROUNDS = 50;
const BROKER = 'brk_00000000000000000000000000';

const [part] = process.argv.slice(2);
for (const engine of (process.env.BENCH_ENGINES ?? 'sqlite,postgresql').split(',')) {
  for (const [name, measure] of Object.entries({ rate, page })) {
    if (part !== undefined && part !== name) continue;
    const folder = mkdtempSync(join(tmpdir(), 'bench-client-events-'));
    const postgres = engine === 'postgresql' ? await startPostgres(folder) : null;
    console.log(engine);
    try {
      await measure(folder, postgres);
    } finally {
      await postgres?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

function fileIn(folder: string): string {
  return join(folder, 'history.db');
}

function open(folder: string, postgres: Postgres | null): HistoryThread {
  return new HistoryThread({
    place: postgres === null ? { file: fileIn(folder), minFreeBytes: 0 } : { databaseUrl: postgres.url },
    keepMs: 2 * DAYS * DAY_MS,
    maxBytes: 64 * 1024 ** 3,
    workerUrl: pathToFileURL(join(process.cwd(), 'dist/data-plane/history/hosting/history-worker.js')),
    log: pino({ level: 'warn' }),
  });
}

async function rate(folder: string, postgres: Postgres | null): Promise<void> {
  const thread = open(folder, postgres);
  const history = eventHistoryOf(thread);
  const writer = new EventWriter(history, BROKER, 'bench');
  await writer.end();
  const log = new ClientEventLog(() => undefined);
  /** As a broker over MQTT: the response is JSON. */
  const controls = {
    call: async (_api: string, command: string, fields: object) =>
      JSON.parse(JSON.stringify(log.execute({ command, ...fields }))) as unknown,
  } as unknown as ControlCaller;
  const numbered = new NumberedEvents({ controls, writer, isOwn: () => false });
  await numbered.read();
  let added = 0;
  const add = () => {
    const clientId = `device-${added % CLIENTS}`;
    const about = { clientId, username: `account-${added % ACCOUNTS}`, address: '10.1.2.3', listenerPort: 1883 };
    const kind = added % 2 === 0 ? 'CONNECTED' : 'DISCONNECTED';
    log.add({ ...about, kind, at: Date.now(), protocol: 'MQTT', reason: added % 2 === 0 ? null : 'CONNECTION_CLOSED' });
    added += 1;
  };
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const started = performance.now();
  const [cpu, serverCpuMs] = [process.cpuUsage(), postgres?.cpuMs() ?? 0];
  while (added < SECONDS * RATE) {
    const due = Math.min(SECONDS * RATE, Math.floor(((performance.now() - started) * RATE) / 1_000));
    while (added < due) add();
    await numbered.read();
    await pause(STEP_MS);
  }
  await thread.flush();
  const seconds = (performance.now() - started) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const ofServer =
    postgres === null ? '' : `, PostgreSQL ${((postgres.cpuMs() - serverCpuMs) / 1e3 / SECONDS).toFixed(2)} cores`;
  delay.disable();
  let found = 0;
  for (let before: EventPage['end'] = null; ; ) {
    const read: EventPage = await history.query('page', {
      ...{ brokers: [BROKER], filter: {}, before, after: null },
      ...{ isUpwards: false, count: 1_000 },
    });
    found += read.events.length;
    before = read.end;
    if (before === null) break;
  }
  const p99 = (delay.percentile(99) / 1e6 - 5).toFixed(1);
  console.log(`${added} events in ${seconds.toFixed(1)} s, main thread p99 ${p99} ms${ofServer}`);
  atMost('lost events', added - found, 0, 'events');
  atMost('dropped events', thread.counts.dropped, 0, 'events');
  // Of the time that the events stand for: a busy machine takes longer.
  atMost(`${RATE} events a second`, (user + system) / 1e6 / SECONDS, 0.25, 'cores');
  await thread.close();
}

/** A row of the events that `fill` stores, with their number `n` from 0 on. The last one is now. */
function rowSql(now: number): string {
  return `
  ${now} - ${DAYS * DAY_MS} + (n + 1) * ${DAYS * DAY_MS} / ${STORED}, '${BROKER}', n,
  CASE n % 2 WHEN 0 THEN 'CONNECTED' ELSE 'DISCONNECTED' END,
  'device-' || (n % ${CLIENTS}), 'account-' || (n % ${ACCOUNTS}), '10.1.2.3', 1883, 'MQTT',
  CASE n % 2 WHEN 1 THEN 'CONNECTION_CLOSED' END, NULL, 1, NULL`;
}

/** Stores events by statements of the database. */
async function fill(folder: string, postgres: Postgres | null): Promise<void> {
  const now = Date.now();
  const portion = 1_000_000;
  if (postgres === null) {
    const db = new Sqlite(fileIn(folder));
    db.pragma('synchronous = OFF');
    db.pragma('cache_size = -1000000');
    for (let from = 0; from < STORED; from += portion)
      db.exec(`INSERT INTO client_event
        WITH RECURSIVE numbers(n) AS
          (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${Math.min(STORED, from + portion)})
        SELECT ${rowSql(now)} FROM numbers`);
    db.close();
    return;
  }
  const client = new pg.Client(postgres.url);
  await client.connect();
  try {
    for (let from = 0; from < STORED; from += portion)
      await client.query(`INSERT INTO history.client_event
        SELECT ${rowSql(now)} FROM generate_series(${from}::bigint, ${Math.min(STORED, from + portion) - 1}) AS n`);
    await client.query('ANALYZE history.client_event');
  } finally {
    await client.end();
  }
}

async function page(folder: string, postgres: Postgres | null): Promise<void> {
  const first = open(folder, postgres);
  const other = { broker: 'brk_other', id: 0, kind: 'CONNECTED', clientId: 'other', username: null } as const;
  const unknown = { address: null, listenerPort: null, protocol: null, reason: null, detail: null, refusal: null };
  // Of each day one, so that PostgreSQL has all partitions.
  for (let day = 0; day <= DAYS; day += 1) {
    const at = Date.now() - day * DAY_MS;
    eventHistoryOf(first).insert({ event: { ...other, ...unknown, at, count: 1 } }, at, 200);
  }
  await first.flush();
  // Its maintenance would wait for the statements.
  await first.close();
  const started = performance.now();
  await fill(folder, postgres);
  const thread = open(folder, postgres);
  const history = eventHistoryOf(thread);
  console.log(`${STORED} events stored in ${((performance.now() - started) / 1_000).toFixed(0)} s`);
  for (const [name, filterOf] of Object.entries({
    client: (nth: number) => ({ clientId: `device-${(nth * 197) % CLIENTS}` }),
    account: (nth: number) => ({ username: `account-${(nth * 37) % ACCOUNTS}` }),
  })) {
    const [times, cpuTimes]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      const cpuMs = () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1_000;
      };
      const [from, before, serverBefore] = [performance.now(), cpuMs(), postgres?.cpuMs() ?? 0];
      const { events }: EventPage = await history.query('page', {
        ...{ brokers: [BROKER], filter: filterOf(round), before: null, after: null },
        ...{ isUpwards: false, count: 50 },
      });
      times.push(performance.now() - from);
      cpuTimes.push(cpuMs() - before + (postgres?.cpuMs() ?? 0) - serverBefore);
      if (events.length < Math.min(50, STORED / CLIENTS)) throw new Error(`A page has ${events.length} events only`);
    }
    times.sort((a, b) => a - b);
    cpuTimes.sort((a, b) => a - b);
    const what = `a page of 50 events of one ${name} among ${STORED}`;
    atMost(`${what}, median`, cpuTimes[ROUNDS / 2] ?? Number.NaN, 50, 'ms of processor time');
    const ms = (list: number[], nth: number) => `${list.at(nth)?.toFixed(1)} ms`;
    const waited = `${ms(times, ROUNDS / 2)} with waiting`;
    console.log(`  ${waited}; slowest ${ms(times, -1)}, ${ms(cpuTimes, -1)} of processor time`);
  }
  await thread.close();
}
