import type { LogEntry, LogPlace, LogReader, SharedLog } from '../shared-log.ts';

export interface RedisLogOptions {
  /** `redis://` or `rediss://`, with user and password where Redis wants them; neither is ever told. */
  readonly url: string;
  readonly clusterId: string;
  /** 1 to 2^32 - 1; each node another one. */
  readonly nodeId: number;
  /** This node's own state is what the cluster begins with, when nobody has begun it. */
  readonly isSeed: boolean;
  /** Null: this node was not part of the cluster, or has nothing of it any more. */
  readonly place: LogPlace | null;
  /** What an operator should know, a sentence without secrets; once for each time that it begins. */
  readonly onProblem: (problem: string) => void;
  /** `isReached` is another one. */
  readonly onReach?: (isReached: boolean) => void;
  /** Called once, after `start`: this run cannot go on, everything that waits is rejected. Not after `close`. */
  readonly onEnd: (error: LogEnded) => void;
  /** Ends the opening, which waits for Redis and for the other nodes as long as it takes. */
  readonly signal?: AbortSignal;
  readonly timing?: Partial<LogTiming>;
  readonly bounds?: Partial<LogBounds>;
}

/** Problems are told once each. */
export interface ToldOptions extends RedisLogOptions {
  /** Since Redis was reached; null: there was none. */
  readonly lastProblem: () => string | null;
}

/** Milliseconds. */
export interface LogTiming {
  /** Between two heartbeats of a node. */
  readonly beat: number;
  /** A node whose heartbeat is older is lost. More than twice `beat`. */
  readonly expiry: number;
  /** How much longer a node may be silent that has not begun: it serves nobody, and loads what it has. */
  readonly starting: number;
  /** How long the nodes wait for each other after Redis was started anew, to find the one that has come farthest. */
  readonly vote: number;
  /** How long the log keeps what a node that is gone would read when it returns. */
  readonly retention: number;
  /** Without progress for so long a snapshot is given up. */
  readonly snapshot: number;
}

export interface LogBounds {
  /** Of the entries that Redis keeps; nodes that are farther behind begin with a snapshot. */
  readonly logBytes: number;
  /** Of the entries of one batch; a larger entry is a batch of its own. */
  readonly batchBytes: number;
}

export const DEFAULT_TIMING: LogTiming = {
  beat: 1_000,
  expiry: 3_000,
  starting: 300_000,
  vote: 3_000,
  retention: 600_000,
  snapshot: 10_000,
};

export const DEFAULT_BOUNDS: LogBounds = { logBytes: 256 * 1_048_576, batchBytes: 262_144 };

export interface OpenedLog {
  readonly log: SharedLog;
  /**
   * Not null: this node drops what it had in common with others and takes this instead, before it calls `start`. Throws a LogEnded
   * when whoever gives it stops.
   */
  readonly snapshot: AsyncIterable<LogEntry> | null;
  /** Calls `reached` with the place where it begins, then reads; nothing is appended before. */
  start(reader: LogReader): void;
}

/**
 * Why a run of a node ended. It may begin anew (another run, with its place) after all but:
 * - TAKEN: another process is this node now; beginning anew would end that one.
 * - BROKEN: the log has something that this version cannot read, or the node could not apply it.
 */
export type EndReason = 'TAKEN' | 'LOST' | 'BEHIND' | 'NO_SNAPSHOT' | 'BROKEN' | 'CLOSED';

export class LogEnded extends Error {
  override readonly name = 'LogEnded';
  readonly reason: EndReason;

  constructor(reason: EndReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
