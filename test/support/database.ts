import pino from 'pino';
import type { Engine } from '../../src/platform/storage/database.ts';
import { openStorage, type Storage } from '../../src/platform/storage/storage.ts';
import type { StorageLog } from '../../src/platform/storage/storage-log.ts';
import { pooledDatabase } from './pooled-database.ts';
import { createDatabase, type TestPostgres } from './postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';
import './query-plans.ts';
import { onTestFinished } from './shared.ts';

export const silentLog = pino({ level: 'silent' });

export { temporaryFolder } from './temporary-folder.ts';

interface TestStorageOptions {
  /** Default: a new folder. */
  readonly dataDir?: string;
  /** Default: a new database. */
  readonly databaseUrl?: string | undefined;
  /** Default: no log. */
  readonly log?: StorageLog;
}

/**
 * Opens the real storage, which is closed after the test: SQLite in a new folder, or a new database on
 * TEST_POSTGRES_URL if TEST_ENGINE is "postgresql". Every suite can therefore run on both engines.
 */
export async function openTestStorage(options: TestStorageOptions = {}): Promise<Storage> {
  const dataDir = options.dataDir ?? temporaryFolder();
  const databaseUrl = 'databaseUrl' in options ? options.databaseUrl : await databaseOfRun();
  const storage = await openStorage({ dataDir, databaseUrl, log: options.log ?? silentLog });
  onTestFinished(() => storage.close());
  return storage;
}

/** Creates a database on the PostgreSQL server of the run; `undefined` on SQLite. `copyOf`: see createDatabase. */
export async function databaseOfRun(copyOf?: string): Promise<string | undefined> {
  const { TEST_ENGINE, TEST_POSTGRES_URL, TEST_POOLER } = process.env;
  if (TEST_ENGINE !== 'postgresql') return undefined;
  if (!TEST_POSTGRES_URL) throw new Error('TEST_ENGINE=postgresql needs TEST_POSTGRES_URL');
  return TEST_POOLER === 'session'
    ? pooledDatabase(TEST_POSTGRES_URL, copyOf)
    : createDatabase(TEST_POSTGRES_URL, copyOf);
}

let migrated: Promise<string> | null = null;

/** A PostgreSQL database with all tables and no rows, for several processes. Each test process migrates one. */
export async function emptyDatabase(postgres: TestPostgres): Promise<string> {
  const { TEST_POSTGRES_URL: server } = process.env;
  if (!server) return postgres.createDatabase();
  migrated ??= createDatabase(server).then(async (databaseUrl) => {
    const storage = await openStorage({ dataDir: temporaryFolder(), databaseUrl, log: silentLog });
    await storage.close();
    return databaseUrl;
  });
  return createDatabase(server, await migrated);
}

/** Uses SQLite in the rest of a test, whatever the database of the run. */
export function useSqlite(): void {
  const { TEST_ENGINE } = process.env;
  if (TEST_ENGINE === undefined) return;
  delete process.env.TEST_ENGINE;
  onTestFinished(() => {
    process.env.TEST_ENGINE = TEST_ENGINE;
  });
}

/** The `databaseUrl` of openStorage for a new database of an engine. */
export async function newDatabaseUrl(engine: Engine, postgres: TestPostgres): Promise<string | undefined> {
  return engine === 'sqlite' ? undefined : postgres.createDatabase();
}
