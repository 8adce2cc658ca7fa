import type { LogStorage } from '../../log/message-log.ts';
import type { ReplayProgress } from './stream-replay.ts';

/**
 * RUNNING: the source is subscribed. INACTIVE: the stream is switched off. WAITING: the broker is not connected, or the
 * subscription is in progress. REFUSED: the broker refused the subscription. FAILED: the stream cannot run, or its
 * messages cannot be stored.
 */
export type StreamState = 'RUNNING' | 'INACTIVE' | 'WAITING' | 'REFUSED' | 'FAILED';

/** FULL: the limit of disk use is reached. Further messages are not stored until disk space is free again. */
export type StorageState = 'OFF' | 'STORING' | 'FULL' | 'FAILED';

/** Reason of an outcome, in plain text and without any part of the payload. */
export interface Reason {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly reason: string;
}

/** Counters since `since`, the time at which the stream was started in this process. */
export interface StreamCounters {
  readonly since: number;
  readonly received: number;
  readonly published: number;
  readonly stored: number;
  readonly filtered: number;
  readonly failed: number;
  readonly notStored: number;
  readonly replayed: number;
  /** Epoch milliseconds of the last received message. `null` if none was received. */
  readonly lastReceived: number | null;
  /** Last reason counted in `failed` or `notStored`. */
  readonly lastError: Reason | null;
  /** Last reason counted in `filtered`: an unmet condition or a missing path. */
  readonly lastFiltered: Reason | null;
}

export interface StreamStorage extends Omit<LogStorage, 'state'> {
  readonly state: StorageState;
}

export const NOTHING_STORED: StreamStorage = {
  state: 'OFF',
  messages: 0,
  bytes: 0,
  oldest: null,
  newest: null,
  problem: null,
};

export interface StreamReport {
  readonly state: StreamState;
  /** What is wrong and how to correct it. `null` if there is no problem. */
  readonly problem: string | null;
  readonly counters: StreamCounters;
  readonly storage: StreamStorage;
  /** The running replay, or the last replay of this process. `null` if there is none. */
  readonly replay: ReplayProgress | null;
}
