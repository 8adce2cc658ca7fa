import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { StreamDefinition } from './stream-definition.ts';
import type { ReplayProgress, ReplayRequest } from './stream-replay.ts';
import type { StreamReport } from './stream-report.ts';

/** Epoch milliseconds, inclusive; null: unbounded. */
export interface TimeBounds {
  readonly from: number | null;
  readonly to: number | null;
}

/**
 * What runs the streams of one broker, in this thread or in another. A stream is known by an id of its own: one that is deleted
 * and made again under the same name has another.
 *
 * Errors: BROKER_UNREACHABLE when it is closed or its thread ended; those that are named.
 */
export interface StreamEngine {
  /**
   * It runs as told from now on: it is new, or takes the place of what ran under its id. Aggregates begin anew when the query
   * changed. That it cannot run is no error: its report tells.
   */
  put(id: string, definition: StreamDefinition): Promise<void>;
  /**
   * Resolves when it is known whether the broker lets the stream have its source, so that what is published from then on reaches it;
   * at once where the broker is away or the stream does not run, and after `withinMs` at the latest.
   */
  settled(id: string, withinMs: number): Promise<void>;
  /** With its stored messages, and a replay that runs. An id that is not known is none to remove. */
  remove(id: string): Promise<void>;
  /** Errors: NOT_FOUND (id), IN_USE (a replay of it runs), INVALID, BROKER_UNREACHABLE. */
  startReplay(id: string, request: ReplayRequest): Promise<ReplayProgress>;
  /** False: none ran. Errors: NOT_FOUND. */
  stopReplay(id: string): Promise<boolean>;
  /** Removes stored messages for good; answers how many. Errors: NOT_FOUND. */
  clear(id: string, bounds: TimeBounds): Promise<number>;
  /** Of the streams with these ids, or of all; one that is not known is left out. */
  report(ids?: readonly string[]): Promise<ReadonlyMap<string, StreamReport>>;
  /** Tells at once of a change of state or replay, and of a running replay's progress at most ten times a second. */
  onChange(listener: (id: string, report: StreamReport) => void): Stop;
  close(): Promise<void>;
}
