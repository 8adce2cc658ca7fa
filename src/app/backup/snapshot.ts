import { closeSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { ServiceError } from '../../platform/errors.ts';

export const WAL = '-wal';
const SQLITE = Buffer.from('SQLite format 3\0');
/** Contains the numbers that SQLite changes when it begins to overwrite the log. */
const WAL_HEADER_BYTES = 32;
const CHUNK_BYTES = 1_048_576;
const MAX_ATTEMPTS = 100;

/**
 * Copies a file. An SQLite file is copied with its write-ahead log as if the power had failed at that moment, also
 * while another process writes to it with an exclusive lock: with all transactions that were committed before the call,
 * and none in part. SQLite writes to the log, and from time to time from the log to the file; the copy is repeated
 * until SQLite did not write to the file meanwhile.
 *
 * Errors: ServiceError IN_USE after MAX_ATTEMPTS; those of the file system.
 */
export function copyFileInUse(from: string, to: string): void {
  withFile(from, 'r', (source) =>
    withFile(to, 'w+', (target) => {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
        copyAll(source, target);
        if (!head(target, SQLITE.length).equals(SQLITE)) return;
        if (copyLog(`${from}${WAL}`, `${to}${WAL}`) && isEqual(source, target)) return;
      }
      const advice = 'Stop the service, or repeat the command when it stores less';
      throw new ServiceError('IN_USE', `The file ${from} changes too fast to be copied. ${advice}`);
    }),
  );
}

/** A missing log is copied as an empty one. Returns whether SQLite did not begin to overwrite the log meanwhile. */
function copyLog(from: string, to: string): boolean {
  return withFile(to, 'w+', (target) => {
    try {
      return withFile(from, 'r', (source) => {
        copyAll(source, target);
        return head(source, WAL_HEADER_BYTES).equals(head(target, WAL_HEADER_BYTES));
      });
    } catch (error) {
      if (!isMissing(error)) throw error;
      return true;
    }
  });
}

function copyAll(source: number, target: number): void {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let at = 0;
  for (let bytes = readAt(source, chunk, at); bytes > 0; bytes = readAt(source, chunk, at)) {
    for (let written = 0; written < bytes; )
      written += writeSync(target, chunk, written, bytes - written, at + written);
    at += bytes;
  }
  // An earlier attempt may have copied more.
  ftruncateSync(target, at);
}

function isEqual(one: number, other: number): boolean {
  const [chunk, otherChunk] = [Buffer.allocUnsafe(CHUNK_BYTES), Buffer.allocUnsafe(CHUNK_BYTES)];
  for (let at = 0; ; ) {
    const bytes = readAt(one, chunk, at);
    if (bytes !== readAt(other, otherChunk, at)) return false;
    if (bytes === 0) return true;
    if (!chunk.subarray(0, bytes).equals(otherChunk.subarray(0, bytes))) return false;
    at += bytes;
  }
}

/** Fills the buffer unless the file ends before. Returns the number of bytes. */
function readAt(file: number, buffer: Buffer, at: number): number {
  let bytes = 0;
  for (let read = 1; read > 0 && bytes < buffer.length; bytes += read) {
    read = readSync(file, buffer, bytes, buffer.length - bytes, at + bytes);
  }
  return bytes;
}

function head(file: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  return buffer.subarray(0, readAt(file, buffer, 0));
}

function withFile<T>(path: string, flags: 'r' | 'w+', work: (file: number) => T): T {
  const file = openSync(path, flags, 0o600);
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

export const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
