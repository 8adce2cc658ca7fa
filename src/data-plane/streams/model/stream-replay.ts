import type { StreamQos } from './stream-definition.ts';

/** Factor of the original speed: 2 is twice as fast. `fastest`: without pauses. */
export type ReplaySpeed = number | 'fastest';

export interface ReplayRequest {
  readonly topic: string;
  /** Epoch milliseconds, inclusive; null: unbounded. */
  readonly from: number | null;
  readonly to: number | null;
  /** Maximum number of messages. `null`: all. */
  readonly limit: number | null;
  readonly speed: ReplaySpeed;
  readonly reverse: boolean;
}

/**
 * PAUSED: the broker is not connected, the database does not respond, or the engine ends; the replay continues at the
 * same position.
 */
export type ReplayState = 'RUNNING' | 'PAUSED' | 'DONE' | 'STOPPED' | 'FAILED';

/** Where another engine continues a replay: everything before was acknowledged by the broker. */
export interface ReplayCheckpoint {
  /** Id of the last message before. `null`: none was published. */
  readonly after: number | null;
  /** Number of messages before. */
  readonly published: number;
  /** Id of the newest message of the replay, later ones do not belong to it. */
  readonly newest: number;
  readonly total: number;
}

/** The stored job of a replay. */
export interface ReplayJob {
  readonly jobId: string;
  /** What an earlier engine has done; `null`: the replay starts. A checkpoint of `null`: nothing is known of it. */
  readonly continued: Pick<ReplayProgress, 'id' | 'startedAt' | 'checkpoint'> | null;
}

export interface ReplayProgress {
  readonly id: number;
  /** `null` if the replay ends with its engine. */
  readonly jobId: string | null;
  readonly state: ReplayState;
  readonly request: ReplayRequest;
  /** Messages sent (QoS 0) or acknowledged by the broker (QoS 1 and 2) so far. */
  readonly published: number;
  /** Messages within the bounds and the limit when the replay started. */
  readonly total: number;
  /** Epoch milliseconds at which the last published message was stored. `null` if none was published yet. */
  readonly position: number | null;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** Why the replay is FAILED or PAUSED. `null` otherwise. */
  readonly problem: string | null;
  /** `null` before the messages were counted, and in reports of other processes. */
  readonly checkpoint: ReplayCheckpoint | null;
}

export const replayQos = (targetQos: StreamQos, stored: 0 | 1 | 2): 0 | 1 | 2 =>
  targetQos === -1 ? stored : targetQos;

export const isReplaying = (replay: ReplayProgress | null): replay is ReplayProgress =>
  replay?.state === 'RUNNING' || replay?.state === 'PAUSED';
