import type { ClusterMode } from '../../../generated/sqlite/client.ts';
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
  readonly createdAt: string;
  /** Sorted by `nodeId`. */
  readonly nodes: readonly ClusterNodeRecord[];
}

/** What is known about a write after its process failed: it reached at most this node. */
export interface BegunWrite {
  readonly nodeId: number;
  readonly usernames: readonly string[];
}

export interface ClusterNodeRecord {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly brokerId: string;
  readonly name: string;
  /** Address at which the other nodes connect to the node. */
  readonly address: string;
  readonly port: number;
  /** Revision of the cluster's document that was last applied to the node. `null` if none was. */
  readonly revision: number | null;
  /** Accounts whose password the node may lack: it was set while the node was away, and is not stored. Sorted. */
  readonly missingPasswords: readonly string[];
}

export type NewNode = Pick<ClusterNodeRecord, 'nodeId' | 'brokerId' | 'name' | 'address' | 'port'>;
