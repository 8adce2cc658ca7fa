import type { Logger } from 'pino';
import { ServiceError } from '../../../platform/errors.ts';
import type { LeasedMutex } from '../../../platform/scheduling/leased-mutex.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { SharedAccess } from '../../access-control/access-control-service.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { ClusterDriver, NodeOutcome, RepairOptions } from '../model/cluster-driver.ts';
import type { ClusterStatus, NodeStatus } from '../model/cluster-status.ts';
import type { ClusterRows } from './cluster-rows.ts';
import { KeptCluster } from './kept-cluster.ts';
import type { NodeAccess } from './node-access.ts';
import { NodeStates } from './node-states.ts';
import { NodeWatch } from './node-watch.ts';
import type { PasswordCopies } from './password-copies.ts';

export interface DynsecDriverOptions {
  readonly directory: ClusterDirectory;
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
  readonly access: NodeAccess;
  readonly rows: ClusterRows;
  readonly passwordCopies: PasswordCopies;
  /** By cluster. */
  readonly mutex: LeasedMutex;
  /** Whether passwords that are set on the cluster are stored, and sent to nodes that were away or join. */
  readonly keepsPasswords: (cluster: ClusterRecord) => boolean;
  readonly log: Logger;
  /** How often nodes are compared, beside when they come back and when somebody else's write is seen. Default POLL_MS. */
  readonly pollMs?: number;
}

interface Beside {
  /** The entry of the node by which the cluster is read. */
  readonly reader: string | null;
  /** Accounts whose password is known. */
  readonly kept: ReadonlySet<string>;
}

interface Kept {
  readonly cluster: KeptCluster;
  readonly states: NodeStates;
}

/** What was read of a Mosquitto 2.0 counts no more after 30 s: a moment earlier a look would learn nothing. */
const POLL_MS = 31_000;
const MAX_TOLD = 100;

/** Clusters of brokers that this service keeps equal: their dynamic security. See KeptCluster. */
export class DynsecDriver implements ClusterDriver {
  readonly #options: DynsecDriverOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Set<(clusterId: string) => void>();
  #stop: Stop = () => undefined;

  constructor(options: DynsecDriverOptions) {
    this.#options = options;
  }

  /** From here on nodes are followed. A process that does one thing never comes here. */
  start(): void {
    const { runtimes, directory, log, pollMs = POLL_MS } = this.#options;
    const stop = directory.onChange((after, before) => {
      const id = after?.id ?? before?.id ?? '';
      if (after === null) this.#kept.delete(id);
      this.#tell(id);
    });
    const watch = new NodeWatch({
      directory,
      runtimes,
      pollMs,
      look: (id, nodeId) => this.#keptOf(id).cluster.look(nodeId),
      onAway: (id, nodeId) => {
        this.#keptOf(id).states.set(nodeId, { state: 'UNKNOWN' });
        this.#tell(id);
      },
      onFault: (error) => log.error({ err: error }, 'a node of a cluster could not be compared'),
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

  /** Null: the entry does not stand for a cluster that is kept here. */
  sharedAccess({ id }: Pick<BrokerRecord, 'id'>): SharedAccess | null {
    const { directory } = this.#options;
    if (directory.get(id)?.keeper !== 'GATEWAY') return null;
    const { cluster } = this.#keptOf(id);
    return { reader: () => cluster.reader(), write: (wanted, options) => cluster.write(wanted, options) };
  }

  /**
   * The first node by number gives what the others get, from which goes what it does not have. One that goes away meanwhile is behind.
   * Errors: of any node, then none was changed.
   */
  async create({ id }: ClusterRecord): Promise<void> {
    await this.#keptOf(id).cluster.found();
  }

  async join({ id }: ClusterRecord, nodeId: number): Promise<void> {
    await this.#keptOf(id).cluster.admit(nodeId);
  }

  /** Compares a node that was away; whether it is equal. Never rejects for what the node does. */
  async look({ id }: Pick<ClusterRecord, 'id'>, nodeId: number): Promise<boolean> {
    const { cluster, states } = this.#keptOf(id);
    await cluster.look(nodeId);
    return states.of(nodeId).state === 'EQUAL';
  }

  /** It keeps what it has. */
  async leave({ id }: ClusterRecord, nodeId: number): Promise<void> {
    this.#keptOf(id).states.forget(nodeId);
  }

  /** There is nothing to tell, but a node that lacks something would lack it for ever. */
  async dissolve(
    { id, nodes }: ClusterRecord,
    { purge }: { readonly purge: boolean },
  ): Promise<readonly NodeOutcome[]> {
    const { cluster, states } = this.#keptOf(id);
    if (!purge) for (const { nodeId } of nodes) await cluster.look(nodeId);
    const outcomes = nodes.map(({ nodeId, brokerId }): NodeOutcome => {
      const isReached = this.#isConnected(brokerId);
      const { state, error } = states.of(nodeId);
      if (isReached && state !== 'BEHIND') return { nodeId, brokerId, error: null };
      return { nodeId, brokerId, error: error ?? new ServiceError('BROKER_UNREACHABLE', 'The node is not reached') };
    });
    const isSkipped = !purge && outcomes.some(({ error }) => error !== null);
    return outcomes.map((outcome) => (outcome.error === null ? { ...outcome, isSkipped } : outcome));
  }

  async status(record: ClusterRecord): Promise<ClusterStatus> {
    const reader = this.standIn(record);
    // What is kept is given to a node that lacks it.
    const lacking = record.nodes.flatMap(({ missingPasswords }) => missingPasswords);
    const kept = await this.#options.rows.known(record.id, lacking);
    const nodes = record.nodes.map((node) => this.#statusOf(record, node, { reader, kept }));
    const reached = nodes.filter(({ isReachable }) => isReachable);
    const isWhole = nodes.every(
      ({ error, sync }) => error === null && sync?.state === 'EQUAL' && sync.missingPasswords.length === 0,
    );
    return { state: reached.length === 0 ? 'INACTIVE' : isWhole ? 'ACTIVE' : 'DEGRADED', nodes };
  }

  standIn({ id }: ClusterRecord): string | null {
    return this.#keptOf(id).cluster.standIn()?.brokerId ?? null;
  }

  onChange(listener: (clusterId: string) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  readonly repair = async (
    { id }: ClusterRecord,
    nodeId: number,
    { adopt, mayControl }: RepairOptions,
  ): Promise<void> => {
    const { cluster } = this.#keptOf(id);
    await (adopt ? cluster.adopt(nodeId, mayControl) : cluster.repair(nodeId));
  };

  #statusOf({ revision }: ClusterRecord, node: ClusterNodeRecord, { reader, kept }: Beside): NodeStatus {
    const { nodeId, brokerId } = node;
    const missingPasswords = node.missingPasswords.filter((username) => !kept.has(username));
    const found = this.#keptOf(node.clusterId).states.of(nodeId);
    const isReachable = this.#isConnected(brokerId);
    const isBehind = node.revision !== revision;
    const lastError = this.#options.runtimes.status(brokerId).lastError ?? 'The node is not reached';
    return {
      nodeId,
      brokerId,
      isReachable,
      isLeader: brokerId === reader,
      raft: null,
      lag: node.revision === null || node.revision < 0 ? null : revision - node.revision,
      sync: {
        state: isBehind ? 'BEHIND' : isReachable ? found.state : 'UNKNOWN',
        since: found.since,
        differences: found.differences.slice(0, MAX_TOLD),
        differenceCount: found.differences.length,
        missingPasswords,
      },
      error: isReachable ? found.error : new ServiceError('BROKER_UNREACHABLE', lastError),
    };
  }

  #keptOf(id: string): Kept {
    const known = this.#kept.get(id);
    if (known !== undefined) return known;
    const { directory, brokers, access, rows, passwordCopies, mutex, keepsPasswords, log } = this.#options;
    const states = new NodeStates(() => this.#tell(id));
    const cluster = new KeptCluster({
      id,
      recordOf: () => directory.get(id),
      brokerOf: (brokerId) => brokers.get(brokerId),
      isConnected: (brokerId) => this.#isConnected(brokerId),
      access,
      rows,
      states,
      passwordCopies,
      inTurn: (work) =>
        mutex.run(id, async () => {
          // Another process may have had its turn just now.
          await directory.refresh(id);
          return work();
        }),
      refresh: () => directory.refresh(id),
      keepsPasswords: () => {
        const record = directory.get(id);
        return record !== null && keepsPasswords(record);
      },
      onFault: (error) => log.error({ err: error, clusterId: id }, 'a write on a cluster could not be stored'),
    });
    const kept = { cluster, states };
    this.#kept.set(id, kept);
    return kept;
  }

  #tell(id: string): void {
    for (const listener of this.#listeners) listener(id);
  }

  #isConnected(brokerId: string): boolean {
    return this.#options.runtimes.isConnected(brokerId);
  }
}
