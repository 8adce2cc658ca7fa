import { Counter, Gauge, type Registry } from 'prom-client';
import { freshly } from '../../platform/scraped.ts';
import { type BridgeTotals, COUNTED, type Counted } from './bridge-totals.ts';

/** By broker id. */
export type BridgeMetricSource = () => Promise<ReadonlyMap<string, BridgeTotals>>;

const HELP: Readonly<Record<Counted, string>> = {
  received: 'Messages received from the source',
  delivered: 'Messages delivered to the target',
  dropped: 'Messages dropped because a queue was full, or expired in the queue',
  rejected: 'Messages that cannot be delivered',
};

/**
 * Registers the metrics of the bridges that this process runs, added up for each broker. Returns a function to await
 * before each scrape.
 */
export function registerBridgeMetrics(source: BridgeMetricSource, registry: Registry): () => Promise<void> {
  const registers = [registry];
  const labelNames = ['broker'] as const;
  const counters = COUNTED.map(
    (name) =>
      [
        name,
        new Counter({ name: `brokergraph_bridge_messages_${name}_total`, help: HELP[name], labelNames, registers }),
      ] as const,
  );
  const connections = new Gauge({
    name: 'brokergraph_bridge_connections',
    help: 'Connections of the bridges of a broker that this process runs, by state',
    labelNames: ['broker', 'state'],
    registers,
  });
  const queued = new Gauge({
    name: 'brokergraph_bridge_queued_messages',
    help: 'Messages received and not yet delivered, in memory and on disk',
    labelNames,
    registers,
  });
  const queuedBytes = new Gauge({
    name: 'brokergraph_bridge_queued_bytes',
    help: 'Size of the messages received and not yet delivered; BRIDGE_STORAGE_MAX_MB bounds their files',
    labelNames,
    registers,
  });
  return freshly(async () => {
    const totals = await source();
    for (const metric of [...counters.map(([, counter]) => counter), connections, queued, queuedBytes]) metric.reset();
    for (const [broker, { counted, states, queuedMessages, queuedBytes: bytes }] of totals) {
      for (const [name, counter] of counters) counter.inc({ broker }, counted[name]);
      for (const [state, count] of states) connections.set({ broker, state: state.toLowerCase() }, count);
      queued.set({ broker }, queuedMessages);
      queuedBytes.set({ broker }, bytes);
    }
  });
}
