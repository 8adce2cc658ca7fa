import { Gauge, type Registry } from 'prom-client';
import { throttledRead } from '../../platform/scheduling/throttled-read.ts';
import type { ClusterStatus } from './model/cluster.ts';

/** Registers the metrics of clusters. Returns a function to await before each scrape. */
export function registerClusterMetrics(
  source: () => Promise<ReadonlyMap<string, ClusterStatus>>,
  registry: Registry,
): () => Promise<void> {
  const gauge = (name: string, labelNames: readonly string[], help: string) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const states = gauge(
    'brokergraph_clusters',
    ['state'],
    'Number of clusters by state. degraded: the cluster works with errors. inactive: the cluster does not work',
  );
  const nodes = gauge(
    'brokergraph_cluster_nodes',
    ['cluster', 'reachable'],
    'Number of nodes of a cluster, by whether they are reachable',
  );
  const lag = gauge(
    'brokergraph_cluster_lag',
    ['cluster'],
    'Largest number of entries or changes that a node of the cluster lacks. Nodes with an unknown lag are left out',
  );
  return throttledRead(async () => {
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
