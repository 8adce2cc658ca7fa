import { performance } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';

export function registerProcessMetrics(brokers: () => number, registry: Registry): void {
  const registers = [registry];
  let last = performance.eventLoopUtilization();
  new Gauge({
    name: 'brokergraph_process_load',
    help: 'Share of the time since the last scrape in which the main thread was busy, 0 to 1',
    registers,
    collect() {
      const now = performance.eventLoopUtilization();
      this.set(performance.eventLoopUtilization(now, last).utilization);
      last = now;
    },
  });
  new Gauge({
    name: 'brokergraph_process_brokers',
    help: 'Brokers whose streams, bridges and topics run in this process',
    registers,
    collect() {
      this.set(brokers());
    },
  });
}
