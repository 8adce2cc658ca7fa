import { namedNodeId } from '../../../gateway/named-node-id.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { ClusterCache } from '../../clusters/cluster-cache.ts';
import type { ClusterQueries } from '../../clusters/cluster-queries.ts';
import type { ClusterRecord, ClusterStatus, NodeStatus } from '../../clusters/model/cluster.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import type { BrokerSource } from '../model/problem-source.ts';
import { PolledReadings } from './polled-readings.ts';

interface ClusterSourceOptions {
  readonly clusters: ClusterQueries;
  readonly cache: ClusterCache;
  readonly brokers: BrokerCache;
}

/** The status of a cluster that brokers synchronize is asked of its nodes. */
const READ_MS = 4_000;

/** Nodes of clusters, as facts about the entry of the cluster. */
export function clusterSource({ clusters, cache, brokers }: ClusterSourceOptions): BrokerSource {
  const readings = new PolledReadings<ClusterStatus | null>({
    everyMs: READ_MS,
    read: async ({ id }) => {
      const cluster = cache.get(id);
      return cluster && clusters.status(cluster);
    },
  });
  return {
    kinds: ['CLUSTER_NODE_DOWN', 'CLUSTER_DRIFTED'],
    refresh: () => readings.refresh(cache.all().flatMap(({ id }) => brokers.get(id) ?? [])),
    of: (broker) => {
      const cluster = cache.get(broker.id);
      if (cluster === null) return [];
      return readings.of(broker.id)?.nodes.flatMap((node) => factsOf(broker, cluster, node)) ?? null;
    },
  };
}

function factsOf(broker: BrokerRecord, { nodes }: ClusterRecord, node: NodeStatus): ProblemFact[] {
  const name = nodes.find(({ nodeId }) => nodeId === node.nodeId)?.name ?? String(node.nodeId);
  const about = {
    subjectId: namedNodeId({ kind: 'clusterNode', brokerId: broker.id, name: String(node.nodeId) }),
    subjectName: name,
  };
  const named = `The node "${name}" of the cluster "${broker.name}"`;
  if (!node.isReachable) return [{ kind: 'CLUSTER_NODE_DOWN', ...about, detail: `${named} cannot be reached.` }];
  if (node.sync?.state !== 'DRIFTED') return [];
  const detail = `${named} has other access control than the cluster. Differences: ${node.sync.differenceCount}.`;
  return [{ kind: 'CLUSTER_DRIFTED', ...about, detail }];
}
