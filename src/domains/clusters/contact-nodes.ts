import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import { sameConnection } from '../brokers/link-settings.ts';
import type { ClusterCache } from './cluster-cache.ts';
import type { ClusterDrivers } from './cluster-drivers.ts';
import type { ClusterRecord } from './model/cluster.ts';

interface ContactNodesOptions {
  readonly cache: ClusterCache;
  readonly brokers: BrokerCache;
}

/**
 * The node of each cluster to which requests for the whole cluster are sent; its driver selects it. In synchronized
 * clusters all nodes are equal, so a connected contact node is not replaced: subscribers would have to start again.
 */
export class ContactNodes {
  readonly #options: ContactNodesOptions;
  readonly #contacts = new Map<string, string>();
  readonly #stops: Stop[] = [];

  constructor(options: ContactNodesOptions) {
    this.#options = options;
  }

  readonly resolve = (broker: BrokerRecord): BrokerRecord | null => {
    const { cache, brokers } = this.#options;
    const cluster = cache.get(broker.id);
    if (cluster === null) return broker;
    const node = this.of(cluster);
    if (node === null) return null;
    this.#contacts.set(broker.id, node);
    return brokers.get(node);
  };

  /**
   * Broker entry of the contact node: the first node until one is known to be connected, because its error explains why
   * the cluster is not reachable. `null` if the cluster has no node.
   */
  of({ id, nodes }: ClusterRecord): string | null {
    const contact = this.#contacts.get(id);
    return (nodes.find(({ brokerId }) => brokerId === contact) ?? nodes[0])?.brokerId ?? null;
  }

  start(drivers: ClusterDrivers, runtimes: BrokerRuntimes): void {
    const { cache, brokers } = this.#options;
    const update = (clusterId: string) => this.#update(clusterId, drivers, runtimes);
    this.#stops.push(
      drivers.onChange(update),
      cache.onRemove(({ id }) => this.#contacts.delete(id)),
      brokers.onChange((after, previous) => {
        if (after === null || previous === null || sameConnection(after, previous)) return;
        const cluster = cache.ofNode(after.id);
        if (cluster !== null && this.#contacts.get(cluster.id) === after.id) runtimes.reopen(cluster.id);
      }),
    );
    for (const { id } of cache.all()) update(id);
  }

  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  #update(clusterId: string, drivers: ClusterDrivers, runtimes: BrokerRuntimes): void {
    const cluster = this.#options.cache.get(clusterId);
    if (cluster === null) return;
    const previous = this.#contacts.get(clusterId);
    const isNode = cluster.nodes.some(({ brokerId }) => brokerId === previous);
    if (cluster.keeper === 'GATEWAY' && previous !== undefined && isNode && runtimes.isConnected(previous)) return;
    const now = drivers.of(cluster).contactNode(cluster) ?? this.of(cluster);
    if (now === null || now === previous) return;
    this.#contacts.set(clusterId, now);
    if (previous !== undefined) runtimes.reopen(clusterId);
  }
}
