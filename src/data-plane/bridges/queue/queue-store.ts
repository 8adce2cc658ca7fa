import type { ValueOrPromise } from '../../../platform/value-or-promise.ts';
import { FileDisk } from './file-disk.ts';
import type { QueueDisk } from './queue-disk.ts';
import { queuePath, removeOtherQueues } from './queue-file.ts';
import type { BrokerStorage } from './queue-storage.ts';

/** The stored queues of one bridge. Names are any text. */
export interface QueueStore {
  /** A queue has one owner at a time. Errors: those of the database. */
  open(name: string): ValueOrPromise<QueueDisk>;
  /** Deletes the queues with other names. Errors: those of the disk or the database. */
  removeOthers(names: readonly string[]): ValueOrPromise<void>;
}

/** A file in the folder for each queue. `storage`: default unlimited. */
export const fileQueues = (folder: string, storage: BrokerStorage | undefined): QueueStore => ({
  open: (name) => new FileDisk(queuePath(folder, name), storage),
  removeOthers: (names) => removeOtherQueues(folder, names),
});
