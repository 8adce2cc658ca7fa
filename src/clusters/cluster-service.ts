import {
  type ProjectRole,
  requireProjectRole,
  requireSignedIn,
  requireWholeProject,
  seesBroker,
  type Viewer,
} from '../auth/viewer.ts';
import type { BrokerDirectory, BrokerRecord } from '../brokers/broker-directory.ts';
import type { BrokerService } from '../brokers/broker-service.ts';
import { notFound, ServiceError } from '../errors.ts';
import type { ClusterMode } from '../generated/sqlite/client.ts';
import type { Database } from '../storage/database.ts';
import { goneMeansNotFound, isUniqueViolation } from '../storage/prisma-errors.ts';
import type { Sealer } from '../storage/sealed.ts';
import type { ClusterDirectory } from './cluster-directory.ts';
import { checkJoining, checkName, checkNodes, type NodeInput } from './cluster-input.ts';
import type { ClusterKeepers } from './cluster-keepers.ts';
import type { ClusterRecord, NewNode } from './model/cluster.ts';
import type { NodeOutcome } from './model/cluster-driver.ts';
import type { ClusterStatus } from './model/cluster-status.ts';

export interface ClusterServiceOptions {
  readonly db: Database;
  readonly directory: ClusterDirectory;
  readonly brokers: BrokerService;
  readonly brokerDirectory: BrokerDirectory;
  readonly keepers: ClusterKeepers;
  readonly sealer: Sealer;
}

export interface NewCluster {
  readonly name: string;
  readonly mode: ClusterMode;
  readonly nodes: readonly NodeInput[];
}

export interface DeletedCluster {
  readonly cluster: ClusterRecord;
  readonly outcomes: readonly NodeOutcome[];
  /** Its rows are gone; false: nothing was changed. */
  readonly isDeleted: boolean;
}

/** A cluster serves as long as one node does; commercial ones vote, and need three. */
const LEAST_NODES = { BROKER: 3, GATEWAY: 2 } as const;

/**
 * The clusters of projects. What a cluster is stands in rows, written before its brokers are told, so that no broker gets into two
 * clusters at once, and taken back where they refuse.
 */
export class ClusterService {
  readonly #options: ClusterServiceOptions;

  constructor(options: ClusterServiceOptions) {
    this.#options = options;
  }

  /** If the viewer sees the entry that stands for it. Errors: UNAUTHORIZED, NOT_FOUND, NOT_ALLOWED. */
  visible(id: string, viewer: Viewer | null, role: ProjectRole = 'VIEWER', projectId?: string | null): ClusterRecord {
    const known = requireSignedIn(viewer);
    const cluster = this.#options.directory.get(id);
    if (cluster === null || !seesBroker(known, cluster)) throw notFound('cluster', id);
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

  /** The cluster that a broker is a node of, for those who see it. */
  ofNode(broker: BrokerRecord, viewer: Viewer | null): ClusterRecord | null {
    const cluster = this.#options.directory.ofNode(broker.id);
    return cluster !== null && seesBroker(requireSignedIn(viewer), cluster) ? cluster : null;
  }

  status(cluster: ClusterRecord): Promise<ClusterStatus> {
    return this.#options.keepers.of(cluster).status(cluster);
  }

  /** Errors: INVALID, NOT_FOUND (the project), NOT_SUPPORTED_BY_BROKER, and those of brokers that refuse or cannot be asked. */
  async create(projectId: string, viewer: Viewer | null, { name, mode, nodes }: NewCluster): Promise<ClusterRecord> {
    requireWholeProject(requireSignedIn(viewer));
    const { keepers, brokerDirectory } = this.#options;
    checkName(name);
    checkNodes(projectId, nodes, LEAST_NODES.GATEWAY, this.#known);
    const keeper = await keepers.keeperFor(mode, nodes);
    checkNodes(projectId, nodes, LEAST_NODES[keeper], this.#known);
    const sorted = nodes.map(withoutConnection).toSorted((one, other) => one.nodeId - other.nodeId);
    const [first] = sorted as [NewNode, ...NewNode[]];
    const like = brokerDirectory.get(first.brokerId);
    if (like === null) throw notFound('broker', first.brokerId);
    const cluster = await this.#reserve(projectId, { name: name.trim(), mode, keeper, nodes: sorted }, like);
    try {
      await keepers.of(cluster).create(cluster);
    } catch (error) {
      await this.#remove(cluster.id);
      throw error;
    }
    return this.#read(cluster.id);
  }

  /** Errors: as `create`; NOT_FOUND. */
  async join(id: string, node: NodeInput): Promise<ClusterRecord> {
    const { directory, keepers, db } = this.#options;
    const cluster = directory.get(id);
    if (cluster === null) throw notFound('cluster', id);
    checkJoining(cluster, node, this.#known);
    await keepers.checkNode(cluster, node);
    const { nodeId, brokerId, name, address, port } = node;
    await db.clusterNode
      .create({ data: { clusterId: id, nodeId, brokerId, name: name.trim(), address: address.trim(), port } })
      .catch(takenNode)
      .catch(goneMeansNotFound('cluster', id));
    const joined = await directory.written(id);
    if (joined === null) throw notFound('cluster', id);
    try {
      await keepers.of(joined).join(joined, nodeId);
    } catch (error) {
      await db.clusterNode.deleteMany({ where: { clusterId: id, nodeId } });
      await directory.written(id);
      throw error;
    }
    return this.#read(id);
  }

  /** The node whose entry is given, or that has the number. Errors: NOT_FOUND, IN_USE (the last two), and those of brokers. */
  async leave(
    id: string,
    which: { readonly nodeId?: number | null; readonly brokerId?: string | null },
  ): Promise<ClusterRecord> {
    const { directory, keepers, db } = this.#options;
    const cluster = directory.get(id);
    if (cluster === null) throw notFound('cluster', id);
    const { nodeId, brokerId } = which;
    const node = cluster.nodes.find(
      (one) =>
        (nodeId != null || brokerId != null) &&
        (nodeId == null || one.nodeId === nodeId) &&
        (brokerId == null || one.brokerId === brokerId),
    );
    if (node === undefined) throw notFound('node', String(nodeId ?? brokerId));
    if (cluster.nodes.length <= LEAST_NODES[cluster.keeper]) {
      const least = LEAST_NODES[cluster.keeper];
      throw new ServiceError(
        'IN_USE',
        `A cluster needs ${least} nodes: delete "${cluster.name}", or let another node join first`,
      );
    }
    await keepers.of(cluster).leave(cluster, node.nodeId);
    await db.clusterNode.deleteMany({ where: { clusterId: id, nodeId: node.nodeId } });
    await directory.written(id);
    return this.#read(id);
  }

  /** Only what is given changes. Errors: INVALID, NOT_FOUND. */
  async update(
    id: string,
    change: { readonly name?: string | null | undefined; readonly autoRepair?: boolean | null | undefined },
  ): Promise<ClusterRecord> {
    const { db, directory } = this.#options;
    const { name, autoRepair } = change;
    if (name != null) checkName(name);
    const data = {
      ...(name == null ? {} : { name: name.trim() }),
      ...(autoRepair == null ? {} : { autoRepair }),
    };
    await db.cluster.update({ where: { id }, data }).catch(goneMeansNotFound('cluster', id));
    await directory.written(id);
    return this.#read(id);
  }

  /** `purge`: its rows go also where brokers could not be told. Errors: NOT_FOUND. */
  async remove(id: string, { purge }: { readonly purge: boolean }): Promise<DeletedCluster> {
    const { directory, keepers } = this.#options;
    const cluster = directory.get(id);
    if (cluster === null) throw notFound('cluster', id);
    const outcomes = await keepers.of(cluster).dissolve(cluster, { purge });
    const isDeleted = purge || outcomes.every(({ error }) => error === null);
    if (isDeleted) await this.#remove(id);
    return { cluster, outcomes, isDeleted };
  }

  get #known() {
    const { brokerDirectory: brokers, directory: clusters, sealer } = this.#options;
    return { brokers, clusters, sealer };
  }

  async #reserve(
    projectId: string,
    { nodes, ...cluster }: Pick<ClusterRecord, 'name' | 'mode' | 'keeper'> & { readonly nodes: readonly NewNode[] },
    like: BrokerRecord,
  ): Promise<ClusterRecord> {
    const { db, brokers } = this.#options;
    const entry = await db
      .$transaction(async (tx) => {
        const made = await brokers.createClusterEntry(tx, projectId, { ...cluster, like });
        await tx.cluster.create({ data: { ...cluster, id: made.id, nodes: { create: [...nodes] } } });
        return made;
      })
      .catch(takenNode)
      .catch(goneMeansNotFound('project', projectId));
    // The cluster first: a runtime that is opened for the entry asks for it.
    const record = await this.#options.directory.written(entry.id);
    await brokers.announce(entry);
    if (record === null) throw notFound('cluster', entry.id);
    return record;
  }

  /** With the entry go the rows of the cluster. */
  async #remove(id: string): Promise<void> {
    await this.#options.brokers.remove(id);
    await this.#options.directory.written(id);
  }

  #read(id: string): ClusterRecord {
    const cluster = this.#options.directory.get(id);
    if (cluster === null) throw notFound('cluster', id);
    return cluster;
  }
}

const withoutConnection = ({ nodeId, brokerId, name, address, port }: NodeInput): NewNode => ({
  nodeId,
  brokerId,
  name: name.trim(),
  address: address.trim(),
  port,
});

function takenNode(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new ServiceError('IN_USE', 'One of the brokers became a node of a cluster meanwhile', { cause: error });
}
