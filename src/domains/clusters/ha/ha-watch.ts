import { ServiceError } from '../../../platform/errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import { HeldStatuses } from '../held-statuses.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { ClusterStatus, NodeStatus } from '../model/cluster-status.ts';
import { getNodeStatus } from './ha-control.ts';
import type { HaNodes } from './ha-nodes.ts';

export interface HaWatchOptions {
  readonly directory: ClusterDirectory;
  readonly runtimes: BrokerRuntimes;
  readonly nodes: HaNodes;
  /** How often nodes are asked who leads. */
  readonly pollMs: number;
  /** How long a status holds for all who ask, from when it is complete. */
  readonly holdMs: number;
}

/** How clusters are that brokers hold together themselves: asked now and then, and for whoever wants to know. */
export class HaWatch {
  readonly #options: HaWatchOptions;
  readonly #listeners = new Set<(clusterId: string) => void>();
  readonly #statuses: HeldStatuses;
  /** As it was told last. */
  readonly #told = new Map<string, string>();
  /** The entry of the node that led last. */
  readonly #leaders = new Map<string, { readonly brokerId: string; readonly term: number }>();
  readonly #stops: Stop[] = [];
  #ticker: NodeJS.Timeout | null = null;

  constructor(options: HaWatchOptions) {
    this.#options = options;
    this.#statuses = new HeldStatuses({
      ask: (cluster, isNewest) => this.#ask(cluster, isNewest),
      holdMs: options.holdMs,
    });
  }

  start(): void {
    const { runtimes, directory, pollMs } = this.#options;
    runtimes.onRuntime(({ id, link }, change) => {
      if (change === 'OPENED') link.onStatus(() => this.#nodeChanged(id));
      this.#nodeChanged(id);
    });
    this.#stops.push(
      directory.onChange((after, before) => {
        const id = (after ?? before)?.id ?? '';
        this.forget(id);
        if (after !== null) return this.#look(after);
        this.#told.delete(id);
        this.#leaders.delete(id);
      }),
    );
    this.#ticker = setInterval(() => {
      for (const cluster of directory.all()) this.#look(cluster);
    }, pollMs);
    this.#ticker.unref();
  }

  close(): void {
    if (this.#ticker) clearInterval(this.#ticker);
    for (const stop of this.#stops.splice(0)) stop();
    this.#listeners.clear();
  }

  /** One question at a time for all who ask. */
  status(cluster: ClusterRecord): Promise<ClusterStatus> {
    return this.#statuses.of(cluster);
  }

  /** Something was done to it. */
  forget(clusterId: string): void {
    this.#statuses.forget(clusterId);
  }

  /** Who leads, or led last; while that one is not connected, the first that is. */
  standIn({ id, nodes }: ClusterRecord): string | null {
    const leader = this.#leaders.get(id)?.brokerId;
    const connected = nodes.filter((node) => this.#options.nodes.isConnected(node));
    return (connected.find(({ brokerId }) => brokerId === leader) ?? connected[0])?.brokerId ?? null;
  }

  onChange(listener: (clusterId: string) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #ask(cluster: ClusterRecord, isNewest: () => boolean): Promise<ClusterStatus> {
    const found = await Promise.all(
      cluster.nodes.map(async (node) => {
        const status = await this.#nodeStatus(cluster, node);
        // Another one may be silent for long.
        if (status.isLeader && isNewest()) this.#leads(cluster.id, status);
        return status;
      }),
    );
    // Of two that say so one does not know yet that it was replaced.
    const leader = found.filter(({ isLeader }) => isLeader).toSorted((one, other) => termOf(other) - termOf(one))[0];
    const commitIndex = leader?.raft?.commitIndex ?? null;
    const nodes = found.map((node) => {
      const applied = node.raft?.lastApplied ?? null;
      const lag = applied === null || commitIndex === null ? null : Math.max(0, commitIndex - applied);
      return { ...node, isLeader: node === leader, lag };
    });
    const isWhole = nodes.every(({ error }) => error === null);
    const status = { state: leader === undefined ? 'INACTIVE' : isWhole ? 'ACTIVE' : 'DEGRADED', nodes } as const;
    if (isNewest() && this.#options.directory.get(cluster.id) !== null) this.#tell(cluster.id, status, leader);
    return status;
  }

  async #nodeStatus({ name }: ClusterRecord, node: ClusterNodeRecord): Promise<NodeStatus> {
    const { nodeId, brokerId } = node;
    const place = { nodeId, brokerId, lag: null, sync: null };
    try {
      const said = await this.#options.nodes.ask(node, (controls) => getNodeStatus(controls, nodeId));
      const isOther = said.name !== null && said.name !== name;
      const reason = isOther
        ? `It is in another cluster: "${said.name}"`
        : said.raft.state === 'UNAVAILABLE'
          ? 'It takes no part in the cluster'
          : null;
      const error = reason === null ? null : new ServiceError('BROKER_REJECTED', reason);
      return { ...place, isReachable: true, isLeader: said.isLeader && !isOther, raft: said.raft, error };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const isReachable = error.code !== 'BROKER_UNREACHABLE' && error.code !== 'BROKER_TIMEOUT';
      return { ...place, isReachable, isLeader: false, raft: null, error };
    }
  }

  /** As soon as it says so, if nobody of a later term did. */
  #leads(id: string, node: NodeStatus): void {
    const known = this.#leaders.get(id);
    if (known?.brokerId === node.brokerId || (known !== undefined && termOf(node) < known.term)) return;
    this.#leaders.set(id, { brokerId: node.brokerId, term: termOf(node) });
    this.#changed(id);
  }

  #tell(id: string, status: ClusterStatus, leader: NodeStatus | undefined): void {
    const text = JSON.stringify([status.state, status.nodes.map((node) => ({ ...node, error: node.error?.message }))]);
    const led = this.#leaders.get(id);
    if (leader !== undefined) this.#leaders.set(id, { brokerId: leader.brokerId, term: termOf(leader) });
    const isNews = this.#told.get(id) !== text || (leader !== undefined && led?.brokerId !== leader.brokerId);
    this.#told.set(id, text);
    if (isNews) this.#changed(id);
  }

  #changed(id: string): void {
    for (const listener of this.#listeners) listener(id);
  }

  #nodeChanged(brokerId: string): void {
    const cluster = this.#options.directory.ofNode(brokerId);
    if (cluster === null) return;
    this.forget(cluster.id);
    this.#look(cluster);
  }

  #look(cluster: ClusterRecord): void {
    // A bug in it is that of whoever asks for it.
    if (cluster.keeper === 'BROKER') this.status(cluster).catch(() => undefined);
  }
}

const termOf = ({ raft }: NodeStatus): number => raft?.term ?? 0;
