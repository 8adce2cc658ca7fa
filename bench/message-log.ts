/**
 * What an operator feels of stored messages, in an SQLite file and in PostgreSQL (fsync on): 10,000 messages of 100 B a
 * second over 50 streams for a minute, with the processor time of this process and of the server; then how fast all are
 * read, as a replay does, and how long a page of 500 takes. BENCH_SECONDS: how long messages are stored.
 * `node bench/run.mjs message-log`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogStore } from '../src/data-plane/log/log-store.ts';
import type { MessageLog } from '../src/data-plane/log/message-log.ts';
import { LogDatabase } from '../src/data-plane/log/postgresql/postgresql-logs.ts';
import { sqliteLogs } from '../src/data-plane/log/sqlite/sqlite-logs.ts';
import { readMigrations } from '../src/platform/storage/migrations/migrations.ts';
import { migratePostgresql } from '../src/platform/storage/migrations/postgresql-migrator.ts';
import { startPostgres } from './support/postgres.ts';

const SECONDS = Number(process.env.BENCH_SECONDS ?? 60);
const RATE = 10_000;
const LOGS = 50;
const TOPIC = 'plant/line/1/state';
const PAYLOAD = Buffer.alloc(100, 1);
/** Messages are appended so often. */
const TICK_MS = 10;
const MAX_MS_OF_PAGE = 5;
const MIN_REPLAYED = 20_000;
/** Share of a processor. */
const MAX_OWN = 0.6;
const MAX_SERVER = 0.2;
const ALWAYS = { from: null, to: null };

let isGood = true;
const folder = mkdtempSync(join(tmpdir(), 'brokergraph-bench-'));
const onProblem = (_name: string | null, reason: string) => console.error(reason);
try {
  await measure('SQLite', sqliteLogs({ folder: join(folder, 'logs'), maxBytes: 2 ** 40, onProblem }), () => 0);
  const parent = join(folder, 'server');
  mkdirSync(parent, { mode: 0o755 });
  const postgres = await startPostgres(folder);
  const log = { debug: () => {}, info: () => {}, warn: console.error, error: console.error };
  await migratePostgresql(postgres.url, readMigrations(join(process.cwd(), 'prisma/migrations/postgresql')), log);
  const onProblemOfAll = (problem: string | null) => problem !== null && console.error(problem);
  const database = new LogDatabase({ databaseUrl: postgres.url, onProblem: onProblemOfAll, onLost: console.error });
  try {
    const store = await database.open({ brokerId: 'brk_1', maxBytes: 2 ** 40, onProblem });
    await measure('PostgreSQL', store, () => postgres.cpuMs());
  } finally {
    await database.close();
    await postgres.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (!isGood) process.exitCode = 1;

async function measure(name: string, store: LogStore, serverMs: () => number): Promise<void> {
  const logs = Array.from({ length: LOGS }, (_, index) => store.log(`stream-${index}`));
  for (const one of logs) one.setTtl(86_400);
  const [own, server] = [process.cpuUsage(), serverMs()];
  const late = await storeAtRate(logs);
  const { user, system } = process.cpuUsage(own);
  console.log(
    `\n${name}: ${RATE * SECONDS} messages in ${SECONDS} s; the last ones were stored ${late.toFixed(0)} ms later`,
  );
  report('processor of this process', (user + system) / 1e6 / SECONDS, MAX_OWN);
  if (name !== 'SQLite') report('processor of the server', (serverMs() - server) / 1e3 / SECONDS, MAX_SERVER);
  const pages: number[] = [];
  const [ownBefore, serverBefore, startedAt] = [process.cpuUsage(), serverMs(), performance.now()];
  for (const one of logs) await readAll(one, pages);
  const rate = (RATE * SECONDS) / ((performance.now() - startedAt) / 1_000);
  const reading = process.cpuUsage(ownBefore);
  const busyMs = (reading.user + reading.system) / 1e3 + serverMs() - serverBefore;
  report('messages read a second', -rate, -MIN_REPLAYED);
  report(
    'ms of a page of 500, median',
    pages.toSorted((a, b) => a - b)[pages.length >> 1] ?? Number.NaN,
    MAX_MS_OF_PAGE,
  );
  report('ms of processors for a page of 500', busyMs / pages.length, MAX_MS_OF_PAGE);
  await store.close();
}

/** Returns after how many ms the last message was stored. */
function storeAtRate(logs: readonly MessageLog[]): Promise<number> {
  const all = RATE * SECONDS;
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    let [begun, done] = [0, 0];
    const stored = (problem: string | null) => {
      done += 1;
      if (problem !== null) reject(new Error(problem));
      if (done === all) resolve(performance.now() - startedAt - SECONDS * 1_000);
    };
    const timer = setInterval(() => {
      const due = Math.min(all, Math.floor(((performance.now() - startedAt) * RATE) / 1_000));
      for (; begun < due; begun += 1)
        logs[begun % logs.length]?.append({ topic: TOPIC, payload: PAYLOAD, qos: 1 }, stored);
      if (begun === all) clearInterval(timer);
    }, TICK_MS);
  });
}

async function readAll(log: MessageLog, pages: number[]): Promise<void> {
  for (let after: number | null = null; ; ) {
    const startedAt = performance.now();
    const page = await log.read({ ...ALWAYS, after, reverse: false, limit: 500, maxBytes: 1_048_576 });
    pages.push(performance.now() - startedAt);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

/** Negative: at least as many. */
function report(name: string, value: number, limit: number): void {
  const isMet = value <= limit;
  isGood &&= isMet;
  const bound = limit < 0 ? `at least ${-limit}` : `at most ${limit}`;
  console.log(
    `  ${isMet ? 'ok  ' : 'FAIL'} ${name}: ${Math.abs(value).toFixed(Math.abs(value) < 100 ? 2 : 0)}, ${bound}`,
  );
}
