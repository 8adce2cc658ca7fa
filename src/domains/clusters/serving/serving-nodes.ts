import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import { withDeadline } from '../../brokers/deadline.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import type { ClusterRecord } from '../model/cluster.ts';

/** A node with clients and messages of its own. */
export interface ServingNode {
  readonly nodeId: number;
  readonly broker: BrokerRecord;
}

export interface NodeFailure {
  readonly node: ServingNode;
  readonly error: ServiceError;
}

export interface NodeAnswers<T> {
  readonly answers: readonly { readonly node: ServingNode; readonly answer: T }[];
  readonly failures: readonly NodeFailure[];
}

/** Asks a node by its control APIs. Errors: those of a broker that cannot be asked, and of the question. */
export type AskNode = <T>(node: ServingNode, question: (controls: ControlCaller) => Promise<T>) => Promise<T>;

/** Of the time that an answer may take: what is left is for what is made of the answers of those nodes that gave one. */
const NODE_SHARE = 0.7;

/** The nodes have messages of their own: who follows one of them sees those of that one alone. */
export const isSplit = ({ mode }: Pick<ClusterRecord, 'mode'>): boolean => mode !== 'FULL';

/** The nodes of one cluster, as they are when they are asked. */
export class ServingNodes {
  readonly #clusterId: string;
  readonly #parts: ServingParts;

  constructor(clusterId: string, parts: ServingParts) {
    this.#clusterId = clusterId;
    this.#parts = parts;
  }

  /** By number. */
  all(): readonly ServingNode[] {
    return nodesOf(this.#parts, this.#clusterId);
  }

  isConnected({ broker }: ServingNode): boolean {
    return this.#parts.runtimes.isConnected(broker.id);
  }

  /** Tells that the nodes are others, or one of them is reached, or not any more. */
  onChange(listener: () => void): Stop {
    return this.#parts.onNodes(this.#clusterId, listener);
  }

  /**
   * Asks nodes at once; one that takes too long does not keep the others' answers. Errors: that of the first node where none answers,
   * with the node named.
   */
  async each<T>(
    ask: (node: ServingNode) => Promise<T>,
    nodes: readonly ServingNode[] = this.all(),
  ): Promise<NodeAnswers<T>> {
    const answers: { node: ServingNode; answer: T }[] = [];
    const failures: NodeFailure[] = [];
    const patienceMs = this.#parts.timeoutMs * NODE_SHARE;
    const asked = nodes.map((node) => withDeadline(ask(node), patienceMs, nameOf(node)));
    for (const [index, result] of (await Promise.allSettled(asked)).entries()) {
      const node = nodes[index] as ServingNode;
      if (result.status === 'fulfilled') answers.push({ node, answer: result.value });
      else if (result.reason instanceof ServiceError) failures.push({ node, error: result.reason });
      else throw result.reason;
    }
    const [first] = failures;
    if (answers.length === 0) throw first === undefined ? withoutNodes() : ofNode(first);
    return { answers, failures };
  }
}

export interface ServingParts {
  readonly directory: ClusterDirectory;
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
  readonly timeoutMs: number;
  onNodes(clusterId: string, listener: () => void): Stop;
}

export function nodesOf(
  { directory, brokers }: Pick<ServingParts, 'directory' | 'brokers'>,
  clusterId: string,
): readonly ServingNode[] {
  return (directory.get(clusterId)?.nodes ?? []).flatMap(({ nodeId, brokerId }) => {
    const broker = brokers.get(brokerId);
    return broker === null ? [] : [{ nodeId, broker }];
  });
}

const nameOf = ({ nodeId, broker }: ServingNode) => `node ${nodeId} ("${broker.name}")`;

/** The same error, with the node named. */
export function ofNode({ node, error }: NodeFailure): ServiceError {
  const { code, message, info } = error;
  const { nodeId, broker } = node;
  return new ServiceError(code, `${nameOf(node)}: ${message}`, {
    info: { ...info, nodeId, brokerId: broker.id },
    cause: error,
  });
}

/** For people; null: there are none. */
export const wordsOf = (failures: readonly NodeFailure[]): string | null =>
  failures.length === 0 ? null : failures.map((failure) => ofNode(failure).message).join('; ');

/** What became of a change on each node. Errors: that of the first one where it failed, with `info.nodes` of all. */
export function refusePartly({ answers, failures }: Pick<NodeAnswers<unknown>, 'answers' | 'failures'>): void {
  const [first] = failures;
  if (first === undefined) return;
  const nodes = [
    ...answers.map(({ node: { nodeId } }) => ({ nodeId, error: null })),
    ...failures.map(({ node: { nodeId }, error }) => ({ nodeId, code: error.code, error: error.message })),
  ].sort((one, other) => one.nodeId - other.nodeId);
  const { code, message, info } = ofNode(first);
  const done = answers.map(({ node: { nodeId } }) => nodeId).join(', ');
  const words = done === '' ? message : `${message}. It was done on node ${done}`;
  throw new ServiceError(code, words, { info: { ...info, nodes }, cause: first.error });
}

const withoutNodes = () => new ServiceError('BROKER_UNREACHABLE', 'The cluster has no nodes that could be asked');
