import { Gauge, type Registry } from 'prom-client';
import { freshly } from '../../platform/scraped.ts';
import type { ClusterStatus } from './model/cluster.ts';

export type ClusterMetricSource = () => Promise<ReadonlyMap<string, ClusterStatus>>;

/** Registers the metrics of clusters. Returns a function to await before each scrape. */
export function registerClusterMetrics(source: ClusterMetricSource, registry: Registry): () => Promise<void> {
  const registers = [registry];
  const states = new Gauge({
    name: 'brokergraph_clusters',
    help: 'Number of clusters by state. degraded: the cluster works with errors. inactive: the cluster does not work',
    labelNames: ['state'],
    registers,
  });
  const nodes = new Gauge({
    name: 'brokergraph_cluster_nodes',
    help: 'Number of nodes of a cluster, by whether they are reachable',
    labelNames: ['cluster', 'reachable'],
    registers,
  });
  const lag = new Gauge({
    name: 'brokergraph_cluster_lag',
    help: 'Largest number of entries or changes that a node of the cluster lacks. Nodes with an unknown lag are left out',
    labelNames: ['cluster'],
    registers,
  });
  return freshly(async () => {
    const statuses = await source();
    for (const gauge of [states, nodes, lag]) gauge.reset();
    for (const [cluster, status] of statuses) {
      states.inc({ state: status.state.toLowerCase() });
      const reachable = status.nodes.filter(({ isReachable }) => isReachable).length;
      nodes.set({ cluster, reachable: 'true' }, reachable);
      nodes.set({ cluster, reachable: 'false' }, status.nodes.length - reachable);
      const lags = status.nodes.flatMap((node) => node.lag ?? []);
      if (lags.length > 0) lag.set({ cluster }, Math.max(...lags));
    }
  });
}
