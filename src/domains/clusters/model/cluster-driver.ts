import type { ServiceError } from '../../../platform/errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { ClusterRecord } from './cluster.ts';
import type { ClusterStatus } from './cluster-status.ts';

export interface NodeOutcome {
  readonly nodeId: number;
  readonly brokerId: string;
  /** Whether the operation was skipped on this node because another node failed. */
  readonly isSkipped?: boolean;
  readonly error: ServiceError | null;
}

export interface RepairOptions {
  readonly adopt: boolean;
  /** Whether the caller may change rights on `$CONTROL/`. Otherwise such a change is NOT_ALLOWED. */
  readonly mayControl: boolean;
}

/**
 * Synchronizes clusters in one way. The caller stores the rows before `create` and `join`, rolls them back if these
 * reject, and deletes them after `leave` and `dissolve`.
 */
export interface ClusterDriver {
  /**
   * Creates the cluster on all nodes or on none: when a node fails, the change is rolled back on the nodes before it.
   * `info.nodes` lists nodes that could not be rolled back. Errors: BROKER_UNREACHABLE, BROKER_TIMEOUT,
   * BROKER_REJECTED, with the name of the node.
   */
  create(cluster: ClusterRecord): Promise<void>;
  join(cluster: ClusterRecord, nodeId: number): Promise<void>;
  leave(cluster: ClusterRecord, nodeId: number): Promise<void>;
  /** Dissolves the cluster on each node, or on none if one is unreachable and `purge` is false. Never rejects. */
  dissolve(cluster: ClusterRecord, options: { readonly purge: boolean }): Promise<readonly NodeOutcome[]>;
  /**
   * Makes a node equal to the others, or with `adopt` the others equal to the node. Only the driver of synchronized
   * clusters has this method. Errors: those of the node.
   */
  readonly repair?: (cluster: ClusterRecord, nodeId: number, options: RepairOptions) => Promise<void>;
  /** Never rejects. The status contains the errors of the nodes. */
  status(cluster: ClusterRecord): Promise<ClusterStatus>;
  /** Broker entry of the contact node, to which requests for the cluster are sent now. `null` if none is reachable. */
  contactNode(cluster: ClusterRecord): string | null;
  onChange(listener: (clusterId: string) => void): Stop;
}
