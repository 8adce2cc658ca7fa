import type { ClusterMode, ClusterNode } from '../../../generated/sqlite/client.ts';
import type { ServiceError } from '../../../platform/errors.ts';
import type { VersionRule } from '../../../protocol/apis/access-control/version-rules.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { AccessDocument } from '../../access-control/documents/access-document.ts';

/** BROKER: the brokers synchronize the cluster themselves (`cedalo/ha`). GATEWAY: this service synchronizes it. */
export type ClusterKeeper = 'BROKER' | 'GATEWAY';

/** A cluster as it is cached. Immutable: a change replaces the record. */
export interface ClusterRecord {
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  readonly mode: ClusterMode;
  readonly keeper: ClusterKeeper;
  /** GATEWAY: access control that all nodes must have. `null` until it was read from the first node. */
  readonly document: AccessDocument | null;
  readonly revision: number;
  /** A write that started and is not part of `document` yet. `null` if there is none. */
  readonly writing: BegunWrite | null;
  readonly autoRepair: boolean;
  readonly createdAt: Date;
  /** Sorted by `nodeId`. */
  readonly nodes: readonly ClusterNodeRecord[];
}

/** What is known about a write after its process failed: it reached at most this node. */
export interface BegunWrite {
  readonly nodeId: number;
  readonly usernames: readonly string[];
}

/** `revision` is that of the document that was last applied to the node; `null` if none was. */
export interface ClusterNodeRecord extends Readonly<Omit<ClusterNode, 'missingPasswords'>> {
  /** Accounts whose password the node may lack: it was set while the node was away, and is not stored. Sorted. */
  readonly missingPasswords: readonly string[];
}

export type NewNode = Pick<ClusterNodeRecord, 'nodeId' | 'brokerId' | 'name' | 'address' | 'port'>;

/** The fields have the values of `getRaftStatus`. */
export interface NodeRaft {
  readonly state: 'UNAVAILABLE' | 'FOLLOWER' | 'CANDIDATE' | 'LEADER';
  readonly role: 'STANDBY' | 'VOTER' | 'SPARE' | null;
  readonly term: number | null;
  readonly commitIndex: number | null;
  readonly lastApplied: number | null;
  readonly lastStored: number | null;
}

/**
 * EQUAL: the node has the access control of the cluster. BEHIND: the node was unreachable and lacks changes. DRIFTED:
 * another client changed its access control, or its version cannot keep a rule. UNKNOWN: the node is not connected, or
 * was not compared yet.
 */
export type NodeSyncState = 'EQUAL' | 'BEHIND' | 'DRIFTED' | 'UNKNOWN';

/** A part of a node's access control that differs from the cluster's. `name` is empty for parts that exist once. */
export interface NodeDifference {
  readonly kind: 'ROLE' | 'GROUP' | 'CLIENT' | 'DEFAULT_ACL' | 'ANONYMOUS_GROUP';
  readonly name: string;
}

export interface NodeSync {
  readonly state: NodeSyncState;
  readonly since: number;
  /** At most 100 objects that differ, by kind and name. Empty unless the state is DRIFTED or BEHIND. */
  readonly differences: readonly NodeDifference[];
  readonly differenceCount: number;
  /** At most 100 rules that the broker evaluates otherwise than newer nodes. `null` if its version is not known. */
  readonly differingRules: readonly VersionRule[] | null;
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

/** ACTIVE: all nodes are connected and equal. DEGRADED: it works with errors. INACTIVE: it does not work. */
export interface ClusterStatus {
  readonly state: 'ACTIVE' | 'DEGRADED' | 'INACTIVE';
  readonly nodes: readonly NodeStatus[];
}

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
   * Creates the cluster on all nodes or on none. `info.nodes` lists nodes that could not be rolled back. Errors:
   * BROKER_UNREACHABLE, BROKER_TIMEOUT, BROKER_REJECTED, with the name of the node.
   */
  create(cluster: ClusterRecord): Promise<void>;
  join(cluster: ClusterRecord, nodeId: number): Promise<void>;
  leave(cluster: ClusterRecord, nodeId: number): Promise<void>;
  /** Dissolves the cluster on each node, or on none if one is unreachable and `purge` is false. Never rejects. */
  dissolve(cluster: ClusterRecord, options: { readonly purge: boolean }): Promise<readonly NodeOutcome[]>;
  /** Makes a node equal to the others, or with `adopt` the others equal to the node. Only in synchronized clusters. */
  readonly repair?: (cluster: ClusterRecord, nodeId: number, options: RepairOptions) => Promise<void>;
  /** Never rejects. The status contains the errors of the nodes. */
  status(cluster: ClusterRecord): Promise<ClusterStatus>;
  /** Broker entry of the contact node, to which requests for the cluster are sent now. `null` if none is reachable. */
  contactNode(cluster: ClusterRecord): string | null;
  onChange(listener: (clusterId: string) => void): Stop;
}
