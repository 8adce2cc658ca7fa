/**
 * Stores and delivers the messages of bridge queues in PostgreSQL. The peer is the same queue in an SQLite file. Rounds
 * alternate on one machine, both with fsync. Prints medians of messages per second, and the 99th percentile of the
 * delay of a 1 ms timer. Requires PostgreSQL. `node bench/run.mjs bridge-queues`.
 */

import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import pg from 'pg';
import { BridgeQueue } from '../src/data-plane/bridges/queue/bridge-queue.ts';
import { postgresqlQueues } from '../src/data-plane/bridges/queue/postgresql-queues.ts';
import type { QueueStore } from '../src/data-plane/bridges/queue/queue-store.ts';
import { sqliteQueues } from '../src/data-plane/bridges/queue/sqlite-queues.ts';
import { LogDatabase } from '../src/data-plane/log/postgresql/postgresql-logs.ts';
import { readMigrations } from '../src/platform/storage/migrations/migrations.ts';
import { migratePostgresql } from '../src/platform/storage/migrations/postgresql-migrator.ts';
import { median } from './support/figures.ts';
import { startPostgres } from './support/postgres.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);
const BOUNDS = { maxMessages: 1_000_000, maxBytes: 2 ** 30 };
const TAKEN = 2_000;
const MIN_RATIO = 0.3;
const BROKER = 'brk_bench';
/** run.mjs runs benchmarks in the root of the project. */
const MIGRATIONS = 'prisma/migrations/postgresql';

interface Load {
  readonly name: string;
  readonly bytes: number;
  readonly queues: number;
  readonly messages: number;
}

const LOADS: readonly Load[] = [
  { name: '100 B, one queue', bytes: 100, queues: 1, messages: 60_000 },
  { name: '1 kB, one queue', bytes: 1_000, queues: 1, messages: 20_000 },
  { name: '100 B, 50 queues', bytes: 100, queues: 50, messages: 20_000 },
  { name: '1 kB, 50 queues', bytes: 1_000, queues: 50, messages: 10_000 },
];

interface Figures {
  readonly stored: number;
  readonly delivered: number;
  /** Delay of a 1 ms timer in milliseconds while messages are stored, 99th percentile. */
  readonly stall: number;
}

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-queues-'));
const postgres = await startPostgres(mkdtempSync(join(tmpdir(), 'brokergraph-queues-')));
let good = true;
try {
  await createTables(postgres.url);
  const nothing = () => undefined;
  const database = new LogDatabase({ databaseUrl: postgres.url, onProblem: nothing, onLost: nothing });
  for (const load of LOADS) {
    const own: Figures[] = [];
    const files: Figures[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const bridgeId = randomUUID();
      own.push(
        await measure(
          postgresqlQueues({ database, brokerId: BROKER, bridgeId, storage: undefined, folder: join(folder, 'none') }),
          load,
        ),
      );
      const path = join(folder, bridgeId);
      mkdirSync(path);
      files.push(await measure(sqliteQueues(bridgeId, path, undefined), load));
    }
    console.log(`\n${load.name}: messages a second in PostgreSQL (in a file), load ${loadavg()[0]?.toFixed(1)}`);
    // Messages of short queues are delivered from memory.
    const kinds = load.queues === 1 ? (['stored', 'delivered'] as const) : (['stored'] as const);
    for (const kind of kinds) {
      const ratio = median(own.map((each, round) => each[kind] / (files[round]?.[kind] ?? Number.NaN)));
      const isGood = ratio >= MIN_RATIO;
      good &&= isGood;
      const figure = median(own.map((each) => each[kind])).toFixed(0);
      const peer = median(files.map((each) => each[kind])).toFixed(0);
      const text = `${kind.padEnd(10)} ${figure.padStart(8)}  (${peer})  ratio ${ratio.toFixed(2)}, at least ${MIN_RATIO}`;
      console.log(`  ${isGood ? 'ok  ' : 'FAIL'} ${text}`);
    }
    const stall = (all: readonly Figures[]) => median(all.map((each) => each.stall)).toFixed(1);
    console.log(`       stall p99  ${stall(own)} ms (${stall(files)}) while messages are stored`);
  }
  await database.close();
} finally {
  await postgres.close();
  rmSync(folder, { recursive: true, force: true });
}
if (!good) process.exitCode = 1;

async function createTables(url: string): Promise<void> {
  const log = { debug: () => {}, info: () => {}, warn: console.error, error: console.error };
  await migratePostgresql(url, readMigrations(MIGRATIONS), log);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`INSERT INTO "Project" (id, name, "updatedAt") VALUES ('prj', 'p', now());
    INSERT INTO "Broker" (id, "projectId", type, name, "updatedAt") VALUES ('${BROKER}', 'prj', 'SELF_HOSTED', 'b', now())`);
  await client.end();
}

async function measure(store: QueueStore, { bytes, queues, messages }: Load): Promise<Figures> {
  const onProblem = (reason: string | null) => {
    throw new Error(reason ?? 'no problem');
  };
  const all = await Promise.all(
    Array.from({ length: queues }, async (_, index) => {
      const queue = new BridgeQueue({ log: await store.open(String(index)), bounds: BOUNDS, onProblem });
      queue.setDelivering(false);
      return queue;
    }),
  );
  const payload = Buffer.alloc(bytes, 0x61);
  const message = { topic: 'plant/line/1/state', payload, qos: 1, retain: false, properties: null } as const;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const start = performance.now();
  await new Promise<void>((resolve) => {
    let left = messages;
    const taken = () => {
      left -= 1;
      if (left === 0) resolve();
    };
    // As messages arrive: some in each iteration of the event loop.
    let pushed = 0;
    const push = () => {
      for (let count = 0; count < 500 && pushed < messages; count += 1) {
        all[pushed % queues]?.push({ ...message, receivedAt: Date.now() }, taken);
        pushed += 1;
      }
      if (pushed < messages) setImmediate(push);
    };
    push();
  });
  const stored = (messages * 1_000) / (performance.now() - start);
  delay.disable();
  const before = performance.now();
  await Promise.all(all.map(drained));
  const delivered = (messages * 1_000) / (performance.now() - before);
  await Promise.all(all.map((queue) => queue.close({ discard: true })));
  await store.close({ discard: true });
  return { stored, delivered, stall: delay.percentile(99) / 1e6 };
}

/** Resolves when all messages are taken and settled. */
function drained(queue: BridgeQueue): Promise<void> {
  return new Promise((resolve) => {
    const next = () => {
      const some = queue.take(TAKEN, 8 * 1_048_576);
      for (const entry of some) queue.settle(entry);
      if (queue.length === 0) resolve();
      else if (some.length > 0) setImmediate(next);
    };
    queue.onReady(next);
    queue.setDelivering(true);
    next();
  });
}
