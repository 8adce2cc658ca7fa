import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import { ServiceError } from '../../errors.ts';
import type { Stop } from '../../mqtt/broker-session.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import { HeldStatuses } from '../held-statuses.ts';
import { type ClusterRecord, isShared } from '../model/cluster.ts';
import type { ClusterStatus, NodeStatus } from '../model/cluster-status.ts';
import type { SharedNode } from './node-control.ts';

/** A node that has joined the others, and its access control that of the cluster. */
export interface JoinedNode {
  readonly nodeId: number;
  readonly isEqual: boolean;
  readonly isCopyKept: boolean;
}

export interface SharedWatchOptions {
  readonly directory: ClusterDirectory;
  readonly runtimes: BrokerRuntimes;
  /** How the access control of its nodes is. */
  readonly accessStatus: (cluster: ClusterRecord) => Promise<ClusterStatus>;
  /** Errors: those of a broker that cannot be asked. */
  readonly ask: (brokerId: string) => Promise<SharedNode>;
  /** Why a broker of this service does not run although it shall; null: not known. */
  readonly problemOf: (brokerId: string) => string | null;
  readonly onChange: (clusterId: string) => void;
  /** These nodes were asked, and have joined. */
  readonly onMembers: (cluster: ClusterRecord, members: readonly JoinedNode[]) => void;
  /** How often nodes are asked, milliseconds. */
  readonly pollMs: number;
  /** How long a status holds for all who ask, from when it is complete. */
  readonly holdMs: number;
}

/** How clusters are whose nodes have sessions and messages in common: asked now and then, and for whoever wants to know. */
export class SharedWatch {
  readonly #options: SharedWatchOptions;
  readonly #statuses: HeldStatuses;
  /** As it was told last. */
  readonly #told = new Map<string, string>();
  readonly #stops: Stop[] = [];

  constructor(options: SharedWatchOptions) {
    this.#options = options;
    this.#statuses = new HeldStatuses({
      ask: (cluster, isNewest) => this.#ask(cluster, isNewest),
      holdMs: options.holdMs,
    });
  }

  start(): void {
    const { runtimes, directory, pollMs } = this.#options;
    let isOver = false;
    const nodeChanged = (brokerId: string) => {
      const cluster = directory.ofNode(brokerId);
      if (cluster !== null && !isOver) this.#look(cluster, true);
    };
    runtimes.onRuntime(({ id, link }, change) => {
      if (change === 'OPENED') link.onStatus(() => nodeChanged(id));
      nodeChanged(id);
    });
    const ticker = setInterval(() => {
      for (const cluster of directory.all()) this.#look(cluster, false);
    }, pollMs);
    ticker.unref();
    this.#stops.push(
      () => {
        isOver = true;
        clearInterval(ticker);
      },
      directory.onChange((after, before) => {
        if (after !== null) this.#look(after, true);
        else if (before !== null) this.#told.delete(before.id);
      }),
    );
  }

  close(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  status(cluster: ClusterRecord): Promise<ClusterStatus> {
    return this.#statuses.of(cluster);
  }

  forget(clusterId: string): void {
    this.#statuses.forget(clusterId);
  }

  async #ask(cluster: ClusterRecord, isNewest: () => boolean): Promise<ClusterStatus> {
    const access = await this.#options.accessStatus(cluster);
    const members: JoinedNode[] = [];
    const nodes = await Promise.all(access.nodes.map((node) => this.#nodeStatus(cluster, node, members)));
    if (members.length > 0) this.#options.onMembers(cluster, members);
    const isWhole = nodes.every(({ error, sync }) => error === null && isEqual(sync));
    const serves = nodes.some(({ isReachable, error }) => isReachable && error === null);
    const status = { state: serves ? (isWhole ? 'ACTIVE' : 'DEGRADED') : 'INACTIVE', nodes } as const;
    if (isNewest() && this.#options.directory.get(cluster.id) !== null) this.#tell(cluster.id, status);
    return status;
  }

  async #nodeStatus(cluster: ClusterRecord, node: NodeStatus, members: JoinedNode[]): Promise<NodeStatus> {
    const { ask, problemOf } = this.#options;
    const { brokerId, nodeId } = node;
    if (!node.isReachable) {
      const problem = problemOf(brokerId);
      return problem === null ? node : { ...node, error: new ServiceError('BROKER_UNREACHABLE', problem) };
    }
    try {
      const said = await ask(brokerId);
      const isOther = said.clusterId !== cluster.id || said.nodeId !== nodeId;
      const problem = isOther ? notJoined() : problemIn(said);
      if (problem === null) {
        members.push({ nodeId, isEqual: node.sync?.state === 'EQUAL', isCopyKept: said.isCopyKept });
      }
      return { ...node, lag: said.behind, error: node.error ?? problem };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const isAlone = error.code === 'NOT_SUPPORTED_BY_BROKER';
      return { ...node, lag: null, error: node.error ?? (isAlone ? notJoined() : error) };
    }
  }

  #tell(id: string, { state, nodes }: ClusterStatus): void {
    // How far a node is behind is another number each time.
    const shown = nodes.map(({ error, lag, ...node }) => [node, error?.message, lag === null || lag === 0]);
    const text = JSON.stringify([state, shown]);
    if (this.#told.get(id) === text) return;
    this.#told.set(id, text);
    this.#options.onChange(id);
  }

  #look(cluster: ClusterRecord, isOther: boolean): void {
    if (!isShared(cluster)) return;
    if (isOther) this.forget(cluster.id);
    // A bug in it is that of whoever asks for it.
    this.status(cluster).catch(() => undefined);
  }
}

const isEqual = (sync: NodeStatus['sync']): boolean => sync?.state === 'EQUAL' && sync.missingPasswords.length === 0;

const notJoined = () =>
  new ServiceError('BROKER_UNREACHABLE', 'It has not joined the others yet: it is being started as their node');

function problemIn({ state, problem }: SharedNode): ServiceError | null {
  if (state === 'MEMBER') return null;
  if (state === 'JOINING') return notJoined();
  const reason = problem ?? 'It does not reach Redis';
  return new ServiceError('BROKER_UNREACHABLE', `${reason}; until then it lets nobody in, and acknowledges nothing`);
}
