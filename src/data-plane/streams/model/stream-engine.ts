import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { TimeBounds } from '../../log/log-message.ts';
import type { StreamDefinition } from './stream-definition.ts';
import type { ReplayJob, ReplayProgress, ReplayRequest } from './stream-replay.ts';
import type { StreamReport } from './stream-report.ts';

/**
 * Runs the streams of one broker, in this thread or in a worker thread. Each stream has a unique id: a stream that is
 * deleted and created again under the same name gets another id.
 *
 * Errors: BROKER_UNREACHABLE when the engine is closed or its thread ended, and the errors named at each method.
 */
export interface StreamEngine {
  /**
   * Starts the stream or replaces the definition of the running stream with this id. Aggregates start again when the
   * query changed. A stream that cannot run causes no error: its report has the reason.
   */
  put(id: string, definition: StreamDefinition): Promise<void>;
  /**
   * Resolves when the broker has granted or refused the source subscription. Messages published after a grant reach the
   * stream. Resolves immediately if the connection was lost or the stream does not run, and after `withinMs` at the
   * latest. The first connection to a broker is awaited.
   */
  settled(id: string, withinMs: number): Promise<void>;
  /** Removes the stream, its stored messages and its running replay. An unknown id is ignored. */
  remove(id: string): Promise<void>;
  /** Removes what is stored of streams that were not put and are not among these ids. */
  removeOthers(ids: readonly string[]): Promise<void>;
  /**
   * Starts a replay, or continues that of a job. Errors: NOT_FOUND (id), IN_USE (a replay of the stream runs), INVALID,
   * BROKER_UNREACHABLE.
   */
  startReplay(id: string, request: ReplayRequest, job?: ReplayJob | null): Promise<ReplayProgress>;
  /** Returns `false` if no replay ran. Errors: NOT_FOUND. */
  stopReplay(id: string): Promise<boolean>;
  /**
   * Publishes nothing more for replays. Called before `close`, which need not wait for it. Resolves with all replays,
   * ended ones too, when the broker has acknowledged what was published, after 2 s at the latest.
   */
  suspendReplays(): Promise<ReadonlyMap<string, ReplayProgress>>;
  /** Deletes stored messages and returns their number. Errors: NOT_FOUND. */
  clear(id: string, bounds: TimeBounds): Promise<number>;
  /** Returns the reports of the streams with these ids, by default of all streams. Unknown ids are left out. */
  report(ids?: readonly string[]): Promise<ReadonlyMap<string, StreamReport>>;
  /** Reports a change of state or replay immediately, and the progress of a replay at most ten times per second. */
  onChange(listener: (id: string, report: StreamReport) => void): Stop;
  close(): Promise<void>;
}
