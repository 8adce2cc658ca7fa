import { ServiceError } from '../../../platform/errors.ts';
import { within } from '../../../platform/scheduling/within.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import { noResponse } from '../../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClusterCache } from '../cluster-cache.ts';
import type { ClusterRecord } from '../model/cluster.ts';

export interface NodeEntry {
  readonly nodeId: number;
  readonly broker: BrokerRecord;
}

export interface NodeFailure {
  readonly node: NodeEntry;
  readonly error: ServiceError;
}

interface NodeResult<T> {
  readonly node: NodeEntry;
  readonly nodeId: number;
  readonly value: T;
}

interface NodeResults<T> {
  readonly results: readonly NodeResult<T>[];
  readonly failures: readonly NodeFailure[];
}

export type CallNode = <T>(node: NodeEntry, request: (controls: ControlCaller) => Promise<T>) => Promise<T>;

/** Share of the deadline of a command for calls to nodes. The rest is for merging their results. */
const NODE_SHARE = 0.7;
/** Share of the deadline of a command for calls in sequence. The rest is for requests before them. */
const SEQUENCE_SHARE = 0.6;

const AWAY: readonly string[] = ['BROKER_UNREACHABLE', 'BROKER_TIMEOUT'];

/** Whether each node has its own clients and messages, which other nodes do not see. */
export const hasClientsPerNode = ({ mode }: Pick<ClusterRecord, 'mode'>): boolean => mode !== 'FULL';

/** Calls the nodes of one cluster. The list of nodes is read from the cache for each call. */
export class ClusterNodes {
  readonly #clusterId: string;
  readonly #options: ClusterNodesOptions;

  constructor(clusterId: string, options: ClusterNodesOptions) {
    this.#clusterId = clusterId;
    this.#options = options;
  }

  all(): readonly NodeEntry[] {
    return nodesOfCluster(this.#options, this.#clusterId);
  }

  isConnected({ broker }: NodeEntry): boolean {
    return this.#options.runtimes.isConnected(broker.id);
  }

  onChange(listener: () => void): Stop {
    return this.#options.onNodes((id) => {
      if (id === this.#clusterId) listener();
    });
  }

  /** Calls nodes in parallel, each with a deadline. Errors: that of the first node if all nodes fail. */
  async callAll<T>(
    call: (node: NodeEntry) => Promise<T>,
    nodes: readonly NodeEntry[] = this.all(),
  ): Promise<NodeResults<T>> {
    const results: NodeResult<T>[] = [];
    const failures: NodeFailure[] = [];
    const patienceMs = this.#options.timeoutMs * NODE_SHARE;
    const asked = nodes.map((node) => within(patienceMs, call(node), () => noResponse(nameOf(node), patienceMs)));
    for (const [index, result] of (await Promise.allSettled(asked)).entries()) {
      const node = nodes[index] as NodeEntry;
      if (result.status === 'fulfilled') results.push({ node, nodeId: node.nodeId, value: result.value });
      else if (result.reason instanceof ServiceError) failures.push({ node, error: result.reason });
      else throw result.reason;
    }
    const [first] = failures;
    if (results.length === 0) {
      if (first) throw withNodeName(first);
      throw new ServiceError('BROKER_UNREACHABLE', 'The cluster has no nodes');
    }
    return { results, failures };
  }

  /**
   * Calls nodes one after the other until the deadline. Later nodes fail with BROKER_TIMEOUT. Errors: that of the first
   * node if it refuses the call, because the others would refuse it, too.
   */
  async callInSequence<T>(nodes: readonly NodeEntry[], call: (node: NodeEntry) => Promise<T>): Promise<NodeResults<T>> {
    const results: NodeResult<T>[] = [];
    const failures: NodeFailure[] = [];
    const until = performance.now() + this.#options.timeoutMs * SEQUENCE_SHARE;
    for (const node of nodes) {
      const leftMs = Math.floor(until - performance.now());
      try {
        if (leftMs <= 0)
          throw new ServiceError('BROKER_TIMEOUT', 'Earlier nodes took too long, so nothing was sent to this one');
        const { nodeId } = node;
        const late = () => noResponse(`node ${nodeId}`, leftMs);
        results.push({ node, nodeId, value: await within(leftMs, call(node), late) });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (results.length + failures.length === 0 && !AWAY.includes(error.code)) throw withNodeName({ node, error });
        failures.push({ node, error });
      }
    }
    return { results, failures };
  }
}

interface ClusterNodesOptions {
  readonly cache: ClusterCache;
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
  readonly timeoutMs: number;
  /** Calls the listener with the id of each cluster whose nodes have changed. */
  onNodes(listener: (clusterId: string) => void): Stop;
}

export function nodesOfCluster(
  { cache, brokers }: Pick<ClusterNodesOptions, 'cache' | 'brokers'>,
  clusterId: string,
): readonly NodeEntry[] {
  return (cache.get(clusterId)?.nodes ?? []).flatMap(({ nodeId, brokerId }) => {
    const broker = brokers.get(brokerId);
    return broker === null ? [] : [{ nodeId, broker }];
  });
}

const nameOf = ({ nodeId, broker }: NodeEntry) => `node ${nodeId} ("${broker.name}")`;

export function withNodeName({ node, error }: NodeFailure): ServiceError {
  const { code, message, info } = error;
  const { nodeId, broker } = node;
  return new ServiceError(code, `${nameOf(node)}: ${message}`, {
    info: { ...info, nodeId, brokerId: broker.id },
    cause: error,
  });
}

export function unknownElsewhere(failure: NodeFailure, name: string): ServiceError {
  const { code, message, info } = withNodeName(failure);
  return new ServiceError(code, `No other node has "${name}", and this node failed: ${message}`, info ? { info } : {});
}

export const failureText = (failures: readonly NodeFailure[]): string | null =>
  failures.length === 0 ? null : failures.map((failure) => withNodeName(failure).message).join('; ');

/** Throws if a change failed on a node. Errors: that of the first failed node, with `info.nodes` for all nodes. */
export function throwIfPartial({
  results,
  failures,
}: {
  readonly results: readonly Pick<NodeResult<unknown>, 'node'>[];
  readonly failures: readonly NodeFailure[];
}): void {
  const [first] = failures;
  if (first === undefined) return;
  const nodes = [
    ...results.map(({ node: { nodeId } }) => ({ nodeId, error: null })),
    ...failures.map(({ node: { nodeId }, error }) => ({ nodeId, code: error.code, error: error.message })),
  ].sort((one, other) => one.nodeId - other.nodeId);
  const { code, message, info } = withNodeName(first);
  const done = results.map(({ node: { nodeId } }) => nodeId).join(', ');
  const words = done === '' ? message : `${message}. The change was applied on node ${done}`;
  throw new ServiceError(code, words, { info: { ...info, nodes }, cause: first.error });
}
