/**
 * Applies migrations, each in its own transaction and as one simple query, so that the server separates its statements.
 * Processes that start at the same time wait for the advisory lock of Prisma Migrate.
 *
 * A migration may take long, and so may its commit. Other queries fail after RESPONSE_TIMEOUT_MS. The server ends the
 * session, with its locks, of a process that is cut off.
 */
import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { ServiceError } from '../../errors.ts';
import { within } from '../../scheduling/within.ts';
import { closePostgresql, connectPostgresql } from '../postgresql/postgresql-connection.ts';
import type { StorageLog } from '../storage-log.ts';
import { type Migration, type MigrationRecord, migrationFailed, pendingMigrations } from './migrations.ts';

const ADVISORY_LOCK = 72707369;
const LOCK_TIMEOUT_MS = 120_000;
const RESPONSE_TIMEOUT_MS = 10_000;

/**
 * The first one suppresses the notice that the table exists already. The last one also applies if the server has sent
 * something that the process does not acknowledge.
 */
const SETTINGS = `SET client_min_messages = warning;
  SET idle_in_transaction_session_timeout = '15s';
  SET tcp_keepalives_idle = 15;
  SET tcp_keepalives_interval = 5;
  SET tcp_keepalives_count = 2;
  SET tcp_user_timeout = '25s'`;

const MIGRATIONS_TABLE = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                      VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum                VARCHAR(64) NOT NULL,
    finished_at             TIMESTAMPTZ,
    migration_name          VARCHAR(255) NOT NULL,
    logs                    TEXT,
    rolled_back_at          TIMESTAMPTZ,
    started_at              TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count     INTEGER NOT NULL DEFAULT 0
  )`;

/** Errors: ServiceError INTERNAL_ERROR, DATABASE_UNAVAILABLE (no response); those of the database. */
export async function migratePostgresql(
  databaseUrl: string,
  migrations: readonly Migration[],
  log: StorageLog,
): Promise<string[]> {
  const client = await connectPostgresql(databaseUrl, 'migrations');
  client.on('error', (error) => log.debug({ err: error }, 'Connection lost while migrating'));
  try {
    await inTime(client.query(SETTINGS));
    await takeLock(client, log);
    await inTime(client.query(MIGRATIONS_TABLE));
    const { rows } = await inTime(
      client.query<MigrationRecord>(
        'SELECT migration_name, checksum, finished_at, rolled_back_at FROM _prisma_migrations',
      ),
    );
    const pending = pendingMigrations(migrations, rows);
    for (const migration of pending) {
      await apply(client, migration);
      log.info({ migration: migration.name }, 'Migration applied');
    }
    return pending.map(({ name }) => name);
  } finally {
    // Ends the lock too.
    await closePostgresql(client);
  }
}

async function takeLock(client: Client, log: StorageLog): Promise<void> {
  const { rows } = await inTime(
    client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [ADVISORY_LOCK]),
  );
  if (rows[0]?.locked) return;
  log.info('Another process migrates the database; waiting for it');
  await inTime(client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`));
  await inTime(client.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCK]), LOCK_TIMEOUT_MS + RESPONSE_TIMEOUT_MS);
  await inTime(client.query('RESET lock_timeout'));
}

async function apply(client: Client, { name, checksum, sql }: Migration): Promise<void> {
  const startedAt = new Date();
  try {
    await inTime(client.query('BEGIN'));
    await client.query(sql);
    await inTime(
      client.query(
        `INSERT INTO _prisma_migrations (id, checksum, started_at, finished_at, migration_name, applied_steps_count)
         VALUES ($1, $2, $3, $4, $5, 1)`,
        [randomUUID(), checksum, startedAt, new Date(), name],
      ),
    );
    await client.query('COMMIT');
  } catch (error) {
    // The caller closes the connection, which rolls the transaction back.
    throw migrationFailed(name, error);
  }
}

function inTime<T>(work: Promise<T>, ms = RESPONSE_TIMEOUT_MS): Promise<T> {
  const late = () => new ServiceError('DATABASE_UNAVAILABLE', `PostgreSQL did not respond within ${ms / 1_000} s`);
  return within(ms, work, late);
}
