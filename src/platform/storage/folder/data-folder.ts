/**
 * The folder of persistent data. One process owns it at a time: it holds an exclusive lock on the file `lock`, an
 * SQLite database inside an exclusive transaction, because SQLite can lock on every system. The kernel releases the
 * lock when the process exits. The file `lock.owner` describes the owner for error messages.
 *
 * The folder has mode 0700, and its files 0600: a wider mode is corrected, or logged if the folder belongs to another
 * user, such as a mounted volume.
 *
 * Errors: ServiceError IN_USE if the folder has an owner; INTERNAL_ERROR if it cannot be created or written.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import { messageOf, ServiceError } from '../../errors.ts';
import type { StorageLog } from '../storage-log.ts';

interface DataFolder {
  readonly path: string;
  close(): void;
}

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const SHARED_BITS = 0o077;

export function openDataFolder(dataDir: string, log: Pick<StorageLog, 'warn'>): DataFolder {
  const path = resolve(dataDir);
  const lock = openLock(path);
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!(error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY'))) throw unusable(path, error);
    throw new ServiceError(
      'IN_USE',
      `The data folder ${path} is in use by ${readOwner(path)}. Stop that process, or set another folder for this one (DATA_DIR).`,
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

/** Creates one folder at a time: with `recursive`, Node 22 and 24 never return for a parent such as `/proc/x`. */
function makeFolder(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}

function openLock(path: string): Sqlite.Database {
  try {
    makeFolder(path);
    const file = join(path, 'lock');
    // SQLite would use the mode of the umask. The journal gets the mode of the file.
    closeSync(openSync(file, 'a', FILE_MODE));
    for (const each of [file, `${file}-journal`, join(path, 'lock.owner')]) makeFilePrivate(each);
    return new Sqlite(file, { timeout: 0 });
  } catch (error) {
    throw unusable(path, error);
  }
}

/** Corrects the mode of files of earlier versions. Files of another user are protected by the folder. */
function makeFilePrivate(file: string): void {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & SHARED_BITS) !== 0) tryChmod(file, FILE_MODE);
}

function makeFolderPrivate(path: string, log: Pick<StorageLog, 'warn'>): void {
  // Windows has no modes.
  const found = statSync(path).mode & 0o777;
  if ((found & SHARED_BITS) === 0 || process.platform === 'win32') return;
  tryChmod(path, FOLDER_MODE);
  const corrected = statSync(path).mode & 0o777;
  const message =
    (corrected & SHARED_BITS) === 0
      ? 'the data folder was open to other users of this machine; its mode was corrected'
      : 'the data folder is open to other users of this machine, and its mode cannot be changed: it belongs to another user, or its file system has no modes. Make the user of this service its owner, or set mode 0700';
  log.warn({ path, found: octal(found), mode: octal(corrected) }, message);
}

function tryChmod(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch (error) {
    if (!hasCode(error, 'EPERM', 'EROFS')) throw error;
  }
}

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

function unusable(path: string, cause: unknown): ServiceError {
  const reason = messageOf(cause);
  return new ServiceError('INTERNAL_ERROR', `The data folder ${path} cannot be used: ${reason}`, { cause });
}

function writeOwner(path: string): void {
  const owner = { pid: process.pid, host: hostname(), since: new Date().toISOString() };
  writeFileSync(join(path, 'lock.owner'), `${JSON.stringify(owner)}\n`, { mode: FILE_MODE });
}

/** The file may be missing or incomplete; only the lock is decisive. */
function readOwner(path: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(join(path, 'lock.owner'), 'utf8'));
    return `process ${pid} on ${host} since ${since}`;
  } catch {
    return 'another process';
  }
}
