import type { ServiceError } from '../../../platform/errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { ClusterRecord } from './cluster.ts';
import type { ClusterStatus } from './cluster-status.ts';

/** What became of one node. */
export interface NodeOutcome {
  readonly nodeId: number;
  readonly brokerId: string;
  /** It could have been done, and was not, because of another node. */
  readonly isSkipped?: boolean;
  /** Why it was not done. */
  readonly error: ServiceError | null;
}

/**
 * One way in which clusters are held together. Their rows are the caller's: written before `create` and `join`, and taken back where
 * these reject; gone after `leave` and `dissolve`.
 */
export interface RepairOptions {
  readonly adopt: boolean;
  /** Whether the caller may adopt other rights on `$CONTROL/` than the cluster has; otherwise NOT_ALLOWED. */
  readonly mayControl: boolean;
}

export interface ClusterDriver {
  /**
   * Makes the nodes a cluster. All or nothing: what was begun on some is taken back when another one refuses, and what could not be is
   * told in `info.nodes`. Errors: BROKER_UNREACHABLE, BROKER_TIMEOUT, BROKER_REJECTED, with the node named.
   */
  create(cluster: ClusterRecord): Promise<void>;
  /** Brings one node of the cluster in. Errors: as `create`. */
  join(cluster: ClusterRecord, nodeId: number): Promise<void>;
  /** Errors: as `create`. */
  leave(cluster: ClusterRecord, nodeId: number): Promise<void>;
  /** Tells each node. When one cannot be asked nothing is done, unless `purge`. Never rejects; one outcome for each node. */
  dissolve(cluster: ClusterRecord, options: { readonly purge: boolean }): Promise<readonly NodeOutcome[]>;
  /**
   * Where this service keeps the nodes equal: makes one equal to the others again, or with `adopt` the others equal to it. Errors: those
   * of the node.
   */
  readonly repair?: (cluster: ClusterRecord, nodeId: number, options: RepairOptions) => Promise<void>;
  /** Never rejects: what is wrong is in it. */
  status(cluster: ClusterRecord): Promise<ClusterStatus>;
  /** The broker entry by which the whole cluster is asked now. Null: none can be. */
  standIn(cluster: ClusterRecord): string | null;
  /** Tells that status or stand-in of a cluster may be another one. */
  onChange(listener: (clusterId: string) => void): Stop;
}
