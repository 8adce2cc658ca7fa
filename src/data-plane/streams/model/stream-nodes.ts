import type { StreamReport } from './stream-report.ts';

/**
 * State of a stream on one cluster node, compared with the first node that has the stream. EQUAL: same definition.
 * DIFFERENT: another definition. MISSING: the node does not have the stream. UNKNOWN: the node could not be queried.
 */
export const STREAM_NODE_STATES = ['EQUAL', 'DIFFERENT', 'MISSING', 'UNKNOWN'] as const;
export type StreamNodeState = (typeof STREAM_NODE_STATES)[number];

export interface StreamOnNode {
  readonly nodeId: number;
  readonly state: StreamNodeState;
  /** Fields of the definition that differ from the first node that has the stream. */
  readonly differences: readonly string[];
  /** `null` if the stream is missing on the node, or if the node's server sends no report. */
  readonly report: StreamReport | null;
  /** Why the node cannot be queried or runs no streams. `null` if there is no problem. */
  readonly problem: string | null;
}
