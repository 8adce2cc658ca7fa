import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import { PrismaPg } from '@prisma/adapter-pg';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { Engine } from '../../../src/platform/storage/database.ts';
import {
  type Migration,
  migrationsFolder,
  readMigrations,
} from '../../../src/platform/storage/migrations/migrations.ts';
import { migratePostgresql } from '../../../src/platform/storage/migrations/postgresql-migrator.ts';
import { migrateSqlite } from '../../../src/platform/storage/migrations/sqlite-migrator.ts';
import { newDatabaseUrl, openTestStorage, silentLog, temporaryFolder } from '../../support/database.ts';
import { describeEngines } from '../../support/engines.ts';
import type { TestPostgres } from '../../support/postgres.ts';
import { startRelay } from '../../support/relay.ts';
import { startStorageProcess } from '../../support/storage-process.ts';

const SCRIPT = new URL('../../../scripts/migration.mjs', import.meta.url);

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const migration = (name: string, sql: string): Migration => ({ name, sql, checksum: sha256(sql) });

const FIRST = migration('0001_first', 'CREATE TABLE "a" ("id" TEXT PRIMARY KEY);');
const SECOND = migration('0002_second', 'CREATE TABLE "b" ("id" TEXT PRIMARY KEY); CREATE INDEX "b_id" ON "b" ("id");');
const REPLACED = {
  last: '0002_second',
  state: sha256([FIRST, SECOND].map(({ name, checksum }) => `${name} ${checksum}\n`).join('')),
};
const BROKEN = migration('0002_second', 'CREATE TABLE "b" ("id" TEXT PRIMARY KEY); INSERT INTO "nowhere" VALUES (1);');

/** A new database to migrate and to look into. */
async function newDatabase(engine: Engine, postgres: TestPostgres) {
  const url = await newDatabaseUrl(engine, postgres);
  const dataDir = temporaryFolder();
  const file = join(dataDir, 'brokergraph.db');
  return {
    dataDir,
    url,
    migrate: async (migrations: readonly Migration[]) =>
      url === undefined
        ? migrateSqlite(file, migrations, silentLog)
        : await migratePostgresql(url, migrations, silentLog),
    query: (sql: string) => (url === undefined ? querySqlite(file, sql) : queryPostgresql(url, sql)),
    adapter: () =>
      url === undefined
        ? new PrismaBetterSqlite3({ url: `file:${file}` })
        : new PrismaPg({ connectionString: url }, { schema: 'public' }),
  };
}

function querySqlite(file: string, sql: string): Record<string, unknown>[] {
  const db = new Sqlite(file);
  try {
    const statement = db.prepare<[], Record<string, unknown>>(sql);
    if (statement.reader) return statement.all();
    statement.run();
    return [];
  } finally {
    db.close();
  }
}

async function queryPostgresql(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describeEngines((engine, postgres) => {
  test('opening applies every migration, and opening again none', async () => {
    const { dataDir, url: databaseUrl } = await newDatabase(engine, postgres);
    const first = await openTestStorage({ dataDir, databaseUrl });
    await first.close();
    const second = await openTestStorage({ dataDir, databaseUrl });
    expect(first.migrated).toEqual(readMigrations(migrationsFolder(engine)).map(({ name }) => name));
    expect(second.migrated).toEqual([]);
  });

  test('records each migration in the form of Prisma Migrate', async () => {
    const { migrate, query } = await newDatabase(engine, postgres);
    await migrate([FIRST, SECOND]);
    const rows = await query('SELECT * FROM _prisma_migrations ORDER BY migration_name');
    const time = engine === 'sqlite' ? expect.any(Number) : expect.any(Date);
    expect(rows).toEqual(
      [FIRST, SECOND].map(({ name, checksum }) => ({
        id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        checksum,
        migration_name: name,
        started_at: time,
        finished_at: time,
        rolled_back_at: null,
        applied_steps_count: 1,
        logs: null,
      })),
    );
  });

  test("Prisma's own engine finds nothing to apply, to repair or to complain about", async () => {
    const { migrate, adapter } = await newDatabase(engine, postgres);
    const migrations = readMigrations(migrationsFolder(engine));
    await migrate(migrations);
    const { openSchemaEngine } = await import(SCRIPT.href);
    const schemaEngine = await openSchemaEngine(engine, adapter());
    onTestFinished(() => schemaEngine.free());
    const filters = { externalTables: [], externalEnums: [] };
    const migrationsList = {
      baseDir: migrationsFolder(engine),
      shadowDbInitScript: '',
      lockfile: { path: 'migration_lock.toml', content: `provider = "${engine}"\n` },
      migrationDirectories: migrations.map(({ name, sql }) => ({
        path: name,
        migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
      })),
    };
    expect(
      await schemaEngine.diagnoseMigrationHistory({ migrationsList, optInToShadowDatabase: false, filters }),
    ).toMatchObject({ editedMigrationNames: [], failedMigrationNames: [], hasMigrationsTable: true, history: null });
    expect(await schemaEngine.applyMigrations({ migrationsList, filters })).toEqual({ appliedMigrationNames: [] });
  });

  test('applies only what is new', async () => {
    const { migrate } = await newDatabase(engine, postgres);
    expect(await migrate([FIRST])).toEqual(['0001_first']);
    expect(await migrate([FIRST, SECOND])).toEqual(['0002_second']);
    expect(await migrate([FIRST, SECOND])).toEqual([]);
  });

  test('stored problems and their changes remain, also when their broker is deleted later', async () => {
    const { migrate, query } = await newDatabase(engine, postgres);
    const all = readMigrations(migrationsFolder(engine));
    const isBefore = ({ name }: Migration) => name < '0010';
    await migrate(all.filter(isBefore));
    const type = engine === 'sqlite' ? `'SELF_HOSTED'` : `'SELF_HOSTED'::"BrokerType"`;
    await query(`INSERT INTO "Project" ("id", "name", "updatedAt") VALUES ('p', 'plant', '2026-01-01T00:00:00')`);
    await query(`INSERT INTO "Broker" ("id", "projectId", "name", "type", "updatedAt")
      VALUES ('b', 'p', 'press', ${type}, '2026-01-01T00:00:00')`);
    await query(`INSERT INTO "Problem" ("id", "kind", "severity", "projectId", "brokerId", "subjectName", "detail", "key",
      "openKey", "openedAt", "lastSeenAt") VALUES ('o', 'BRIDGE_DOWN', 'CRITICAL', 'p', 'b', 'up', 'x', 'k', 'k',
      '2026-01-01T00:00:00', '2026-01-01T00:00:00')`);
    await query(`INSERT INTO "ProblemChange" VALUES (1, 'o', 'OPENED', '2026-01-01T00:00:00')`);

    await migrate(all);
    await query(`DELETE FROM "Broker"`);

    const stored = await query(`SELECT "brokerId", "brokerName", "openKey", "sequence" FROM "Problem"
      JOIN "ProblemChange" ON "problemId" = "Problem"."id"`);
    expect(stored).toEqual([{ brokerId: 'b', brokerName: null, openKey: 'k', sequence: 1 }]);
  });

  test('a migration that replaces others is only recorded where all of them were applied, as for Prisma Migrate', async () => {
    const { migrate, query } = await newDatabase(engine, postgres);
    await migrate([FIRST, SECOND]);
    await query(`INSERT INTO "a" VALUES ('1')`);
    const replacing = { ...migration('0001_all', `${FIRST.sql} ${SECOND.sql}`), replaces: REPLACED };
    const third = migration('0002_third', 'CREATE TABLE "c" ("id" TEXT PRIMARY KEY);');
    expect(await migrate([replacing, third])).toEqual(['0001_all', '0002_third']);
    expect(await query('SELECT "a"."id" FROM "a" LEFT JOIN "b" USING ("id") LEFT JOIN "c" USING ("id")')).toEqual([
      { id: '1' },
    ]);
    expect(await query('SELECT migration_name, checksum FROM _prisma_migrations ORDER BY migration_name')).toEqual(
      [replacing, third].map(({ name, checksum }) => ({ migration_name: name, checksum })),
    );
    expect(await migrate([replacing, third])).toEqual([]);
    const fresh = await newDatabase(engine, postgres);
    expect(await fresh.migrate([replacing])).toEqual(['0001_all']);
    expect(await fresh.query('SELECT * FROM "b"')).toEqual([]);
  });

  test('a database with some of the replaced migrations, or with others, is refused unchanged', async () => {
    const replacing = { ...migration('0001_all', ''), replaces: REPLACED };
    for (const applied of [[FIRST], [FIRST, migration('0002_second', 'SELECT 1')]]) {
      const { migrate } = await newDatabase(engine, postgres);
      await migrate(applied);
      await expect(migrate([replacing])).rejects.toThrow(
        /lacks .* up to 0002_second\. Start the service of commit \w+ once/,
      );
      expect(await migrate(applied)).toEqual([]);
    }
  });

  test('the first migration replaces those of the builds until now', () => {
    const [first] = readMigrations(migrationsFolder(engine));
    const last = engine === 'sqlite' ? '0017_cloud_broker_folders' : '0018_message_batches';
    expect(first?.replaces).toEqual({ last, state: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  test('rolls a failed migration back, and applies it after its correction', async () => {
    const { migrate } = await newDatabase(engine, postgres);
    const failing = migrate([FIRST, BROKEN]);
    await expect(failing).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
    await expect(failing).rejects.toThrow(/0002_second failed and was rolled back: .*nowhere/);
    expect(await migrate([FIRST, SECOND])).toEqual(['0002_second']);
  });

  test('refuses a migration that was edited after it was applied', async () => {
    const { migrate } = await newDatabase(engine, postgres);
    await migrate([FIRST]);
    await expect(migrate([migration('0001_first', `${FIRST.sql}\n`), SECOND])).rejects.toThrow(/0001_first was edited/);
    expect(await migrate([FIRST, SECOND])).toEqual(['0002_second']);
  });

  test('refuses a database that a newer version migrated', async () => {
    const { migrate } = await newDatabase(engine, postgres);
    await migrate([FIRST, SECOND]);
    await expect(migrate([FIRST])).rejects.toThrow(/0002_second, which this version does not know/);
  });

  test('accepts expand migrations of a newer version, and refuses its contract migrations and those between its own', async () => {
    const { migrate } = await newDatabase(engine, postgres);
    const expand = migration('0002_expand_a', 'ALTER TABLE "a" ADD COLUMN "more" TEXT;');
    const contract = migration('0003_contract_a', 'ALTER TABLE "a" DROP COLUMN "more";');
    await migrate([FIRST, expand]);
    expect(await migrate([FIRST])).toEqual([]);
    await expect(migrate([FIRST, contract])).rejects.toThrow(/0002_expand_a, which this version does not know/);
    await migrate([FIRST, expand, contract]);
    await expect(migrate([FIRST])).rejects.toThrow(/0003_contract_a, which this version does not know and cannot/);
  });

  test('refuses a migration that failed under Prisma Migrate until that is resolved', async () => {
    const { migrate, query } = await newDatabase(engine, postgres);
    await migrate([FIRST]);
    await query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('x', '${SECOND.checksum}', '0002_second')`,
    );
    await expect(migrate([FIRST, SECOND])).rejects.toThrow(/0002_second failed/);
    await query(`UPDATE _prisma_migrations SET rolled_back_at = started_at WHERE id = 'x'`);
    expect(await migrate([FIRST, SECOND])).toEqual(['0002_second']);
  });

  test('the migrations create everything in prisma/schema.prisma', async () => {
    const env = { ...process.env };
    if (engine === 'postgresql') env.SHADOW_DATABASE_URL = await postgres.createDatabase();
    // Exit code 2 rejects, with the missing SQL in the error.
    await promisify(execFile)(process.execPath, [fileURLToPath(SCRIPT), '--check', '--engine', engine], { env });
  });

  if (engine !== 'postgresql') return;

  test('a migration may contain semicolons that end no statement', async () => {
    const { migrate, query } = await newDatabase(engine, postgres);
    const body = `CREATE FUNCTION "one"() RETURNS int AS $$ BEGIN RETURN 1; END; $$ LANGUAGE plpgsql; CREATE TABLE "t" ("x" text DEFAULT ';');`;
    await migrate([migration('0001_function', body)]);
    expect(await query('SELECT "one"()')).toEqual([{ one: 1 }]);
  });

  test('only one of several processes that start at the same time applies a migration', async () => {
    const { url, query } = await newDatabase(engine, postgres);
    const started = await Promise.all([1, 2, 3].map(() => startStorageProcess('hold', temporaryFolder(), url)));
    const names = readMigrations(migrationsFolder(engine)).map(({ name }) => name);
    expect(started.flatMap(({ migrated }) => migrated).sort()).toEqual(names);
    expect(await query('SELECT migration_name FROM _prisma_migrations')).toHaveLength(names.length);
  });

  test('a connection that becomes silent as soon as it is open fails within seconds', async () => {
    const { url = '' } = await newDatabase(engine, postgres);
    const relay = await startRelay(Number(new URL(url).port), { isSilent: () => true });
    const silent = Object.assign(new URL(url), { port: new URL(relay.url).port });
    await expect(migratePostgresql(silent.href, [FIRST], silentLog)).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
    });
  });

  test('the server ends the session of a process that is cut off during a migration', async () => {
    const { migrate, query } = await newDatabase(engine, postgres);
    const sql = `CREATE TABLE "s" AS SELECT name, setting::int FROM pg_settings
      WHERE name ~ '^tcp_(keepalives|user)_' OR name = 'idle_in_transaction_session_timeout'`;
    await migrate([migration('0001_settings', sql)]);
    expect(await query('SELECT name, setting FROM "s" ORDER BY name')).toEqual([
      { name: 'idle_in_transaction_session_timeout', setting: 15_000 },
      { name: 'tcp_keepalives_count', setting: 2 },
      { name: 'tcp_keepalives_idle', setting: 15 },
      { name: 'tcp_keepalives_interval', setting: 5 },
      { name: 'tcp_user_timeout', setting: 25_000 },
    ]);
  });
});

test('on SQLite a migration that recreates a table retains the rows that refer to it', async () => {
  const file = join(temporaryFolder(), 'brokergraph.db');
  const before = migration(
    '0001_before',
    `CREATE TABLE "p" ("id" TEXT PRIMARY KEY);
     CREATE TABLE "c" ("p" TEXT REFERENCES "p" ("id") ON DELETE CASCADE);
     INSERT INTO "p" VALUES ('1'); INSERT INTO "c" VALUES ('1');`,
  );
  // In the form in which Prisma writes it.
  const after = migration(
    '0002_after',
    `PRAGMA defer_foreign_keys=ON; PRAGMA foreign_keys=OFF;
     CREATE TABLE "new_p" ("id" TEXT PRIMARY KEY, "more" INTEGER NOT NULL DEFAULT 1);
     INSERT INTO "new_p" ("id") SELECT "id" FROM "p";
     DROP TABLE "p"; ALTER TABLE "new_p" RENAME TO "p";
     PRAGMA foreign_keys=ON; PRAGMA defer_foreign_keys=OFF;`,
  );
  migrateSqlite(file, [before, after], silentLog);
  expect(querySqlite(file, 'SELECT * FROM "c"')).toEqual([{ p: '1' }]);

  const dangling = migration('0003_dangling', `DELETE FROM "p";`);
  expect(() => migrateSqlite(file, [before, after, dangling], silentLog)).toThrow(/0003_dangling failed.*"c" refers/);
  expect(querySqlite(file, 'SELECT * FROM "p"')).toEqual([{ id: '1', more: 1 }]);
});

test.each([
  ['expand_more', 'CREATE TABLE "renamed" ("id" TEXT NOT NULL); -- DROP', []],
  ['expand_more', `ALTER TABLE "a" ADD COLUMN "drop" TEXT NOT NULL DEFAULT 'RENAME', ADD COLUMN "type" TEXT;`, []],
  ['expand_more', 'ALTER TYPE "Kind" ADD VALUE \'NEW\';', []],
  ['expand_more', 'DROP TABLE "a"; ALTER TABLE "new_a" RENAME TO "a";', []],
  ['expand_more', 'DROP TABLE "a"; ALTER TABLE "new_b" RENAME TO "b";', [/drops/, /renames/]],
  ['expand_more', 'ALTER TABLE "a" DROP CONSTRAINT "a_b_fkey";', []],
  ['expand_more', 'ALTER TABLE "a" DROP CONSTRAINT "a_pkey";', [/drops/]],
  ['expand_more', 'ALTER TABLE "a" drop column "b";', [/drops/]],
  [
    'expand_more',
    'ALTER TABLE "a" ALTER COLUMN "b" DROP NOT NULL, ALTER COLUMN "c" SET NOT NULL;',
    [/drops/, /NOT NULL/],
  ],
  ['expand_more', 'ALTER TABLE "a" ALTER COLUMN "b" SET DATA TYPE BIGINT;', [/type/]],
  ['expand_more', 'ALTER TABLE "a" ADD COLUMN "b" NUMERIC(9, 2) NOT NULL, ADD COLUMN "c" TEXT DEFAULT 1;', [/adds/]],
  ['contract_more', 'DROP TABLE "a";', []],
  ['more', '', [/name/]],
])('npm run migration finds what a migration must not do: %s, %s', async (name, sql, faults) => {
  const { faultsOf } = await import(new URL('../../../scripts/rules/migrations.mjs', import.meta.url).href);
  expect(faultsOf(name, sql)).toEqual(faults.map((fault) => expect.stringMatching(fault)));
});
