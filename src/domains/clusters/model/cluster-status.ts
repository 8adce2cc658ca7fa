import type { ServiceError } from '../../../platform/errors.ts';

/** ACTIVE: all nodes are connected and equal. DEGRADED: it works with errors. INACTIVE: it does not work. */
type ClusterState = 'ACTIVE' | 'DEGRADED' | 'INACTIVE';

/** `role` of `getRaftStatus`: 0 standby, 1 voter, 2 spare. */
export type RaftRole = 'STANDBY' | 'VOTER' | 'SPARE';
/** `state` of `getRaftStatus`: 0 unavailable, 1 follower, 2 candidate, 3 leader. */
export type RaftState = 'UNAVAILABLE' | 'FOLLOWER' | 'CANDIDATE' | 'LEADER';

export interface NodeRaft {
  readonly state: RaftState;
  readonly role: RaftRole | null;
  readonly term: number | null;
  readonly commitIndex: number | null;
  readonly lastApplied: number | null;
  readonly lastStored: number | null;
}

/**
 * EQUAL: the node has the access control of the cluster. BEHIND: the node was unreachable and lacks changes. DRIFTED:
 * another client changed its access control. UNKNOWN: the node is not connected, or was not compared yet.
 */
export type NodeSyncState = 'EQUAL' | 'BEHIND' | 'DRIFTED' | 'UNKNOWN';

const DIFFERENCE_KINDS = ['ROLE', 'GROUP', 'CLIENT', 'DEFAULT_ACL', 'ANONYMOUS_GROUP'] as const;

/** A part of a node's access control that differs from the cluster's. `name` is empty for parts that exist once. */
export interface NodeDifference {
  readonly kind: (typeof DIFFERENCE_KINDS)[number];
  readonly name: string;
}

export interface NodeSync {
  readonly state: NodeSyncState;
  readonly since: number;
  /** At most 100 objects that differ, by kind and name. Empty unless the state is DRIFTED or BEHIND. */
  readonly differences: readonly NodeDifference[];
  readonly differenceCount: number;
  readonly missingPasswords: readonly string[];
}

export interface NodeStatus {
  readonly nodeId: number;
  readonly brokerId: string;
  readonly isReachable: boolean;
  /** FULL: ordinary clients can connect to the node. Synchronized clusters: the service reads this node. */
  readonly isLeader: boolean;
  /** `null` if the service synchronizes the cluster, or if the node does not report it. */
  readonly raft: NodeRaft | null;
  /** Number of Raft entries, or of revisions, that the node lacks. `null` if unknown. */
  readonly lag: number | null;
  readonly sync: NodeSync | null;
  /** Why the node is not reachable, or what is wrong with it. `null` if nothing is wrong. */
  readonly error: ServiceError | null;
}

export interface ClusterStatus {
  readonly state: ClusterState;
  readonly nodes: readonly NodeStatus[];
}
