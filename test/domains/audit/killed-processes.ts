import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { expect } from 'vitest';
import type { Engine } from '../../../src/platform/storage/database.ts';
import type { TestPostgres } from '../../support/postgres.ts';
import { sharedDatabase } from '../../support/service.ts';
import { type StartedService, startServiceHere, startServiceProcess } from '../../support/service-process.ts';

const ENTRIES = `query ($before: String) {
  auditEvents(last: 1000, before: $before) { nodes { operation result after targetId } pageInfo { startCursor } }
}`;

/** Answers before a process is killed. */
const ENOUGH = 15;

interface Entry {
  readonly operation: string;
  readonly result: string;
  readonly after: { readonly name: string } | null;
}

async function entriesOf(service: StartedService): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let before: string | null = null; ; ) {
    const { auditEvents }: { auditEvents: { nodes: Entry[]; pageInfo: { startCursor: string | null } } } =
      await service.graphql(ENTRIES, { before });
    if (auditEvents.nodes.length === 0) return entries;
    entries.push(...auditEvents.nodes);
    before = auditEvents.pageInfo.startCursor;
  }
}

/** Makes projects of different names, four at once, until the service is gone. Names of those that it answered. */
async function makeProjects(
  service: StartedService,
  prefix: string,
  { enough, isOver }: { readonly enough?: () => void; readonly isOver?: () => boolean },
): Promise<string[]> {
  const answered: string[] = [];
  let isGone = false;
  const run = async (worker: number) => {
    for (let n = 0; !isGone && !isOver?.(); n++) {
      const name = `${prefix} ${worker} ${n}`;
      try {
        await service.graphql(
          'mutation ($name: String!) { createProject(input: { name: $name }) { project { id } } }',
          { name },
        );
        answered.push(name);
        if (answered.length === ENOUGH) enough?.();
      } catch {
        isGone = true;
      }
    }
  };
  await Promise.all([0, 1, 2, 3].map(run));
  return answered;
}

/**
 * Kills processes during changes and starts them again: each change has one entry in an unbroken chain, also if its
 * response was lost. On PostgreSQL two processes write the chain at the same time.
 */
export async function checkKilledProcesses(engine: Engine, postgres: TestPostgres): Promise<void> {
  const databaseUrl = engine === 'sqlite' ? undefined : await sharedDatabase(postgres);
  const env = {
    SECRET_KEY: randomBytes(32).toString('base64'),
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
  };
  const [service, other] = await Promise.all([
    startServiceProcess(env),
    // On one database several processes write one chain.
    databaseUrl === undefined ? null : startServiceProcess(env),
  ]);
  const names = (
    await Promise.all([
      makeProjects(service, 'first', { enough: () => void service.kill() }),
      ...(other ? [makeProjects(other, 'second', { enough: () => void other.kill() })] : []),
    ])
  ).flat();
  const [again] = await Promise.all([
    startServiceHere(env, service.dataDir),
    other && startServiceHere(env, other.dataDir),
  ]);
  await checkEntries(again, names);
}

/**
 * Kills two of three processes during changes, and never starts them again: their data folders are lost. The third one
 * records what they had begun.
 */
export async function checkLostProcesses(postgres: TestPostgres): Promise<void> {
  const env = { SECRET_KEY: randomBytes(32).toString('base64'), DATABASE_URL: await sharedDatabase(postgres) };
  const first = await startServiceProcess(env);
  const [second, third] = await Promise.all([startServiceProcess(env), startServiceHere(env)]);
  let isOver = false;
  const [lost, alsoLost, left] = await Promise.all([
    makeProjects(first, 'first', { enough: () => void first.kill() }),
    makeProjects(second, 'second', { enough: () => void second.kill() }),
    makeProjects(third, 'third', { isOver: () => isOver }),
    Promise.all([first.exit(), second.exit()]).then(() => {
      isOver = true;
    }),
  ]);
  const db = new pg.Client({ connectionString: env.DATABASE_URL });
  await db.connect();
  try {
    const pending = async () => (await db.query('SELECT "id" FROM "PendingChange"')).rows;
    await expect.poll(pending, { timeout: 90_000 }).toEqual([]);
  } finally {
    await db.end();
  }
  await checkEntries(third, [...lost, ...alsoLost, ...left]);
}

/** `names`: of the projects whose creation was acknowledged. */
async function checkEntries(service: StartedService, names: readonly string[]): Promise<void> {
  const { verifyAudit } = await service.graphql('{ verifyAudit { isIntact problems { sequence reason } } }');
  expect(verifyAudit).toEqual({ isIntact: true, problems: [] });
  const made = (await entriesOf(service)).filter(
    ({ operation, after }) => operation === 'createProject' && after?.name !== 'Test',
  );
  const told = made.map(({ after }) => after?.name ?? '');
  expect(new Set(told).size).toBe(told.length);
  expect(names.filter((name) => !told.includes(name))).toEqual([]);
  const { projects } = await service.graphql('{ projects(first: 1000) { nodes { name } } }');
  const there: string[] = projects.nodes.map(({ name }: { name: string }) => name);
  // Each existing project has an entry, and each project whose entry is DONE exists.
  expect(there.filter((name) => !told.includes(name) && name !== 'Test')).toEqual([]);
  for (const { result, after } of made) {
    expect(['DONE', 'UNKNOWN']).toContain(result);
    if (result === 'DONE') expect(there).toContain(after?.name);
  }
}
