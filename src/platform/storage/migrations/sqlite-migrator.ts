/** Applies migrations, each in its own transaction. No other SQLite library may have the file open. */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { messageOf, ServiceError } from '../../errors.ts';
import type { StorageLog } from '../storage-log.ts';
import { type Migration, type MigrationRecord, migrationFailed, pendingMigrations } from './migrations.ts';

/** The table of Prisma Migrate. Times are in milliseconds. */
const MIGRATIONS_TABLE = `
  CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
    "id"                    TEXT PRIMARY KEY NOT NULL,
    "checksum"              TEXT NOT NULL,
    "finished_at"           DATETIME,
    "migration_name"        TEXT NOT NULL,
    "logs"                  TEXT,
    "rolled_back_at"        DATETIME,
    "started_at"            DATETIME NOT NULL DEFAULT current_timestamp,
    "applied_steps_count"   INTEGER UNSIGNED NOT NULL DEFAULT 0
  )`;

export function migrateSqlite(file: string, migrations: readonly Migration[], log: StorageLog): string[] {
  // SQLite copies the mode of the file to its WAL and journal.
  closeSync(openSync(file, 'a', 0o600));
  const db = new Sqlite(file);
  try {
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    // Migrations change a table by creating a new one and dropping the old one. With foreign keys on, the drop would
    // delete all rows that refer to it. The setting cannot be changed inside a transaction; keys are checked before
    // each commit.
    db.pragma('foreign_keys = OFF');
    const applied: string[] = [];
    for (let name = applyNext(db, migrations); name !== null; name = applyNext(db, migrations)) {
      log.info({ migration: name }, 'Migration applied');
      applied.push(name);
    }
    return applied;
  } finally {
    db.close();
  }
}

function applyNext(db: Sqlite.Database, migrations: readonly Migration[]): string | null {
  const step = db.transaction(() => {
    db.exec(MIGRATIONS_TABLE);
    const records = db
      .prepare<[], MigrationRecord>(
        'SELECT migration_name, checksum, finished_at, rolled_back_at FROM _prisma_migrations',
      )
      .all();
    const [next] = pendingMigrations(migrations, records);
    if (!next) return null;
    const startedAt = Date.now();
    try {
      db.exec(next.sql);
      const dangling = db.prepare<[], { readonly table: string }>('PRAGMA foreign_key_check').get();
      if (dangling) throw new Error(`a row of "${dangling.table}" refers to a missing row`);
    } catch (error) {
      throw migrationFailed(next.name, error);
    }
    db.prepare(
      `INSERT INTO _prisma_migrations (id, checksum, started_at, finished_at, migration_name, applied_steps_count)
       VALUES (?, ?, ?, ?, ?, 1)`,
    ).run(randomUUID(), next.checksum, startedAt, Date.now(), next.name);
    return next.name;
  });
  try {
    return step.immediate();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const reason = messageOf(error);
    throw new ServiceError('INTERNAL_ERROR', `The database ${db.name} cannot be migrated: ${reason}`, { cause: error });
  }
}
