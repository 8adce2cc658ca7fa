import type { BrokerDirectory } from '../../brokers/broker-directory.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ControlCaller } from '../../control/plugin.ts';
import { notFound, ServiceError } from '../../errors.ts';
import type { Stop } from '../../mqtt/broker-session.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { ClusterDriver, NodeOutcome } from '../model/cluster-driver.ts';
import type { ClusterStatus, NodeStatus } from '../model/cluster-status.ts';
import {
  addNode,
  createCluster,
  deleteCluster,
  getNodeStatus,
  type HaNode,
  joinCluster,
  leaveCluster,
  removeNode,
} from './ha-control.ts';

export interface HaDriverOptions {
  readonly directory: ClusterDirectory;
  readonly brokers: BrokerDirectory;
  readonly runtimes: BrokerRuntimes;
  /** How often nodes are asked who leads. Default 5,000 ms. */
  readonly pollMs?: number;
  /** How long a status holds for all who ask. Default 1,000 ms. */
  readonly holdMs?: number;
}

interface Asked {
  readonly status: Promise<ClusterStatus>;
  /** `performance.now()`. */
  readonly at: number;
}

/** Clusters that commercial brokers hold together themselves. */
export class HaDriver implements ClusterDriver {
  readonly #options: HaDriverOptions;
  readonly #listeners = new Set<(clusterId: string) => void>();
  readonly #asked = new Map<string, Asked>();
  /** As it was told last. */
  readonly #last = new Map<string, { readonly text: string; readonly leader: string | null }>();
  readonly #stops: Stop[] = [];
  #ticker: NodeJS.Timeout | null = null;

  constructor(options: HaDriverOptions) {
    this.#options = options;
  }

  /** From here on it is followed who leads. */
  start(): void {
    const { runtimes, directory, pollMs = 5_000 } = this.#options;
    runtimes.onRuntime(({ id, link }, change) => {
      if (change === 'OPENED') link.onStatus(() => this.#nodeChanged(id));
      this.#nodeChanged(id);
    });
    this.#stops.push(
      directory.onChange((after, before) => {
        const id = (after ?? before)?.id ?? '';
        this.#asked.delete(id);
        if (after === null) this.#last.delete(id);
      }),
    );
    this.#ticker = setInterval(() => {
      for (const cluster of directory.all()) if (cluster.keeper === 'BROKER') this.#look(cluster);
    }, pollMs);
    this.#ticker.unref();
  }

  close(): void {
    if (this.#ticker) clearInterval(this.#ticker);
    for (const stop of this.#stops.splice(0)) stop();
    this.#listeners.clear();
  }

  async create(cluster: ClusterRecord): Promise<void> {
    const nodes = cluster.nodes.map(haNode);
    const told: ClusterNodeRecord[] = [];
    try {
      for (const node of cluster.nodes) {
        const command = told.length === 0 ? createCluster : joinCluster;
        const { name, mode } = cluster;
        await this.#ask(node, (controls) => command(controls, { name, mode, nodes, own: node.nodeId }));
        told.push(node);
      }
    } catch (error) {
      throw await this.#takenBack(cluster, told, error);
    }
  }

  async join(cluster: ClusterRecord, nodeId: number): Promise<void> {
    const { name, mode } = cluster;
    const nodes = cluster.nodes.map(haNode);
    const node = nodeOf(cluster, nodeId);
    const leader = await this.#leader(cluster);
    await this.#ask(leader, (controls) => addNode(controls, name, haNode(node)));
    try {
      await this.#ask(node, (controls) => joinCluster(controls, { name, mode, nodes, own: nodeId }));
    } catch (error) {
      await this.#ask(leader, (controls) => removeNode(controls, name, haNode(node))).catch(() => undefined);
      throw error;
    }
  }

  /** The leader is told; where none can be, the node itself. */
  async leave(cluster: ClusterRecord, nodeId: number): Promise<void> {
    const node = nodeOf(cluster, nodeId);
    const leader = await this.#leader(cluster).catch(() => null);
    if (leader !== null && leader.nodeId !== nodeId) {
      await this.#ask(leader, (controls) => removeNode(controls, cluster.name, haNode(node)));
    } else await this.#ask(node, (controls) => leaveCluster(controls, cluster.name, haNode(node)));
  }

  async dissolve(cluster: ClusterRecord, { purge }: { readonly purge: boolean }): Promise<readonly NodeOutcome[]> {
    const { nodes, name } = cluster;
    if (!purge) {
      const found = await Promise.all(
        nodes.map((node) =>
          outcomeOf(
            node,
            this.#ask(node, (controls) => getNodeStatus(controls, node.nodeId)),
          ),
        ),
      );
      const isAway = ({ error }: NodeOutcome) =>
        error?.code === 'BROKER_UNREACHABLE' || error?.code === 'BROKER_TIMEOUT';
      if (found.some(isAway)) return found.map((outcome) => (isAway(outcome) ? outcome : { ...outcome, error: null }));
    }
    const outcomes: NodeOutcome[] = [];
    for (const node of nodes) {
      outcomes.push(
        await outcomeOf(
          node,
          this.#ask(node, (controls) => deleteCluster(controls, name)),
        ),
      );
    }
    return outcomes;
  }

  status(cluster: ClusterRecord): Promise<ClusterStatus> {
    const { holdMs = 1_000 } = this.#options;
    const known = this.#asked.get(cluster.id);
    if (known !== undefined && performance.now() - known.at < holdMs) return known.status;
    const status = this.#statusNow(cluster);
    this.#asked.set(cluster.id, { status, at: performance.now() });
    return status;
  }

  /** Who leads; while that is not known, the first that is connected. */
  standIn({ id, nodes }: ClusterRecord): string | null {
    const leader = this.#last.get(id)?.leader ?? null;
    const connected = nodes.filter(({ brokerId }) => this.#options.runtimes.isConnected(brokerId));
    return connected.find(({ brokerId }) => brokerId === leader)?.brokerId ?? connected[0]?.brokerId ?? null;
  }

  onChange(listener: (clusterId: string) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #statusNow({ id, nodes }: ClusterRecord): Promise<ClusterStatus> {
    const found = await Promise.all(nodes.map((node) => this.#nodeStatus(node)));
    const leader = found.find(({ isLeader }) => isLeader);
    const commitIndex = leader?.raft?.commitIndex ?? null;
    const statuses = found.map((node) => {
      const applied = node.raft?.lastApplied ?? null;
      return { ...node, lag: applied === null || commitIndex === null ? null : Math.max(0, commitIndex - applied) };
    });
    const isWhole = statuses.every(({ error }) => error === null);
    const state = leader === undefined ? 'INACTIVE' : isWhole ? 'ACTIVE' : 'DEGRADED';
    this.#told(id, { state, nodes: statuses });
    return { state, nodes: statuses };
  }

  async #nodeStatus(node: ClusterNodeRecord): Promise<NodeStatus> {
    const { nodeId, brokerId } = node;
    const place = { nodeId, brokerId, lag: null, sync: null };
    try {
      const { raft, isLeader } = await this.#ask(node, (controls) => getNodeStatus(controls, nodeId));
      const error =
        raft.state === 'UNAVAILABLE' ? new ServiceError('BROKER_REJECTED', 'It takes no part in the cluster') : null;
      return { ...place, isReachable: true, isLeader, raft, error };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const isReachable = this.#options.runtimes.isConnected(brokerId);
      return { ...place, isReachable, isLeader: false, raft: null, error };
    }
  }

  /** Tells those who listen, where it is another one than before. */
  #told(id: string, status: ClusterStatus): void {
    const leader = status.nodes.find(({ isLeader }) => isLeader)?.brokerId ?? null;
    const text = JSON.stringify([status.state, status.nodes.map((node) => ({ ...node, error: node.error?.message }))]);
    const isNews = this.#last.get(id)?.text !== text;
    this.#last.set(id, { text, leader });
    if (isNews) for (const listener of this.#listeners) listener(id);
  }

  #nodeChanged(brokerId: string): void {
    const cluster = this.#options.directory.ofNode(brokerId);
    if (cluster?.keeper !== 'BROKER') return;
    this.#asked.delete(cluster.id);
    this.#look(cluster);
  }

  #look(cluster: ClusterRecord): void {
    // A bug in it is that of whoever asks for it.
    this.status(cluster).catch(() => undefined);
  }

  async #leader(cluster: ClusterRecord): Promise<ClusterNodeRecord> {
    this.#asked.delete(cluster.id);
    const { nodes } = await this.status(cluster);
    const leader = nodes.find(({ isLeader }) => isLeader);
    const problem = nodes.find(({ error }) => error !== null)?.error;
    if (leader === undefined) {
      throw problem ?? new ServiceError('BROKER_UNREACHABLE', 'No node of the cluster says that it leads');
    }
    return nodeOf(cluster, leader.nodeId);
  }

  /** The error, with what could not be taken back. */
  async #takenBack({ name }: ClusterRecord, told: readonly ClusterNodeRecord[], error: unknown): Promise<unknown> {
    const outcomes: NodeOutcome[] = [];
    for (const node of told.toReversed()) {
      outcomes.push(
        await outcomeOf(
          node,
          this.#ask(node, (controls) => deleteCluster(controls, name)),
        ),
      );
    }
    const left = outcomes.filter((outcome) => outcome.error !== null);
    if (left.length === 0 || !(error instanceof ServiceError)) return error;
    const nodes = left.map(({ nodeId, brokerId, error: reason }) => ({ nodeId, brokerId, error: reason?.message }));
    return new ServiceError(
      error.code,
      `${error.message}; and it could not be taken back on node ${left.map(({ nodeId }) => nodeId).join(', ')}`,
      {
        info: { ...error.info, nodes },
        cause: error,
      },
    );
  }

  /** Errors name the node. */
  async #ask<T>(
    { brokerId, nodeId }: ClusterNodeRecord,
    question: (controls: ControlCaller) => Promise<T>,
  ): Promise<T> {
    const { brokers, runtimes } = this.#options;
    const broker = brokers.get(brokerId);
    if (broker === null) throw notFound('broker', brokerId);
    try {
      return await runtimes.ask(broker, ({ controls }) => question(controls));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new ServiceError(error.code, `Node ${nodeId} ("${broker.name}"): ${error.message}`, {
        info: { ...error.info, nodeId, brokerId },
        cause: error,
      });
    }
  }
}

async function outcomeOf({ nodeId, brokerId }: ClusterNodeRecord, work: Promise<unknown>): Promise<NodeOutcome> {
  try {
    await work;
    return { nodeId, brokerId, error: null };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { nodeId, brokerId, error };
  }
}

const haNode = ({ address, port, nodeId }: ClusterNodeRecord): HaNode => ({ address, port, nodeid: nodeId });

function nodeOf({ nodes }: ClusterRecord, nodeId: number): ClusterNodeRecord {
  const node = nodes.find((one) => one.nodeId === nodeId);
  if (node === undefined) throw notFound('node', String(nodeId));
  return node;
}
