import type { TimeBounds } from '../model/stream-engine.ts';

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

/** Returns the epoch milliseconds of a stored message's id. */
export const storedAt = (id: number): number => Math.floor(id / 1000);
