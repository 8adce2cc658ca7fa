import type { HistoryHandle } from '../../../data-plane/history/hosting/history-thread.ts';
import type { Metric, MetricSample } from '../../../data-plane/history/metrics/metric.ts';
import { METRICS } from '../../../data-plane/history/metrics/metric.ts';
import type { MetricQueries } from '../../../data-plane/history/metrics/metrics-module.ts';
import type { Placement } from '../../../protocol/hosting/placement/placement.ts';
import type { BrokerNumbers } from '../../brokers/broker-metrics.ts';
import type { BrokerMetricsService } from '../../brokers/broker-metrics-service.ts';
import type { RefusalCounts } from './refusal-counts.ts';

interface MetricsRecorderOptions {
  readonly history: HistoryHandle<MetricSample, MetricQueries>;
  readonly metrics: Pick<BrokerMetricsService, 'onSample'>;
  readonly refusals: Pick<RefusalCounts, 'of'>;
  /** Every process has a link to each broker; the samples of a broker are stored by one. */
  readonly placement: Pick<Placement, 'isMine'>;
}

/** About the size of a sample in memory. */
const SAMPLE_BYTES = 400;

const NUMBERS: Readonly<Record<Exclude<Metric, 'refusals'>, (numbers: BrokerNumbers) => number | null>> = {
  clients: ({ clients }) => clients.connected,
  subscriptions: ({ subscriptions }) => subscriptions,
  retainedMessages: ({ retainedMessages }) => retainedMessages,
  queuedMessages: ({ messages }) => messages.stored,
  queuedBytes: ({ messages }) => messages.storedBytes,
  messagesIn: ({ publish }) => publish.received,
  messagesOut: ({ publish }) => publish.sent,
  messagesDropped: ({ publish }) => publish.dropped,
  bytesIn: ({ bytes }) => bytes.received,
  bytesOut: ({ bytes }) => bytes.sent,
};

/** Stores the samples of the brokers of this process in the history. */
export class MetricsRecorder {
  readonly #stop: () => void;

  constructor({ history, metrics, refusals, placement }: MetricsRecorderOptions) {
    this.#stop = metrics.onSample((brokerId, { numbers, isContinued }) => {
      if (!placement.isMine(brokerId)) return;
      const values = METRICS.map((metric) =>
        metric === 'refusals' ? refusals.of(brokerId) : NUMBERS[metric](numbers),
      );
      const { asOf: at, uptimeSeconds } = numbers;
      history.insert({ brokerId, at, uptimeSeconds, isContinued, values }, at, SAMPLE_BYTES);
    });
  }

  close(): void {
    this.#stop();
  }
}
