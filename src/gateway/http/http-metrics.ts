import { Counter, Gauge, type Registry } from 'prom-client';
import type { Connections } from './connections.ts';
import type { Traffic } from './traffic.ts';

export interface HttpMetricSource {
  readonly traffic: Pick<Traffic, 'requests' | 'responses'>;
  readonly connections: Pick<Connections, 'size' | 'stalledCount' | 'refusedCount'>;
}

export function registerHttpMetrics({ traffic, connections }: HttpMetricSource, registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'brokergraph_http_connections',
    help: 'Open HTTP connections, including WebSockets',
    registers,
    collect() {
      this.set(connections.size);
    },
  });
  new Gauge({
    name: 'brokergraph_http_bytes',
    help: 'Bytes of requests in progress, and of responses that clients have not received; small ones are not counted',
    labelNames: ['direction'],
    registers,
    collect() {
      this.set({ direction: 'request' }, traffic.requests.usedBytes);
      this.set({ direction: 'response' }, traffic.responses.usedBytes);
    },
  });
  new Counter({
    name: 'brokergraph_http_connections_closed_total',
    help: 'Connections that were refused because of a limit, or closed because their client received nothing',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      this.inc({ reason: 'refused' }, connections.refusedCount);
      this.inc({ reason: 'stalled' }, connections.stalledCount);
    },
  });
}
