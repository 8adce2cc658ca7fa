import type { PartMetrics, TotalsByBroker } from '../brokers/broker-totals.ts';

export const BRIDGE_METRICS = {
  prefix: 'bridge',
  counts: {
    received: 'Messages received from the source',
    delivered: 'Messages delivered to the target',
    dropped: 'Messages dropped because a queue was full, they expired in it, or they came back in a loop',
    returned: 'Messages of loops that came back, changed at most by a prefix',
    rejected: 'Messages that cannot be delivered',
  },
  sizes: {
    queuedMessages: 'Messages received and not yet delivered, in memory and on disk',
    queuedBytes: 'Size of the messages received and not yet delivered; BRIDGE_STORAGE_MAX_MB bounds their files',
  },
  parts: {
    name: 'brokergraph_bridge_connections',
    help: 'Connections of the bridges of a broker that this process runs, by state',
  },
} as const satisfies PartMetrics<string, string>;

export type BridgeTotals = TotalsByBroker<keyof typeof BRIDGE_METRICS.counts, keyof typeof BRIDGE_METRICS.sizes>;
