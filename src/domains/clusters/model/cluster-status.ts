import type { ServiceError } from '../../../platform/errors.ts';

/** ACTIVE: all nodes are reached and alike. DEGRADED: it serves, and something is wrong. INACTIVE: it does not serve. */
export type ClusterState = 'ACTIVE' | 'DEGRADED' | 'INACTIVE';

/** `role` of `getRaftStatus`: 0 standby, 1 voter, 2 spare. */
export type RaftRole = 'STANDBY' | 'VOTER' | 'SPARE';
/** `state` of `getRaftStatus`: 0 unavailable, 1 follower, 2 candidate, 3 leader. */
export type RaftState = 'UNAVAILABLE' | 'FOLLOWER' | 'CANDIDATE' | 'LEADER';

/** What a node of a commercial cluster says of itself. */
export interface NodeRaft {
  readonly state: RaftState;
  readonly role: RaftRole | null;
  readonly term: number | null;
  readonly commitIndex: number | null;
  readonly lastApplied: number | null;
  readonly lastStored: number | null;
}

/**
 * How a node whose access control this service keeps stands to the cluster. EQUAL; BEHIND: it was away and lacks changes; DRIFTED:
 * somebody else changed it; UNKNOWN: it cannot be asked, or was not yet.
 */
export type NodeSyncState = 'EQUAL' | 'BEHIND' | 'DRIFTED' | 'UNKNOWN';

const DIFFERENCE_KINDS = ['ROLE', 'GROUP', 'CLIENT', 'DEFAULT_ACL', 'ANONYMOUS_GROUP'] as const;

/** A part of a node's access control that is not as the cluster has it; the name is empty where there is one of it. */
export interface NodeDifference {
  readonly kind: (typeof DIFFERENCE_KINDS)[number];
  readonly name: string;
}

export interface NodeSync {
  readonly state: NodeSyncState;
  /** Epoch milliseconds since when it is so. */
  readonly since: number;
  /** Objects that differ from what the node shall have, by kind and name, at most 100; empty unless DRIFTED or BEHIND. */
  readonly differences: readonly NodeDifference[];
  readonly differenceCount: number;
  readonly missingPasswords: readonly string[];
}

export interface NodeStatus {
  readonly nodeId: number;
  readonly brokerId: string;
  readonly isReachable: boolean;
  /** FULL: takes ordinary clients. DYNSEC kept by this service: the node that is read. */
  readonly isLeader: boolean;
  /** Null where this service keeps the cluster, or the node does not say. */
  readonly raft: NodeRaft | null;
  /** Entries that the leader has and it lacks (raft), or revisions; null: not known. */
  readonly lag: number | null;
  /** Null where the brokers keep the cluster. */
  readonly sync: NodeSync | null;
  /** Why it cannot be asked, or what is wrong; null: nothing. */
  readonly error: ServiceError | null;
}

export interface ClusterStatus {
  readonly state: ClusterState;
  /** By nodeId. */
  readonly nodes: readonly NodeStatus[];
}
