import type { StoredStream } from '../definition/stream-definitions.ts';
import type { ReplayJob, ReplayProgress, ReplayRequest } from '../model/stream-replay.ts';

export interface ContinuedReplay {
  readonly streamId: string;
  readonly request: ReplayRequest;
  readonly job: ReplayJob;
}

/** Where replays of one broker outlive its engine. Errors of methods that return a promise: those of the database. */
export interface StoredReplays {
  /** The caller must have the lease of the broker. Errors: IN_USE. */
  begin(stream: StoredStream, request: ReplayRequest): Promise<ReplayJob>;
  /** The engine has refused the replay. */
  discard(streamId: string): Promise<void>;
  /** The replays that an earlier process has not finished. Those of streams that do not exist are ended. */
  unfinished(isStream: (id: string) => boolean): Promise<readonly ContinuedReplay[]>;
  /** Errors: those of `started`, of an engine that does not run. `unfinished` then returns the replay again. */
  continueWith(streamId: string, started: Promise<ReplayProgress>): Promise<void>;
  report(streamId: string, replay: ReplayProgress | null): void;
  /** Ends a replay that the engine does not run, such as one that could not be continued yet. */
  stop(streamId: string): Promise<void>;
  /** Stores the last reports. */
  close(): Promise<void>;
}
