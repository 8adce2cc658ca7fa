import { existsSync } from 'node:fs';
import { diskFailure, RETRY_MS } from '../../../platform/storage/message-files/batch.ts';
import { isDamage, setAside } from '../../../platform/storage/message-files/durable-file.ts';
import { QueueFile, type QueueRow, type QueueTally, removeQueueFile } from './queue-file.ts';
import type { BrokerStorage } from './queue-storage.ts';

export const AHEAD_MESSAGES = 1_000;
const AHEAD_BYTES = 4 * 1_048_576;
/** Maximum number and age (ms) of settled messages in the file. They are delivered again after a kill. */
const LEFT_MESSAGES = 1_000;
const LEFT_MS = 200;
const EMPTY_BYTES = 4 * 1_048_576;
const STORAGE_FULL =
  'The queues of bridges take as much disk space as BRIDGE_STORAGE_MAX_MB allows: messages are dropped';

interface QueueDiskOptions {
  readonly path: string;
  /** Default: unlimited. */
  readonly storage: BrokerStorage | undefined;
  readonly onProblem: (reason: string | null) => void;
  readonly onSettled: () => void;
  readonly onRetry: () => void;
}

type Message = Pick<QueueRow, 'id' | 'bytes'>;

/**
 * The file of a queue, its use of the storage, and its problems. The used storage is the size of the file, which does
 * not shrink until it is empty, or of the messages of the queue.
 */
export class QueueDisk {
  readonly #options: QueueDiskOptions;
  #file: QueueFile | null = null;
  #fileBytes = 0;
  #queueBytes = 0;
  #counted = 0;
  #isStorageFull = false;
  #problem: string | null = null;
  /** Settled messages that are still in the file. */
  #gone = nothingGone();
  #goneTimer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: QueueDiskOptions) {
    this.#options = options;
  }

  /** Whether a failed disk is not retried yet. */
  get isFailed(): boolean {
    return this.#retryTimer !== undefined;
  }

  get hasGone(): boolean {
    return this.#gone.messages > 0;
  }

  /** The messages of an earlier process; `null` if there is no file. Errors: those of an unreadable file. */
  tally(): (QueueTally & { readonly lastId: number }) | null {
    if (!existsSync(this.#options.path)) return null;
    const file = this.#open();
    const tally = file.tally();
    this.#fileBytes = file.size();
    return { ...tally, lastId: file.lastId() };
  }

  /** Errors: those of the disk. */
  page(afterId: number): QueueRow[] {
    return this.#open().page(afterId, AHEAD_MESSAGES, AHEAD_BYTES);
  }

  /** Whether the storage has room for the messages of the queue, if they have this size. Reports the limit. */
  hasRoom(queueBytes: number): boolean {
    const hasRoom = this.#options.storage?.hasRoom(queueBytes - this.#counted) ?? true;
    if (hasRoom === this.#isStorageFull) {
      this.#isStorageFull = !hasRoom;
      this.#options.onProblem(hasRoom ? this.#problem : STORAGE_FULL);
    }
    return hasRoom;
  }

  /** Counts the size of the messages of the queue, in memory and on disk. */
  use(queueBytes: number): void {
    this.#queueBytes = queueBytes;
    this.#count();
  }

  /** All messages up to this one are settled. */
  settledUpTo({ id, bytes }: Message): void {
    this.#gone.messages += 1;
    this.#gone.bytes += bytes;
    this.#gone.firstId = id + 1;
    if (this.#isStopped) return;
    if (this.#gone.messages >= LEFT_MESSAGES) this.#options.onSettled();
    else {
      this.#goneTimer ??= setTimeout(() => {
        this.#goneTimer = undefined;
        if (this.hasGone) this.#options.onSettled();
      }, LEFT_MS);
    }
  }

  /** This message is settled, others before it are not. */
  settledAlone({ id, bytes }: Message): void {
    this.#gone.messages += 1;
    this.#gone.bytes += bytes;
    this.#gone.ids.push(id);
  }

  /** Adds messages and deletes settled ones in one transaction. Errors: those of the disk. */
  write(batch: readonly QueueRow[], isQueueEmpty: boolean): void {
    if (batch.length > 0 || this.hasGone) {
      try {
        this.#open().change(batch, this.#gone);
      } catch (error) {
        // A full disk has no room for a delete; if no message remains, the file is deleted instead.
        if (!isQueueEmpty || !this.#remove()) throw error;
      }
    }
    if (this.#problem !== null) this.#options.onProblem(this.#isStorageFull ? STORAGE_FULL : null);
    this.#problem = null;
    this.#gone = nothingGone();
    this.#fileBytes = this.#file?.size() ?? 0;
    this.#count();
    if (isQueueEmpty && this.#fileBytes > EMPTY_BYTES && !this.#isStopped) this.#remove();
  }

  /** Renames a damaged file with `lost` messages; true if another one can be written. Other errors fail the disk. */
  setAside(error: unknown, lost: number): boolean {
    const { path, onProblem } = this.#options;
    if (!isDamage(error) || this.#file === null) return this.#failed(error);
    try {
      this.#file.close();
      setAside(path);
    } catch (failure) {
      return this.#failed(failure);
    }
    onProblem(`${path} is damaged and was set aside with ${lost} messages: ${(error as Error).message}`);
    this.#file = null;
    this.#fileBytes = 0;
    this.#gone = nothingGone();
    return true;
  }

  /** Stops the timers and no longer counts in the storage. The file can still be written. */
  stop(): void {
    this.#isStopped = true;
    this.#options.storage?.add(-this.#counted);
    this.#counted = 0;
    clearTimeout(this.#goneTimer);
    clearTimeout(this.#retryTimer);
  }

  close({ remove }: { readonly remove: boolean }): void {
    try {
      this.#file?.close();
      if (remove) removeQueueFile(this.#options.path);
    } catch (error) {
      this.#failed(error);
    }
    this.#file = null;
  }

  #open(): QueueFile {
    this.#file ??= QueueFile.open(this.#options.path, this.#options.onProblem);
    return this.#file;
  }

  /** False if the file cannot be deleted. */
  #remove(): boolean {
    const file = this.#file;
    this.#file = null;
    if (file === null) return false;
    try {
      file.close();
      removeQueueFile(this.#options.path);
    } catch (error) {
      return this.#failed(error);
    }
    this.#fileBytes = 0;
    this.#count();
    return true;
  }

  #count(): void {
    if (this.#isStopped) return;
    const bytes = Math.max(this.#queueBytes, this.#fileBytes);
    this.#options.storage?.add(bytes - this.#counted);
    this.#counted = bytes;
  }

  #failed(error: unknown): false {
    const reason = diskFailure(error);
    if (this.#problem !== reason) this.#options.onProblem(reason);
    this.#problem = reason;
    if (this.#isStopped) return false;
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined;
      this.#options.onRetry();
    }, RETRY_MS);
    return false;
  }
}

const nothingGone = () => ({ messages: 0, bytes: 0, firstId: 0, ids: [] as number[] });
