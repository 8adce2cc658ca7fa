import { existsSync, renameSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Logger } from 'pino';
import { copyHistory } from '../../data-plane/history/store/copy-history.ts';
import { HISTORY_FILE } from '../../data-plane/history/store/history-database.ts';
import { importFiles, measureFiles } from '../../data-plane/log/postgresql/file-import.ts';
import { Closers } from '../../platform/closers.ts';
import { openDataFolder } from '../../platform/storage/folder/data-folder.ts';
import { requireData } from '../../platform/storage/folder/require-data.ts';
import { migrationsFolder, readMigrations } from '../../platform/storage/migrations/migrations.ts';
import { migratePostgresql } from '../../platform/storage/migrations/postgresql-migrator.ts';
import { migrateSqlite } from '../../platform/storage/migrations/sqlite-migrator.ts';
import { closePostgresql, connectPostgresql } from '../../platform/storage/postgresql/postgresql-connection.ts';
import {
  copyRows,
  requireUnused,
  SqliteRows,
  type TableRows,
} from '../../platform/storage/postgresql/postgresql-copy.ts';
import { SQLITE_FILE } from '../../platform/storage/storage.ts';

interface TransferOptions {
  readonly dataDir: string;
  readonly targetUrl: string;
  /** Whether only the report is made, and nothing is copied. */
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface Transfer {
  readonly tables: readonly TableRows[];
  readonly databaseBytes: number;
  /** Stored messages of streams. */
  readonly messages: number;
  readonly messageBytes: number;
  /** Rows of the history of brokers. 0 in a dry run. */
  readonly historyRows: number;
  /** Where the files of the messages are now. `null` if there are none, and in a dry run. */
  readonly messageFiles: string | null;
}

/**
 * Copies the SQLite database of a data folder, the stored messages of streams and the history of brokers to an empty
 * PostgreSQL database. The messages are first, then the history, and all rows follow in one transaction: a process that
 * is killed leaves no rows, and may run again. The source remains, except that the folder of the messages gets another
 * name: a service with PostgreSQL would move them.
 *
 * Errors: ServiceError INVALID (no SQLite database, no PostgreSQL URL), IN_USE (a service runs on the folder, or the
 * target has data), INTERNAL_ERROR; the reason of `signal`.
 */
export async function transferToPostgresql(options: TransferOptions): Promise<Transfer> {
  const { dataDir, targetUrl, isDryRun, signal, log } = options;
  const file = join(resolve(dataDir), SQLITE_FILE);
  await requireData({ dataDir, databaseUrl: undefined });
  const closers = new Closers();
  try {
    closers.keep(openDataFolder(dataDir, log));
    const target = await connectPostgresql(targetUrl, 'migrate');
    closers.add(() => closePostgresql(target));
    target.on('error', (error) => log.debug({ err: error }, 'Connection lost while copying'));
    if (!isDryRun) migrateSqlite(file, readMigrations(migrationsFolder('sqlite')), log);
    const db = closers.keep(new Sqlite(file, { readonly: true }));
    const rows = new SqliteRows(db);
    await requireUnused(target, rows.tables);

    const ttls = new Map(db.prepare<[], [string, number]>('SELECT id, ttl FROM "Stream"').raw().all());
    const folder = join(resolve(dataDir), 'streams');
    const streams = {
      folder,
      ttlOf: (streamId: string) => ttls.get(streamId) ?? null,
      onProblem: (streamId: string | null, reason: string) =>
        log.warn({ streamId, reason }, 'stored messages of streams cannot be copied'),
    };
    const { messages, bytes: messageBytes } = measureFiles(streams);
    const sizes = { databaseBytes: statSync(file).size, messages, messageBytes };
    if (isDryRun) return { tables: rows.counts(), ...sizes, historyRows: 0, messageFiles: null };

    await migratePostgresql(targetUrl, readMigrations(migrationsFolder('postgresql')), log);
    await importFiles({ ...streams, databaseUrl: targetUrl, keepsFiles: true, signal });
    const historyFile = join(resolve(dataDir), HISTORY_FILE);
    const historyRows = await copyHistory({ file: historyFile, databaseUrl: targetUrl, signal });
    const tables = await copyRows(rows, target, signal);
    return { tables, ...sizes, historyRows, messageFiles: putAside(folder) };
  } finally {
    await closers.close();
  }
}

/** Returns the new path of the folder; `null` if there is none. */
function putAside(folder: string): string | null {
  if (!existsSync(folder)) return null;
  const path = `${folder}.copied-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
  renameSync(folder, path);
  return path;
}
