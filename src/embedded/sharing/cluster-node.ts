import type { Stop } from '../../mqtt/broker-session.ts';
import type { SharedParts } from '../core/broker-core.ts';
import type { ClientRegistry } from '../core/client-registry.ts';
import type { SharedChanges } from '../core/shared-changes.ts';
import type { BrokerLimits } from '../limits.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import { Journal } from '../store/journal.ts';
import type { Reach } from '../streams/embedded-stream-session.ts';
import type { ClusterOptions } from '../worker-protocol.ts';
import { placeIn } from './cluster-place.ts';
import { NodeChanges } from './node-changes.ts';
import { NodeReplica } from './node-replica.ts';
import type { LogTiming, OpenedLog } from './redis-log/log-options.ts';
import type { SharedLog } from './shared-log.ts';
import { takeSnapshot } from './snapshot.ts';

export interface ClusterNodeOptions {
  readonly cluster: ClusterOptions;
  /** The broker's, whose journal nobody has open. */
  readonly folder: string;
  readonly onProblem: (problem: string, error: unknown) => void;
  /** The broker must end now. It may begin anew. */
  readonly onEnd: (error: Error) => void;
  readonly timing?: Partial<LogTiming>;
}

/**
 * A broker's part in its cluster: opened before the broker's store, which has by then what the other nodes have; then joined by the core;
 * then begun. Closed once nothing is published any more, before the store is.
 */
export class ClusterNode implements Reach {
  readonly cluster: ClusterOptions;
  readonly log: SharedLog;
  readonly #opened: OpenedLog;
  /** It had all that was in the log before it. */
  hasBegun = false;
  readonly #reachListeners: Set<() => void>;
  #parts: { readonly replica: NodeReplica; readonly changes: NodeChanges } | null = null;

  private constructor(cluster: ClusterOptions, opened: OpenedLog, reachListeners: Set<() => void>) {
    this.cluster = cluster;
    this.#reachListeners = reachListeners;
    this.#opened = opened;
    this.log = opened.log;
  }

  /** Waits for Redis, and for the nodes that are there. */
  static async open({ cluster, folder, onProblem, onEnd, timing = {} }: ClusterNodeOptions): Promise<ClusterNode> {
    const { clusterId, nodeId, isSeed, redisUrl: url } = cluster;
    // Its client of Redis takes as long to load as all the rest of a broker, and most brokers are no nodes.
    const { openRedisLog } = await import('./redis-log/open-redis-log.ts');
    let broken: Error | null = null;
    const journal = new Journal({ folder, onBroken: (error) => (broken = error) });
    const reachListeners = new Set<() => void>();
    let opened: OpenedLog | null = null;
    try {
      opened = await openRedisLog({
        url,
        clusterId,
        nodeId,
        isSeed,
        place: placeIn(journal, nodeId),
        onProblem: (problem) => onProblem('the cluster', problem),
        onReach: () => {
          for (const listener of reachListeners) listener();
        },
        onEnd,
        timing,
      });
      if (opened.snapshot) await takeSnapshot(journal, nodeId, opened.snapshot);
      if (broken) throw broken;
      return new ClusterNode(cluster, opened, reachListeners);
    } catch (error) {
      await opened?.log.close();
      throw error;
    } finally {
      journal.close();
    }
  }

  /** Null also while it begins, when nobody is let in yet. */
  get problem(): string | null {
    return this.hasBegun && !this.log.isReached ? (this.log.problem ?? 'Redis is not reached') : null;
  }

  onReach(listener: () => void): Stop {
    this.#reachListeners.add(listener);
    return () => this.#reachListeners.delete(listener);
  }

  /** Before the core loads what the store has. */
  join(store: BrokerStore, registry: ClientRegistry, limits: BrokerLimits, parts: SharedParts): SharedChanges {
    const isFull = this.cluster.mode === 'FULL';
    const replica = new NodeReplica({ ...parts, store, registry, limits, nodeId: this.cluster.nodeId, isFull });
    const changes = new NodeChanges({ store, log: this.log, replica, isFull });
    this.#parts = { replica, changes };
    return changes;
  }

  /** Resolves when it has all that was in the log before. */
  async begin(): Promise<void> {
    if (!this.#parts) throw new Error('the node has not joined');
    this.#opened.start(this.#parts.replica);
    await this.#parts.changes.begin();
    this.hasBegun = true;
  }

  close(): Promise<void> {
    return this.log.close();
  }
}
