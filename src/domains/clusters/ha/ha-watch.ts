import { notFound, ServiceError } from '../../../platform/errors.ts';
import { Listeners } from '../../../platform/listeners.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerCache } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClusterCache } from '../cluster-cache.ts';
import type { ClusterNodeRecord, ClusterRecord, ClusterStatus, NodeStatus } from '../model/cluster.ts';
import { getNodeStatus } from './ha-control.ts';

interface HaWatchOptions {
  readonly cache: ClusterCache;
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
}

interface CachedStatus {
  readonly status: Promise<ClusterStatus>;
  /** In terms of `performance.now()`. Infinity until the status is complete. */
  expiresAt: number;
}

const POLL_MS = 5_000;
const HOLD_MS = 1_000;

/** Calls the nodes of commercial clusters. Reads their status periodically, after connection changes and on request. */
export class HaWatch {
  readonly #options: HaWatchOptions;
  readonly #listeners = new Listeners<[clusterId: string]>();
  readonly #statuses = new Map<string, CachedStatus>();
  readonly #reported = new Map<string, string>();
  readonly #leaders = new Map<string, { readonly brokerId: string; readonly term: number }>();
  readonly #stops: Stop[] = [];

  constructor(options: HaWatchOptions) {
    this.#options = options;
  }

  start(): void {
    const { runtimes, cache } = this.#options;
    runtimes.onRuntime(({ id, link }, change) => {
      if (change === 'OPENED') link.onStatus(() => this.#nodeChanged(id));
      this.#nodeChanged(id);
    });
    this.#stops.push(
      cache.onChange((after, before) => {
        const id = (after ?? before)?.id ?? '';
        this.invalidate(id);
        if (after !== null) return this.#refresh(after);
        this.#reported.delete(id);
        this.#leaders.delete(id);
      }),
    );
    const ticker = setInterval(() => {
      for (const cluster of cache.all()) this.#refresh(cluster);
    }, POLL_MS).unref();
    this.#stops.push(() => clearInterval(ticker));
  }

  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.#listeners.clear();
  }

  status(cluster: ClusterRecord): Promise<ClusterStatus> {
    const { id } = cluster;
    const known = this.#statuses.get(id);
    if (known !== undefined && performance.now() < known.expiresAt) return known.status;
    const isNewest = () => this.#statuses.get(id) === entry;
    const entry: CachedStatus = { status: this.#read(cluster, isNewest), expiresAt: Number.POSITIVE_INFINITY };
    this.#statuses.set(id, entry);
    const expireLater = () => {
      entry.expiresAt = performance.now() + HOLD_MS;
    };
    entry.status.then(expireLater, expireLater);
    return entry.status;
  }

  invalidate(clusterId: string): void {
    this.#statuses.delete(clusterId);
  }

  /** The last known leader. While it is not connected, the first connected node. */
  contactNode({ id, nodes }: ClusterRecord): string | null {
    const leader = this.#leaders.get(id)?.brokerId;
    const connected = nodes.filter((node) => this.isConnected(node));
    return (connected.find(({ brokerId }) => brokerId === leader) ?? connected[0])?.brokerId ?? null;
  }

  readonly onChange = this.#listeners.add;

  protected isConnected({ brokerId }: ClusterNodeRecord): boolean {
    return this.#options.runtimes.isConnected(brokerId);
  }

  /** Runs `send` within the deadline of a broker. Errors: those of brokers, with the name of the node. */
  protected async call<T>(
    { brokerId, nodeId }: ClusterNodeRecord,
    send: (controls: ControlCaller) => Promise<T>,
  ): Promise<T> {
    const { brokers, runtimes } = this.#options;
    const broker = brokers.get(brokerId);
    if (broker === null) throw notFound('broker', brokerId);
    try {
      return await runtimes.ask(broker, ({ controls }) => send(controls));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new ServiceError(error.code, `Node ${nodeId} ("${broker.name}"): ${error.message}`, {
        info: { ...error.info, nodeId, brokerId },
        cause: error,
      });
    }
  }

  async #read(cluster: ClusterRecord, isNewest: () => boolean): Promise<ClusterStatus> {
    const found = await Promise.all(
      cluster.nodes.map(async (node) => {
        const status = await this.#nodeStatus(cluster, node);
        // Set now, because another node may take long to respond.
        if (status.isLeader && isNewest()) this.#setLeader(cluster.id, status);
        return status;
      }),
    );
    // If two nodes report that they are the leader, the one with the lower term was replaced and does not know it yet.
    const leader = found.filter(({ isLeader }) => isLeader).toSorted((one, other) => termOf(other) - termOf(one))[0];
    const commitIndex = leader?.raft?.commitIndex ?? null;
    const nodes = found.map((node) => {
      const applied = node.raft?.lastApplied ?? null;
      const lag = applied === null || commitIndex === null ? null : Math.max(0, commitIndex - applied);
      return { ...node, isLeader: node === leader, lag };
    });
    const isWhole = nodes.every(({ error }) => error === null);
    const status = { state: leader === undefined ? 'INACTIVE' : isWhole ? 'ACTIVE' : 'DEGRADED', nodes } as const;
    if (isNewest() && this.#options.cache.get(cluster.id) !== null) this.#report(cluster.id, status, leader);
    return status;
  }

  async #nodeStatus({ name }: ClusterRecord, node: ClusterNodeRecord): Promise<NodeStatus> {
    const { nodeId, brokerId } = node;
    const common = { nodeId, brokerId, lag: null, sync: null };
    try {
      const reply = await this.call(node, (controls) => getNodeStatus(controls, nodeId));
      const isOther = reply.name !== null && reply.name !== name;
      const reason = isOther
        ? `The node is in another cluster: "${reply.name}"`
        : reply.raft.state === 'UNAVAILABLE'
          ? 'The node does not take part in the cluster'
          : null;
      const error = reason === null ? null : new ServiceError('BROKER_REJECTED', reason);
      return { ...common, isReachable: true, isLeader: reply.isLeader && !isOther, raft: reply.raft, error };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const isReachable = error.code !== 'BROKER_UNREACHABLE' && error.code !== 'BROKER_TIMEOUT';
      return { ...common, isReachable, isLeader: false, raft: null, error };
    }
  }

  #setLeader(id: string, node: NodeStatus): void {
    const known = this.#leaders.get(id);
    if (known?.brokerId === node.brokerId || (known !== undefined && termOf(node) < known.term)) return;
    this.#leaders.set(id, { brokerId: node.brokerId, term: termOf(node) });
    this.#listeners.notify(id);
  }

  #report(id: string, status: ClusterStatus, leader: NodeStatus | undefined): void {
    const text = JSON.stringify([status.state, status.nodes.map((node) => ({ ...node, error: node.error?.message }))]);
    const previous = this.#leaders.get(id);
    if (leader !== undefined) this.#leaders.set(id, { brokerId: leader.brokerId, term: termOf(leader) });
    const isNews = this.#reported.get(id) !== text || (leader !== undefined && previous?.brokerId !== leader.brokerId);
    this.#reported.set(id, text);
    if (isNews) this.#listeners.notify(id);
  }

  #nodeChanged(brokerId: string): void {
    const cluster = this.#options.cache.ofNode(brokerId);
    if (cluster === null) return;
    this.invalidate(cluster.id);
    this.#refresh(cluster);
  }

  #refresh(cluster: ClusterRecord): void {
    // Callers of `status` receive the error.
    if (cluster.keeper === 'BROKER') this.status(cluster).catch(() => undefined);
  }
}

const termOf = ({ raft }: NodeStatus): number => raft?.term ?? 0;
