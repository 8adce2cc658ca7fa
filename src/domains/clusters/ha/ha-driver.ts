import { notFound, ServiceError } from '../../../platform/errors.ts';
import type { ClusterDriver, ClusterNodeRecord, ClusterRecord, NodeOutcome } from '../model/cluster.ts';
import { addMember, deleteCluster, getCluster, getNodeStatus, type HaNode, isRefusal, sendNode } from './ha-control.ts';
import { HaWatch } from './ha-watch.ts';

/** Driver of clusters that commercial brokers synchronize themselves (`cedalo/ha`). */
export class HaDriver extends HaWatch implements ClusterDriver {
  async create(cluster: ClusterRecord): Promise<void> {
    const { id, name, mode } = cluster;
    const nodes = cluster.nodes.map(haNode);
    const undo: Undo[] = [];
    try {
      for (const node of cluster.nodes) {
        const command = undo.length === 0 ? 'createCluster' : 'joinCluster';
        const undoStep = () => this.call(node, (controls) => deleteCluster(controls, name));
        await this.#step(undo, node, undoStep, (controls) =>
          addMember(controls, command, { name, mode, nodes, own: node.nodeId }),
        );
      }
    } catch (error) {
      throw await this.#rollBack(cluster, undo, error);
    } finally {
      this.invalidate(id);
    }
  }

  async join(cluster: ClusterRecord, nodeId: number): Promise<void> {
    const { id, name, mode } = cluster;
    const node = nodeOf(cluster, nodeId);
    const leader = await this.#leader(cluster);
    const undo: Undo[] = [];
    const removed = () => this.#removeBy(name, leader, node);
    const left = () => this.#leave(name, node);
    try {
      await this.#step(undo, leader, removed, (controls) => sendNode(controls, 'addNode', name, haNode(node)));
      const fields = { name, mode, nodes: cluster.nodes.map(haNode), own: nodeId };
      await this.#step(undo, node, left, (controls) => addMember(controls, 'joinCluster', fields));
    } catch (error) {
      throw await this.#rollBack(cluster, undo, error);
    } finally {
      this.invalidate(id);
    }
  }

  /** Sends the command to the leader, or to the node itself if there is no leader or the leader leaves. */
  async leave(cluster: ClusterRecord, nodeId: number): Promise<void> {
    const { id, name } = cluster;
    const node = nodeOf(cluster, nodeId);
    const leader = await this.#leader(cluster).catch(onlyServiceError);
    try {
      if (leader !== null && leader.nodeId !== nodeId) await this.#removeBy(name, leader, node);
      else await this.#leave(name, node);
    } finally {
      this.invalidate(id);
    }
  }

  async dissolve({ id, nodes, name }: ClusterRecord, options: { readonly purge: boolean }): Promise<NodeOutcome[]> {
    if (!options.purge) {
      const found = await Promise.all(nodes.map((node) => outcomeOf(node, this.call(node, getCluster))));
      if (found.some(isFailed)) return found.map((one) => (isFailed(one) ? one : { ...one, isSkipped: true }));
    }
    try {
      return await Promise.all(nodes.map((node) => outcomeOf(node, this.#deleteOn(name, node))));
    } finally {
      this.invalidate(id);
    }
  }

  async #leader(cluster: ClusterRecord): Promise<ClusterNodeRecord> {
    this.invalidate(cluster.id);
    const { nodes } = await this.status(cluster);
    const leader = nodes.find(({ isLeader }) => isLeader);
    const problem = nodes.find(({ isReachable, error }) => !isReachable && error !== null)?.error;
    if (leader === undefined) {
      throw problem ?? new ServiceError('BROKER_UNREACHABLE', 'No node of the cluster is the leader');
    }
    return nodeOf(cluster, leader.nodeId);
  }

  #leave(name: string, node: ClusterNodeRecord): Promise<unknown> {
    return this.call(node, (controls) => sendNode(controls, 'leaveCluster', name, haNode(node)));
  }

  /** Deletes the cluster on a node. A node in no cluster is no error: an earlier attempt may have succeeded. */
  async #deleteOn(name: string, node: ClusterNodeRecord): Promise<void> {
    try {
      await this.call(node, (controls) => deleteCluster(controls, name));
    } catch (error) {
      if (!isRefusal(error) || (await this.call(node, getCluster)) !== null) throw error;
    }
  }

  /** Removes a node through the leader. A node that is no member is no error. */
  async #removeBy(name: string, leader: ClusterNodeRecord, node: ClusterNodeRecord): Promise<void> {
    try {
      await this.call(leader, (controls) => sendNode(controls, 'removeNode', name, haNode(node)));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const { members } = await this.call(leader, (controls) => getNodeStatus(controls, leader.nodeId));
      if (members === null || members.includes(node.nodeId)) throw error;
    }
  }

  /** Runs a command. Records how to undo it, unless the node certainly did not execute it. */
  async #step(
    undo: Undo[],
    node: ClusterNodeRecord,
    undoStep: () => Promise<unknown>,
    command: (controls: Parameters<typeof getCluster>[0]) => Promise<unknown>,
  ): Promise<void> {
    const wasConnected = this.isConnected(node);
    try {
      await this.call(node, command);
      undo.push({ node, isCertain: true, undoStep });
    } catch (error) {
      const code = error instanceof ServiceError ? error.code : null;
      if (code === 'BROKER_TIMEOUT' || (code === 'BROKER_UNREACHABLE' && wasConnected)) {
        undo.push({ node, isCertain: false, undoStep });
      }
      throw error;
    }
  }

  /** Undoes the recorded steps, last first. Returns the error, with the nodes on which undoing failed. */
  async #rollBack({ name }: ClusterRecord, undo: readonly Undo[], error: unknown): Promise<unknown> {
    const undoStep = async ({ node, isCertain, undoStep: rollBack }: Undo) => {
      // The node may be in another cluster, which must not change.
      if (isCertain || (await this.call(node, getCluster)) === name) await rollBack();
    };
    const outcomes = await Promise.all(undo.toReversed().map((one) => outcomeOf(one.node, undoStep(one))));
    const left = outcomes.filter(isFailed);
    if (left.length === 0 || !(error instanceof ServiceError)) return error;
    const nodes = left.map(({ nodeId, brokerId, error: reason }) => ({
      nodeId,
      brokerId,
      code: reason?.code,
      error: reason?.message,
    }));
    const numbers = left.map(({ nodeId }) => nodeId).join(', ');
    const message = `${error.message.replace(/\.$/, '')}; the change could not be rolled back on node ${numbers}`;
    return new ServiceError(error.code, message, { info: { ...error.info, nodes }, cause: error });
  }
}

interface Undo {
  readonly node: ClusterNodeRecord;
  readonly isCertain: boolean;
  readonly undoStep: () => Promise<unknown>;
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
