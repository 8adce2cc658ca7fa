import type { ControlApi } from '../../../protocol/control/envelope.ts';
import { isRead } from '../../../protocol/control/payloads.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerRuntime, BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import type { ClusterRecord } from '../model/cluster.ts';

export interface NodeWatchOptions {
  readonly directory: ClusterDirectory;
  readonly runtimes: BrokerRuntimes;
  readonly look: (clusterId: string, nodeId: number) => Promise<void>;
  readonly onAway: (clusterId: string, nodeId: number) => void;
  readonly onFault: (error: unknown) => void;
  /** Milliseconds. */
  readonly pollMs: number;
}

const ACCESS_API: ControlApi = 'dynamic-security';

/**
 * Finds out when the nodes of clusters that this service keeps have to be looked at: when one is connected to, when the answer to
 * somebody else's write comes by, when another process changed what it shall have, and every `pollMs`. One look at a node at a time;
 * whoever asks meanwhile has it done once more.
 */
export class NodeWatch {
  readonly #options: NodeWatchOptions;
  readonly #stops: Stop[] = [];
  /** What follows the runtime of a broker. */
  readonly #followed = new Map<string, Stop>();
  /** By broker. */
  readonly #looks = new Map<string, { again: boolean }>();
  #isClosed = false;

  constructor(options: NodeWatchOptions) {
    const { runtimes, directory, pollMs } = options;
    this.#options = options;
    runtimes.onRuntime((runtime, change) => {
      this.#followed.get(runtime.id)?.();
      this.#followed.delete(runtime.id);
      if (this.#isClosed) return;
      if (change === 'OPENED') this.#follow(runtime);
      else this.#away(runtime.id);
    });
    const ticker = setInterval(() => this.#lookAtAll(), pollMs);
    ticker.unref();
    this.#stops.push(
      () => clearInterval(ticker),
      directory.onChange((after, before) => {
        if (after !== null) this.#changed(after, before);
      }),
    );
    this.#lookAtAll();
  }

  close(): void {
    this.#isClosed = true;
    for (const stop of [...this.#stops.splice(0), ...this.#followed.values()]) stop();
    this.#followed.clear();
  }

  #follow({ id, link, controls }: BrokerRuntime): void {
    const stops = [
      link.onStatus(({ state }) => {
        if (state === 'CONNECTED') this.#lookAt(id);
        else this.#away(id);
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

  #changed(after: ClusterRecord, before: ClusterRecord | null): void {
    // Made or taken up by another process, perhaps: nobody looked at its nodes here.
    const isNew = before === null || before.document === null;
    const isOther = before?.autoRepair !== after.autoRepair;
    const known = new Map(before?.nodes.map(({ brokerId, revision }) => [brokerId, revision]));
    for (const { brokerId, revision } of after.nodes) {
      // Whoever lets a node join brings it there.
      const isBehind = before?.revision !== after.revision && revision !== null && revision !== after.revision;
      const hasJoined = revision !== null && (known.get(brokerId) ?? null) === null;
      if (isNew || isOther || isBehind || hasJoined) this.#lookAt(brokerId);
    }
  }

  #lookAtAll(): void {
    for (const { nodes } of this.#options.directory.all()) for (const { brokerId } of nodes) this.#lookAt(brokerId);
  }

  #lookAt(brokerId: string): void {
    const place = this.#placeOf(brokerId);
    if (place === null || place.cluster.document === null || !this.#options.runtimes.isConnected(brokerId)) return;
    const under = this.#looks.get(brokerId);
    if (under !== undefined) {
      under.again = true;
      return;
    }
    const look = { again: false };
    this.#looks.set(brokerId, look);
    this.#options
      .look(place.cluster.id, place.nodeId)
      .catch(this.#options.onFault)
      .finally(() => {
        this.#looks.delete(brokerId);
        if (look.again && !this.#isClosed) this.#lookAt(brokerId);
      });
  }

  #away(brokerId: string): void {
    const place = this.#placeOf(brokerId);
    if (place !== null) this.#options.onAway(place.cluster.id, place.nodeId);
  }

  #placeOf(brokerId: string): { readonly cluster: ClusterRecord; readonly nodeId: number } | null {
    const cluster = this.#options.directory.ofNode(brokerId);
    const node = cluster?.keeper === 'GATEWAY' ? cluster.nodes.find((one) => one.brokerId === brokerId) : undefined;
    return cluster && node ? { cluster, nodeId: node.nodeId } : null;
  }
}
