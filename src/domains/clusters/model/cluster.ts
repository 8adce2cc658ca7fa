import type { ClusterMode } from '../../../generated/sqlite/client.ts';
import type { AccessDocument } from '../../access-control/documents/access-document.ts';

/** BROKER: the brokers hold the cluster together themselves (`cedalo/ha`). GATEWAY: this service does. */
export type ClusterKeeper = 'BROKER' | 'GATEWAY';

/** A cluster as it is held in memory. Never changed; another one takes its place. */
export interface ClusterRecord {
  /** Of the broker entry that stands for it. */
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  readonly mode: ClusterMode;
  readonly keeper: ClusterKeeper;
  /** With GATEWAY: what all nodes shall have; null: not read from the first node yet. */
  readonly document: AccessDocument | null;
  /** Grows with each change of `document`. */
  readonly revision: number;
  /** A write that began and has not come into `document` yet; null: none. */
  readonly writing: BegunWrite | null;
  /** A node that somebody changed otherwise is brought back without being asked. */
  readonly autoRepair: boolean;
  /** ISO 8601. */
  readonly createdAt: string;
  /** By nodeId. */
  readonly nodes: readonly ClusterNodeRecord[];
}

/** What is known of a write when the process that did it is gone: it was done on this node at most. */
export interface BegunWrite {
  readonly nodeId: number;
  /** Accounts whose password it sets. */
  readonly usernames: readonly string[];
}

export interface ClusterNodeRecord {
  readonly clusterId: string;
  /** From 1. */
  readonly nodeId: number;
  /** The entry by which this service reaches it. */
  readonly brokerId: string;
  readonly name: string;
  /** Where the other nodes reach it. */
  readonly address: string;
  readonly port: number;
  /** Of the cluster's document that it was brought to last; null: never. */
  readonly revision: number | null;
  /** Accounts whose password it may not have, because it was away when it was set and it is not kept. Sorted. */
  readonly missingPasswords: readonly string[];
}

/** What a node is described by when a cluster is made, or it joins. */
export type NewNode = Pick<ClusterNodeRecord, 'nodeId' | 'brokerId' | 'name' | 'address' | 'port'>;
