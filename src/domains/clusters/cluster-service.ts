import type { Logger } from 'pino';
import type { ClusterMode } from '../../generated/sqlite/client.ts';
import { type ErrorCode, invalid, notFound, ServiceError } from '../../platform/errors.ts';
import type { LeasedMutex } from '../../platform/scheduling/leased-mutex.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import { passwordsNeedAdmin } from '../brokers/stored-secrets.ts';
import type { ClusterDirectory } from './cluster-directory.ts';
import {
  checkJoining,
  checkName,
  checkNodes,
  completedNode,
  type JoiningNode,
  type LeavingNode,
  leavingNode,
  type NodeInput,
} from './cluster-input.ts';
import type { ClusterKeepers } from './cluster-keepers.ts';
import type { ClusterRecord, NewNode } from './model/cluster.ts';
import type { NodeOutcome, RepairOptions } from './model/cluster-driver.ts';
import type { StoredClusters } from './stored-clusters.ts';

export interface ClusterServiceOptions {
  readonly directory: ClusterDirectory;
  readonly stored: StoredClusters;
  readonly brokerCache: BrokerCache;
  readonly keepers: ClusterKeepers;
  /** By cluster: one change of its nodes at a time, over all processes. */
  readonly mutex: LeasedMutex;
  readonly sealer: Sealer;
  /** Whether passwords that are set on the cluster are stored, and sent to nodes that join. */
  readonly keepsPasswords: (cluster: ClusterRecord) => boolean;
  readonly log: Logger;
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

/** A cluster serves as long as one node does; commercial ones vote, and need three. */
const LEAST_NODES = { BROKER: 3, GATEWAY: 2 } as const;

/**
 * What is done to clusters. What a cluster is stands in rows, written before its brokers are told, so that no broker gets into two
 * clusters at once, and taken back where they refuse. Its nodes change one after the other, over all processes. Where the database
 * fails when brokers were told already, the error says what is left, and the same once more ends it.
 */
export class ClusterService {
  readonly #options: ClusterServiceOptions;

  constructor(options: ClusterServiceOptions) {
    this.#options = options;
  }

  /** Errors: INVALID, NOT_FOUND (the project), NOT_SUPPORTED_BY_BROKER, and those of brokers that refuse or cannot be asked. */
  async create(projectId: string, { name, mode, nodes }: NewCluster): Promise<ClusterRecord> {
    const { keepers, stored, brokerCache } = this.#options;
    checkName(name);
    checkNodes(projectId, nodes, LEAST_NODES.GATEWAY, this.#known);
    const keeper = await keepers.keeperFor(mode, nodes);
    checkNodes(projectId, nodes, LEAST_NODES[keeper], this.#known);
    const sorted = nodes.map(withoutConnection).toSorted((one, other) => one.nodeId - other.nodeId);
    const [first] = sorted as [NewNode, ...NewNode[]];
    const like = brokerCache.get(first.brokerId);
    if (like === null) throw notFound('broker', first.brokerId);
    const made = await stored.reserve(projectId, { name: name.trim(), mode, keeper, nodes: sorted }, like);
    const { id } = made;
    try {
      return await this.#inTurn(id, async (cluster) => {
        await keepers.of(cluster).create(cluster);
        return this.#read(id);
      });
    } catch (error) {
      throw await this.#afterUndo(error, () => stored.remove(id), `"${made.name}" is listed until it is deleted`);
    }
  }

  /** Removes what a service left that ended while it made a cluster, before any node was changed: nobody was told that there is one. */
  async removeUnmade(): Promise<void> {
    const { directory, stored, log } = this.#options;
    for (const { id } of directory.all().filter(isUnmade)) {
      try {
        await this.#inTurn(id, async (cluster) => {
          if (!isUnmade(cluster)) return;
          await stored.remove(id);
          log.warn({ clusterId: id, name: cluster.name }, 'removed a cluster whose making was interrupted');
        });
      } catch (error) {
        // Another process makes it just now, or has removed it.
        if (!(error instanceof ServiceError)) throw error;
      }
    }
  }

  /** Errors: as `create`; NOT_FOUND; NOT_ALLOWED if the broker would receive stored passwords and `by.mayControl` is false. */
  join(id: string, joining: JoiningNode, by: { readonly mayControl: boolean }): Promise<ClusterRecord> {
    const { keepers, stored, brokerCache, keepsPasswords } = this.#options;
    return this.#inTurn(id, async (cluster) => {
      if (!by.mayControl && keepsPasswords(cluster)) throw passwordsNeedAdmin(cluster.name);
      const node = completedNode(cluster, joining, brokerCache);
      checkJoining(cluster, node, this.#known);
      await keepers.checkNode(cluster, node);
      const { nodeId } = node;
      await stored.addNode(id, node);
      try {
        const joined = await stored.told(id);
        await keepers.of(joined).join(joined, nodeId);
      } catch (error) {
        const undo = () => stored.removeNode(id, nodeId);
        throw await this.#afterUndo(error, undo, `node ${nodeId} is listed until it is asked to leave`);
      }
      return this.#read(id);
    });
  }

  /** The node that all describes which is given. Errors: INVALID, NOT_FOUND, IN_USE (the last two), and those of brokers. */
  leave(id: string, which: LeavingNode): Promise<ClusterRecord> {
    const { keepers, stored, brokerCache } = this.#options;
    return this.#inTurn(id, async (cluster) => {
      const { nodeId } = leavingNode(cluster, which, { brokers: brokerCache, least: LEAST_NODES[cluster.keeper] });
      await keepers.of(cluster).leave(cluster, nodeId);
      try {
        await stored.removeNode(id, nodeId);
      } catch (error) {
        throw this.#unstored(error, `Node ${nodeId} has left, which could not be stored: ask it to leave once more`);
      }
      return this.#read(id);
    });
  }

  /** Errors: NOT_FOUND, NOT_ALLOWED, NOT_SUPPORTED_BY_BROKER (the brokers keep it themselves), those of the node. */
  async repair(id: string, nodeId: number, options: RepairOptions): Promise<ClusterRecord> {
    const cluster = this.#read(id);
    if (!cluster.nodes.some((node) => node.nodeId === nodeId)) throw notFound('node', String(nodeId));
    const { repair } = this.#options.keepers.of(cluster);
    if (repair === undefined) {
      const reason = 'The brokers of this cluster keep themselves equal';
      throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason } });
    }
    await repair(cluster, nodeId, options);
    return this.#read(id);
  }

  /** Only what is given changes; with its name that of the entry that stands for it. Errors: INVALID, NOT_FOUND. */
  async update(
    id: string,
    change: { readonly name?: string | null | undefined; readonly autoRepair?: boolean | null | undefined },
  ): Promise<ClusterRecord> {
    const { stored } = this.#options;
    const { name, autoRepair } = change;
    const cluster = this.#read(id);
    if (name != null) checkName(name);
    if (name != null && name.trim() !== cluster.name && cluster.keeper === 'BROKER') {
      throw invalid([{ path: 'input.name', reason: 'cannot be changed: its brokers know the cluster by it' }]);
    }
    await stored.change(id, {
      ...(name == null ? {} : { name: name.trim() }),
      ...(autoRepair == null ? {} : { autoRepair }),
    });
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
    const { error, ...deleted } = await this.#inTurn(id, async (cluster) => {
      if (name !== null && name !== cluster.name) {
        throw invalid([{ path: 'input.name', reason: 'is not that of the cluster' }]);
      }
      return this.#dissolve(cluster, purge);
    });
    if (error !== null) throw error;
    return deleted;
  }

  /** All of a project, in order of creation; each is done or fails by itself. */
  async removeAll(projectId: string, { purge }: { readonly purge: boolean }): Promise<ClusterResult[]> {
    const results: ClusterResult[] = [];
    for (const cluster of this.#options.directory.ofProject(projectId)) {
      try {
        results.push(await this.#inTurn(cluster.id, (now) => this.#dissolve(now, purge)));
      } catch (error) {
        // Somebody else deleted it meanwhile, or is at it.
        if (!(error instanceof ServiceError)) throw error;
        if (error.code !== 'NOT_FOUND') results.push({ cluster, outcomes: [], error });
      }
    }
    return results;
  }

  async #dissolve(cluster: ClusterRecord, purge: boolean): Promise<ClusterResult> {
    try {
      const outcomes = await this.#options.keepers.of(cluster).dissolve(cluster, { purge });
      const error = purge ? null : notDissolved(cluster, outcomes);
      if (error !== null) return { cluster, outcomes, error };
      try {
        await this.#options.stored.remove(cluster.id);
        return { cluster, outcomes, error: null };
      } catch (failure) {
        const what = `The nodes of "${cluster.name}" were told, but not all could be stored: delete it once more`;
        return { cluster, outcomes, error: this.#unstored(failure, what) };
      }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return { cluster, outcomes: [], error };
    }
  }

  /** With the cluster as it is stored. Errors: NOT_FOUND, IN_USE, RATE_LIMITED (others change it for long, or many). */
  #inTurn<T>(id: string, work: (cluster: ClusterRecord) => Promise<T>): Promise<T> {
    const { mutex, directory } = this.#options;
    return mutex.run(id, async () => {
      const cluster = await directory.refresh(id);
      if (cluster === null) throw notFound('cluster', id);
      return work(cluster);
    });
  }

  /** The error of what failed, with what is left of it where that could not be taken back either. */
  async #afterUndo(error: unknown, undo: () => Promise<unknown>, left: string): Promise<unknown> {
    try {
      await undo();
      return error;
    } catch (failure) {
      // Somebody else did, or it had not come so far.
      if (failure instanceof ServiceError && failure.code === 'NOT_FOUND') return error;
      const { code, message, info } = error instanceof ServiceError ? error : this.#unstored(error, 'It failed');
      return this.#unstored(failure, `${message.replace(/\.$/, '')}; and that could not be taken back: ${left}`, {
        code,
        ...(info === undefined ? {} : { info }),
      });
    }
  }

  /** What its caller is told of a failure of the database, which is whole in the log. */
  #unstored(
    failure: unknown,
    message: string,
    { code = 'INTERNAL_ERROR', info }: { readonly code?: ErrorCode; readonly info?: ServiceError['info'] } = {},
  ): ServiceError {
    this.#options.log.error({ err: failure }, 'a change of a cluster could not be stored');
    return new ServiceError(code, message, { cause: failure, ...(info === undefined ? {} : { info }) });
  }

  get #known() {
    const { brokerCache: brokers, directory: clusters, sealer } = this.#options;
    return { brokers, clusters, sealer };
  }

  #read(id: string): ClusterRecord {
    const cluster = this.#options.directory.get(id);
    if (cluster === null) throw notFound('cluster', id);
    return cluster;
  }
}

/** What the first node gives the others is stored before they are changed. What brokers keep themselves is theirs to tell. */
const isUnmade = ({ keeper, document }: ClusterRecord): boolean => keeper === 'GATEWAY' && document === null;

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

const withoutConnection = ({ nodeId, brokerId, name, address, port }: NodeInput): NewNode => ({
  nodeId,
  brokerId,
  name: name.trim(),
  address: address.trim(),
  port,
});
