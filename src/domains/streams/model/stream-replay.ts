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

/** PAUSED: the broker is not connected; the replay continues at the same position after a reconnect. */
export type ReplayState = 'RUNNING' | 'PAUSED' | 'DONE' | 'STOPPED' | 'FAILED';

export interface ReplayProgress {
  readonly id: number;
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
}

export const replayQos = (targetQos: StreamQos, stored: 0 | 1 | 2): 0 | 1 | 2 =>
  targetQos === -1 ? stored : targetQos;
