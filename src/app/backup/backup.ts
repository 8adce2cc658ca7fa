import { chmodSync, existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Logger } from 'pino';
import { HISTORY_FILE } from '../../data-plane/history/store/history-database.ts';
import { BUILD } from '../../platform/build.ts';
import { Closers } from '../../platform/closers.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Engine } from '../../platform/storage/database.ts';
import { openDataFolder } from '../../platform/storage/folder/data-folder.ts';
import { diskFaultOf } from '../../platform/storage/folder/disk-faults.ts';
import { requireData } from '../../platform/storage/folder/require-data.ts';
import { SQLITE_FILE } from '../../platform/storage/storage.ts';
import { copyBelow, filesBelow, isWithin, withLogs } from './data-files.ts';
import { measured, writeManifest } from './manifest.ts';
import { dumpDatabase, type Environment, requireProgram } from './postgresql-programs.ts';

/** In a backup: the data folder, and the database if it is PostgreSQL. */
export const DATA = 'data';
export const DUMP = 'database.dump';

export interface BackupOptions {
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  /** Absent or empty. */
  readonly backup: string;
  /** For the programs of PostgreSQL. */
  readonly env: Environment;
  readonly log: Logger;
}

export interface BackupReport {
  readonly engine: Engine;
  /** Whether another process used the data folder meanwhile. */
  readonly wasRunning: boolean;
  readonly files: number;
  readonly bytes: number;
}

/**
 * Copies the data folder and the database to a new folder, also while the service runs. The database is as of one
 * moment, and each file, too, but not all of the same moment: the database is the last, so that it has all audit
 * entries whose pending changes were copied.
 *
 * Errors: ServiceError INVALID, also for a symbolic link without a target; IN_USE (the backup folder is not empty, or a
 * file changes too fast); INTERNAL_ERROR; those of the file system.
 */
export async function createBackup(options: BackupOptions): Promise<BackupReport> {
  const { dataDir, databaseUrl, backup, env, log } = options;
  const source = resolve(dataDir);
  await requireData(options);
  if (isWithin(backup, realpathSync(source))) {
    throw new ServiceError('INVALID', `The folder ${backup} is in the data folder. Name one outside`);
  }
  const closers = new Closers();
  let isCreated = false;
  try {
    const wasRunning = !lockIfFree(dataDir, log, closers);
    // The history is large and written to at any time: SQLite copies it as of one moment.
    const except = [HISTORY_FILE, ...(databaseUrl === undefined ? [SQLITE_FILE] : [])];
    const paths = filesBelow(source, except, backup);
    if (databaseUrl !== undefined) await requireProgram('pg_dump', { databaseUrl, env });
    createFolder(backup);
    isCreated = true;
    for (const path of paths) copyBelow(source, join(backup, DATA), path);
    if (existsSync(join(source, HISTORY_FILE))) {
      await backUpSqlite(join(source, HISTORY_FILE), join(backup, DATA, HISTORY_FILE));
    }
    if (databaseUrl === undefined) await backUpSqlite(join(source, SQLITE_FILE), join(backup, DATA, SQLITE_FILE));
    else {
      await dumpDatabase({ databaseUrl, env }, join(backup, DUMP));
      chmodSync(join(backup, DUMP), 0o600);
    }
    // Again, because the key may have been renewed meanwhile. The previous one remains then.
    for (const path of filesBelow(source).filter(isKey)) copyBelow(source, join(backup, DATA), path);
    const files = [];
    for (const path of withLogs(backup, filesBelow(backup))) files.push(await measured(backup, path));
    const engine = databaseUrl === undefined ? 'sqlite' : 'postgresql';
    writeManifest(backup, { ...BUILD, createdAt: new Date().toISOString(), engine, files });
    return { engine, wasRunning, files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
  } catch (error) {
    if (!isCreated) throw error;
    // The folder was empty before. Nothing that looks like a backup remains.
    for (const name of readdirSync(backup)) rmSync(join(backup, name), { recursive: true, force: true });
    if (diskFaultOf(error) === null) throw error;
    const text = `The backup was not made: ${diskFaultOf(error)}. What it had written to ${backup} was deleted`;
    throw new ServiceError('INTERNAL_ERROR', text, { cause: error });
  } finally {
    await closers.close();
  }
}

const isKey = (path: string): boolean => path.startsWith('secret.key');

/** Returns whether no other process uses the folder. It is then locked until the end. */
function lockIfFree(dataDir: string, log: Logger, closers: Closers): boolean {
  try {
    closers.keep(openDataFolder(dataDir, log));
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'IN_USE') return false;
    throw error;
  }
}

function createFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (readdirSync(path).length > 0) {
    throw new ServiceError('IN_USE', `The folder ${path} is not empty. Name a folder that does not exist`);
  }
  chmodSync(path, 0o700);
  mkdirSync(join(path, DATA), { mode: 0o700 });
}

/** SQLite copies the file while others write, and begins again when they have written. The second step is the rest. */
async function backUpSqlite(from: string, to: string): Promise<void> {
  const db = new Sqlite(from, { readonly: true, timeout: 5_000 });
  try {
    await db.backup(to, { progress: () => Number.MAX_SAFE_INTEGER });
    chmodSync(to, 0o600);
  } finally {
    db.close();
  }
}
