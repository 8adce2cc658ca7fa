import type { ReplayProgress } from './stream-replay.ts';

/**
 * RUNNING: its sources are subscribed. INACTIVE: switched off. WAITING: the broker is away, or its source is being subscribed.
 * REFUSED: the broker refused its source. FAILED: it cannot run, or its messages cannot be stored.
 */
export type StreamState = 'RUNNING' | 'INACTIVE' | 'WAITING' | 'REFUSED' | 'FAILED';

/** FULL: the bound on disk use is reached, and messages are not stored until there is room again. */
export type StorageState = 'OFF' | 'STORING' | 'FULL' | 'FAILED';

/** Why something became of a message; for people, and without anything of its payload. */
export interface Reason {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly reason: string;
}

/** What happened since `since`, when the stream began to run in this process. */
export interface StreamCounters {
  /** Epoch milliseconds. */
  readonly since: number;
  /** Messages that came in. */
  readonly received: number;
  /** Published on the target topic, and taken by the broker. */
  readonly published: number;
  readonly stored: number;
  /** Left out by `where`, or because a selected path is missing. */
  readonly filtered: number;
  /** Not JSON, or not a number where one is needed; and what the broker refused to take. */
  readonly failed: number;
  /** Not stored because the disk use is at its bound, or the disk failed. */
  readonly notStored: number;
  readonly replayed: number;
  /** Epoch milliseconds of the last message in; null: none. */
  readonly lastReceived: number | null;
  /** Of those that failed or were not stored. */
  readonly lastError: Reason | null;
  /** Tells a condition that is not met from a path that is missing. */
  readonly lastFiltered: Reason | null;
}

export interface StreamStorage {
  readonly state: StorageState;
  readonly messages: number;
  /** On disk. */
  readonly bytes: number;
  /** Epoch milliseconds; null: nothing is stored. */
  readonly oldest: number | null;
  readonly newest: number | null;
  /** Why the state is FULL or FAILED. */
  readonly problem: string | null;
}

/** What is known of one stream now. */
export interface StreamReport {
  readonly state: StreamState;
  /** What is wrong, and what would help; null: nothing. */
  readonly problem: string | null;
  readonly counters: StreamCounters;
  readonly storage: StreamStorage;
  /** The replay that runs, or the last one of this process; null: none. */
  readonly replay: ReplayProgress | null;
}
