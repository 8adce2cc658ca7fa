import type { ControlApi } from '../../../protocol/control/envelope.ts';
import { isRead } from '../../../protocol/control/payloads.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerRuntime } from '../../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClusterCache } from '../cluster-cache.ts';
import type { ClusterRecord } from '../model/cluster.ts';

interface NodeWatchOptions {
  readonly cache: ClusterCache;
  readonly runtimes: BrokerRuntimes;
  readonly check: (clusterId: string, nodeId: number) => Promise<void>;
  readonly onDisconnect: (clusterId: string, nodeId: number) => void;
  readonly onFault: (error: unknown) => void;
}

/** Mosquitto 2.0: its access control is cached for 30 s, so an earlier comparison would only see the cached state. */
const POLL_MS = 31_000;
const ACCESS_API: ControlApi = 'dynamic-security';

/**
 * Compares the nodes of synchronized clusters after a connection is established, after a write of another client or
 * process, and every 31 s. A node is compared by one check at a time. Requests during a check cause one more check.
 */
export class NodeWatch {
  readonly #options: NodeWatchOptions;
  readonly #stops: Stop[] = [];
  readonly #subscriptions = new Map<string, Stop>();
  readonly #checks = new Map<string, { again: boolean }>();
  #isClosed = false;

  constructor(options: NodeWatchOptions) {
    const { runtimes, cache } = options;
    this.#options = options;
    runtimes.onRuntime((runtime, change) => {
      this.#subscriptions.get(runtime.id)?.();
      this.#subscriptions.delete(runtime.id);
      if (this.#isClosed) return;
      if (change === 'OPENED') this.#subscribe(runtime);
      else this.#disconnected(runtime.id);
    });
    const ticker = setInterval(() => this.#checkAll(), POLL_MS).unref();
    this.#stops.push(
      () => clearInterval(ticker),
      cache.onChange((after, before) => {
        if (after !== null) this.#changed(after, before);
      }),
    );
    this.#checkAll();
  }

  close(): void {
    this.#isClosed = true;
    for (const stop of [...this.#stops.splice(0), ...this.#subscriptions.values()]) stop();
    this.#subscriptions.clear();
  }

  #subscribe({ id, link, controls }: BrokerRuntime): void {
    const stops = [
      link.onStatus(({ state }) => {
        if (state === 'CONNECTED') this.#check(id);
        else this.#disconnected(id);
      }),
      controls.onForeignAnswers(ACCESS_API, (commands) => {
        if (!commands.every(isRead)) this.#check(id);
      }),
    ];
    this.#subscriptions.set(id, () => {
      for (const stop of stops) stop();
    });
    if (link.status.state === 'CONNECTED') this.#check(id);
  }

  #changed(after: ClusterRecord, before: ClusterRecord | null): void {
    // Another process may have created the cluster, so this process has not compared its nodes yet.
    const isNew = before === null || before.document === null;
    const isOther = before?.autoRepair !== after.autoRepair;
    const known = new Map(before?.nodes.map(({ brokerId, revision }) => [brokerId, revision]));
    for (const { brokerId, revision } of after.nodes) {
      // The process that adds a node also synchronizes it.
      const isBehind = before?.revision !== after.revision && revision !== null && revision !== after.revision;
      const hasJoined = revision !== null && (known.get(brokerId) ?? null) === null;
      if (isNew || isOther || isBehind || hasJoined) this.#check(brokerId);
    }
  }

  #checkAll(): void {
    for (const { nodes } of this.#options.cache.all()) for (const { brokerId } of nodes) this.#check(brokerId);
  }

  #check(brokerId: string): void {
    const found = this.#find(brokerId);
    if (found === null || found.cluster.document === null || !this.#options.runtimes.isConnected(brokerId)) return;
    const running = this.#checks.get(brokerId);
    if (running !== undefined) {
      running.again = true;
      return;
    }
    const check = { again: false };
    this.#checks.set(brokerId, check);
    this.#options
      .check(found.cluster.id, found.nodeId)
      .catch(this.#options.onFault)
      .finally(() => {
        this.#checks.delete(brokerId);
        if (check.again && !this.#isClosed) this.#check(brokerId);
      });
  }

  #disconnected(brokerId: string): void {
    const found = this.#find(brokerId);
    if (found !== null) this.#options.onDisconnect(found.cluster.id, found.nodeId);
  }

  #find(brokerId: string): { readonly cluster: ClusterRecord; readonly nodeId: number } | null {
    const cluster = this.#options.cache.ofNode(brokerId);
    const node = cluster?.keeper === 'GATEWAY' ? cluster.nodes.find((one) => one.brokerId === brokerId) : undefined;
    return cluster && node ? { cluster, nodeId: node.nodeId } : null;
  }
}
