/**
 * Stores and reads the messages of streams. The peer is a loop on one SQLite table with the same commits and the same
 * durability (WAL, synchronous FULL). Rounds alternate. Prints medians of messages per second, and the 99th percentile
 * of the delay of a 1 ms timer. `node bench/run.mjs stream-store`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import type { SegmentLog } from '../src/data-plane/streams/store/segment-log.ts';
import { SegmentStore } from '../src/data-plane/streams/store/segment-store.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);
const BATCH = 1_000;
const BATCH_BYTES = 512 * 1024;
const PAGE = 500;
const TOPIC = 'plant/line/1/state';
/** Minimum ratio to the plain loop. */
const MIN_RATIO = 0.7;
/** Minimum ratio with many streams. The store runs fsync for each stream, the plain loop once for all streams. */
const MIN_RATIO_OF_MANY = 0.3;
const ALWAYS = { from: null, to: null };

interface Load {
  readonly name: string;
  readonly bytes: number;
  readonly logs: number;
  readonly messages: number;
}

const LOADS: readonly Load[] = [
  { name: '100 B, one stream', bytes: 100, logs: 1, messages: 60_000 },
  { name: '1 kB, one stream', bytes: 1_000, logs: 1, messages: 20_000 },
  { name: '100 B, 50 streams', bytes: 100, logs: 50, messages: 120_000 },
  { name: '1 kB, 50 streams', bytes: 1_000, logs: 50, messages: 40_000 },
];

interface Figures {
  readonly append: number;
  readonly forwards: number;
  readonly backwards: number;
  /** Delay of a 1 ms timer in milliseconds, 99th percentile. */
  readonly stall: number;
}

let good = true;
for (const load of LOADS) {
  const ours: Figures[] = [];
  const plain: Figures[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(await inFolder((folder) => ownRound(folder, load)));
    plain.push(await inFolder((folder) => plainRound(folder, load)));
  }
  console.log(`\n${load.name}: messages a second (of the plain loop)`);
  for (const kind of ['append', 'forwards', 'backwards'] as const) {
    const ratio = median(ours.map((each, round) => each[kind] / (plain[round]?.[kind] ?? Number.NaN)));
    const own = median(ours.map((each) => each[kind]));
    const peer = median(plain.map((each) => each[kind]));
    const atLeast = kind === 'append' && load.logs > 1 ? MIN_RATIO_OF_MANY : MIN_RATIO;
    const isGood = ratio >= atLeast;
    good &&= isGood;
    const figures = `${own.toFixed(0).padStart(8)}  (${peer.toFixed(0)})  ratio ${ratio.toFixed(2)}`;
    console.log(`  ${isGood ? 'ok  ' : 'FAIL'} ${kind.padEnd(10)} ${figures}, at least ${atLeast}`);
  }
  console.log(`       stall p99  ${median(ours.map(({ stall }) => stall)).toFixed(1)} ms while appending`);
}
if (!good) process.exitCode = 1;

async function ownRound(folder: string, { bytes, logs, messages }: Load): Promise<Figures> {
  const store = new SegmentStore({ folder, maxBytes: 2 ** 40, onProblem: (_id, reason) => console.error(reason) });
  try {
    const all = Array.from({ length: logs }, (_, index) => store.log(`stream-${index}`));
    const payload = Buffer.alloc(bytes, 1);
    // Creates the folders and files before the measurement.
    await appendAll(all, logs, payload);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const append = await rate(messages, () => appendAll(all, messages, payload));
    delay.disable();
    const stall = delay.percentile(99) / 1e6;
    const forwards = await rate(messages, () => readAll(all, false, messages + logs));
    const backwards = await rate(messages, () => readAll(all, true, messages + logs));
    return { append, forwards, backwards, stall };
  } finally {
    await store.close();
  }
}

/** Appends a batch in each iteration of the event loop, like an engine, with at most some megabytes in memory. */
function appendAll(logs: readonly SegmentLog[], messages: number, payload: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let appended = 0;
    let done = 0;
    const stored = (problem: string | null) => {
      if (problem !== null) reject(new Error(problem));
      done += 1;
      if (done === messages) resolve();
    };
    const turn = () => {
      const waiting = logs.reduce((sum, { pendingBytes }) => sum + pendingBytes, 0);
      for (let room = waiting < 8 * BATCH_BYTES ? 2 * BATCH : 0; room > 0 && appended < messages; room -= 1) {
        logs[appended++ % logs.length]?.append({ topic: TOPIC, payload, qos: 1 }, stored);
      }
      if (appended < messages) setImmediate(turn);
    };
    turn();
  });
}

function readAll(logs: readonly SegmentLog[], reverse: boolean, messages: number): void {
  let seen = 0;
  for (const log of logs) {
    let after: number | null = null;
    for (;;) {
      const page = log.read({ ...ALWAYS, after, reverse, limit: PAGE, maxBytes: 4 * BATCH_BYTES });
      if (page.length === 0) break;
      seen += page.length;
      after = page.at(-1)?.id ?? null;
    }
  }
  if (seen !== messages) throw new Error(`${seen} messages were read of ${messages}`);
}

/** The plain loop: all streams in one table, whose only key is the id. */
async function plainRound(folder: string, { bytes, messages }: Load): Promise<Figures> {
  const db = new Database(join(folder, 'plain.sqlite'));
  try {
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.exec(
      'CREATE TABLE message (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, qos INTEGER NOT NULL, payload BLOB NOT NULL)',
    );
    const insert = db.prepare('INSERT INTO message VALUES (?, ?, ?, ?)');
    const payload = Buffer.alloc(bytes, 1);
    const first = Date.now() * 1_000;
    const commit = db.transaction((from: number, to: number) => {
      for (let id = from; id < to; id += 1) insert.run(id, TOPIC, 1, payload);
    });
    const size = Math.min(BATCH, Math.floor(BATCH_BYTES / (bytes + TOPIC.length + 32)));
    const append = await rate(messages, () => {
      for (let start = 0; start < messages; start += size)
        commit(first + start, first + Math.min(messages, start + size));
    });
    const page = (order: string, compare: string) =>
      db.prepare(
        `SELECT id, topic, qos, payload FROM message WHERE id ${compare} ? ORDER BY id ${order} LIMIT ${PAGE}`,
      );
    const read = (order: string, compare: string, start: number) =>
      rate(messages, () => {
        const statement = page(order, compare);
        let after = start;
        for (;;) {
          const rows = statement.all(after) as { readonly id: number }[];
          const last = rows.at(-1);
          if (last === undefined) break;
          after = last.id;
        }
      });
    return {
      append,
      forwards: await read('ASC', '>', 0),
      backwards: await read('DESC', '<', Number.MAX_SAFE_INTEGER),
      stall: 0,
    };
  } finally {
    db.close();
  }
}

async function rate(messages: number, work: () => void | Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return messages / ((performance.now() - startedAt) / 1_000);
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-store-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
