import { join, resolve } from 'node:path';
import { HistoryThread } from '../data-plane/history/hosting/history-thread.ts';
import type { MetricSample } from '../data-plane/history/metrics/metric.ts';
import { METRICS_MODULE, type MetricQueries } from '../data-plane/history/metrics/metrics-module.ts';
import { HISTORY_FILE } from '../data-plane/history/store/history-database.ts';
import type { BrokerMetricsService } from '../domains/brokers/broker-metrics-service.ts';
import type { BrokerRuntimes } from '../domains/brokers/broker-runtimes.ts';
import { MetricsHistory } from '../domains/history/metrics/metrics-history.ts';
import { MetricsRecorder } from '../domains/history/metrics/metrics-recorder.ts';
import { RefusalCounts } from '../domains/history/metrics/refusal-counts.ts';
import type { Closers } from '../platform/closers.ts';
import type { Placement } from '../protocol/hosting/placement/placement.ts';
import { MIB } from './brokers.ts';
import type { Foundation } from './foundation.ts';

const DAY_MS = 86_400_000;

/** The history of brokers. Its thread starts when something is written or read. */
export function openHistory({ config, log, closers }: Foundation, workerUrl: URL | undefined): HistoryThread {
  const { dataDir, databaseUrl, minFreeMb, historyDays, historyMaxMb } = config;
  const file = join(resolve(dataDir), HISTORY_FILE);
  return closers.keep(
    new HistoryThread({
      // More than the limit of readiness: the history is the first that gives way.
      place: databaseUrl === undefined ? { file, minFreeBytes: 2 * minFreeMb * MIB } : { databaseUrl },
      keepMs: historyDays * DAY_MS,
      maxBytes: historyMaxMb * MIB,
      workerUrl,
      log,
    }),
  );
}

interface MetricsHistoryParts {
  readonly history: HistoryThread;
  readonly metrics: BrokerMetricsService;
  readonly runtimes: BrokerRuntimes;
  readonly placement: Placement;
  readonly closers: Closers;
}

/** The stored metrics of all brokers, and what stores them. */
export function openMetricsHistory({ history, closers, runtimes, ...parts }: MetricsHistoryParts): MetricsHistory {
  const stored = history.module<MetricSample, MetricQueries>(METRICS_MODULE);
  closers.keep(new MetricsRecorder({ ...parts, history: stored, refusals: new RefusalCounts(runtimes) }));
  return new MetricsHistory(stored);
}
