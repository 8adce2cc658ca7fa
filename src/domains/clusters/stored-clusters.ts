import { notFound, ServiceError } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import { goneMeansNotFound, isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerService } from '../brokers/broker-service.ts';
import type { ClusterDirectory } from './cluster-directory.ts';
import type { ClusterRecord, NewNode } from './model/cluster.ts';

export interface StoredClustersOptions {
  readonly db: Database;
  readonly directory: ClusterDirectory;
  readonly brokers: BrokerService;
}

/** The rows of clusters, with the broker entries that stand for them: what is written here is known to everybody when it resolves. */
export class StoredClusters {
  readonly #options: StoredClustersOptions;

  constructor(options: StoredClustersOptions) {
    this.#options = options;
  }

  /** The cluster and the entry that stands for it. Errors: IN_USE (a broker became a node of another one), NOT_FOUND (the project). */
  async reserve(
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
    try {
      // The cluster first: a runtime that is opened for the entry asks for it.
      const record = await this.told(entry.id);
      await brokers.announce(entry);
      return record;
    } catch (error) {
      // Nobody knows of it.
      await this.remove(entry.id).catch(() => undefined);
      throw error;
    }
  }

  /** To be told. Errors: IN_USE (the broker became a node of another cluster), NOT_FOUND (the cluster). */
  async addNode(clusterId: string, { nodeId, brokerId, name, address, port }: NewNode): Promise<void> {
    const data = { clusterId, nodeId, brokerId, name: name.trim(), address: address.trim(), port };
    await this.#options.db.clusterNode.create({ data }).catch(takenNode).catch(goneMeansNotFound('cluster', clusterId));
  }

  /** One that is not there any more is none to remove. */
  async removeNode(clusterId: string, nodeId: number): Promise<void> {
    await this.#options.db.clusterNode.deleteMany({ where: { clusterId, nodeId } });
    await this.#options.directory.written(clusterId);
  }

  /** As it is stored, for everybody. Errors: NOT_FOUND. */
  async told(id: string): Promise<ClusterRecord> {
    const record = await this.#options.directory.written(id);
    if (record === null) throw notFound('cluster', id);
    return record;
  }

  /** Only what is given; the entry has the name of its cluster. Errors: NOT_FOUND. */
  async change(id: string, change: { readonly name?: string; readonly autoRepair?: boolean }): Promise<void> {
    const { db, brokers } = this.#options;
    const { name } = change;
    const entry = await db
      .$transaction(async (tx) => {
        await tx.cluster.update({ where: { id }, data: change });
        return name === undefined ? null : brokers.renameClusterEntry(tx, id, name);
      })
      .catch(goneMeansNotFound('cluster', id));
    await this.told(id);
    if (entry !== null) await brokers.announce(entry);
  }

  /** With the entry go the rows of the cluster. Errors: NOT_FOUND. */
  async remove(id: string): Promise<void> {
    await this.#options.brokers.removeClusterEntry(id);
    await this.#options.directory.written(id);
  }
}

function takenNode(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new ServiceError('IN_USE', 'One of the brokers became a node of a cluster meanwhile', { cause: error });
}
