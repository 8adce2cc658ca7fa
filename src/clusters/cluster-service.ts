import { type ProjectRole, requireProjectRole, requireSignedIn, seesBroker, type Viewer } from '../auth/viewer.ts';
import type { BrokerDirectory, BrokerRecord } from '../brokers/broker-directory.ts';
import type { BrokerService } from '../brokers/broker-service.ts';
import { invalid, notFound, ServiceError } from '../errors.ts';
import type { ClusterMode } from '../generated/sqlite/client.ts';
import type { Database } from '../storage/database.ts';
import { goneMeansNotFound, isUniqueViolation } from '../storage/prisma-errors.ts';
import type { Sealer } from '../storage/sealed.ts';
import type { ClusterDirectory } from './cluster-directory.ts';
import { checkJoining, checkName, checkNodes, type NodeInput, sameAddress } from './cluster-input.ts';
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
  /** As it was. */
  readonly cluster: ClusterRecord;
  /** By number of the node. */
  readonly outcomes: readonly NodeOutcome[];
}

/** One of several clusters that something was done to; null: it was done. */
export interface ClusterResult extends DeletedCluster {
  readonly error: ServiceError | null;
}

/** What is told of a node that is to join; the rest follows from the cluster and the broker's entry. */
export type JoiningNode = { readonly [Key in keyof NodeInput]?: NodeInput[Key] | null | undefined };

/** Which node leaves. */
export interface LeavingNode {
  readonly nodeId?: number | null | undefined;
  readonly brokerId?: string | null | undefined;
  readonly url?: string | null | undefined;
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

  /** The cluster that an entry stands for, or is a node of, for those who see it. */
  around({ id }: BrokerRecord, viewer: Viewer | null): ClusterRecord | null {
    const { directory } = this.#options;
    const cluster = directory.get(id) ?? directory.ofNode(id);
    return cluster !== null && seesBroker(requireSignedIn(viewer), cluster) ? cluster : null;
  }

  status(cluster: ClusterRecord): Promise<ClusterStatus> {
    return this.#options.keepers.of(cluster).status(cluster);
  }

  /** Errors: INVALID, NOT_FOUND (the project), NOT_SUPPORTED_BY_BROKER, and those of brokers that refuse or cannot be asked. */
  async create(projectId: string, { name, mode, nodes }: NewCluster): Promise<ClusterRecord> {
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
  async join(id: string, joining: JoiningNode): Promise<ClusterRecord> {
    const { directory, keepers, db, brokerDirectory } = this.#options;
    const cluster = this.#read(id);
    const node = completed(cluster, joining, brokerDirectory);
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

  /** The node that all describes which is given. Errors: INVALID, NOT_FOUND, IN_USE (the last two), and those of brokers. */
  async leave(id: string, which: LeavingNode): Promise<ClusterRecord> {
    const { directory, keepers, db, brokerDirectory } = this.#options;
    const cluster = this.#read(id);
    const { nodeId, brokerId, url } = which;
    if (nodeId == null && brokerId == null && url == null) {
      throw invalid([{ path: 'input.nodeId', reason: 'is needed, or the broker of the node, or its url' }]);
    }
    const node = cluster.nodes.find(
      (one) =>
        (nodeId == null || one.nodeId === nodeId) &&
        (brokerId == null || one.brokerId === brokerId) &&
        (url == null || sameAddress(url, brokerDirectory.get(one.brokerId)?.url ?? null)),
    );
    if (node === undefined) throw notFound('node', String(nodeId ?? brokerId ?? url));
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

  /** Errors: NOT_FOUND, NOT_SUPPORTED_BY_BROKER (the brokers keep it themselves), those of the node. */
  async repair(id: string, nodeId: number, { adopt }: { readonly adopt: boolean }): Promise<ClusterRecord> {
    const cluster = this.#read(id);
    if (!cluster.nodes.some((node) => node.nodeId === nodeId)) throw notFound('node', String(nodeId));
    const { repair } = this.#options.keepers.of(cluster);
    if (repair === undefined) {
      const reason = 'The brokers of this cluster keep themselves equal';
      throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason } });
    }
    await repair(cluster, nodeId, { adopt });
    return this.#read(id);
  }

  /** Only what is given changes. Errors: INVALID, NOT_FOUND. */
  async update(
    id: string,
    change: { readonly name?: string | null | undefined; readonly autoRepair?: boolean | null | undefined },
  ): Promise<ClusterRecord> {
    const { db, directory } = this.#options;
    const { name, autoRepair } = change;
    const cluster = this.#read(id);
    if (name != null) checkName(name);
    if (name != null && name.trim() !== cluster.name && cluster.keeper === 'BROKER') {
      throw invalid([{ path: 'input.name', reason: 'cannot be changed: its brokers know the cluster by it' }]);
    }
    const data = {
      ...(name == null ? {} : { name: name.trim() }),
      ...(autoRepair == null ? {} : { autoRepair }),
    };
    await db.cluster.update({ where: { id }, data }).catch(goneMeansNotFound('cluster', id));
    await directory.written(id);
    return this.#read(id);
  }

  /**
   * `purge`: its rows go also where brokers could not be told. Errors: NOT_FOUND, INVALID (another name), and without `purge` that of the
   * first node that could not be told: nothing was done then, and `info.nodes` says which.
   */
  async remove(
    id: string,
    { name, purge }: { readonly name: string | null; readonly purge: boolean },
  ): Promise<DeletedCluster> {
    const cluster = this.#read(id);
    if (name !== null && name !== cluster.name) {
      throw invalid([{ path: 'input.name', reason: 'is not that of the cluster' }]);
    }
    const { error, ...deleted } = await this.#dissolve(cluster, purge);
    if (error !== null) throw error;
    return deleted;
  }

  /** All of a project, in order of creation; each is done or fails by itself. */
  async removeAll(projectId: string, { purge }: { readonly purge: boolean }): Promise<ClusterResult[]> {
    const results: ClusterResult[] = [];
    for (const cluster of this.#options.directory.ofProject(projectId)) {
      results.push(await this.#dissolve(cluster, purge));
    }
    return results;
  }

  async #dissolve(cluster: ClusterRecord, purge: boolean): Promise<ClusterResult> {
    try {
      const outcomes = await this.#options.keepers.of(cluster).dissolve(cluster, { purge });
      const error = purge ? null : notDissolved(cluster, outcomes);
      if (error === null) await this.#remove(cluster.id);
      return { cluster, outcomes, error };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return { cluster, outcomes: [], error };
    }
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
    await this.#options.brokers.removeClusterEntry(id);
    await this.#options.directory.written(id);
  }

  #read(id: string): ClusterRecord {
    const cluster = this.#options.directory.get(id);
    if (cluster === null) throw notFound('cluster', id);
    return cluster;
  }
}

/** Null: every node was told. */
function notDissolved({ name }: ClusterRecord, outcomes: readonly NodeOutcome[]): ServiceError | null {
  const nodes = outcomes.flatMap(({ nodeId, brokerId, error }) =>
    error === null ? [] : [{ nodeId, brokerId, code: error.code, error: error.message }],
  );
  const [first] = nodes;
  if (first === undefined) return null;
  const done = outcomes.flatMap(({ nodeId, error, isSkipped }) => (error === null && !isSkipped ? [nodeId] : []));
  const what =
    done.length === 0
      ? `"${name}" stays as it is, for node ${first.nodeId} cannot be told`
      : `"${name}" was dissolved on node ${done.join(', ')} only`;
  return new ServiceError(first.code, `${what}: ${first.error}`, { info: { nodes } });
}

/** Errors: INVALID (no broker is named). */
function completed({ projectId, nodes }: ClusterRecord, node: JoiningNode, brokers: BrokerDirectory): NodeInput {
  const broker =
    node.brokerId == null
      ? brokers.ofProject(projectId).find(({ url, ha }) => node.url != null && sameAddress(node.url, url) && !ha)
      : brokers.get(node.brokerId);
  if (node.brokerId == null && broker == null) {
    throw invalid([{ path: 'input.brokerId', reason: 'is needed, or the url of a broker of the project' }]);
  }
  const host = broker?.url == null ? '' : new URL(broker.url).hostname;
  return {
    ...node,
    brokerId: broker?.id ?? node.brokerId ?? '',
    nodeId: node.nodeId ?? Math.max(0, ...nodes.map(({ nodeId }) => nodeId)) + 1,
    name: node.name ?? broker?.name ?? '',
    address: node.address ?? host,
    port: node.port ?? nodes[0]?.port ?? 0,
  };
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
