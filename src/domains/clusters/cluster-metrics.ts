import { Gauge, type Registry } from 'prom-client';
import { freshly } from '../../platform/scraped.ts';
import type { ClusterStatus } from './model/cluster-status.ts';

/** By id of the cluster. */
export type ClusterMetricSource = () => Promise<ReadonlyMap<string, ClusterStatus>>;

/** Answers what is to be awaited before each scrape. */
export function registerClusterMetrics(source: ClusterMetricSource, registry: Registry): () => Promise<void> {
  const registers = [registry];
  const states = new Gauge({
    name: 'brokergraph_clusters',
    help: 'Clusters by their state; degraded: it serves, and something is wrong; inactive: it does not serve',
    labelNames: ['state'],
    registers,
  });
  const nodes = new Gauge({
    name: 'brokergraph_cluster_nodes',
    help: 'Nodes of a cluster by whether they are reached',
    labelNames: ['cluster', 'reachable'],
    registers,
  });
  const lag = new Gauge({
    name: 'brokergraph_cluster_lag',
    help: 'Entries or changes that the node lacks which is the farthest behind, of those that tell',
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
