/**
 * The folder that keeps what a process must not lose. One process owns it at a time, from openDataFolder until close.
 *
 * The owner holds an exclusive lock of the operating system on `lock` (an empty SQLite database inside an exclusive
 * transaction: SQLite already knows how to lock on every system). The kernel ends it together with the process, however
 * that dies, so a lock is never stale and no process id is trusted. `lock.owner` only tells people who the owner is.
 *
 * Nothing else in the folder is read or written before the lock is held.
 * Errors: ServiceError IN_USE when another process (or another part of this one) owns the folder; INTERNAL_ERROR when the
 * folder cannot be made or written.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import { ServiceError } from '../errors.ts';

export interface DataFolder {
  /** Absolute. */
  readonly path: string;
  /** Gives the folder up; safe to call twice. */
  close(): void;
}

export function openDataFolder(dataDir: string): DataFolder {
  const path = resolve(dataDir);
  const lock = openLock(path);
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw unusable(path, error);
    throw new ServiceError(
      'IN_USE',
      `The data folder ${path} is in use by ${readOwner(path)}. Stop that process, or give this one a folder of its own (DATA_DIR).`,
      { cause: error },
    );
  }
  try {
    writeOwner(path);
  } catch (error) {
    lock.close();
    throw unusable(path, error);
  }
  return { path, close: () => lock.close() };
}

/** Step by step: Node 20's own `recursive` never returns where a parent accepts no folders (`/proc/x`). */
function makeFolder(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

function openLock(path: string): Sqlite.Database {
  try {
    makeFolder(path);
    return new Sqlite(join(path, 'lock'), { timeout: 0 });
  } catch (error) {
    throw unusable(path, error);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY');
}

function unusable(path: string, cause: unknown): ServiceError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ServiceError('INTERNAL_ERROR', `The data folder ${path} cannot be used: ${reason}`, { cause });
}

function writeOwner(path: string): void {
  const owner = { pid: process.pid, host: hostname(), since: new Date().toISOString() };
  writeFileSync(join(path, 'lock.owner'), `${JSON.stringify(owner)}\n`, { mode: 0o600 });
}

/** The owner in words. Its file may be missing or half written: the lock alone decides. */
function readOwner(path: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(join(path, 'lock.owner'), 'utf8'));
    return `process ${pid} on ${host} since ${since}`;
  } catch {
    return 'another process';
  }
}
