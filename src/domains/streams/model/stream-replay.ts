import type { StreamQos } from './stream-definition.ts';

/** 1 is as it was, 2 twice as fast; `fastest`: without pauses. */
export type ReplaySpeed = number | 'fastest';

export interface ReplayRequest {
  /** Where the stored messages are published. */
  readonly topic: string;
  /** Epoch milliseconds, inclusive; null: unbounded. */
  readonly from: number | null;
  readonly to: number | null;
  /** Null: all. */
  readonly limit: number | null;
  readonly speed: ReplaySpeed;
  /** The newest first. */
  readonly reverse: boolean;
}

/** PAUSED: the broker is away; it goes on where it was. */
export type ReplayState = 'RUNNING' | 'PAUSED' | 'DONE' | 'STOPPED' | 'FAILED';

/** One replay of a stream: the one that runs, or the last one. */
export interface ReplayProgress {
  /** Different for each replay of a stream. */
  readonly id: number;
  readonly state: ReplayState;
  readonly request: ReplayRequest;
  /** Messages that the broker has taken (QoS 1 and 2: acknowledged) so far. */
  readonly published: number;
  /** Messages within the bounds and the limit when it began. */
  readonly total: number;
  /** Epoch milliseconds at which the message was stored that was published last; null: none yet. */
  readonly position: number | null;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** Why it FAILED or is PAUSED. */
  readonly problem: string | null;
}

/** QoS of a replayed message: that which the stream publishes with. */
export const replayQos = (targetQos: StreamQos, stored: 0 | 1 | 2): 0 | 1 | 2 =>
  targetQos === -1 ? stored : targetQos;
