/**
 * The audit chain with several writers: entries per second of 1, 2 and 3 processes on one PostgreSQL with fsync, each
 * with 32 concurrent callers that wait for their entries. Counts the transactions and the conflicts of a batch.
 * Three processes must write at least LEAST_RATIO of the entries of one.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { Marks, type UnchainedEntry } from '../src/domains/audit/audit-chain.ts';
import { AuditLog } from '../src/domains/audit/audit-log.ts';
import { verifyChain } from '../src/domains/audit/audit-verification.ts';
import { openSealer } from '../src/platform/storage/encryption/sealed.ts';
import { openStorage, type Storage } from '../src/platform/storage/storage.ts';
import { median } from './support/figures.ts';
import { startPostgres } from './support/postgres.ts';

const CALLERS = Number(process.env.BENCH_CALLERS ?? 32);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const LEAST_RATIO = 0.9;

interface Result {
  readonly entries: number;
  readonly batches: number;
  readonly conflicts: number;
  readonly longestMs: number;
}

interface Parts {
  readonly storage: Storage;
  readonly marks: Marks;
}

async function open(databaseUrl: string, dataDir: string): Promise<Parts> {
  const storage = await openStorage({ dataDir, databaseUrl, log: pino({ level: 'silent' }) });
  return { storage, marks: new Marks(openSealer({ dataDir, secretKey: 'the same key for all of the processes' })) };
}

let made = 0;

const newEntry = (): UnchainedEntry => ({
  id: `aud_${process.pid}_${made++}`,
  at: new Date(),
  actorKind: 'USER',
  actorId: 'usr_01',
  actorName: 'ann@example.com',
  actorIssuer: null,
  address: '192.0.2.1',
  requestId: 'request',
  via: 'GRAPHQL',
  operation: 'updateProject',
  projectId: 'prj_01',
  brokerId: null,
  targetKind: 'project',
  targetId: 'prj_01',
  before: '{"description":"before"}',
  after: '{"description":"after"}',
  result: 'DONE',
  code: null,
});

/** One process: appends for SECONDS, after the parent's message, and sends its result. */
async function write(databaseUrl: string, dataDir: string): Promise<void> {
  const { storage, marks } = await open(databaseUrl, dataDir);
  const { db } = storage;
  let [entries, conflicts, longestMs] = [0, 0, 0];
  const batches = new Set<unknown>();
  // A writer that lost its place looks which of its entries are written.
  const counted = db.$extends({
    query: {
      auditEntry: {
        findMany: ({ args, query }: { args: object; query: (args: object) => Promise<unknown> }) => {
          conflicts += 1;
          return query(args);
        },
      },
    },
  } as object) as unknown as typeof db;
  const log = new AuditLog({
    db: counted,
    marks,
    log: pino({ level: 'warn' }),
    onSettled: (settled) => batches.add(settled),
  });
  process.send?.('ready');
  await once(process, 'message');
  const end = performance.now() + SECONDS * 1_000;
  const caller = async () => {
    while (performance.now() < end) {
      const startedAt = performance.now();
      await log.append(newEntry());
      longestMs = Math.max(longestMs, performance.now() - startedAt);
      entries += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  await log.close();
  await storage.close();
  const result: Result = { entries, batches: batches.size, conflicts, longestMs };
  process.send?.(result);
  process.disconnect();
}

async function round(databaseUrl: string, folder: string, count: number): Promise<readonly Result[]> {
  const writers = await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const child = fork(fileURLToPath(import.meta.url), [databaseUrl, join(folder, `data-${n}`)]);
      await once(child, 'message');
      return child;
    }),
  );
  const results = writers.map((child) => once(child, 'message') as Promise<[Result]>);
  for (const child of writers) child.send('start');
  return (await Promise.all(results)).map(([result]) => result);
}

async function main(): Promise<void> {
  // Where the compiled storage reads them.
  cpSync('prisma/migrations', fileURLToPath(new URL('../prisma/migrations', import.meta.url)), { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-audit-'));
  const postgres = await startPostgres(folder);
  try {
    const { storage, marks } = await open(postgres.url, join(folder, 'data'));
    const rates = new Map<number, number[]>();
    for (let n = 0; n < ROUNDS; n += 1) {
      for (const count of [1, 2, 3]) {
        const results = await round(postgres.url, folder, count);
        const sum = (key: keyof Result) => results.reduce((all, result) => all + result[key], 0);
        const rate = sum('entries') / SECONDS;
        rates.set(count, [...(rates.get(count) ?? []), rate]);
        const each = results.map(({ entries }) => Math.round(entries / SECONDS)).join(' + ');
        const longest = Math.max(...results.map(({ longestMs }) => longestMs));
        console.log(
          `${count} processes: ${rate.toFixed(0)} entries/s (${each}), ${(sum('entries') / sum('batches')).toFixed(1)} in a batch, ${(sum('conflicts') / sum('batches')).toFixed(2)} conflicts for each batch, longest wait ${longest.toFixed(0)} ms`,
        );
      }
    }
    const [one = 0, , three = 0] = [1, 2, 3].map((count) => median(rates.get(count) ?? []));
    const isFast = three / one >= LEAST_RATIO;
    console.log(
      `3 processes / 1 process: ${(three / one).toFixed(2)} (at least ${LEAST_RATIO}: ${isFast ? 'yes' : 'NO'})`,
    );
    const { checked, isIntact } = await verifyChain(storage.db, marks, null, null);
    console.log(`${checked} entries verified: ${isIntact ? 'intact' : 'BROKEN'}`);
    if (!isFast || !isIntact) process.exitCode = 1;
    await storage.close();
  } finally {
    await postgres.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const [databaseUrl, dataDir] = process.argv.slice(2);
if (databaseUrl !== undefined && dataDir !== undefined) await write(databaseUrl, dataDir);
else await main();
