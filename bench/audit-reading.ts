/**
 * Reads an audit log of a million entries (or BENCH_ENTRIES) on SQLite and on PostgreSQL: a page of `auditEvents` and
 * its `totalCount` for each filter, `verifyAudit` and `/audit.jsonl`. Some filters match few old entries, others match
 * most entries. Prints for each operation its duration, the longest stall of the event loop and the memory at the end.
 * Requires `npm run build`. `node bench/run.mjs audit-reading`.
 */
import { randomBytes } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { COLUMNS, chained, GENESIS, Marks, type UnchainedEntry } from '../src/domains/audit/audit-chain.ts';
import type { AuditEntry } from '../src/generated/sqlite/client.ts';
import { readConfig } from '../src/platform/config/config.ts';
import { newId } from '../src/platform/ids.ts';
import type { Engine } from '../src/platform/storage/database.ts';
import { openSealer } from '../src/platform/storage/encryption/sealed.ts';
import { openStorage } from '../src/platform/storage/storage.ts';
import { memoryOf } from './support/memory.ts';
import { startPostgres } from './support/postgres.ts';

const ENTRIES = Number(process.env.BENCH_ENTRIES ?? 1_000_000);
const AT_ONCE = 5_000;
const MAX_STALL_MS = 250;
const STORED_COLUMNS = [...COLUMNS, 'hash'];
const SECRET_KEY = randomBytes(32).toString('base64');

const worker = (file: string) => pathToFileURL(join(process.cwd(), 'dist', file));
// The compiled module, because it reads other files of its folder.
const { startService }: typeof import('../src/app/service.ts') = await import(worker('app/service.js').href);
const log = pino({ level: 'error' });
cpSync('prisma/migrations', fileURLToPath(new URL('../prisma/migrations', import.meta.url)), { recursive: true });

let good = true;
for (const engine of (process.env.BENCH_ENGINES ?? 'sqlite,postgresql').split(',')) {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-bench-'));
  const postgres = engine === 'postgresql' ? await startPostgres(folder) : null;
  try {
    console.log(`${engine}, ${ENTRIES} entries`);
    await measured(join(folder, 'data'), postgres?.url);
  } finally {
    await postgres?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
if (!good) process.exitCode = 1;

async function measured(dataDir: string, databaseUrl: string | undefined): Promise<void> {
  const first = await filled(dataDir, databaseUrl);
  const config = readConfig({
    DATA_DIR: dataDir,
    PORT: '0',
    EMBEDDED_BROKER: 'off',
    ROOT_PASSWORD: 'correct horse battery',
    LOG_LEVEL: 'error',
    SECRET_KEY,
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
  });
  const service = await startService(config, {
    log,
    embeddedWorker: worker('data-plane/broker/worker.js'),
    streamWorker: worker('data-plane/streams/hosting/stream-worker.js'),
    bridgeWorker: worker('data-plane/bridges/hosting/bridge-worker.js'),
    topicWorker: worker('data-plane/topic-tree/hosting/topic-worker.js'),
    historyWorker: worker('data-plane/history/hosting/history-worker.js'),
  });
  try {
    const root = await service.storage.db.user.findFirstOrThrow({ where: { isRoot: true } });
    const { token } = await service.services.auth.sessions.open(root.id);
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const { url } = service.report;
    const ask = async (query: string, variables: object = {}) => {
      const body = JSON.stringify({ query, variables });
      const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body });
      const { data, errors } = (await response.json()) as {
        data: Record<string, { isIntact?: boolean }>;
        errors?: unknown;
      };
      if (errors) throw new Error(JSON.stringify(errors));
      return data;
    };
    const page = 'query ($f: AuditFilter) { auditEvents(first: 50, filter: $f) { nodes { sequence } } }';
    const count = 'query ($f: AuditFilter) { auditEvents(first: 1, filter: $f) { totalCount } }';
    const middle = new Date(first.at.getTime() + ENTRIES * 500);
    const filters: Record<string, object> = {
      none: {},
      'operation, rare': { operation: first.operation },
      'operation, common': { operation: 'updateProject' },
      'operation, none': { operation: 'nothing' },
      'result, rare': { result: 'UNKNOWN' },
      'result, common': { result: 'DONE' },
      'broker, rare': { brokerId: first.brokerId },
      'request, one': { requestId: first.requestId },
      'actor, rare': { actorId: first.actorId },
      'actor, common': { actorId: 'usr_1' },
      'actor’s kind, rare': { actorKind: 'OPERATOR' },
      'target, one': { targetId: first.targetId },
      'target’s kind, rare': { targetKind: first.targetKind },
      'project, common': { projectId: 'prj_1' },
      'project and operation, rare': { projectId: 'prj_1', operation: first.operation },
      'from the middle': { from: middle },
      'to the middle': { to: middle },
      'to the middle, operation': { to: middle, operation: 'updateProject' },
      'search, nothing': { search: 'nothing at all' },
    };
    for (const [name, f] of Object.entries(filters)) {
      await run(`page   ${name}`, () => ask(page, { f }));
      await run(`count  ${name}`, () => ask(count, { f }));
    }
    await run('verify', async () => {
      const { verifyAudit } = await ask('{ verifyAudit { isIntact checked } }');
      if (verifyAudit?.isIntact !== true) throw new Error('verifyAudit reports a broken audit log');
    });
    await run('export', async () => {
      const response = await fetch(`${url}/audit.jsonl`, { headers });
      let bytes = 0;
      for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).byteLength;
      return `${Math.round(bytes / 1_000_000)} MB`;
    });
  } finally {
    await service.close();
  }
}

/** Runs `work` and prints its figures, and its result if it is a string. */
async function run(name: string, work: () => Promise<unknown>): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const startedAt = performance.now();
  const result = await work();
  const ms = performance.now() - startedAt;
  await new Promise((resolve) => setImmediate(resolve));
  delay.disable();
  const stall = delay.max / 1e6;
  const isGood = stall <= MAX_STALL_MS;
  good &&= isGood;
  const rss = memoryOf(process.pid).rss;
  console.log(
    `  ${name.padEnd(38)} ${ms.toFixed(0).padStart(6)} ms, stall ${stall.toFixed(0).padStart(5)} ms${isGood ? '' : ' (TOO LONG)'}, ${rss.toFixed(0)} MB${typeof result === 'string' ? `, ${result}` : ''}`,
  );
}

/** Fills a database with a valid chain of entries, one per second. Returns the first entry, whose values are unique. */
async function filled(dataDir: string, databaseUrl: string | undefined): Promise<UnchainedEntry> {
  const storage = await openStorage({ dataDir, databaseUrl, log });
  const marks = new Marks(openSealer({ dataDir, secretKey: SECRET_KEY }));
  const startedAt = performance.now();
  const beganAt = Date.now() - ENTRIES * 1_000;
  let place = GENESIS;
  let first: UnchainedEntry | null = null;
  while (place.sequence < ENTRIES) {
    const { sequence } = place;
    const entries = Array.from({ length: AT_ONCE }, (_, i) => entryOf(sequence + i, beganAt));
    first ??= entries[0] ?? null;
    const rows = chained(entries, place);
    await storage.db.$executeRawUnsafe(insertOf(storage.engine), JSON.stringify(rows.map(asStored)));
    place = rows.at(-1) ?? place;
  }
  const { name, ...mark } = marks.of('head', place);
  await storage.db.auditMark.create({ data: { name, ...mark } });
  if (databaseUrl !== undefined) await storage.db.$executeRawUnsafe('ANALYZE "AuditEntry"');
  await storage.close();
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`  written in ${seconds.toFixed(0)} s`);
  if (first === null) throw new Error('There are no entries');
  return first;
}

/** An SQL statement, because Prisma takes hours for a million rows. */
function insertOf(engine: Engine): string {
  const columns = STORED_COLUMNS.map((name) => `"${name}"`).join();
  const from =
    engine === 'sqlite'
      ? `${STORED_COLUMNS.map((name) => `value ->> '${name}'`).join()} FROM json_each(?)`
      : `${columns} FROM json_populate_recordset(NULL::"AuditEntry", $1::json)`;
  return `INSERT INTO "AuditEntry" (${columns}) SELECT ${from}`;
}

/** An entry with its time in the format of Prisma. */
function asStored(entry: AuditEntry): object {
  return { ...entry, at: entry.at.toISOString().replace('Z', '+00:00') };
}

function entryOf(n: number, beganAt: number): UnchainedEntry {
  const isFirst = n === 0;
  const text = JSON.stringify({ projectId: `prj_${n % 5}`, description: `number ${n} ${'x'.repeat(n % 300)}` });
  return {
    id: newId('auditEvent'),
    at: new Date(beganAt + n * 1_000),
    actorKind: isFirst ? 'OPERATOR' : 'USER',
    actorId: isFirst ? 'usr_first' : `usr_${n % 20}`,
    actorName: `person${n % 20}@example.com`,
    actorIssuer: null,
    address: '127.0.0.1',
    requestId: randomBytes(12).toString('hex'),
    via: 'GRAPHQL',
    operation: isFirst ? 'deleteOrganization' : n % 4 === 0 ? 'updateBroker' : 'updateProject',
    projectId: `prj_${n % 5}`,
    brokerId: isFirst ? 'brk_first' : `brk_${n % 50}`,
    targetKind: isFirst ? 'organization' : 'project',
    targetId: isFirst ? 'org_first' : `prj_${n % 5}`,
    before: text,
    after: text,
    result: isFirst ? 'UNKNOWN' : n % 10 === 0 ? 'REFUSED' : 'DONE',
    code: null,
    previousHash: '',
    hash: '',
  } as UnchainedEntry;
}
