import type { ClientRegistry } from '../clients/client-registry.ts';
import type { BrokerCore } from '../core/broker-core.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { WorkerOptions } from '../worker-protocol.ts';

/** Publishes `$SYS/broker` of Mosquitto with QoS 0: all now, and changed values every `sysIntervalMs` until the end. */
export function publishStatistics(
  core: BrokerCore,
  registry: ClientRegistry,
  store: BrokerStore,
  { version, sysIntervalMs }: WorkerOptions,
): () => void {
  const startedAt = process.hrtime.bigint();
  const published = new Map<string, string>();
  const publish = (name: string, value: number | string) => {
    const text = String(value);
    if (published.get(name) === text) return;
    published.set(name, text);
    void core.publisher.publish(`$SYS/broker/${name}`, text, { retain: true });
  };
  const update = () => {
    const { queues, retained, subscriptions } = store;
    const totals = registry.totals();
    const connected = registry.connectedCount;
    const offline = registry.offlineCount;
    publish('uptime', `${(process.hrtime.bigint() - startedAt) / 1_000_000_000n} seconds`);
    publish('clients/connected', connected);
    publish('clients/active', connected);
    publish('clients/disconnected', offline);
    publish('clients/inactive', offline);
    publish('clients/total', connected + offline);
    publish('clients/maximum', registry.maximumConnected);
    publish('messages/received', totals.packetsIn);
    publish('messages/sent', totals.delivered + totals.responses);
    publish('publish/messages/received', totals.published);
    publish('publish/messages/sent', totals.delivered);
    publish('publish/messages/dropped', queues.dropped + core.droppedDeliveries + core.refusedPublishes);
    publish('publish/bytes/received', totals.publishedBytes);
    publish('publish/bytes/sent', totals.deliveredBytes);
    publish('bytes/received', totals.bytesRead);
    publish('bytes/sent', totals.bytesWritten);
    publish('messages/stored', queues.count);
    publish('store/messages/count', queues.count);
    publish('store/messages/bytes', queues.bytes);
    publish('subscriptions/count', subscriptions.count);
    publish('shared_subscriptions/count', subscriptions.sharedCount);
    publish('retained messages/count', retained.count);
    publish('retained messages/refused', retained.refused);
  };
  publish('version', `brokergraph embedded ${version}`);
  update();
  const timer = setInterval(update, sysIntervalMs);
  return () => clearInterval(timer);
}
