import type { Registry } from 'prom-client';
import { readCounter, readGauge } from '../../platform/read-metrics.ts';
import type { Connections } from './connections.ts';
import type { Traffic } from './traffic.ts';

export interface HttpMetricSource {
  readonly traffic: Pick<Traffic, 'requests' | 'responses'>;
  readonly connections: Pick<Connections, 'size' | 'stalledCount' | 'refusedCount'>;
}

export function registerHttpMetrics({ traffic, connections }: HttpMetricSource, registry: Registry): void {
  readGauge(registry, {
    name: 'brokergraph_http_connections',
    help: 'Open HTTP connections, including WebSockets',
    read: () => connections.size,
  });
  readGauge(registry, {
    name: 'brokergraph_http_bytes',
    help: 'Bytes of requests in progress, and of responses that clients have not received; small ones are not counted',
    read: () => [
      [{ direction: 'request' }, traffic.requests.usedBytes],
      [{ direction: 'response' }, traffic.responses.usedBytes],
    ],
  });
  readCounter(registry, {
    name: 'brokergraph_http_connections_closed_total',
    help: 'Connections that were refused because of a limit, or closed because their client received nothing',
    read: () => [
      [{ reason: 'refused' }, connections.refusedCount],
      [{ reason: 'stalled' }, connections.stalledCount],
    ],
  });
}
