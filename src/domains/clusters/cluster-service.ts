import type { Logger } from 'pino';
import type { ClusterMode } from '../../generated/sqlite/client.ts';
import { invalid, notFound, ServiceError } from '../../platform/errors.ts';
import type { LeasedMutex } from '../../platform/scheduling/leased-mutex.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import { type Nullish, withoutNulls } from '../../platform/without-nulls.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import { passwordsNeedAdmin } from '../brokers/stored-secrets.ts';
import type { ClusterCache } from './cluster-cache.ts';
import type { ClusterDrivers } from './cluster-drivers.ts';
import {
  checkJoining,
  checkName,
  checkNodes,
  completeNode,
  type JoiningNode,
  type LeavingNode,
  leavingNode,
  type NodeInput,
  nodeData,
} from './cluster-input.ts';
import type { ClusterStore } from './cluster-store.ts';
import type { ClusterRecord, NewNode, NodeOutcome, RepairOptions } from './model/cluster.ts';

interface ClusterServiceOptions {
  readonly cache: ClusterCache;
  readonly store: ClusterStore;
  readonly brokers: BrokerCache;
  readonly drivers: ClusterDrivers;
  /** By cluster id: one change of the nodes at a time, over all processes. */
  readonly mutex: LeasedMutex;
  readonly sealer: Sealer;
  readonly storesPasswords: (cluster: ClusterRecord) => boolean;
  readonly log: Logger;
}

interface NewCluster {
  readonly name: string;
  readonly mode: ClusterMode;
  readonly nodes: readonly NodeInput[];
}

export interface DeletedCluster {
  readonly cluster: ClusterRecord;
  readonly outcomes: readonly NodeOutcome[];
}

/** `error` is `null` if the operation succeeded. */
export interface ClusterResult extends DeletedCluster {
  readonly error: ServiceError | null;
}

/** Synchronized clusters need one working node. Commercial clusters elect a leader, which needs three nodes. */
const LEAST_NODES = { BROKER: 3, GATEWAY: 2 } as const;

/**
 * Changes clusters. The rows of a cluster are written before its brokers are changed, so that no broker becomes a node
 * of two clusters, and are rolled back if a broker refuses. If the database fails after brokers were changed, the error
 * says what remains to do, and repeating the operation completes it.
 */
export class ClusterService {
  readonly #options: ClusterServiceOptions;

  constructor(options: ClusterServiceOptions) {
    this.#options = options;
  }

  /** Errors: INVALID, NOT_FOUND (the project), NOT_SUPPORTED_BY_BROKER, and those of brokers. */
  async create(projectId: string, { name, mode, nodes }: NewCluster): Promise<ClusterRecord> {
    const { drivers, store, brokers } = this.#options;
    checkName(name);
    checkNodes(projectId, nodes, LEAST_NODES.GATEWAY, this.#options);
    const keeper = await drivers.selectKeeper(mode, nodes);
    checkNodes(projectId, nodes, LEAST_NODES[keeper], this.#options);
    const sorted = nodes.map(nodeData).sort((one, other) => one.nodeId - other.nodeId);
    const [first] = sorted as [NewNode, ...NewNode[]];
    const like = brokers.get(first.brokerId);
    if (like === null) throw notFound('broker', first.brokerId);
    const made = await store.reserve(projectId, { name: name.trim(), mode, keeper, nodes: sorted }, like);
    const { id } = made;
    try {
      return await this.#runExclusive(id, async (cluster) => {
        await drivers.of(cluster).create(cluster);
        return this.#read(id);
      });
    } catch (error) {
      throw await this.#undoOr(error, () => store.remove(id), `"${made.name}" is listed until it is deleted`);
    }
  }

  /** Removes clusters whose creation was interrupted by the end of a process before any node was changed. */
  async removeIncomplete(): Promise<void> {
    const { cache, store, log } = this.#options;
    for (const { id } of cache.all().filter(isIncomplete)) {
      try {
        await this.#runExclusive(id, async (cluster) => {
          if (!isIncomplete(cluster)) return;
          await store.remove(id);
          log.warn({ clusterId: id, name: cluster.name }, 'removed a cluster whose creation was interrupted');
        });
      } catch (error) {
        // Another process is creating the cluster now, or has removed it.
        if (!(error instanceof ServiceError)) throw error;
      }
    }
  }

  /** Errors: as `create`; NOT_FOUND; NOT_ALLOWED if stored passwords would be sent without `by.mayControl`. */
  join(id: string, joining: JoiningNode, by: { readonly mayControl: boolean }): Promise<ClusterRecord> {
    const { drivers, store, brokers, storesPasswords } = this.#options;
    return this.#runExclusive(id, async (cluster) => {
      if (!by.mayControl && storesPasswords(cluster)) throw passwordsNeedAdmin(cluster.name);
      const node = completeNode(cluster, joining, brokers);
      checkJoining(cluster, node, this.#options);
      await drivers.checkNode(cluster, node);
      const { nodeId } = node;
      await store.addNode(id, node);
      try {
        const joined = await store.refresh(id);
        await drivers.of(joined).join(joined, nodeId);
      } catch (error) {
        const undo = () => store.removeNode(id, nodeId);
        throw await this.#undoOr(error, undo, `node ${nodeId} is listed until \`leaveCluster\` removes it`);
      }
      return this.#read(id);
    });
  }

  /** Errors: INVALID, NOT_FOUND, IN_USE (too few nodes), those of brokers. */
  leave(id: string, which: LeavingNode): Promise<ClusterRecord> {
    const { drivers, store, brokers } = this.#options;
    return this.#runExclusive(id, async (cluster) => {
      const { nodeId } = leavingNode(cluster, which, { brokers, least: LEAST_NODES[cluster.keeper] });
      await drivers.of(cluster).leave(cluster, nodeId);
      try {
        await store.removeNode(id, nodeId);
      } catch (error) {
        const what = `Node ${nodeId} has left, but the change could not be stored: repeat leaveCluster`;
        throw this.#storageError(error, what);
      }
      return this.#read(id);
    });
  }

  /** Errors: NOT_FOUND, NOT_ALLOWED, NOT_SUPPORTED_BY_BROKER (brokers synchronize themselves), those of the node. */
  async repair(id: string, nodeId: number, options: RepairOptions): Promise<ClusterRecord> {
    const cluster = this.#read(id);
    if (!cluster.nodes.some((node) => node.nodeId === nodeId)) throw notFound('node', String(nodeId));
    const { repair } = this.#options.drivers.of(cluster);
    if (repair === undefined) {
      const reason = 'The brokers of this cluster synchronize themselves';
      throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason } });
    }
    await repair(cluster, nodeId, options);
    return this.#read(id);
  }

  /** Changes only the given fields. The entry gets the same name. Errors: INVALID, NOT_FOUND. */
  async update(id: string, { name, autoRepair }: Nullish<Pick<ClusterRecord, 'name' | 'autoRepair'>>) {
    const { store } = this.#options;
    const cluster = this.#read(id);
    if (name != null) checkName(name);
    if (name != null && name.trim() !== cluster.name && cluster.keeper === 'BROKER') {
      const reason = 'cannot be changed: the brokers identify the cluster by its name';
      throw invalid([{ path: 'input.name', reason }]);
    }
    await store.change(id, withoutNulls({ name: name?.trim(), autoRepair }));
    return this.#read(id);
  }

  /**
   * `purge`: the rows are deleted even if a broker is not reachable. Errors: NOT_FOUND, INVALID (another name), and
   * without `purge` that of the first node that failed. `info.nodes` lists the failed nodes.
   */
  async remove(
    id: string,
    { name, purge }: { readonly name: string | null; readonly purge: boolean },
  ): Promise<DeletedCluster> {
    const { error, ...deleted } = await this.#runExclusive(id, async (cluster) => {
      if (name !== null && name !== cluster.name) {
        throw invalid([{ path: 'input.name', reason: 'is not the name of the cluster' }]);
      }
      return this.#dissolve(cluster, purge);
    });
    if (error !== null) throw error;
    return deleted;
  }

  /** Deletes all clusters of a project, in order of creation. Each deletion succeeds or fails separately. */
  async removeAll(projectId: string, { purge }: { readonly purge: boolean }): Promise<ClusterResult[]> {
    const results: ClusterResult[] = [];
    for (const cluster of this.#options.cache.ofProject(projectId)) {
      try {
        results.push(await this.#runExclusive(cluster.id, (now) => this.#dissolve(now, purge)));
      } catch (error) {
        // Another request deleted it in the meantime, or is deleting it.
        if (!(error instanceof ServiceError)) throw error;
        if (error.code !== 'NOT_FOUND') results.push({ cluster, outcomes: [], error });
      }
    }
    return results;
  }

  async #dissolve(cluster: ClusterRecord, purge: boolean): Promise<ClusterResult> {
    const outcomes = await this.#options.drivers.of(cluster).dissolve(cluster, { purge });
    const error = purge ? null : dissolveError(cluster, outcomes);
    if (error !== null) return { cluster, outcomes, error };
    try {
      await this.#options.store.remove(cluster.id);
      return { cluster, outcomes, error: null };
    } catch (failure) {
      const what = `The nodes of "${cluster.name}" were changed, but the change could not be stored: repeat deleteCluster`;
      return { cluster, outcomes, error: this.#storageError(failure, what) };
    }
  }

  /** Runs `work` with the stored cluster, one at a time. Errors: NOT_FOUND, and those of LeasedMutex. */
  #runExclusive<T>(id: string, work: (cluster: ClusterRecord) => Promise<T>): Promise<T> {
    const { mutex, cache } = this.#options;
    return mutex.run(id, async () => {
      const cluster = await cache.refresh(id);
      if (cluster === null) throw notFound('cluster', id);
      return work(cluster);
    });
  }

  /** Rolls back with `undo` and returns `error`. If the rollback fails, the returned error says what remains. */
  async #undoOr(error: unknown, undo: () => Promise<unknown>, left: string): Promise<unknown> {
    try {
      await undo();
      return error;
    } catch (failure) {
      // Another request rolled it back, or nothing was stored.
      if (failure instanceof ServiceError && failure.code === 'NOT_FOUND') return error;
      const { code, message, info } = error instanceof ServiceError ? error : this.#storageError(error, 'It failed');
      const what = `${message.replace(/\.$/, '')}; the change could not be rolled back: ${left}`;
      return this.#storageError(failure, what, { code, info });
    }
  }

  /** Logs a failure of the database, and returns the error for the caller. */
  #storageError(
    failure: unknown,
    message: string,
    { code, info }: Pick<ServiceError, 'code' | 'info'> = { code: 'INTERNAL_ERROR', info: undefined },
  ): ServiceError {
    this.#options.log.error({ err: failure }, 'could not store a change of a cluster');
    return new ServiceError(code, message, { cause: failure, ...(info === undefined ? {} : { info }) });
  }

  #read(id: string): ClusterRecord {
    const cluster = this.#options.cache.get(id);
    if (cluster === null) throw notFound('cluster', id);
    return cluster;
  }
}

/** The document is stored before nodes are changed. Commercial brokers report their state themselves. */
const isIncomplete = ({ keeper, document }: ClusterRecord): boolean => keeper === 'GATEWAY' && document === null;

function dissolveError({ name }: ClusterRecord, outcomes: readonly NodeOutcome[]): ServiceError | null {
  const nodes = outcomes.flatMap(({ nodeId, brokerId, error }) =>
    error === null ? [] : [{ nodeId, brokerId, code: error.code, error: error.message }],
  );
  const [first] = nodes;
  if (first === undefined) return null;
  const done = outcomes.flatMap(({ nodeId, error, isSkipped }) => (error === null && !isSkipped ? [nodeId] : []));
  const what =
    done.length === 0
      ? `"${name}" is unchanged, because node ${first.nodeId} failed`
      : `"${name}" was dissolved on node ${done.join(', ')} only`;
  return new ServiceError(first.code, `${what}: ${first.error}`, { info: { nodes } });
}
