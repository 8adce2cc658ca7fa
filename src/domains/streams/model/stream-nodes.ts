import type { StreamReport } from './stream-report.ts';

/**
 * How a stream of a cluster is on one node. EQUAL: as on the first node that has it. DIFFERENT: otherwise. MISSING: it is not there.
 * UNKNOWN: the node could not be asked.
 */
export const STREAM_NODE_STATES = ['EQUAL', 'DIFFERENT', 'MISSING', 'UNKNOWN'] as const;
export type StreamNodeState = (typeof STREAM_NODE_STATES)[number];

/** A stream of a cluster on one of its nodes. */
export interface StreamOnNode {
  readonly nodeId: number;
  readonly state: StreamNodeState;
  /** What of its definition is otherwise than on the first node that has it. */
  readonly differences: readonly string[];
  /** Null where it is not there, or whoever serves it does not tell. */
  readonly report: StreamReport | null;
  /** Why the node cannot be asked, or runs no streams; null: nothing. */
  readonly problem: string | null;
}
