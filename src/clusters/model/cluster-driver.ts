import type { ServiceError } from '../../errors.ts';
import type { Stop } from '../../mqtt/broker-session.ts';
import type { ClusterRecord, NewNode } from './cluster.ts';
import type { ClusterStatus } from './cluster-status.ts';

/** What became of one node; null: it was done. */
export interface NodeOutcome {
  readonly nodeId: number;
  readonly brokerId: string;
  readonly error: ServiceError | null;
}

/** One way in which clusters are held together. The rows are the caller's, and written when it resolves. */
export interface ClusterDriver {
  /**
   * Makes brokers that are in no cluster one. All or nothing: what was begun on some nodes is taken back when another refuses, and
   * what could not be is told by `info.nodes`. Errors: BROKER_UNREACHABLE, BROKER_REJECTED, NOT_SUPPORTED_BY_BROKER, with the node named.
   */
  create(name: string, nodes: readonly NewNode[]): Promise<void>;
  /** Errors: as `create`. */
  join(cluster: ClusterRecord, node: NewNode): Promise<void>;
  leave(cluster: ClusterRecord, nodeId: number): Promise<void>;
  /** Tells each node; when one cannot be told, nothing is done unless `purge`, and the errors say which. Never rejects. */
  dissolve(cluster: ClusterRecord, options: { readonly purge: boolean }): Promise<readonly NodeOutcome[]>;
  status(cluster: ClusterRecord): Promise<ClusterStatus>;
  /** Tells that the status may be another one. */
  onChange(clusterId: string, listener: () => void): Stop;
}
