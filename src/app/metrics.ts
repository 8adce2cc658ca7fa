import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type AuditBacklog, registerAuditMetrics } from '../domains/audit/audit-metrics.ts';
import { BRIDGE_METRICS, type BridgeTotals } from '../domains/bridges/bridge-metrics.ts';
import type { BrokerRecord } from '../domains/brokers/broker-cache.ts';
import { registerTotals } from '../domains/brokers/broker-totals.ts';
import {
  type CertificateMetricSource,
  registerCertificateMetrics,
} from '../domains/certificates/expiry/certificate-metrics.ts';
import { type ClusterMetricSource, registerClusterMetrics } from '../domains/clusters/cluster-metrics.ts';
import { STREAM_METRICS, type StreamTotals } from '../domains/streams/stream-metrics.ts';
import type { BrokerFaults } from '../engines/cloud-brokers/broker-faults.ts';
import { registerCloudBrokerMetrics } from '../engines/cloud-brokers/cloud-broker-metrics.ts';
import type { MqttRefusals } from '../engines/cloud-brokers/mqtt-refusals.ts';
import { type HttpMetricSource, registerHttpMetrics } from '../gateway/http/http-metrics.ts';
import type { RequestKind, RequestMetrics } from '../gateway/http/http-server.ts';
import type { SignInCounts } from '../platform/auth/sign-in-counts.ts';

/** What the gauges read at a scrape. */
interface MetricSources {
  readonly brokers: () => Iterable<{ readonly isConnected: boolean }>;
  readonly cloudBrokers: () => Iterable<Pick<BrokerRecord, 'type' | 'state'>>;
  readonly brokerFaults: Pick<BrokerFaults, 'register'>;
  /** Open now. */
  readonly webSockets: () => number;
  /** Open now. */
  readonly subscriptions: () => number;
  readonly streams: () => Promise<StreamTotals>;
  readonly bridges: () => Promise<BridgeTotals>;
  readonly clusters: ClusterMetricSource;
  readonly certificates: CertificateMetricSource;
  readonly signIns: Pick<SignInCounts, 'register'>;
  readonly mqttRefusals: Pick<MqttRefusals, 'register'>;
  readonly audit: () => AuditBacklog;
  /** Default: connections and bytes in transfer are not reported. */
  readonly http?: HttpMetricSource;
}

/** Prometheus metrics of one service. */
export class Metrics implements RequestMetrics {
  readonly #registry = new Registry();
  /** Awaited before each scrape. */
  readonly #reads: readonly (() => Promise<void>)[];
  readonly #requests: Record<RequestKind, Record<string, { observe(seconds: number): void }>>;

  constructor(sources: MetricSources) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    const duration = new Histogram({
      name: 'brokergraph_http_request_duration_seconds',
      help: 'Time from the request line to the end of the answer',
      labelNames: ['kind', 'status'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
      registers,
    });
    const children = (kind: RequestKind) =>
      Object.fromEntries(
        ['1xx', '2xx', '3xx', '4xx', '5xx'].map((status) => [status[0], duration.labels(kind, status)]),
      );
    registerCertificateMetrics(sources.certificates, this.#registry);
    registerCloudBrokerMetrics(sources.cloudBrokers, this.#registry);
    sources.brokerFaults.register(this.#registry);
    registerAuditMetrics(sources.audit, this.#registry);
    if (sources.http !== undefined) registerHttpMetrics(sources.http, this.#registry);
    sources.signIns.register(this.#registry);
    sources.mqttRefusals.register(this.#registry);
    this.#reads = [
      registerTotals(STREAM_METRICS, sources.streams, this.#registry),
      registerTotals(BRIDGE_METRICS, sources.bridges, this.#registry),
      registerClusterMetrics(sources.clusters, this.#registry),
    ];
    this.#requests = { graphql: children('graphql'), rest: children('rest') };
    new Gauge({
      name: 'brokergraph_brokers',
      help: 'Broker entries by whether they are connected',
      labelNames: ['connected'],
      registers,
      collect() {
        let connected = 0;
        let all = 0;
        for (const { isConnected } of sources.brokers()) {
          all += 1;
          if (isConnected) connected += 1;
        }
        this.set({ connected: 'true' }, connected);
        this.set({ connected: 'false' }, all - connected);
      },
    });
    new Gauge({
      name: 'brokergraph_subscriptions',
      help: 'Subscriptions of the graph that are open, over WebSocket and server-sent events',
      registers,
      collect() {
        this.set(sources.subscriptions());
      },
    });
    new Gauge({
      name: 'brokergraph_websockets',
      help: 'WebSockets of the graph that are open',
      registers,
      collect() {
        this.set(sources.webSockets());
      },
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  observe(kind: RequestKind, status: number, milliseconds: number): void {
    this.#requests[kind][String(status)[0] ?? '5']?.observe(milliseconds / 1_000);
  }

  async text(): Promise<string> {
    await Promise.all(this.#reads.map((read) => read()));
    return this.#registry.metrics();
  }
}
