import type { ControlCommand } from '../../control/envelope.ts';
import type { ControlPlugin } from '../../control/plugin.ts';
import { runCommandOf } from '../../control/plugin-arguments.ts';
import type { Journal } from '../store/journal.ts';
import type { ClusterNode } from './cluster-node.ts';
import { keptIn } from './kept-copy.ts';
import type { NodePresence } from './shared-log.ts';

export const CLUSTER_API = 'brokergraph/cluster';

/** What `getNode` answers. */
export interface ToldNode {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly mode: 'FULL' | 'HP';
  /** JOINING: it does not have all that was there when it began. CUT_OFF: it cannot reach the other nodes, and lets nobody in. */
  readonly state: 'JOINING' | 'MEMBER' | 'CUT_OFF';
  /** In the common log; of two positions that two nodes tell the larger one is further. */
  readonly position: string;
  /** What it has not applied yet. */
  readonly behind: number;
  readonly nodes: readonly NodePresence[];
  /** It still has what it had before, for when not all nodes join. */
  readonly isCopyKept: boolean;
  /** Why it does not reach the others; null: it does, or is on its way. */
  readonly problem: string | null;
}

/** `brokergraph/cluster`, which brokers have that are nodes of a cluster: how it is about this node, and who it knows. */
export class ClusterPlugin implements ControlPlugin {
  readonly api = CLUSTER_API;
  readonly #node: ClusterNode;
  readonly #journal: Journal;

  constructor(node: ClusterNode, journal: Journal) {
    this.#node = node;
    this.#journal = journal;
  }

  execute(command: ControlCommand): unknown {
    return runCommandOf({ getnode: () => this.#told() }, command);
  }

  close(): void {}

  #told(): ToldNode {
    const { cluster, log, hasBegun } = this.#node;
    const { clusterId, nodeId, mode } = cluster;
    const { position } = log.place;
    const { behind, nodes, problem } = log;
    const isCopyKept = keptIn(this.#journal) !== null;
    const state = !log.isReached ? 'CUT_OFF' : hasBegun ? 'MEMBER' : 'JOINING';
    return { clusterId, nodeId, mode, state, position, behind, nodes, isCopyKept, problem };
  }
}
