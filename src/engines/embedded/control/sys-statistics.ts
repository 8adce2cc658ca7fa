import type { BrokerCore } from '../core/broker-core.ts';
import type { ClientRegistry } from '../core/client-registry.ts';
import type { BrokerStore } from '../store/broker-store.ts';

export interface SysStatisticsOptions {
  readonly version: string;
  readonly core: BrokerCore;
  readonly registry: ClientRegistry;
  readonly store: BrokerStore;
  /** 10 s, as Mosquitto's sys_interval. */
  readonly intervalMs: number;
}

/**
 * The `$SYS/broker` statistics, under Mosquitto's names, as decimal text, retained, at start and then every `intervalMs` where a
 * value changed. Counters are since the start; they are QoS 0, so that no session queues them.
 */
export class SysStatistics {
  readonly #options: SysStatisticsOptions;
  readonly #told = new Map<string, string>();
  readonly #startedAt = process.hrtime.bigint();
  readonly #timer: NodeJS.Timeout;

  constructor(options: SysStatisticsOptions) {
    this.#options = options;
    this.#tell('version', `brokergraph embedded ${options.version}`);
    this.#update();
    this.#timer = setInterval(() => this.#update(), options.intervalMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #update(): void {
    const { core, registry, store } = this.#options;
    const { queues, retained } = store;
    const totals = registry.totals();
    const connected = registry.connectedCount;
    const offline = registry.offlineCount;
    this.#tell('uptime', `${(process.hrtime.bigint() - this.#startedAt) / 1_000_000_000n} seconds`);
    this.#tell('clients/connected', connected);
    this.#tell('clients/active', connected);
    this.#tell('clients/disconnected', offline);
    this.#tell('clients/inactive', offline);
    this.#tell('clients/total', connected + offline);
    this.#tell('clients/maximum', registry.maximumConnected);
    this.#tell('messages/received', totals.packetsIn);
    this.#tell('messages/sent', totals.delivered + totals.responses);
    this.#tell('publish/messages/received', totals.published);
    this.#tell('publish/messages/sent', totals.delivered);
    this.#tell('publish/messages/dropped', queues.dropped + core.droppedDeliveries + core.refusedPublishes);
    this.#tell('publish/bytes/received', totals.publishedBytes);
    this.#tell('publish/bytes/sent', totals.deliveredBytes);
    this.#tell('bytes/received', totals.bytesRead);
    this.#tell('bytes/sent', totals.bytesWritten);
    this.#tell('messages/stored', queues.count);
    this.#tell('store/messages/count', queues.count);
    this.#tell('store/messages/bytes', queues.bytes);
    this.#tell('subscriptions/count', registry.subscriptionCount());
    this.#tell('shared_subscriptions/count', 0);
    this.#tell('retained messages/count', retained.count);
  }

  #tell(name: string, value: number | string): void {
    const text = String(value);
    if (this.#told.get(name) === text) return;
    this.#told.set(name, text);
    void this.#options.core.publisher.publish(`$SYS/broker/${name}`, text, { retain: true });
  }
}
