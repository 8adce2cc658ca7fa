import type { PartMetrics, TotalsByBroker } from '../brokers/broker-totals.ts';

const HERE = 'by all streams of a broker that this process runs';

export const STREAM_METRICS = {
  prefix: 'stream',
  counts: {
    received: `Messages received, ${HERE}`,
    published: `Messages published on targets and accepted by the broker, ${HERE}`,
    stored: `Messages stored, ${HERE}`,
    filtered: `Messages filtered by queries, ${HERE}`,
    failed: `Messages that are not JSON, have no number where one is required, or were refused by the broker, ${HERE}`,
    notStored: `Messages not stored because the limit of disk use is reached or the disk failed, ${HERE}`,
    replayed: `Messages published by replays, ${HERE}`,
  },
  sizes: { storedBytes: 'Size of the stored messages of the streams of a broker on disk' },
  parts: { name: 'brokergraph_streams', help: 'Streams of a broker that this process runs, by state' },
} as const satisfies PartMetrics<string, string>;

export type StreamTotals = TotalsByBroker<keyof typeof STREAM_METRICS.counts, keyof typeof STREAM_METRICS.sizes>;
