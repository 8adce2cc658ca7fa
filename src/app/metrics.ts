import { collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { registerHistoryMetrics } from '../data-plane/history/hosting/history-metrics.ts';
import { registerAuditMetrics } from '../domains/audit/audit-metrics.ts';
import { BRIDGE_METRICS } from '../domains/bridges/bridge-metrics.ts';
import type { BrokerRecord } from '../domains/brokers/broker-cache.ts';
import { registerTotals } from '../domains/brokers/broker-totals.ts';
import { registerCertificateMetrics } from '../domains/certificates/certificate-metrics.ts';
import { registerClusterMetrics } from '../domains/clusters/cluster-metrics.ts';
import { registerNotificationMetrics } from '../domains/notifications/notification-metrics.ts';
import { registerProblemMetrics } from '../domains/problems/problem-metrics.ts';
import { registerProcessMetrics } from '../domains/processes/process-metrics.ts';
import { STREAM_METRICS } from '../domains/streams/stream-metrics.ts';
import type { RequestKind, RequestMetrics } from '../gateway/http/gateway.ts';
import { type HttpMetricSource, registerHttpMetrics } from '../gateway/http/http-metrics.ts';
import type { RequestSignals } from '../gateway/request-signals.ts';
import type { Build } from '../platform/build.ts';
import { readGauge } from '../platform/read-metrics.ts';
import { settledWithin } from '../platform/scheduling/within.ts';
import { registerDatabaseMetrics } from './database-metrics.ts';
import type { Parts } from './parts.ts';
import type { Readiness } from './readiness.ts';

interface MetricsOptions {
  readonly build: Build;
  readonly parts: Pick<
    Parts,
    | 'services'
    | 'storage'
    | 'caches'
    | 'streams'
    | 'bridges'
    | 'mqttRefusals'
    | 'unreadLogLines'
    | 'processes'
    | 'notifications'
    | 'history'
  > & { readonly readiness: Readiness };
  readonly http: HttpMetricSource;
  /** Number of open WebSockets. */
  readonly webSockets: () => number;
  readonly signals: RequestSignals;
}

/** Of the series for single brokers. */
const MAX_BROKERS = 1_000;
const MAX_NAME = 100;
const MAX_READ_MS = 250;

let ofProcess: Registry | null = null;

/** Metrics of Node. They are created once: prom-client's observers last until the process ends, with their registry. */
function processMetrics(): Registry {
  if (ofProcess === null) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
    // Gauges with the names of counters.
    for (const kind of ['handles', 'requests', 'resources'])
      ofProcess.removeSingleMetric(`nodejs_active_${kind}_total`);
  }
  return ofProcess;
}

/** Prometheus metrics of one service. */
export class Metrics implements RequestMetrics {
  readonly #registry = new Registry();
  /** A scrape waits for them, at most MAX_READ_MS: then it has their values of the scrape before. */
  readonly #reads: readonly (() => Promise<void>)[];
  readonly #requests: Record<RequestKind, Record<string, { observe(seconds: number): void }>>;

  constructor({ build, parts, http, webSockets, signals }: MetricsOptions) {
    const { services, storage, caches, streams, bridges, mqttRefusals, unreadLogLines, processes, readiness } = parts;
    const { notifications, history } = parts;
    const registry = this.#registry;
    const registers = [registry];
    const brokersWith = (isWanted: (broker: BrokerRecord) => boolean) => caches.brokers.all().filter(isWanted);
    for (const { name } of processMetrics().getMetricsAsArray())
      registry.registerMetric(processMetrics().getSingleMetric(name) as Metric);
    const { version, commit, builtAt } = build;
    new Gauge({
      name: 'brokergraph_build_info',
      help: 'The build that runs, in labels; the value is always 1',
      labelNames: ['version', 'commit', 'date'],
      registers,
    }).set({ version, commit: commit ?? 'unknown', date: builtAt?.toISOString() ?? 'unknown' }, 1);
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
    this.#requests = { graphql: children('graphql'), rest: children('rest') };
    registerCertificateMetrics(() => caches.certificates.all(), registry);
    registerAuditMetrics(() => services.audit.backlog, registry);
    registerHttpMetrics(http, registry);
    signals.register(registry);
    registerProblemMetrics(services.problems, registry);
    registerHistoryMetrics(history, registry);
    registerNotificationMetrics(() => notifications.counts, registry);
    registerProcessMetrics(() => processes.placement.held.length, registry);
    registry.registerMetric(services.cloudBrokers.faults);
    services.auth.signInCounts.register(registry);
    storage.speed?.register(registry);
    mqttRefusals.register(registry);
    unreadLogLines.register(registry);
    readiness.register(registry);
    const isStreaming = ({ id }: BrokerRecord) => streams.runs(id) || services.cloudBrokers.listenersOf(id) !== null;
    this.#reads = [
      registerDatabaseMetrics(storage, registry),
      registerTotals(STREAM_METRICS, () => services.streams.totals(brokersWith(isStreaming)), registry),
      registerTotals(
        BRIDGE_METRICS,
        () => services.bridges.totals(brokersWith(({ id }) => bridges.runs(id))),
        registry,
      ),
      registerClusterMetrics(() => services.clusters.statuses(), registry),
    ];
    readGauge(registry, {
      name: 'brokergraph_brokers',
      help: 'Broker entries by whether they are connected',
      read: () => {
        const connected = brokersWith(({ id }) => services.runtimes.isConnected(id)).length;
        return [
          [{ connected: 'true' }, connected],
          [{ connected: 'false' }, caches.brokers.all().length - connected],
        ];
      },
    });
    readGauge(registry, {
      name: 'brokergraph_broker_connected',
      help: `1 if the broker is connected, else 0; stopped brokers are left out, and beyond ${MAX_BROKERS} brokers connected ones`,
      read: () => {
        const states = caches.brokers
          .all()
          .map(({ id, name }) => ({ id, name, state: services.runtimes.status(id).state }));
        const wanted = states.filter(({ state }) => state !== 'CLOSED');
        wanted.sort((one, other) => Number(one.state === 'CONNECTED') - Number(other.state === 'CONNECTED'));
        return wanted
          .slice(0, MAX_BROKERS)
          .map(({ id, name, state }) => [{ broker: id, name: name.slice(0, MAX_NAME) }, state === 'CONNECTED' ? 1 : 0]);
      },
    });
    readGauge(registry, {
      name: 'brokergraph_cloud_brokers',
      help: 'Brokers that this service runs, by their state; error: the engine cannot run, and is tried again',
      read: () => [
        // The series exists before anything fails, so that alerts can compare values.
        [{ state: 'error' }, 0],
        ...brokersWith(({ type }) => type === 'CLOUD').map((broker) => {
          const { state } = services.cloudBrokers.stateOf(broker);
          return [{ state: (state ?? 'NEW').toLowerCase() }, 1] as const;
        }),
      ],
    });
    readGauge(registry, {
      name: 'brokergraph_subscriptions',
      help: 'Subscriptions of the graph that are open, over WebSocket and server-sent events',
      read: () => services.auth.guards.count,
    });
    readGauge(registry, {
      name: 'brokergraph_cloud_broker_disk_faults',
      help: 'Brokers of this process that run and cannot store, for example because the disk is full',
      read: () => services.cloudBrokers.diskFaults,
    });
    readGauge(registry, {
      name: 'brokergraph_websockets',
      help: 'WebSockets of the graph that are open',
      read: webSockets,
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  observe(kind: RequestKind, status: number, milliseconds: number): void {
    this.#requests[kind][String(status)[0] ?? '5']?.observe(milliseconds / 1_000);
  }

  async text(): Promise<string> {
    await settledWithin(
      MAX_READ_MS,
      this.#reads.map((read) => read()),
    );
    return this.#registry.metrics();
  }
}
