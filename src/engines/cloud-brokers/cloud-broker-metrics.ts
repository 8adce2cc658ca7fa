import { Gauge, type Registry } from 'prom-client';
import type { BrokerRecord } from '../../domains/brokers/broker-cache.ts';

export function registerCloudBrokerMetrics(
  source: () => Iterable<Pick<BrokerRecord, 'type' | 'state'>>,
  registry: Registry,
): void {
  new Gauge({
    name: 'brokergraph_cloud_brokers',
    help: 'Brokers that this service runs, by their state; error: the engine cannot run, and is tried again',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.reset();
      // The series exists before anything fails, so that alerts can compare values.
      this.set({ state: 'error' }, 0);
      for (const { type, state } of source()) if (type === 'CLOUD') this.inc({ state: (state ?? 'NEW').toLowerCase() });
    },
  });
}
