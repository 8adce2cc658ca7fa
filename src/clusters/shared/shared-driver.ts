import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerDirectory } from '../../brokers/broker-directory.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ControlCaller } from '../../control/plugin.ts';
import { notFound, ServiceError } from '../../errors.ts';
import type { Stop } from '../../mqtt/broker-session.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import type { ClusterRows } from '../dynsec/cluster-rows.ts';
import type { DynsecDriver } from '../dynsec/dynsec-driver.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { ClusterDriver, NodeOutcome } from '../model/cluster-driver.ts';
import type { ClusterStatus } from '../model/cluster-status.ts';
import { bringBack, forgetCopy, getNode, keepCopy, type SharedNode } from './node-control.ts';
import { type JoinedNode, SharedWatch } from './shared-watch.ts';

export interface SharedDriverOptions {
  readonly directory: ClusterDirectory;
  readonly brokers: BrokerDirectory;
  readonly runtimes: BrokerRuntimes;
  /** Keeps their access control equal. */
  readonly access: DynsecDriver;
  readonly rows: ClusterRows;
  /** Rejects with what is wrong with where nodes have what they share, for people. */
  readonly checkShared: () => Promise<void>;
  /** Why a broker of this service does not run although it shall; null: not known. */
  readonly problemOf: (brokerId: string) => string | null;
  readonly onFault: (error: unknown) => void;
  /** Longest that a node may take to join the others. Default 60,000 ms. */
  readonly joinMs?: number;
  /** How often nodes are asked how they are. Default 5,000 ms. */
  readonly pollMs?: number;
  /** How long a status holds for all who ask. Default 1,000 ms. */
  readonly holdMs?: number;
}

const ASK_AGAIN_MS = 100;
const ALONE = 'it still runs by itself';

/**
 * Clusters of brokers of this service that have sessions and messages in common. Their access control is kept as that of other clusters
 * (DynsecDriver). A broker is started as a node as soon as its row says that it has the access control of the cluster (SharedMemberships);
 * here that is brought about, and waited for.
 */
export class SharedDriver implements ClusterDriver {
  readonly #options: SharedDriverOptions;
  readonly #watch: SharedWatch;
  readonly #listeners = new Set<(clusterId: string) => void>();

  constructor(options: SharedDriverOptions) {
    const { directory, runtimes, access, problemOf, pollMs = 5_000, holdMs = 1_000 } = options;
    this.#options = options;
    this.#watch = new SharedWatch({
      directory,
      runtimes,
      accessStatus: (cluster) => access.status(cluster),
      ask: (brokerId) => this.#ask(brokerId),
      problemOf,
      onChange: (id) => this.#tell(id),
      onMembers: (cluster, members) => this.#goOn(cluster, members),
      pollMs,
      holdMs,
    });
  }

  start(): void {
    this.#watch.start();
  }

  close(): void {
    this.#watch.close();
    this.#listeners.clear();
  }

  /**
   * The first node by number gives what the others get. Until all have joined, each keeps what it had: where one does not, all are again
   * as they were.
   */
  async create(cluster: ClusterRecord): Promise<void> {
    const { access, rows } = this.#options;
    const { id, nodes } = cluster;
    const [first, ...others] = nodes;
    if (first === undefined) return;
    await this.#check();
    await this.#orAsBefore(nodes, first, async () => {
      await rows.seed(id, first.nodeId);
      await access.create(cluster);
      await this.#joined(first);
      await rows.seed(id, null);
      await Promise.all(others.map((node) => this.#joined(node)));
    });
    this.#watch.forget(id);
  }

  /** Until it has joined, it keeps what it had. */
  async join(cluster: ClusterRecord, nodeId: number): Promise<void> {
    const node = cluster.nodes.find((one) => one.nodeId === nodeId);
    if (node === undefined) throw notFound('node', String(nodeId));
    await this.#check();
    await this.#orAsBefore([node], null, async () => {
      await this.#options.access.join(cluster, nodeId);
      await this.#joined(node);
    });
    this.#watch.forget(cluster.id);
  }

  /** It goes on by itself, with the access control and the retained messages of the cluster, and the sessions of clients that it had last. */
  leave(cluster: ClusterRecord, nodeId: number): Promise<void> {
    return this.#options.access.leave(cluster, nodeId);
  }

  dissolve(cluster: ClusterRecord, options: { readonly purge: boolean }): Promise<readonly NodeOutcome[]> {
    return this.#options.access.dissolve(cluster, options);
  }

  readonly repair: NonNullable<ClusterDriver['repair']> = (cluster, nodeId, options) =>
    this.#options.access.repair(cluster, nodeId, options);

  status(cluster: ClusterRecord): Promise<ClusterStatus> {
    return this.#watch.status(cluster);
  }

  standIn(cluster: ClusterRecord): string | null {
    return this.#options.access.standIn(cluster);
  }

  /** Of what its nodes have in common; `access` tells of the rest. */
  onChange(listener: (clusterId: string) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #check(): Promise<void> {
    try {
      await this.#options.checkShared();
    } catch (error) {
      throw new ServiceError('BROKER_UNREACHABLE', reasonOf(error), { cause: error });
    }
  }

  /** Where it fails, the nodes have again what they had as soon as their rows say that they are none. Errors: those of the work, and of nodes. */
  async #orAsBefore(
    nodes: readonly ClusterNodeRecord[],
    seed: ClusterNodeRecord | null,
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await Promise.all(nodes.map((node) => this.#control(node, (controls) => keepCopy(controls, node === seed))));
      await work();
    } catch (error) {
      // One that runs as a node refuses: it takes it back when it runs by itself.
      await Promise.allSettled(nodes.map((node) => this.#control(node, bringBack)));
      throw error;
    }
    await this.#forgetCopies(nodes);
  }

  /** Where one cannot be told, it is as soon as all are asked again. */
  async #forgetCopies(nodes: readonly ClusterNodeRecord[]): Promise<void> {
    await Promise.allSettled(nodes.map((node) => this.#control(node, forgetCopy)));
  }

  /** Errors: BROKER_UNREACHABLE, with the node and what keeps it from joining. */
  async #joined({ clusterId, nodeId, brokerId }: ClusterNodeRecord): Promise<void> {
    const { joinMs = 60_000, directory, access, problemOf } = this.#options;
    const until = performance.now() + joinMs;
    let reason = ALONE;
    while (performance.now() < until) {
      try {
        const said = await this.#ask(brokerId);
        const isMember = said.state === 'MEMBER' && said.clusterId === clusterId && said.nodeId === nodeId;
        if (isMember && (await access.look({ id: clusterId }, nodeId))) return;
        reason = isMember ? 'its access control could not be compared' : ALONE;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        reason = error.code === 'NOT_SUPPORTED_BY_BROKER' ? ALONE : error.message;
      }
      if (directory.get(clusterId) === null) throw notFound('cluster', clusterId);
      await delay(ASK_AGAIN_MS);
    }
    const info = { nodeId, brokerId };
    throw new ServiceError('BROKER_UNREACHABLE', `Node ${nodeId} does not join: ${problemOf(brokerId) ?? reason}`, {
      info,
    });
  }

  #ask(brokerId: string): Promise<SharedNode> {
    return this.#at(brokerId, getNode);
  }

  async #control({ nodeId, brokerId }: ClusterNodeRecord, work: (controls: ControlCaller) => Promise<unknown>) {
    try {
      await this.#at(brokerId, work);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { code, message } = error;
      throw new ServiceError(code, `Node ${nodeId}: ${message}`, { cause: error, info: { nodeId, brokerId } });
    }
  }

  #at<T>(brokerId: string, work: (controls: ControlCaller) => Promise<T>): Promise<T> {
    const { brokers, runtimes } = this.#options;
    const broker = brokers.get(brokerId);
    if (broker === null) throw notFound('broker', brokerId);
    return runtimes.ask(broker, ({ controls }) => work(controls));
  }

  /** Where a service ended while it made a cluster: the others follow the node that it begins with, and what they had is forgotten then. */
  #goOn({ id, seed, nodes }: ClusterRecord, members: readonly JoinedNode[]): void {
    const isWhole = members.length === nodes.length && members.every(({ isEqual }) => isEqual);
    const kept = new Set(members.filter(({ isCopyKept }) => isCopyKept).map(({ nodeId }) => nodeId));
    if (isWhole && kept.size > 0) void this.#forgetCopies(nodes.filter(({ nodeId }) => kept.has(nodeId)));
    if (!members.some(({ nodeId }) => nodeId === seed)) return;
    this.#options.rows.seed(id, null).catch((error: unknown) => {
      // Deleted meanwhile.
      if (!(error instanceof ServiceError && error.code === 'NOT_FOUND')) this.#options.onFault(error);
    });
  }

  #tell(id: string): void {
    for (const listener of this.#listeners) listener(id);
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
