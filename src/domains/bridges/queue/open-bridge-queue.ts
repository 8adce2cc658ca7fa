import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BridgeQueue } from './bridge-queue.ts';
import { DiskQueue, type DiskQueueOptions } from './disk-queue.ts';
import { QUEUE_ENDING, removeQueueFile } from './queue-file.ts';

export interface BridgeQueueOptions extends Omit<DiskQueueOptions, 'path'> {
  /** Created with the first message on disk. */
  readonly folder: string;
  /** The name of the queue in the folder, any text; determines the file. One owner at a time. */
  readonly name: string;
}

/**
 * Opens the queue with the messages of an earlier process. Errors: those of SQLite and the file system, for an
 * unreadable file.
 */
export function openBridgeQueue({ folder, name, ...options }: BridgeQueueOptions): BridgeQueue {
  return new DiskQueue({ ...options, path: pathOf(folder, name) });
}

/** Deletes all other queues of the folder, which must not be open. */
export function removeOtherQueues(folder: string, names: readonly string[]): void {
  const kept = new Set(names.map((name) => pathOf(folder, name)));
  for (const file of filesOf(folder)) {
    const path = join(folder, file);
    if (file.endsWith(QUEUE_ENDING) && !kept.has(path)) removeQueueFile(path);
  }
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const pathOf = (folder: string, name: string): string =>
  join(folder, `${createHash('sha256').update(name).digest('hex').slice(0, 32)}${QUEUE_ENDING}`);
