import { ServiceError } from '../../platform/errors.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerCluster } from '../brokers/broker-service.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import type { TopicNodes } from '../topic-tree/topic-view.ts';
import type { ClusterCache } from './cluster-cache.ts';
import type { ClusterRecord } from './model/cluster.ts';
import { hasClientsPerNode, nodesOfCluster } from './serving/cluster-nodes.ts';
import { unsupportedReason } from './serving/cluster-plugin.ts';

interface ClusterMembershipOptions {
  readonly cache: ClusterCache;
  readonly brokers: BrokerCache;
  readonly projects: ProjectCache;
}

/** What other domains ask about clusters: the cluster of a broker, and what the entry of a cluster cannot do. */
export class ClusterMembership {
  readonly #options: ClusterMembershipOptions;

  constructor(options: ClusterMembershipOptions) {
    this.#options = options;
  }

  /** The cluster that an entry represents or is a node of; `null` if there is none. */
  readonly clusterOf = (brokerId: string): BrokerCluster | null => {
    const entry = this.#options.cache.get(brokerId);
    const cluster = entry ?? this.#options.cache.ofNode(brokerId);
    if (cluster === null) return null;
    const isEntry = entry !== null;
    return { name: cluster.name, isEntry, isSentPasswords: !isEntry && this.storesPasswords(cluster) };
  };

  /** Whether the service stores passwords that are set on the cluster, and sends them to nodes that join. */
  readonly storesPasswords = ({ keeper, projectId }: ClusterRecord): boolean =>
    keeper === 'GATEWAY' && this.#options.projects.get(projectId)?.clusterPasswords === true;

  /** The nodes whose topics are merged; `null` if the broker does not represent such a cluster. */
  readonly topicNodesOf = ({ id }: BrokerRecord): TopicNodes | null => {
    const cluster = this.#options.cache.get(id);
    if (cluster === null || !hasClientsPerNode(cluster)) return null;
    return { refs: nodesOfCluster(this.#options, id), isMerged: cluster.mode !== 'HP' };
  };

  /** NOT_SUPPORTED_BY_BROKER if `feature`, which receives messages, is unavailable for a broker. */
  requireSupport({ id }: BrokerRecord, feature: string): void {
    const cluster = this.#options.cache.get(id);
    if (cluster === null || !hasClientsPerNode(cluster)) return;
    const reason = unsupportedReason(feature, nodesOfCluster(this.#options, id));
    throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason } });
  }
}
