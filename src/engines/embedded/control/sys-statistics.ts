import type { BrokerCore } from '../core/broker-core.ts';
import type { ClientRegistry } from '../core/client-registry.ts';
import type { BrokerStore } from '../store/broker-store.ts';

interface SysStatisticsOptions {
  readonly version: string;
  readonly core: BrokerCore;
  readonly registry: ClientRegistry;
  readonly store: BrokerStore;
  readonly intervalMs: number;
}

/** `$SYS/broker` of Mosquitto, retained with QoS 0: at the start, and changed values every `intervalMs`. */
export class SysStatistics {
  readonly #options: SysStatisticsOptions;
  readonly #published = new Map<string, string>();
  readonly #startedAt = process.hrtime.bigint();
  readonly #timer: NodeJS.Timeout;

  constructor(options: SysStatisticsOptions) {
    this.#options = options;
    this.#publish('version', `brokergraph embedded ${options.version}`);
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
    this.#publish('uptime', `${(process.hrtime.bigint() - this.#startedAt) / 1_000_000_000n} seconds`);
    this.#publish('clients/connected', connected);
    this.#publish('clients/active', connected);
    this.#publish('clients/disconnected', offline);
    this.#publish('clients/inactive', offline);
    this.#publish('clients/total', connected + offline);
    this.#publish('clients/maximum', registry.maximumConnected);
    this.#publish('messages/received', totals.packetsIn);
    this.#publish('messages/sent', totals.delivered + totals.responses);
    this.#publish('publish/messages/received', totals.published);
    this.#publish('publish/messages/sent', totals.delivered);
    this.#publish('publish/messages/dropped', queues.dropped + core.droppedDeliveries + core.refusedPublishes);
    this.#publish('publish/bytes/received', totals.publishedBytes);
    this.#publish('publish/bytes/sent', totals.deliveredBytes);
    this.#publish('bytes/received', totals.bytesRead);
    this.#publish('bytes/sent', totals.bytesWritten);
    this.#publish('messages/stored', queues.count);
    this.#publish('store/messages/count', queues.count);
    this.#publish('store/messages/bytes', queues.bytes);
    this.#publish('subscriptions/count', registry.subscriptionCount());
    this.#publish('shared_subscriptions/count', 0);
    this.#publish('retained messages/count', retained.count);
  }

  #publish(name: string, value: number | string): void {
    const text = String(value);
    if (this.#published.get(name) === text) return;
    this.#published.set(name, text);
    void this.#options.core.publisher.publish(`$SYS/broker/${name}`, text, { retain: true });
  }
}
