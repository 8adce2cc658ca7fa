import { RETRY_MS } from '../../../platform/storage/message-files/batch.ts';
import type { ValueOrPromise } from '../../../platform/value-or-promise.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import type { BrokerStorage } from './queue-storage.ts';

export const AHEAD_MESSAGES = 1_000;
export const AHEAD_BYTES = 4 * 1_048_576;
/** Maximum number and age (ms) of settled messages that are still stored. They are delivered again after a kill. */
const LEFT_MESSAGES = 1_000;
const LEFT_MS = 200;
const STORAGE_FULL =
  'The queues of bridges take as much disk space as BRIDGE_STORAGE_MAX_MB allows: messages are dropped';

export interface QueueRow {
  readonly id: number;
  readonly bytes: number;
  readonly message: BridgeMessage;
}

/** What is stored. `lastId`: at least the id of each message; 0 if there is none. */
export interface QueueContent {
  readonly messages: number;
  readonly bytes: number;
  readonly lastId: number;
}

/** Messages to delete: `messages` with `bytes` in total, which are all before `firstId` and each of `ids`. */
export interface Gone {
  messages: number;
  bytes: number;
  firstId: number;
  readonly ids: number[];
}

interface DiskListener {
  /** Called once for each problem; `null` when it has passed. */
  readonly onProblem: (reason: string | null) => void;
  /** Settled messages are to be deleted with the next `write`. */
  readonly onSettled: () => void;
  readonly onRetry: () => void;
}

type Message = Pick<QueueRow, 'id' | 'bytes'>;

/**
 * Where a queue stores messages, with its use of the storage and its problems: a file, which responds at once, or
 * PostgreSQL, which does not. At most one `page` and one `write` at a time.
 */
export abstract class QueueDisk {
  readonly #storage: BrokerStorage | undefined;
  #listener: DiskListener | null = null;
  #queueBytes = 0;
  #counted = 0;
  #isStorageFull = false;
  #problem: string | null = null;
  /** Settled messages that are still stored. */
  protected gone = nothingGone();
  #goneTimer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #isFailed = false;
  protected isStopped = false;

  /** `storage`: default unlimited. */
  constructor(storage: BrokerStorage | undefined) {
    this.#storage = storage;
  }

  /** The messages of an earlier owner; `null` if there are none. Errors: those of the disk. */
  abstract content(): QueueContent | null;

  /** The next messages: at most AHEAD_MESSAGES and AHEAD_BYTES, but at least one. Errors: those of the disk. */
  abstract page(afterId: number): ValueOrPromise<readonly QueueRow[]>;

  /**
   * Adds messages and deletes settled ones in one transaction. Errors: those of the disk. After a rejection it is not
   * known whether the transaction was committed; the same messages may be written again.
   */
  abstract write(batch: readonly QueueRow[], isQueueEmpty: boolean): ValueOrPromise<void>;

  /** Handles an error. True if what was stored is lost, `lost` messages in total, and others can be written. */
  abstract setAside(error: unknown, lost: number): boolean;

  /** After `stop`. `remove`: deletes what is stored. Must not throw or reject. */
  abstract close(options: { readonly remove: boolean }): ValueOrPromise<void>;

  /** Bytes on disk, which may be more than those of the messages. */
  protected abstract readonly storedBytes: number;

  attach(listener: DiskListener): void {
    this.#listener = listener;
  }

  /** Whether a failed disk is not retried yet. */
  get isFailed(): boolean {
    return this.#isFailed;
  }

  get hasGone(): boolean {
    return this.gone.messages > 0;
  }

  /** Whether the storage has room for the messages of the queue, if they have this size. Reports the limit. */
  hasRoom(queueBytes: number): boolean {
    const hasRoom = this.#storage?.hasRoom(queueBytes - this.#counted) ?? true;
    if (hasRoom === this.#isStorageFull) {
      this.#isStorageFull = !hasRoom;
      this.report(hasRoom ? this.#problem : STORAGE_FULL);
    }
    return hasRoom;
  }

  /** Counts the size of the messages of the queue, in memory and on disk. */
  use(queueBytes: number): void {
    this.#queueBytes = queueBytes;
    this.count();
  }

  /** All messages up to this one are settled. */
  settledUpTo({ id, bytes }: Message): void {
    this.gone.messages += 1;
    this.gone.bytes += bytes;
    this.gone.firstId = id + 1;
    if (this.isStopped) return;
    if (this.gone.messages >= LEFT_MESSAGES) this.#listener?.onSettled();
    else {
      this.#goneTimer ??= setTimeout(() => {
        this.#goneTimer = undefined;
        if (this.hasGone) this.#listener?.onSettled();
      }, LEFT_MS);
    }
  }

  /** This message is settled, others before it are not. */
  settledAlone({ id, bytes }: Message): void {
    this.gone.messages += 1;
    this.gone.bytes += bytes;
    this.gone.ids.push(id);
  }

  /** Stops the timers and no longer counts in the storage. Messages can still be written. */
  stop(): void {
    this.isStopped = true;
    this.#storage?.add(-this.#counted);
    this.#counted = 0;
    clearTimeout(this.#goneTimer);
    clearTimeout(this.#retryTimer);
  }

  protected report(reason: string | null): void {
    this.#listener?.onProblem(reason);
  }

  protected count(): void {
    if (this.isStopped) return;
    const bytes = Math.max(this.#queueBytes, this.storedBytes);
    this.#storage?.add(bytes - this.#counted);
    this.#counted = bytes;
  }

  protected succeeded(): void {
    if (this.#problem !== null) this.report(this.#isStorageFull ? STORAGE_FULL : null);
    this.#problem = null;
  }

  /** Reports the reason once, and retries after a pause in milliseconds; `null`: never. */
  protected failed(reason: string, pauseMs: number | null = RETRY_MS): false {
    if (this.#problem !== reason) this.report(reason);
    this.#problem = reason;
    if (this.isStopped) return false;
    this.#isFailed = true;
    if (pauseMs !== null) {
      this.#retryTimer ??= setTimeout(() => {
        this.#retryTimer = undefined;
        this.#isFailed = false;
        this.#listener?.onRetry();
      }, pauseMs);
    }
    return false;
  }
}

export const nothingGone = (): Gone => ({ messages: 0, bytes: 0, firstId: 0, ids: [] });
