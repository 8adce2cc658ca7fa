import type { Registry } from 'prom-client';
import { readCounter, readGauge } from '../../../platform/read-metrics.ts';
import type { HistoryThread } from './history-thread.ts';

export function registerHistoryMetrics(history: Pick<HistoryThread, 'state' | 'counts'>, registry: Registry): void {
  readGauge(registry, {
    name: 'brokergraph_history_up',
    help: '1 if this process can write the history of its brokers, otherwise 0',
    read: () => Number(history.state.problem === null),
  });
  readCounter(registry, {
    name: 'brokergraph_history_dropped_total',
    help: 'Events and values that this process could not write to the history; they are gaps',
    read: () => history.counts.dropped,
  });
}
