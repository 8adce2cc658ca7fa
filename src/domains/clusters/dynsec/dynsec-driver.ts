import type { Logger } from 'pino';
import { ServiceError } from '../../../platform/errors.ts';
import { Listeners } from '../../../platform/listeners.ts';
import type { LeasedMutex } from '../../../platform/scheduling/leased-mutex.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { awayReason } from '../../../protocol/mqtt/when-connected.ts';
import type { SharedAccess } from '../../access-control/access-control-service.ts';
import type { PasswordCopies } from '../../access-control/writing/password-copies.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClusterCache } from '../cluster-cache.ts';
import type {
  ClusterDriver,
  ClusterNodeRecord,
  ClusterRecord,
  ClusterStatus,
  NodeOutcome,
  NodeStatus,
} from '../model/cluster.ts';
import { type NodeAccess, withLostRules } from './node-plan.ts';
import { NodeStates } from './node-states.ts';
import { NodeWatch } from './node-watch.ts';
import type { SyncStore } from './sync-store.ts';
import { SyncedCluster } from './synced-cluster.ts';

interface DynsecDriverOptions {
  readonly cache: ClusterCache;
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
  readonly access: NodeAccess;
  readonly store: SyncStore;
  readonly passwordCopies: PasswordCopies;
  readonly mutex: LeasedMutex;
  readonly storesPasswords: (cluster: ClusterRecord) => boolean;
  readonly log: Logger;
}

interface ManagedCluster {
  readonly cluster: SyncedCluster;
  readonly states: NodeStates;
}

const MAX_DIFFERENCES = 100;

/** Driver of clusters whose dynamic security this service synchronizes. See SyncedCluster. */
export class DynsecDriver implements ClusterDriver {
  readonly #options: DynsecDriverOptions;
  readonly #clusters = new Map<string, ManagedCluster>();
  readonly #listeners = new Listeners<[clusterId: string]>();
  #stop: Stop = () => undefined;

  constructor(options: DynsecDriverOptions) {
    this.#options = options;
  }

  start(): void {
    const { runtimes, cache, log } = this.#options;
    const stop = cache.onChange((after, before) => {
      const id = after?.id ?? before?.id ?? '';
      if (after === null) this.#clusters.delete(id);
      this.#listeners.notify(id);
    });
    const watch = new NodeWatch({
      cache,
      runtimes,
      check: (id, nodeId) => this.#clusterOf(id).cluster.check(nodeId),
      onDisconnect: (id, nodeId) => {
        this.#clusterOf(id).states.set(nodeId, { state: 'UNKNOWN' });
        this.#listeners.notify(id);
      },
      onFault: (error) => log.error({ err: error }, 'could not compare a node of a cluster'),
    });
    this.#stop = () => {
      watch.close();
      stop();
    };
  }

  close(): void {
    this.#stop();
    this.#listeners.clear();
  }

  sharedAccess({ id }: Pick<BrokerRecord, 'id'>): SharedAccess | null {
    const { cache } = this.#options;
    if (cache.get(id)?.keeper !== 'GATEWAY') return null;
    const { cluster } = this.#clusterOf(id);
    return {
      reader: () => cluster.reader(),
      nodes: () => cluster.nodes(),
      weakest: (dialect) => cluster.weakest(dialect),
      write: (wanted, options) => cluster.write(wanted, options),
    };
  }

  /** The first node by number determines the access control. Errors: those of any node. Nothing was changed then. */
  async create({ id }: ClusterRecord): Promise<void> {
    await this.#clusterOf(id).cluster.initialize();
  }

  async join({ id }: ClusterRecord, nodeId: number): Promise<void> {
    await this.#clusterOf(id).cluster.addNode(nodeId);
  }

  async leave({ id }: ClusterRecord, nodeId: number): Promise<void> {
    this.#clusterOf(id).states.delete(nodeId);
  }

  /** Nothing is sent to the nodes. A node that lacks changes would never receive them, so it fails the operation. */
  async dissolve({ id, nodes }: ClusterRecord, { purge }: { readonly purge: boolean }): Promise<NodeOutcome[]> {
    const { cluster, states } = this.#clusterOf(id);
    if (!purge) for (const { nodeId } of nodes) await cluster.check(nodeId);
    const outcomes = nodes.map(({ nodeId, brokerId }): NodeOutcome => {
      const isReached = this.#isConnected(brokerId);
      const { state, error } = states.of(nodeId);
      if (isReached && state !== 'BEHIND') return { nodeId, brokerId, error: null };
      return { nodeId, brokerId, error: error ?? new ServiceError('BROKER_UNREACHABLE', 'The node is not reachable') };
    });
    const isSkipped = !purge && outcomes.some(({ error }) => error !== null);
    return outcomes.map((outcome) => (outcome.error === null ? { ...outcome, isSkipped } : outcome));
  }

  async status(record: ClusterRecord): Promise<ClusterStatus> {
    const reader = this.contactNode(record);
    // A stored password is sent to a node that lacks it, so it is not reported as missing.
    const lacking = record.nodes.flatMap(({ missingPasswords }) => missingPasswords);
    const stored = await this.#options.store.withStoredPassword(record.id, lacking);
    const nodes = record.nodes.map((node) => this.#statusOf(record, node, reader, stored));
    const reached = nodes.filter(({ isReachable }) => isReachable);
    const isWhole = nodes.every(
      ({ error, sync }) => error === null && sync?.state === 'EQUAL' && sync.missingPasswords.length === 0,
    );
    return { state: reached.length === 0 ? 'INACTIVE' : isWhole ? 'ACTIVE' : 'DEGRADED', nodes };
  }

  contactNode({ id }: ClusterRecord): string | null {
    return this.#clusterOf(id).cluster.contactNode()?.brokerId ?? null;
  }

  readonly onChange = this.#listeners.add;

  readonly repair: NonNullable<ClusterDriver['repair']> = async ({ id }, nodeId, { adopt, mayControl }) => {
    const { cluster } = this.#clusterOf(id);
    await (adopt ? cluster.adopt(nodeId, mayControl) : cluster.repair(nodeId));
  };

  #statusOf(
    record: ClusterRecord,
    node: ClusterNodeRecord,
    reader: string | null,
    stored: ReadonlySet<string>,
  ): NodeStatus {
    const { nodeId, brokerId } = node;
    const missingPasswords = node.missingPasswords.filter((username) => !stored.has(username));
    const { cluster, states } = this.#clusterOf(node.clusterId);
    const found = states.of(nodeId);
    const isReachable = this.#isConnected(brokerId);
    const isBehind = node.revision !== record.revision;
    const rules = isReachable ? cluster.differingRules(record, node) : null;
    const differences = withLostRules(found.differences, rules ?? []);
    const reason = awayReason(this.#options.runtimes.status(brokerId), 'The node is not reachable');
    return {
      nodeId,
      brokerId,
      isReachable,
      isLeader: brokerId === reader,
      raft: null,
      lag: node.revision === null || node.revision < 0 ? null : record.revision - node.revision,
      sync: {
        state: isBehind ? 'BEHIND' : !isReachable ? 'UNKNOWN' : differences.length > 0 ? 'DRIFTED' : found.state,
        since: found.since,
        differences: differences.slice(0, MAX_DIFFERENCES),
        differenceCount: differences.length,
        differingRules: rules?.slice(0, MAX_DIFFERENCES) ?? null,
        missingPasswords,
      },
      error: isReachable ? found.error : new ServiceError('BROKER_UNREACHABLE', reason),
    };
  }

  #clusterOf(id: string): ManagedCluster {
    const known = this.#clusters.get(id);
    if (known !== undefined) return known;
    const states = new NodeStates(() => this.#listeners.notify(id));
    const cluster = new SyncedCluster({ ...this.#options, id, states });
    this.#clusters.set(id, { cluster, states });
    return { cluster, states };
  }

  #isConnected(brokerId: string): boolean {
    return this.#options.runtimes.isConnected(brokerId);
  }
}
