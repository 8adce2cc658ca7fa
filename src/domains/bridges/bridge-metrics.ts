import { Counter, Gauge, type Registry } from 'prom-client';
import { freshly } from '../../platform/scraped.ts';
import { type BridgeTotals, COUNTED, type Counted } from './bridge-totals.ts';

/** By id of the broker. */
export type BridgeMetricSource = () => Promise<ReadonlyMap<string, BridgeTotals>>;

const HELP: Readonly<Record<Counted, string>> = {
  received: 'Messages taken from where they come from',
  delivered: 'Messages that the other side has',
  dropped: 'Messages not taken because a queue was full, or that expired while they waited',
  rejected: 'Messages that cannot be delivered as they are',
};

/**
 * Of the bridges that this process runs, summed up by broker; the graph tells each connection. Answers what is to be awaited before
 * each scrape.
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
    help: 'Connections of the bridges of a broker that run here, by their state',
    labelNames: ['broker', 'state'],
    registers,
  });
  const queued = new Gauge({
    name: 'brokergraph_bridge_queued_messages',
    help: 'Messages that were taken and are not delivered yet, in memory and on disk',
    labelNames,
    registers,
  });
  const queuedBytes = new Gauge({
    name: 'brokergraph_bridge_queued_bytes',
    help: 'Size of the messages that were taken and are not delivered yet; BRIDGE_STORAGE_MAX_MB bounds their files',
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
