/**
 * The data folder is locked first, also with PostgreSQL, because keys and embedded brokers use it. Only the client of
 * the used engine is loaded. Errors: ServiceError IN_USE (another process owns the folder), INVALID (databaseUrl),
 * INTERNAL_ERROR.
 */
import { join } from 'node:path';
import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import type { Pool } from 'pg';
import { type Changes, LocalChanges } from './changes/changes.ts';
import type { Database, Engine } from './database.ts';
import type { DatabaseSpeed } from './database-speed.ts';
import { openDataFolder } from './folder/data-folder.ts';
import { type Leases, LocalLeases } from './leases/leases.ts';
import { migrationsFolder, readMigrations } from './migrations/migrations.ts';
import type { StorageLog } from './storage-log.ts';

/** In the data folder, unless the database is PostgreSQL. */
export const SQLITE_FILE = 'brokergraph.db';

interface StorageOptions {
  readonly dataDir: string;
  /** `postgresql://…`. Default: the SQLite file `brokergraph.db` in the data folder. */
  readonly databaseUrl?: string | undefined;
  readonly log: StorageLog;
}

export interface Storage {
  readonly db: Database;
  readonly engine: Engine;
  readonly changes: Changes;
  readonly leases: Leases;
  readonly migrated: readonly string[];
  /** `null` on SQLite, whose statements do not leave the process. */
  readonly speed: DatabaseSpeed | null;
  /** Connections of `db` to PostgreSQL; `null` with SQLite. */
  readonly pool: Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'> | null;
  /** Writes to the disk of the database, without a change of its content. Errors: those of the database. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Statements that write to the log of the database and wait for its disk. SQLite writes the page of this number, which
 * Brokergraph does not use, even if the number is the same. PostgreSQL writes an empty message of logical decoding.
 */
const WRITES: Readonly<Record<Engine, string>> = {
  sqlite: 'PRAGMA user_version = 0',
  // A message of the log is also written by a read-only transaction.
  postgresql: `SELECT pg_logical_emit_message(true, 'brokergraph', '')::text,
    current_setting('transaction_read_only') = 'on' AS "isReadOnly"`,
};

/** The code of PostgreSQL for a write in a read-only transaction. */
const READ_ONLY = '25006';

type OpenDatabase = Pick<Storage, 'db' | 'engine' | 'changes' | 'leases' | 'migrated' | 'pool' | 'speed'>;

type AdapterFactory = Pick<SqlDriverAdapterFactory, 'provider' | 'adapterName' | 'connect'>;

export async function openStorage({ dataDir, databaseUrl, log }: StorageOptions): Promise<Storage> {
  const folder = openDataFolder(dataDir, log);
  try {
    const open = await (databaseUrl === undefined
      ? openSqlite(join(folder.path, SQLITE_FILE), log)
      : openPostgresql(databaseUrl, log));
    let closing: Promise<void> | null = null;
    return {
      ...open,
      ping: async () => {
        const [row] = await open.db.$queryRawUnsafe<{ readonly isReadOnly?: boolean }[]>(WRITES[open.engine]);
        if (row?.isReadOnly) throw Object.assign(new Error('The database is read-only'), { code: READ_ONLY });
      },
      close: () => {
        closing ??= closeAll(open).finally(() => folder.close());
        return closing;
      },
    };
  } catch (error) {
    folder.close();
    throw error;
  }
}

async function closeAll({ db, changes, leases }: OpenDatabase): Promise<void> {
  await leases.close();
  await changes.close();
  await db.$disconnect();
}

async function openSqlite(file: string, log: StorageLog): Promise<OpenDatabase> {
  const engine = 'sqlite';
  const { migrateSqlite } = await import('./migrations/sqlite-migrator.ts');
  const migrated = migrateSqlite(file, readMigrations(migrationsFolder(engine)), log);
  const { SqliteAdapterFactory } = await import('./sqlite-adapter.ts');
  const { PrismaClient } = await import('../../generated/sqlite/client.ts');
  const db = new PrismaClient({ adapter: connectingOnce(new SqliteAdapterFactory(file)), errorFormat: 'minimal' });
  await db.$connect();
  return { db, engine, changes: new LocalChanges(), leases: new LocalLeases(), migrated, pool: null, speed: null };
}

async function openPostgresql(databaseUrl: string, log: StorageLog): Promise<OpenDatabase> {
  const engine = 'postgresql';
  const { checkPostgresql } = await import('./postgresql/postgresql-check.ts');
  await checkPostgresql(databaseUrl, log);
  const { migratePostgresql } = await import('./migrations/postgresql-migrator.ts');
  const migrated = await migratePostgresql(databaseUrl, readMigrations(migrationsFolder(engine)), log);
  const { PostgresqlChanges } = await import('./changes/postgresql-changes.ts');
  const { PostgresqlLeases } = await import('./leases/postgresql-leases.ts');
  const { DatabaseSpeed } = await import('./database-speed.ts');
  const speed = new DatabaseSpeed(log);
  const changes = await PostgresqlChanges.open(databaseUrl, log);
  try {
    const { db, pool } = await connectClient(databaseUrl, log, speed);
    const leases = new PostgresqlLeases(databaseUrl, changes, log, speed);
    return { db, engine, changes, leases, migrated, pool, speed };
  } catch (error) {
    await changes.close();
    throw error;
  }
}

async function connectClient(databaseUrl: string, log: StorageLog, speed: DatabaseSpeed) {
  const { default: pg } = await import('pg');
  const { timedClient } = await import('./database-speed.ts');
  const { PrismaPg } = await import('@prisma/adapter-pg');
  const { poolConfig } = await import('./postgresql/postgresql-connection.ts');
  const { PrismaClient } = await import('../../generated/postgresql/client.ts');
  const onLost = (error: Error) => log.warn({ err: error }, 'A connection to the database was lost');
  const pool = new pg.Pool({ ...poolConfig(databaseUrl), Client: timedClient(speed) });
  const options = { onPoolError: onLost, onConnectionError: onLost, disposeExternalPool: true };
  const adapter = new PrismaPg(pool, options);
  const client = new PrismaClient({ adapter: connectingOnce(adapter), errorFormat: 'minimal' });
  await client.$connect();
  // Two generated classes with the same models; see Database.
  return { db: client as unknown as Database, pool };
}

/** Makes queries after `$disconnect` fail, which would reconnect although another process may own the folder. */
function connectingOnce(factory: AdapterFactory): AdapterFactory {
  let isConnected = false;
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => {
      if (isConnected) throw new Error('The database is closed');
      isConnected = true;
      return factory.connect();
    },
  };
}
