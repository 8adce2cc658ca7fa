import type { ValueOrPromise } from '../../platform/value-or-promise.ts';
import type { IdRange, StoredMessage } from './log-message.ts';
import type { LogPart, StoredPart } from './log-parts.ts';

/** Who may change the logs of a broker, or of a bridge: one process at a time. */
export interface LogOwner {
  /** The broker or the bridge of the logs. */
  readonly group: string;
  /** What is owned: the logs of the broker, or what is carried over to them. */
  readonly key: string;
  /** Differs for each process that opens the logs, and `turn` for each try whose result is not known. */
  readonly name: string;
  turn: number;
  /** Another process has opened the logs: nothing is stored or deleted any more. */
  isTaken: boolean;
}

export interface StoredLog {
  /** `null`: its removal was begun. */
  readonly name: string | null;
  readonly number: number;
  readonly ttl: number;
  /** At least the id of the last message ever stored. */
  readonly lastId: number;
  readonly parts: readonly StoredPart[];
}

export interface OpenedLogs {
  readonly owner: LogOwner;
  readonly logs: readonly StoredLog[];
}

/** A log, as disks know it. */
export interface DiskLog {
  readonly owner: LogOwner;
  readonly name: string;
  /** Given by the disk, with the first message. */
  number: number | null;
  readonly ttl: number;
  readonly lastId: number;
  /** What was stored of it is no longer there, and it needs another number. */
  lose(): void;
}

export interface WaitingMessage extends StoredMessage {
  readonly bytes: number;
  readonly part: LogPart;
  readonly done: (problem: string | null) => void;
}

export interface LogBatch {
  readonly log: DiskLog;
  readonly messages: readonly WaitingMessage[];
  /** What is deleted in the same commit, of a log without ttl. Default: nothing. */
  readonly settled?: readonly IdRange[];
}

export interface PageRange extends IdRange {
  readonly widths: readonly number[];
}

export interface PageOptions {
  readonly reverse: boolean;
  readonly limit: number;
  readonly maxBytes: number;
}

/** How many messages of a part were deleted, and what is left of it. `null`: nothing. */
export interface Erased {
  readonly messages: number;
  readonly left: StoredPart | null;
}

/**
 * What becomes of a write that failed. AGAIN: it may work now. WAIT: it is repeated after a pause, and its messages are
 * not acknowledged meanwhile. SPLIT: one of its messages is refused for its content. FAIL: its messages are refused.
 */
export interface Verdict {
  readonly verdict: 'AGAIN' | 'WAIT' | 'SPLIT' | 'FAIL';
  readonly reason: string;
}

/**
 * Where logs are stored: an SQLite file, which responds at once, or PostgreSQL. The writer calls `write`, `erase`,
 * `release` and `drop` one after the other. Errors of all methods: those of the disk or the database.
 */
export interface LogDisk {
  /** Limits of one write; a message may be larger. */
  readonly maxBatch: { readonly messages: number; readonly bytes: number };
  /** Limits of one `erase`. */
  readonly maxErased: { readonly messages: number; readonly bytes: number };
  /** Whether the owner deletes expired messages. If not, it only forgets them. */
  readonly erasesExpired: boolean;
  /** Epoch milliseconds, by the clock that all owners share. */
  now(): number;
  /** Makes the caller the owner. */
  open(group: string): ValueOrPromise<OpenedLogs>;
  /**
   * Stores all messages in one commit, but for those of logs whose owner turns out to be another one: they are marked.
   * May be called again with the same messages when its result is not known.
   */
  write(batches: readonly LogBatch[]): ValueOrPromise<void>;
  judge(error: unknown): Verdict;
  /** The first messages of the range; at most `limit` and `maxBytes` of payloads, but at least one. */
  page(log: DiskLog, range: PageRange, options: PageOptions): ValueOrPromise<readonly StoredMessage[]>;
  count(log: DiskLog, part: LogPart, range: IdRange): ValueOrPromise<number>;
  /** Deletes at most `limit` messages of a part, the oldest ones first. */
  erase(log: DiskLog, part: LogPart, range: IdRange, limit: number): ValueOrPromise<Erased>;
  /** Responds at once. */
  keepTtl(log: DiskLog): void;
  /** Gives the name of a log free. */
  release(log: DiskLog): ValueOrPromise<void>;
  /** Forgets a log without messages, and its parts. */
  drop(log: DiskLog): ValueOrPromise<void>;
  /** Gives some free space back to the file system. Returns `true` when there is no more. */
  shrink(): ValueOrPromise<boolean>;
}
