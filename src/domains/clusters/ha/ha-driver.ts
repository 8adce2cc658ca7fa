import { notFound, ServiceError } from '../../../platform/errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { ClusterDriver, NodeOutcome } from '../model/cluster-driver.ts';
import type { ClusterStatus } from '../model/cluster-status.ts';
import {
  addNode,
  createCluster,
  deleteCluster,
  getCluster,
  getNodeStatus,
  type HaNode,
  isRefusal,
  joinCluster,
  leaveCluster,
  removeNode,
} from './ha-control.ts';
import { HaNodes, type HaNodesOptions } from './ha-nodes.ts';
import { HaWatch } from './ha-watch.ts';

export interface HaDriverOptions extends HaNodesOptions {
  readonly directory: ClusterDirectory;
  /** How often nodes are asked who leads. Default 5,000 ms. */
  readonly pollMs?: number;
  /** How long a status holds for all who ask. Default 1,000 ms. */
  readonly holdMs?: number;
}

/** Clusters that commercial brokers hold together themselves. */
export class HaDriver implements ClusterDriver {
  readonly #nodes: HaNodes;
  readonly #watch: HaWatch;

  constructor({ directory, pollMs = 5_000, holdMs = 1_000, ...options }: HaDriverOptions) {
    this.#nodes = new HaNodes(options);
    this.#watch = new HaWatch({ directory, runtimes: options.runtimes, nodes: this.#nodes, pollMs, holdMs });
  }

  /** From here on it is followed who leads. */
  start(): void {
    this.#watch.start();
  }

  close(): void {
    this.#watch.close();
  }

  async create(cluster: ClusterRecord): Promise<void> {
    const { id, name, mode } = cluster;
    const nodes = cluster.nodes.map(haNode);
    const undo: Undo[] = [];
    try {
      for (const node of cluster.nodes) {
        const command = undo.length === 0 ? createCluster : joinCluster;
        const take = () => this.#nodes.ask(node, (controls) => deleteCluster(controls, name));
        await this.#step(undo, node, take, (controls) => command(controls, { name, mode, nodes, own: node.nodeId }));
      }
    } catch (error) {
      throw await this.#takenBack(cluster, undo, error);
    } finally {
      this.#watch.forget(id);
    }
  }

  async join(cluster: ClusterRecord, nodeId: number): Promise<void> {
    const { id, name, mode } = cluster;
    const node = nodeOf(cluster, nodeId);
    const leader = await this.#leader(cluster);
    const undo: Undo[] = [];
    const removed = () => this.#removed(name, leader, node);
    const left = () => this.#nodes.ask(node, (controls) => leaveCluster(controls, name, haNode(node)));
    try {
      await this.#step(undo, leader, removed, (controls) => addNode(controls, name, haNode(node)));
      const fields = { name, mode, nodes: cluster.nodes.map(haNode), own: nodeId };
      await this.#step(undo, node, left, (controls) => joinCluster(controls, fields));
    } catch (error) {
      throw await this.#takenBack(cluster, undo, error);
    } finally {
      this.#watch.forget(id);
    }
  }

  /** The leader is told; where none can be, or it leaves itself, the node. */
  async leave(cluster: ClusterRecord, nodeId: number): Promise<void> {
    const { id, name } = cluster;
    const node = nodeOf(cluster, nodeId);
    const leader = await this.#leader(cluster).catch(onlyServiceError);
    try {
      if (leader !== null && leader.nodeId !== nodeId) await this.#removed(name, leader, node);
      else await this.#nodes.ask(node, (controls) => leaveCluster(controls, name, haNode(node)));
    } finally {
      this.#watch.forget(id);
    }
  }

  async dissolve({ id, nodes, name }: ClusterRecord, options: { readonly purge: boolean }): Promise<NodeOutcome[]> {
    if (!options.purge) {
      const found = await Promise.all(nodes.map((node) => outcomeOf(node, this.#nodes.ask(node, getCluster))));
      if (found.some(isFailed)) return found.map((one) => (isFailed(one) ? one : { ...one, isSkipped: true }));
    }
    try {
      return await Promise.all(nodes.map((node) => outcomeOf(node, this.#deleted(name, node))));
    } finally {
      this.#watch.forget(id);
    }
  }

  status(cluster: ClusterRecord): Promise<ClusterStatus> {
    return this.#watch.status(cluster);
  }

  standIn(cluster: ClusterRecord): string | null {
    return this.#watch.standIn(cluster);
  }

  onChange(listener: (clusterId: string) => void): Stop {
    return this.#watch.onChange(listener);
  }

  async #leader(cluster: ClusterRecord): Promise<ClusterNodeRecord> {
    this.#watch.forget(cluster.id);
    const { nodes } = await this.status(cluster);
    const leader = nodes.find(({ isLeader }) => isLeader);
    const problem = nodes.find(({ isReachable, error }) => !isReachable && error !== null)?.error;
    if (leader === undefined) {
      throw problem ?? new ServiceError('BROKER_UNREACHABLE', 'No node of the cluster says that it leads');
    }
    return nodeOf(cluster, leader.nodeId);
  }

  /** One that is not in a cluster any more is no failure: an attempt before may have come so far. */
  async #deleted(name: string, node: ClusterNodeRecord): Promise<void> {
    try {
      await this.#nodes.ask(node, (controls) => deleteCluster(controls, name));
    } catch (error) {
      if (!isRefusal(error) || (await this.#nodes.ask(node, getCluster)) !== null) throw error;
    }
  }

  /** As `#deleted`. */
  async #removed(name: string, leader: ClusterNodeRecord, node: ClusterNodeRecord): Promise<void> {
    try {
      await this.#nodes.ask(leader, (controls) => removeNode(controls, name, haNode(node)));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const { members } = await this.#nodes.ask(leader, (controls) => getNodeStatus(controls, leader.nodeId));
      if (members === null || members.includes(node.nodeId)) throw error;
    }
  }

  /** Keeps how to take it back, unless the node certainly did nothing. */
  async #step(
    undo: Undo[],
    node: ClusterNodeRecord,
    take: () => Promise<unknown>,
    command: (controls: Parameters<typeof getCluster>[0]) => Promise<unknown>,
  ): Promise<void> {
    const wasConnected = this.#nodes.isConnected(node);
    try {
      await this.#nodes.ask(node, command);
      undo.push({ node, isCertain: true, take });
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : null;
      if (code === 'BROKER_TIMEOUT' || (code === 'BROKER_UNREACHABLE' && wasConnected)) {
        undo.push({ node, isCertain: false, take });
      }
      throw error;
    }
  }

  /** The error, with what could not be taken back. */
  async #takenBack({ name }: ClusterRecord, undo: readonly Undo[], error: unknown): Promise<unknown> {
    const take = async ({ node, isCertain, take: back }: Undo) => {
      // It may be in another cluster, which stays as it is.
      if (isCertain || (await this.#nodes.ask(node, getCluster)) === name) await back();
    };
    const outcomes = await Promise.all(undo.toReversed().map((one) => outcomeOf(one.node, take(one))));
    const left = outcomes.filter(isFailed);
    if (left.length === 0 || !(error instanceof ServiceError)) return error;
    const nodes = left.map(({ nodeId, brokerId, error: reason }) => ({
      nodeId,
      brokerId,
      code: reason?.code,
      error: reason?.message,
    }));
    const numbers = left.map(({ nodeId }) => nodeId).join(', ');
    const message = `${error.message.replace(/\.$/, '')}; and what was begun could not be taken back on node ${numbers}`;
    return new ServiceError(error.code, message, { info: { ...error.info, nodes }, cause: error });
  }
}

interface Undo {
  readonly node: ClusterNodeRecord;
  /** False: it was not answered. */
  readonly isCertain: boolean;
  readonly take: () => Promise<unknown>;
}

const isFailed = ({ error }: NodeOutcome) => error !== null;

async function outcomeOf({ nodeId, brokerId }: ClusterNodeRecord, work: Promise<unknown>): Promise<NodeOutcome> {
  try {
    await work;
    return { nodeId, brokerId, error: null };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { nodeId, brokerId, error };
  }
}

function onlyServiceError(error: unknown): null {
  if (error instanceof ServiceError) return null;
  throw error;
}

const haNode = ({ address, port, nodeId }: ClusterNodeRecord): HaNode => ({ address, port, nodeid: nodeId });

function nodeOf({ nodes }: ClusterRecord, nodeId: number): ClusterNodeRecord {
  const node = nodes.find((one) => one.nodeId === nodeId);
  if (node === undefined) throw notFound('node', String(nodeId));
  return node;
}
