/**
 * Stores stream messages in PostgreSQL. The peers are a plain loop of COPY into one table without a key, on the same
 * server, and the store in files, each with the same messages and the same durability (fsync on). Rounds alternate.
 * Prints medians of messages per second of processor time: of this process and, for PostgreSQL, of the server.
 * `node bench/run.mjs stored-messages`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { MessageLog, MessageStore } from '../src/data-plane/streams/store/message-store.ts';
import { MessageDatabase, PostgresqlStore } from '../src/data-plane/streams/store/postgresql/postgresql-store.ts';
import { SegmentStore } from '../src/data-plane/streams/store/segment-store.ts';
import { readMigrations } from '../src/platform/storage/migrations/migrations.ts';
import { migratePostgresql } from '../src/platform/storage/migrations/postgresql-migrator.ts';
import { CopyRows, copyInto } from '../src/platform/storage/postgresql/copy-rows.ts';
import { startPostgres } from './support/postgres.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const TOPIC = 'plant/line/1/state';
/** Messages of a COPY, as many as the store writes at once at most. */
const BATCH = 4_000;
const BATCH_BYTES = 2 * 1_048_576;
/** What waits to be stored, as the engine bounds it. */
const MOST_WAITING = 4_096;
const PLAIN = `CREATE TABLE IF NOT EXISTS plain
  (stream integer, width integer, id bigint, qos smallint, topic text, payload bytea)`;
const COPY = 'COPY plain (stream, width, id, qos, topic, payload) FROM STDIN WITH (FORMAT binary)';
const MIN_RATIO = { copy: 0.5, files: 0.6 };

interface Load {
  readonly name: string;
  readonly bytes: number;
  readonly logs: number;
  readonly messages: number;
}

const LOADS: readonly Load[] = [
  { name: '100 B, one stream', bytes: 100, logs: 1, messages: 100_000 },
  { name: '100 B, 50 streams', bytes: 100, logs: 50, messages: 100_000 },
  { name: '1 kB, 50 streams', bytes: 1_000, logs: 50, messages: 40_000 },
];

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-bench-'));
const postgres = await startPostgres(folder);
const log = { debug: () => {}, info: () => {}, warn: console.error, error: console.error };
await migratePostgresql(postgres.url, readMigrations(join(process.cwd(), 'prisma/migrations/postgresql')), log);
const client = new pg.Client(postgres.url);
await client.connect();
let round = 0;
let good = true;
try {
  for (const load of LOADS) {
    const rates: Record<'ours' | 'copy' | 'files', number[]> = { ours: [], copy: [], files: [] };
    for (round = 0; round < ROUNDS; round += 1) {
      rates.copy.push(await perCpuSecond(load, () => copyLoop(load)));
      rates.ours.push(await inPostgresql(load));
      rates.files.push(await inFiles(load));
    }
    const [ours, copy, files] = [median(rates.ours), median(rates.copy), median(rates.files)];
    console.log(`\n${load.name}: stored messages per second of processor time: ${ours.toFixed(0)}`);
    for (const [name, peer] of [
      ['copy', copy],
      ['files', files],
    ] as const) {
      const ratio = ours / peer;
      const isGood = ratio >= MIN_RATIO[name];
      good &&= isGood;
      const label = name === 'copy' ? 'COPY loop' : 'files';
      console.log(
        `  ${isGood ? 'ok  ' : 'FAIL'} ${label.padEnd(10)} ${peer.toFixed(0).padStart(8)}  ratio ${ratio.toFixed(2)}, at least ${MIN_RATIO[name]}`,
      );
    }
  }
} finally {
  await client.end();
  await postgres.close();
  rmSync(folder, { recursive: true, force: true });
}
if (!good) process.exitCode = 1;

async function inPostgresql(load: Load): Promise<number> {
  const database = new MessageDatabase({ databaseUrl: postgres.url, onProblem: () => {}, onLost: console.error });
  const store = await PostgresqlStore.open({ brokerId: `brk_${round}`, maxBytes: 2 ** 50, database });
  try {
    return await appended(store, load);
  } finally {
    await store.close();
    await database.close();
    await client.query('TRUNCATE messages.stream_batch, messages.stream_segment');
  }
}

async function inFiles(load: Load): Promise<number> {
  const files = mkdtempSync(join(tmpdir(), 'brokergraph-bench-'));
  const store = new SegmentStore({
    folder: files,
    maxBytes: 2 ** 50,
    onProblem: (_id, reason) => console.error(reason),
  });
  try {
    return await appended(store, load);
  } finally {
    await store.close();
    rmSync(files, { recursive: true, force: true });
  }
}

async function appended(store: MessageStore, load: Load): Promise<number> {
  const logs = Array.from({ length: load.logs }, (_, index) => store.log(`stream-${index}`));
  for (const one of logs) one.setTtl(86_400);
  const payload = Buffer.alloc(load.bytes, 1);
  // Creates partitions and files before the measurement.
  await appendAll(logs, load.logs, payload);
  return perCpuSecond(load, () => appendAll(logs, load.messages, payload));
}

/** As an engine: it stops reading when too many wait, and goes on when half of them are stored. */
function appendAll(logs: readonly MessageLog[], messages: number, payload: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let [begun, done] = [0, 0];
    let isPaused = false;
    const stored = (problem: string | null) => {
      if (problem !== null) reject(new Error(problem));
      done += 1;
      if (done === messages) resolve();
      if (isPaused && begun - done <= MOST_WAITING / 2) setImmediate(read);
      if (begun - done <= MOST_WAITING / 2) isPaused = false;
    };
    const read = () => {
      while (begun < messages && begun - done < MOST_WAITING) {
        logs[begun++ % logs.length]?.append({ topic: TOPIC, payload, qos: 1 }, stored);
      }
      isPaused = true;
    };
    read();
  });
}

async function copyLoop({ bytes, logs, messages }: Load): Promise<void> {
  await client.query(PLAIN);
  await client.query('TRUNCATE plain');
  const payload = Buffer.alloc(bytes, 1);
  const size = Math.min(BATCH, Math.floor(BATCH_BYTES / bytes));
  for (let start = 0; start < messages; start += size) {
    const count = Math.min(size, messages - start);
    const rows = new CopyRows({ rows: count, values: 6 * count, bytes: count * (18 + TOPIC.length + bytes) });
    for (let index = 0; index < count; index += 1) {
      rows.begin(6);
      rows.integer(index % logs);
      rows.integer(60);
      rows.bigint(start + index);
      rows.smallint(1);
      rows.text(TOPIC, TOPIC.length);
      rows.bytea(payload);
    }
    await copyInto(client, COPY, rows.end());
  }
}

async function perCpuSecond({ messages }: Load, work: () => Promise<void>): Promise<number> {
  const own = process.cpuUsage();
  const server = postgres.cpuMs();
  await work();
  const { user, system } = process.cpuUsage(own);
  return messages / ((user + system) / 1e6 + (postgres.cpuMs() - server) / 1e3);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
