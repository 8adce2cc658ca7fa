import { swapClusterId } from '../../gateway/cluster-id.ts';
import type { Prisma } from '../../generated/sqlite/client.ts';
import {
  type ProjectRole,
  requireProjectRole,
  requireSignedIn,
  seesBroker,
  type Viewer,
} from '../../platform/auth/viewer.ts';
import { notFound, OutOfSight } from '../../platform/errors.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { ClusterCache } from './cluster-cache.ts';
import type { ClusterDrivers } from './cluster-drivers.ts';
import type { ContactNodes } from './contact-nodes.ts';
import type { ClusterRecord, ClusterStatus } from './model/cluster.ts';

interface ClusterQueriesOptions {
  readonly cache: ClusterCache;
  readonly drivers: ClusterDrivers;
  readonly contactNodes: ContactNodes;
}

export class ClusterQueries {
  readonly #options: ClusterQueriesOptions;

  constructor(options: ClusterQueriesOptions) {
    this.#options = options;
  }

  /** By the id of the entry, which the viewer may see. Errors: UNAUTHORIZED, NOT_FOUND, NOT_ALLOWED. */
  visible(id: string, viewer: Viewer | null, role: ProjectRole = 'VIEWER', projectId?: string | null): ClusterRecord {
    const known = requireSignedIn(viewer);
    const cluster = this.#options.cache.get(id);
    if (cluster === null) throw notFound('cluster', id);
    if (!seesBroker(known, cluster)) throw new OutOfSight('cluster', id, swapClusterId(id));
    if (projectId != null && cluster.projectId !== projectId) throw notFound('cluster', id);
    requireProjectRole(known, cluster.projectId, role);
    return cluster;
  }

  visibleIn(projectId: string, viewer: Viewer | null): readonly ClusterRecord[] {
    const clusters = this.#options.cache.ofProject(projectId);
    const only = viewer?.brokers;
    return only ? clusters.filter(({ id }) => only.has(id)) : clusters;
  }

  /** The cluster that an entry represents or is a node of. `null` if there is none or the viewer may not see it. */
  ofBroker({ id }: BrokerRecord, viewer: Viewer | null): ClusterRecord | null {
    const { cache } = this.#options;
    const cluster = cache.get(id) ?? cache.ofNode(id);
    return cluster !== null && seesBroker(requireSignedIn(viewer), cluster) ? cluster : null;
  }

  /** The cluster of a broker and its nodes, which have the same access control. Without a cluster, none. */
  brokerIdsTogether(broker: BrokerRecord, viewer: Viewer | null): readonly string[] {
    const cluster = this.ofBroker(broker, viewer);
    return cluster === null ? [] : [cluster.id, ...cluster.nodes.map(({ brokerId }) => brokerId)];
  }

  /** The node that an entry is, or the contact node of the cluster that it represents. `null` if there is none. */
  nodeOf(broker: BrokerRecord, viewer: Viewer | null) {
    const cluster = this.ofBroker(broker, viewer);
    if (cluster === null) return null;
    const brokerId = cluster.id === broker.id ? this.#options.contactNodes.of(cluster) : broker.id;
    const node = cluster.nodes.find((one) => one.brokerId === brokerId);
    return node === undefined ? null : { cluster, node };
  }

  async statuses(): Promise<ReadonlyMap<string, ClusterStatus>> {
    const found = new Map<string, ClusterStatus>();
    const read = async (cluster: ClusterRecord) => found.set(cluster.id, await this.status(cluster));
    await Promise.allSettled(this.#options.cache.all().map(read));
    return found;
  }

  status(cluster: ClusterRecord): Promise<ClusterStatus> {
    return this.#options.drivers.of(cluster).status(cluster);
  }
}

/** The clusters of a project whose entries the viewer may see. */
export const visibleClusters = (projectId: string, viewer: Viewer | null): Prisma.ClusterWhereInput => ({
  broker: { projectId },
  ...(viewer?.brokers && { id: { in: [...viewer.brokers] } }),
});
