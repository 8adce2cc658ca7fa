import { performance } from 'node:perf_hooks';
import type { Registry } from 'prom-client';
import { readGauge } from '../../platform/read-metrics.ts';

const SAMPLE_MS = 5_000;

/** The oldest is 10 to 15 s old. The process has one main thread, and so one window, no matter who reads the metric. */
const samples = [performance.eventLoopUtilization()];
setInterval(() => {
  samples.push(performance.eventLoopUtilization());
  if (samples.length > 3) samples.shift();
}, SAMPLE_MS).unref();

export function registerProcessMetrics(brokers: () => number, registry: Registry): void {
  readGauge(registry, {
    name: 'brokergraph_process_load',
    help: 'Share of the last 10 to 15 s in which the main thread was busy, 0 to 1',
    read: () => performance.eventLoopUtilization(samples[0]).utilization,
  });
  readGauge(registry, {
    name: 'brokergraph_process_brokers',
    help: 'Brokers whose streams, bridges and topics run in this process',
    read: brokers,
  });
}
