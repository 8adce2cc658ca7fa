import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { carryOver, type SourceLog } from '../log-source.ts';
import { foldersIn } from '../sqlite/former-segments.ts';
import { logsIn } from '../sqlite/log-files.ts';
import { PostgresqlDisk } from './postgresql-disk.ts';

interface FileImportOptions {
  /** With a folder for each broker; it may be missing. */
  readonly folder: string;
  readonly databaseUrl: string;
  /** The ttl of a log in seconds; `null` if it does not exist. */
  readonly ttlOf: (name: string) => number | null;
  readonly onProblem: (name: string | null, reason: string) => void;
  /** Whether the files remain. Default: false. */
  readonly keepsFiles?: boolean;
  /** Stops between two pages. */
  readonly signal?: AbortSignal;
}

export interface FileUse {
  readonly messages: number;
  readonly bytes: number;
}

const RETRY_MS = 1_000;

/**
 * Moves the messages that a process stored in files to PostgreSQL, with their ids, and returns their number. The files
 * of a log are deleted when all of its messages are there. May be repeated after it was interrupted. Files of logs that
 * do not exist remain.
 *
 * Errors: those of the disk, the reason of `signal`. While the database does not respond, it waits.
 */
export async function importFiles(options: FileImportOptions): Promise<number> {
  const { folder, databaseUrl, onProblem } = options;
  const brokerIds = foldersIn(folder);
  if (brokerIds.length === 0) return 0;
  const disk = new PostgresqlDisk(databaseUrl, (reason) => onProblem(null, reason));
  try {
    let sum = 0;
    for (const brokerId of brokerIds) sum += await importBroker(brokerId, disk, options);
    return sum;
  } finally {
    await disk.close();
  }
}

/** What `importFiles` would move. Errors: those of the disk. */
export function measureFiles({ folder, ttlOf, onProblem }: Pick<FileImportOptions, 'folder' | 'ttlOf' | 'onProblem'>) {
  const use = { messages: 0, bytes: 0 };
  for (const brokerId of foldersIn(folder)) {
    const { logs, close } = logsIn(join(folder, brokerId), onProblem);
    try {
      for (const { messages, bytes } of logs.filter(({ name }) => ttlOf(name) !== null)) {
        use.messages += messages;
        use.bytes += bytes;
      }
    } finally {
      close();
    }
  }
  return use;
}

async function importBroker(brokerId: string, disk: PostgresqlDisk, options: FileImportOptions): Promise<number> {
  const { folder, ttlOf, onProblem, keepsFiles = false } = options;
  const path = join(folder, brokerId);
  const { logs, close } = logsIn(path, onProblem);
  let sum = 0;
  try {
    for (const log of logs) {
      const ttl = ttlOf(log.name);
      if (ttl === null) continue;
      sum += log.messages;
      await importLog(log, { brokerId, ttl, disk }, options);
      if (!keepsFiles) log.remove();
    }
  } finally {
    close();
  }
  if (!keepsFiles && logs.every(({ name }) => ttlOf(name) !== null)) rmSync(path, { recursive: true });
  return sum;
}

interface Target {
  readonly brokerId: string;
  readonly ttl: number;
  readonly disk: PostgresqlDisk;
}

/** Begins again after errors of the database. */
async function importLog(log: SourceLog, { brokerId, ttl, disk }: Target, options: FileImportOptions): Promise<void> {
  const { onProblem, signal } = options;
  for (;;) {
    try {
      // Not that of the broker, which another process may run: these messages have other ids than those it stores.
      const owner = await disk.own(brokerId, `files of ${log.name}`);
      await carryOver(log, { owner, ttl, signal, write: (batches) => disk.write(batches) });
      return await disk.tables.end(owner);
    } catch (error) {
      const { verdict, reason } = disk.judge(error);
      if (signal?.aborted || verdict !== 'WAIT') throw error;
      onProblem(log.name, reason);
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}
