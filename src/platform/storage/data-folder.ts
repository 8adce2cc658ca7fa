/**
 * The folder that keeps what a process must not lose. One process owns it at a time, from openDataFolder until close.
 *
 * The owner holds an exclusive lock of the operating system on `lock` (an empty SQLite database inside an exclusive
 * transaction: SQLite already knows how to lock on every system). The kernel ends it together with the process, however
 * that dies, so a lock is never stale and no process id is trusted. `lock.owner` only tells people who the owner is.
 *
 * The folder has mode 0700, and its files 0600: an existing folder with a wider mode is corrected, which is logged. A folder that
 * belongs to another user, such as a mounted volume with a group for the service, keeps its mode, which is logged as a warning.
 *
 * Nothing else in the folder is read or written before the lock is held.
 * Errors: ServiceError IN_USE when another process (or another part of this one) owns the folder; INTERNAL_ERROR when the
 * folder cannot be made or written.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import { ServiceError } from '../errors.ts';
import type { StorageLog } from './storage-log.ts';

export interface DataFolder {
  /** Absolute. */
  readonly path: string;
  /** Gives the folder up; safe to call twice. */
  close(): void;
}

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
/** Of a mode: what group and others may do. */
const SHARED_BITS = 0o077;

export function openDataFolder(dataDir: string, log: Pick<StorageLog, 'warn'>): DataFolder {
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
    makeFolderPrivate(path, log);
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
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

function openLock(path: string): Sqlite.Database {
  try {
    makeFolder(path);
    const file = join(path, 'lock');
    // SQLite would create it with the mode of the umask; its journal gets the mode of the file.
    closeSync(openSync(file, 'a', FILE_MODE));
    for (const each of [file, `${file}-journal`, join(path, 'lock.owner')]) makeFilePrivate(each);
    return new Sqlite(file, { timeout: 0 });
  } catch (error) {
    throw unusable(path, error);
  }
}

/** Earlier versions created some with a wider mode. A file of another user keeps its mode: the folder decides who reaches it. */
function makeFilePrivate(file: string): void {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & SHARED_BITS) === 0) return;
  try {
    chmodSync(file, FILE_MODE);
  } catch (error) {
    if (!isNotPermitted(error)) throw error;
  }
}

function makeFolderPrivate(path: string, log: Pick<StorageLog, 'warn'>): void {
  // Windows has no modes.
  const found = statSync(path).mode & 0o777;
  if ((found & SHARED_BITS) === 0 || process.platform === 'win32') return;
  try {
    chmodSync(path, FOLDER_MODE);
  } catch (error) {
    if (!isNotPermitted(error)) throw error;
  }
  const left = statSync(path).mode & 0o777;
  const fields = { path, found: octal(found), mode: octal(left) };
  if ((left & SHARED_BITS) === 0) {
    log.warn(fields, 'the data folder was open to other users of this machine; its mode was corrected');
    return;
  }
  log.warn(
    fields,
    'the data folder is open to other users of this machine, and its mode cannot be changed: it belongs to another user, or its file system has no modes. Make the user of this service its owner, or set mode 0700',
  );
}

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');

function isNotPermitted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EPERM' || error.code === 'EROFS');
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
