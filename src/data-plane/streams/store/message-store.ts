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

export interface ReadOptions extends TimeBounds {
  readonly after: number | null;
  readonly reverse: boolean;
  readonly limit: number;
  readonly maxBytes: number;
}

/** The stored messages of the streams of one broker. One process at a time writes them. */
export interface MessageStore {
  /** Opens or creates the log of a stream. Returns the same object for the same id. */
  log(streamId: string): MessageLog;
  /** The streams with stored messages. */
  ids(): readonly string[];
  close(): Promise<void>;
}

/** The stored messages of one stream. Errors of methods that read or delete: those of the disk or the database. */
export interface MessageLog {
  /** Seconds until messages expire; 0: never. A message is never read later than after twice that time. */
  setTtl(seconds: number): void;
  /**
   * Queues a message in memory; messages are written in batches. `done` is called in the order of the calls, with
   * `null` when the message survives the end of the process, or with the reason why it is not stored.
   */
  append(message: NewMessage, done: (problem: string | null) => void): void;
  /** Resolves when all messages appended before are stored or refused. */
  finished(): void | Promise<void>;
  storage(): StreamStorage;
  count(bounds: TimeBounds): number | Promise<number>;
  /**
   * Returns at most `limit` messages within the bounds: after the id `after` in ascending order or, if `reverse` is
   * true, before it in descending order.
   */
  read(options: ReadOptions): readonly StoredMessage[] | Promise<readonly StoredMessage[]>;
  /** Deletes messages, but none that is appended after the call. Returns their number. */
  clear(bounds: TimeBounds): Promise<number>;
  /** Deletes all messages. Later `append` calls are refused. */
  remove(): Promise<void>;
}

/** Epoch microseconds. */
export interface IdRange {
  readonly from: number;
  readonly to: number;
}

export const idRange = ({ from, to }: TimeBounds): IdRange => ({
  from: from === null ? 0 : Math.ceil(from * 1_000),
  to: to === null ? Number.MAX_SAFE_INTEGER : Math.floor(to * 1_000) + 999,
});

/** The ids within the bounds that `read` returns. */
export function readableRange(bounds: TimeBounds, { after, reverse }: Pick<ReadOptions, 'after' | 'reverse'>): IdRange {
  const { from, to } = idRange(bounds);
  if (after === null) return { from, to };
  return reverse ? { from, to: Math.min(to, after - 1) } : { from: Math.max(from, after + 1), to };
}

/** Estimated overhead per message in addition to topic and payload, on disk and in memory. */
export const MESSAGE_BYTES = 32;

/** Segments of a stream are at most this part of its ttl long, so that no message reaches twice the ttl. */
export const SEGMENTS_OF_TTL = 4;

export const asBuffer = (payload: Uint8Array | string): Buffer => {
  if (typeof payload === 'string') return Buffer.from(payload);
  return Buffer.isBuffer(payload) ? payload : Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
};

/** Returns the epoch milliseconds of a stored message's id. */
export const storedAt = (id: number): number => Math.floor(id / 1000);
