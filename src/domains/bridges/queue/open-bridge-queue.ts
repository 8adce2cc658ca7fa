import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BridgeQueue } from './bridge-queue.ts';
import { DiskQueue, type DiskQueueOptions } from './disk-queue.ts';
import { QUEUE_ENDING, removeQueueFile } from './queue-file.ts';

export interface BridgeQueueOptions extends Omit<DiskQueueOptions, 'path'> {
  /** Made with the first message that goes to disk. */
  readonly folder: string;
  /** Names the queue among those of the folder, and its file; any text. One owner at a time. */
  readonly name: string;
}

/** Opens the queue, with what an earlier process left in it. Errors: those of SQLite and the file system, for a file that cannot be read. */
export function openBridgeQueue({ folder, name, ...options }: BridgeQueueOptions): BridgeQueue {
  return new DiskQueue({ ...options, path: pathOf(folder, name) });
}

/** Removes the queues of the folder that are none of these: nobody may have them open. */
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
