import { notFound, ServiceError } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isUniqueViolation, missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerService } from '../brokers/broker-service.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { nodeData } from './cluster-input.ts';
import type { ClusterRecord, NewNode } from './model/cluster.ts';

interface ClusterStoreOptions {
  readonly db: Database;
  readonly cache: ClusterCache;
  readonly brokers: BrokerService;
}

/** Stores clusters with the broker entries that represent them. Methods resolve after all processes were notified. */
export class ClusterStore {
  readonly #options: ClusterStoreOptions;

  constructor(options: ClusterStoreOptions) {
    this.#options = options;
  }

  /** Errors: IN_USE (a broker is a node of another cluster), NOT_FOUND (the project). */
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
      .catch(toInUse)
      .catch(missingAsNotFound('project', projectId));
    try {
      // Announces the cluster first: a runtime that is opened for the entry looks it up.
      const record = await this.refresh(entry.id);
      await brokers.announce(entry);
      return record;
    } catch (error) {
      // No other process knows the cluster yet.
      await this.remove(entry.id).catch(() => undefined);
      throw error;
    }
  }

  /** The caller must then call `refresh`. Errors: IN_USE (another cluster has the broker), NOT_FOUND (the cluster). */
  async addNode(clusterId: string, node: NewNode): Promise<void> {
    const data = { clusterId, ...nodeData(node) };
    await this.#options.db.clusterNode.create({ data }).catch(toInUse).catch(missingAsNotFound('cluster', clusterId));
  }

  async removeNode(clusterId: string, nodeId: number): Promise<void> {
    await this.#options.db.clusterNode.deleteMany({ where: { clusterId, nodeId } });
    await this.#options.cache.refreshAndAnnounce(clusterId);
  }

  async refresh(id: string): Promise<ClusterRecord> {
    const record = await this.#options.cache.refreshAndAnnounce(id);
    if (record === null) throw notFound('cluster', id);
    return record;
  }

  /** Changes only the given fields. The entry gets the name of its cluster. Errors: NOT_FOUND. */
  async change(id: string, change: { readonly name?: string; readonly autoRepair?: boolean }): Promise<void> {
    const { db, brokers } = this.#options;
    const { name } = change;
    const entry = await db
      .$transaction(async (tx) => {
        await tx.cluster.update({ where: { id }, data: change });
        return name === undefined ? null : brokers.renameClusterEntry(tx, id, name);
      })
      .catch(missingAsNotFound('cluster', id));
    await this.refresh(id);
    if (entry !== null) await brokers.announce(entry);
  }

  /** Deletes the entry, and with it the rows of the cluster. Errors: NOT_FOUND. */
  async remove(id: string): Promise<void> {
    await this.#options.brokers.removeClusterEntry(id);
    await this.#options.cache.refreshAndAnnounce(id);
  }
}

function toInUse(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw new ServiceError('IN_USE', 'One of the brokers became a node of a cluster in the meantime', { cause: error });
}
