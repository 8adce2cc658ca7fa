import type { Logger } from 'pino';
import type { SharedAccess } from '../../access-control/access-control-service.ts';
import type { BrokerDirectory, BrokerRecord } from '../../brokers/broker-directory.ts';
import type { BrokerRuntime, BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import { isRead } from '../../control/payloads.ts';
import { ServiceError } from '../../errors.ts';
import type { Stop } from '../../mqtt/broker-session.ts';
import type { LeasedTurns } from '../../storage/leased-turns.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { ClusterDriver, NodeOutcome } from '../model/cluster-driver.ts';
import type { ClusterStatus, NodeStatus } from '../model/cluster-status.ts';
import type { ClusterRows } from './cluster-rows.ts';
import { KeptCluster } from './kept-cluster.ts';
import type { NodeAccess } from './node-access.ts';
import { NodeStates } from './node-states.ts';

export interface DynsecDriverOptions {
  readonly directory: ClusterDirectory;
  readonly brokers: BrokerDirectory;
  readonly runtimes: BrokerRuntimes;
  readonly access: NodeAccess;
  readonly rows: ClusterRows;
  /** By cluster. */
  readonly turns: LeasedTurns;
  /** Of a project: passwords are kept for nodes that are away. */
  readonly keepsPasswords: (projectId: string) => boolean;
  readonly log: Logger;
  /** How often nodes are compared, beside when they come back and when somebody else's write is seen. Default 30,000 ms. */
  readonly pollMs?: number;
}

interface Kept {
  readonly cluster: KeptCluster;
  readonly states: NodeStates;
}

const ACCESS_API = 'dynamic-security';
const MAX_TOLD = 100;

/** Clusters of brokers that this service keeps equal: their dynamic security. See KeptCluster. */
export class DynsecDriver implements ClusterDriver {
  readonly #options: DynsecDriverOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Set<(clusterId: string) => void>();
  readonly #stops: Stop[] = [];
  /** What follows the runtime of a broker. */
  readonly #followed = new Map<string, Stop>();
  /** Looks that are under way, and those that were asked for meanwhile. */
  readonly #looks = new Map<string, { again: boolean }>();
  #ticker: NodeJS.Timeout | null = null;

  constructor(options: DynsecDriverOptions) {
    this.#options = options;
  }

  /** From here on nodes are followed. A process that does one thing never comes here. */
  start(): void {
    const { runtimes, directory, pollMs = 30_000 } = this.#options;
    runtimes.onRuntime((runtime, change) => {
      this.#followed.get(runtime.id)?.();
      this.#followed.delete(runtime.id);
      if (change === 'OPENED') this.#follow(runtime);
      this.#tell(runtime.id);
    });
    this.#stops.push(
      directory.onChange((after, before) => {
        const cluster = after ?? before;
        if (after === null && cluster !== null) this.#kept.delete(cluster.id);
        else if (after !== null) this.#nodesChanged(after, before);
        if (cluster !== null) for (const listener of this.#listeners) listener(cluster.id);
      }),
    );
    this.#ticker = setInterval(() => this.#lookAtAll(), pollMs);
    this.#ticker.unref();
    this.#lookAtAll();
  }

  close(): void {
    if (this.#ticker) clearInterval(this.#ticker);
    for (const stop of [...this.#stops.splice(0), ...this.#followed.values()]) stop();
    this.#followed.clear();
    this.#listeners.clear();
  }

  /** Null: the entry does not stand for a cluster that is kept here. */
  sharedAccess({ id }: Pick<BrokerRecord, 'id'>): SharedAccess | null {
    const { directory } = this.#options;
    if (directory.get(id)?.keeper !== 'GATEWAY') return null;
    const { cluster } = this.#keptOf(id);
    return {
      reader: () => {
        const node = cluster.reader();
        const broker = node && this.#options.brokers.get(node.brokerId);
        if (broker === null) throw new ServiceError('BROKER_UNREACHABLE', 'No node of the cluster is reached');
        return broker;
      },
      write: (wanted, dryRun) => cluster.write(wanted, dryRun),
    };
  }

  /** The first node by number gives what the others get; one that cannot be brought there is behind. Errors: those of the first. */
  async create({ id, nodes }: ClusterRecord): Promise<void> {
    const [first, ...others] = nodes as [ClusterNodeRecord, ...ClusterNodeRecord[]];
    const { cluster } = this.#keptOf(id);
    await cluster.found(first.nodeId);
    for (const { nodeId } of others) await cluster.look(nodeId);
  }

  async join({ id }: ClusterRecord, nodeId: number): Promise<void> {
    const { cluster, states } = this.#keptOf(id);
    await cluster.look(nodeId);
    const { state, error } = states.of(nodeId);
    if (state === 'EQUAL') return;
    throw error ?? new ServiceError('BROKER_REJECTED', 'The broker does not take what the cluster has');
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
    if (!purge) for (const { nodeId } of nodes) await cluster.look(nodeId).catch(() => undefined);
    return nodes.map(({ nodeId, brokerId }) => {
      const isReached = this.#isConnected(brokerId);
      const { state, error } = states.of(nodeId);
      if (isReached && state !== 'BEHIND') return { nodeId, brokerId, error: null };
      return { nodeId, brokerId, error: error ?? new ServiceError('BROKER_UNREACHABLE', 'The node is not reached') };
    });
  }

  async status(record: ClusterRecord): Promise<ClusterStatus> {
    const reader = this.standIn(record);
    const nodes = record.nodes.map((node) => this.#statusOf(record, node, reader));
    const reached = nodes.filter(({ isReachable }) => isReachable);
    const isWhole = nodes.every(
      ({ error, sync }) => error === null && sync?.state === 'EQUAL' && sync.missingPasswords.length === 0,
    );
    return { state: reached.length === 0 ? 'INACTIVE' : isWhole ? 'ACTIVE' : 'DEGRADED', nodes };
  }

  standIn({ id }: ClusterRecord): string | null {
    return this.#keptOf(id).cluster.reader()?.brokerId ?? null;
  }

  onChange(listener: (clusterId: string) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  readonly repair = async (
    { id }: ClusterRecord,
    nodeId: number,
    { adopt }: { readonly adopt: boolean },
  ): Promise<void> => {
    const { cluster, states } = this.#keptOf(id);
    if (adopt) return cluster.adopt(nodeId);
    await cluster.look(nodeId, { repair: true });
    const { state, error } = states.of(nodeId);
    if (state === 'EQUAL') return;
    throw error ?? new ServiceError('BROKER_REJECTED', 'The node does not take what the cluster has');
  };

  #statusOf({ revision }: ClusterRecord, node: ClusterNodeRecord, reader: string | null): NodeStatus {
    const { nodeId, brokerId, missingPasswords } = node;
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
    const { directory, brokers, access, rows, turns, keepsPasswords } = this.#options;
    const states = new NodeStates(() => {
      for (const listener of this.#listeners) listener(id);
    });
    const cluster = new KeptCluster({
      id,
      recordOf: () => directory.get(id),
      brokerOf: (brokerId) => brokers.get(brokerId),
      isConnected: (brokerId) => this.#isConnected(brokerId),
      access,
      rows,
      states,
      inTurn: (work) =>
        turns.run(id, async () => {
          // Another process may have had its turn just now.
          await directory.refresh(id);
          return work();
        }),
      keepsPasswords: () => keepsPasswords(directory.get(id)?.projectId ?? ''),
    });
    const kept = { cluster, states };
    this.#kept.set(id, kept);
    return kept;
  }

  #follow({ id, link, controls }: BrokerRuntime): void {
    const stops = [
      link.onStatus(({ state }) => {
        this.#tell(id);
        if (state === 'CONNECTED') this.#lookAt(id);
      }),
      controls.onForeignAnswers(ACCESS_API, (commands) => {
        if (!commands.every(isRead)) this.#lookAt(id);
      }),
    ];
    this.#followed.set(id, () => {
      for (const stop of stops) stop();
    });
    if (link.status.state === 'CONNECTED') this.#lookAt(id);
  }

  #nodesChanged(after: ClusterRecord, before: ClusterRecord | null): void {
    const known = new Set(before?.nodes.map(({ brokerId }) => brokerId));
    const isOtherDocument = before !== null && before.revision !== after.revision;
    for (const { brokerId, revision } of after.nodes) {
      // Another process may have changed it, and have failed with this node.
      if (!known.has(brokerId) || (isOtherDocument && revision !== after.revision)) this.#lookAt(brokerId);
    }
  }

  #lookAtAll(): void {
    for (const { keeper, nodes } of this.#options.directory.all()) {
      if (keeper === 'GATEWAY') for (const { brokerId } of nodes) this.#lookAt(brokerId);
    }
  }

  /** One look at a node at a time; whoever asks meanwhile has it done once more. */
  #lookAt(brokerId: string): void {
    const cluster = this.#options.directory.ofNode(brokerId);
    if (cluster?.keeper !== 'GATEWAY' || cluster.document === null || !this.#isConnected(brokerId)) return;
    const under = this.#looks.get(brokerId);
    if (under !== undefined) {
      under.again = true;
      return;
    }
    const look = { again: false };
    this.#looks.set(brokerId, look);
    const nodeId = cluster.nodes.find((node) => node.brokerId === brokerId)?.nodeId ?? 0;
    this.#keptOf(cluster.id)
      .cluster.look(nodeId)
      .catch((error: unknown) => {
        if (error instanceof ServiceError) return;
        this.#options.log.error(
          { err: error, clusterId: cluster.id, nodeId },
          'a node of a cluster could not be compared',
        );
      })
      .finally(() => {
        this.#looks.delete(brokerId);
        if (look.again) this.#lookAt(brokerId);
      });
  }

  #tell(brokerId: string): void {
    const cluster = this.#options.directory.ofNode(brokerId);
    if (cluster !== null) for (const listener of this.#listeners) listener(cluster.id);
  }

  #isConnected(brokerId: string): boolean {
    return this.#options.runtimes.isConnected(brokerId);
  }
}
