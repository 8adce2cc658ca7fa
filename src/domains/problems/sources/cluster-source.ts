import { namedNodeId } from '../../../gateway/named-node-id.ts';
import { statement } from '../../../protocol/problems/problem-statements.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { ClusterCache } from '../../clusters/cluster-cache.ts';
import type { ClusterQueries } from '../../clusters/cluster-queries.ts';
import type { ClusterRecord, ClusterStatus, NodeStatus } from '../../clusters/model/cluster.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import { readEveryMs } from '../model/problem-kinds.ts';
import type { BrokerSource } from '../model/problem-source.ts';
import { PolledReadings } from './polled-readings.ts';

interface ClusterSourceOptions {
  readonly clusters: ClusterQueries;
  readonly cache: ClusterCache;
  readonly brokers: BrokerCache;
}

/**
 * Nodes of clusters, as facts about the entry of the cluster. The status of a cluster that brokers synchronize is asked
 * of its nodes.
 */
export function clusterSource({ clusters, cache, brokers }: ClusterSourceOptions): BrokerSource {
  const readings = new PolledReadings<ClusterStatus | null>({
    everyMs: readEveryMs('CLUSTER_NODE_DOWN'),
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
      const status = readings.of(broker.id);
      if (status === null) return null;
      const uncompared = new Set(status.nodes.filter(isUncompared).map((node) => nodeIdOf(broker, node)));
      return {
        facts: status.nodes.flatMap((node) => factsOf(broker, cluster, node)),
        isUnknown: ({ kind, subjectId }) => kind === 'CLUSTER_DRIFTED' && uncompared.has(subjectId ?? ''),
      };
    },
  };
}

const nodeIdOf = ({ id }: BrokerRecord, { nodeId }: NodeStatus): string =>
  namedNodeId({ kind: 'clusterNode', brokerId: id, name: String(nodeId) });

/** Whether it is not known if the node has other access control than the cluster. */
const isUncompared = ({ isReachable, sync }: NodeStatus): boolean =>
  sync !== null && (!isReachable || sync.state === 'UNKNOWN');

function factsOf(broker: BrokerRecord, { nodes }: ClusterRecord, node: NodeStatus): ProblemFact[] {
  const name = nodes.find(({ nodeId }) => nodeId === node.nodeId)?.name ?? String(node.nodeId);
  const about = {
    subjectId: nodeIdOf(broker, node),
    subjectName: name,
  };
  const named = { name, cluster: broker.name };
  if (!node.isReachable)
    return [{ kind: 'CLUSTER_NODE_DOWN', ...about, statements: [statement('NODE_UNREACHABLE', named)] }];
  if (node.sync?.state !== 'DRIFTED') return [];
  const drifted = statement('NODE_DRIFTED', { ...named, count: node.sync.differenceCount });
  return [{ kind: 'CLUSTER_DRIFTED', ...about, statements: [drifted] }];
}
