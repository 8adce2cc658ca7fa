import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import { type BrokerRuntimes, sameConnection } from '../brokers/broker-runtimes.ts';
import type { ClusterDirectory } from './cluster-directory.ts';
import type { ClusterKeepers } from './cluster-keepers.ts';
import type { ClusterRecord } from './model/cluster.ts';

export interface ClusterStandInsOptions {
  readonly directory: ClusterDirectory;
  readonly brokers: BrokerCache;
}

/**
 * By which node each cluster is reached: the one that its keeper names. Of nodes that are alike, the one that was taken stays while it is
 * connected, since whatever follows the cluster begins anew with another one.
 */
export class ClusterStandIns {
  readonly #options: ClusterStandInsOptions;
  /** The entry of the node, by cluster. */
  readonly #taken = new Map<string, string>();
  readonly #stops: Stop[] = [];

  constructor(options: ClusterStandInsOptions) {
    this.#options = options;
  }

  /** For BrokerRuntimes, which connect to the cluster by it from then on. */
  readonly of = (broker: BrokerRecord): BrokerRecord | null => {
    const { directory, brokers } = this.#options;
    const cluster = directory.get(broker.id);
    if (cluster === null) return broker;
    const node = this.#nodeOf(cluster);
    if (node === undefined) return null;
    this.#taken.set(broker.id, node);
    return brokers.get(node);
  };

  /** The entry of the node by which the cluster is reached, or would be; null: it has none. */
  taken(cluster: ClusterRecord): string | null {
    return this.#nodeOf(cluster) ?? null;
  }

  start(keepers: ClusterKeepers, runtimes: BrokerRuntimes): void {
    const { directory, brokers } = this.#options;
    const look = (clusterId: string) => this.#look(clusterId, keepers, runtimes);
    this.#stops.push(
      keepers.onChange(look),
      directory.onRemove(({ id }) => this.#taken.delete(id)),
      brokers.onChange((after, before) => {
        if (after === null || before === null || sameConnection(after, before)) return;
        const cluster = directory.ofNode(after.id);
        if (cluster !== null && this.#taken.get(cluster.id) === after.id) runtimes.reopen(cluster.id);
      }),
    );
    for (const { id } of directory.all()) look(id);
  }

  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  #look(clusterId: string, keepers: ClusterKeepers, runtimes: BrokerRuntimes): void {
    const cluster = this.#options.directory.get(clusterId);
    if (cluster === null) return;
    const before = this.#taken.get(clusterId);
    const isNode = cluster.nodes.some(({ brokerId }) => brokerId === before);
    if (cluster.keeper === 'GATEWAY' && before !== undefined && isNode && runtimes.isConnected(before)) return;
    const now = keepers.of(cluster).standIn(cluster) ?? this.#nodeOf(cluster);
    if (now === undefined || now === before) return;
    this.#taken.set(clusterId, now);
    if (before !== undefined) runtimes.reopen(clusterId);
  }

  /** Until one is known to be reached, the first one tells why it is not. */
  #nodeOf({ id, nodes }: ClusterRecord): string | undefined {
    const taken = this.#taken.get(id);
    return (nodes.find(({ brokerId }) => brokerId === taken) ?? nodes[0])?.brokerId;
  }
}
