import type { TimeBounds } from '../model/stream-engine.ts';
import type { StreamStorage } from '../model/stream-report.ts';

export interface NewMessage {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
}

export interface StoredMessage {
  /** Increases with each message of a log: epoch microseconds of arrival, but at least the previous id plus one. */
  readonly id: number;
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
}

/** The stored messages of the streams of one broker. The folder has exactly one owner. */
export interface MessageStore {
  /** Opens or creates the log of a stream. Returns the same object for the same id. */
  log(streamId: string): MessageLog;
  ids(): readonly string[];
  readonly bytes: number;
  /** Resolves when all appended messages are on disk. */
  close(): Promise<void>;
}

export interface MessageLog {
  /** Seconds, see StreamDefinition.ttl. */
  setTtl(seconds: number): void;
  /**
   * Queues a message in memory; messages are written in batches. `done` is called with `null` when the message is on
   * disk and survives the end of the process. Otherwise it is called with the reason why the message is not stored.
   * Calls follow the order of `append`.
   */
  append(message: NewMessage, done: (problem: string | null) => void): void;
  readonly pendingBytes: number;
  storage(): StreamStorage;
  count(bounds: TimeBounds): number;
  /** Deletes messages in slices, so that other work is not blocked for long. Returns their number. */
  clear(bounds: TimeBounds): Promise<number>;
  /**
   * Returns at most `limit` messages within the bounds: after the id `after` in ascending order or, if `reverse` is
   * true, before it in descending order. Messages older than twice the ttl are never returned.
   */
  read(options: ReadOptions): StoredMessage[];
  /** Deletes all messages. Later `append` calls are refused. */
  remove(): Promise<void>;
}

export interface ReadOptions extends TimeBounds {
  readonly after: number | null;
  readonly reverse: boolean;
  readonly limit: number;
  readonly maxBytes: number;
}

/** Returns the epoch milliseconds of a stored message's id. */
export const storedAt = (id: number): number => Math.floor(id / 1000);
