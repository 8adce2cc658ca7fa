import type { TimeBounds } from '../model/stream-engine.ts';
import type { StreamStorage } from '../model/stream-report.ts';

/** A message to be stored. */
export interface NewMessage {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
}

export interface StoredMessage {
  /** Grows by at least one with each message of a log: epoch microseconds of its arrival, or one more than the one before. */
  readonly id: number;
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
}

/** The stored messages of the streams of one broker; one folder, one owner. */
export interface MessageStore {
  /** Opens what there is of a stream, or begins it. The same log for the same id. */
  log(streamId: string): MessageLog;
  /** Ids of streams that there are stored messages of. */
  ids(): readonly string[];
  /** Bytes on disk, of all. */
  readonly bytes: number;
  /** Everything appended is on disk when it resolves. */
  close(): Promise<void>;
}

export interface MessageLog {
  /** Seconds: see StreamDefinition.ttl. */
  setTtl(seconds: number): void;
  /**
   * Taken in memory at once and written with others; `done` is called when it is on disk and survives the end of the process (null),
   * or when it is known that it will not be stored (why). In the order in which they were appended.
   */
  append(message: NewMessage, done: (problem: string | null) => void): void;
  /** Appended and not yet on disk. */
  readonly pendingBytes: number;
  storage(): StreamStorage;
  /** How many there are within the bounds. */
  count(bounds: TimeBounds): number;
  /** Removes for good; in slices, so that nothing else waits for long. Answers how many. */
  clear(bounds: TimeBounds): Promise<number>;
  /**
   * At most `limit` messages after the one with the id `after` (before it where `reverse`), in order of their ids, within the bounds.
   * What is expired for twice its time is never among them.
   */
  read(options: ReadOptions): StoredMessage[];
  /** Its messages are gone, and it takes no more. */
  remove(): Promise<void>;
}

export interface ReadOptions extends TimeBounds {
  readonly after: number | null;
  readonly reverse: boolean;
  readonly limit: number;
  /** Bytes of payload at which a page ends, with at least one message. */
  readonly maxBytes: number;
}

/** Of the id of a stored message, in epoch milliseconds. */
export const storedAt = (id: number): number => Math.floor(id / 1000);
