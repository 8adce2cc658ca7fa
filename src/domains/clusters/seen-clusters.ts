import {
  type ProjectRole,
  requireProjectRole,
  requireSignedIn,
  seesBroker,
  type Viewer,
} from '../../platform/auth/viewer.ts';
import { notFound, OutOfSight } from '../../platform/errors.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { ClusterDirectory } from './cluster-directory.ts';
import type { ClusterKeepers } from './cluster-keepers.ts';
import type { ClusterNodeRecord, ClusterRecord } from './model/cluster.ts';
import type { ClusterStatus } from './model/cluster-status.ts';

export interface SeenClustersOptions {
  readonly directory: ClusterDirectory;
  readonly keepers: ClusterKeepers;
  /** The entry of the node by which a cluster is reached. */
  readonly reachedBy: (cluster: ClusterRecord) => string | null;
}

/** A node, with its cluster. */
export interface PlacedNode {
  readonly cluster: ClusterRecord;
  readonly node: ClusterNodeRecord;
}

/** The clusters of projects as people see them, and how they are. */
export class SeenClusters {
  readonly #options: SeenClustersOptions;

  constructor(options: SeenClustersOptions) {
    this.#options = options;
  }

  /** If the viewer sees the entry that stands for it. Errors: UNAUTHORIZED, NOT_FOUND, NOT_ALLOWED. */
  visible(id: string, viewer: Viewer | null, role: ProjectRole = 'VIEWER', projectId?: string | null): ClusterRecord {
    const known = requireSignedIn(viewer);
    const cluster = this.#options.directory.get(id);
    if (cluster === null) throw notFound('cluster', id);
    if (!seesBroker(known, cluster)) throw new OutOfSight('cluster', id);
    if (projectId != null && cluster.projectId !== projectId) throw notFound('cluster', id);
    requireProjectRole(known, cluster.projectId, role);
    return cluster;
  }

  /** In order of creation. */
  visibleIn(projectId: string, viewer: Viewer | null): readonly ClusterRecord[] {
    const clusters = this.#options.directory.ofProject(projectId);
    const only = viewer?.brokers;
    return only ? clusters.filter(({ id }) => only.has(id)) : clusters;
  }

  /** The cluster that an entry stands for, or is a node of, for those who see it. */
  around({ id }: BrokerRecord, viewer: Viewer | null): ClusterRecord | null {
    const { directory } = this.#options;
    const cluster = directory.get(id) ?? directory.ofNode(id);
    return cluster !== null && seesBroker(requireSignedIn(viewer), cluster) ? cluster : null;
  }

  /** The node that an entry is, or by which the cluster is reached that it stands for, for those who see the cluster. */
  nodeAround(broker: BrokerRecord, viewer: Viewer | null): PlacedNode | null {
    const cluster = this.around(broker, viewer);
    if (cluster === null) return null;
    const brokerId = cluster.id === broker.id ? this.#options.reachedBy(cluster) : broker.id;
    const node = cluster.nodes.find((one) => one.brokerId === brokerId);
    return node === undefined ? null : { cluster, node };
  }

  /** Of all clusters, by id; without those that cannot be asked. */
  async statuses(): Promise<ReadonlyMap<string, ClusterStatus>> {
    const found = new Map<string, ClusterStatus>();
    const read = async (cluster: ClusterRecord) => found.set(cluster.id, await this.status(cluster));
    await Promise.allSettled(this.#options.directory.all().map(read));
    return found;
  }

  status(cluster: ClusterRecord): Promise<ClusterStatus> {
    return this.#options.keepers.of(cluster).status(cluster);
  }
}
