import { METRICS, type Metric } from '../../../data-plane/history/metrics/metric.ts';
import { gridTotal, gridValues, type MetricGrid } from '../../../data-plane/history/metrics/metric-grid.ts';
import { builder, type OutputFields } from '../../../gateway/graphql/builder.ts';
import { knownTimeField } from '../../../gateway/graphql/time-field.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { MAX_POINTS } from './metrics-history.ts';

interface Series {
  readonly grid: MetricGrid;
  readonly metric: Metric;
}

const UNKNOWN =
  'Null where nothing was measured: the broker was not connected to this service, or does not publish the value.';

const MetricSeries = builder.objectRef<Series>('MetricSeries').implement({
  description: 'The values of one metric, one per step, the oldest first.',
  fields: (t) => ({
    mean: t.field({
      type: ['Float'],
      nullable: { list: false, items: true },
      description: `Mean of each step. ${UNKNOWN}`,
      resolve: ({ grid, metric }) => gridValues(grid, metric, 'mean'),
    }),
    min: t.field({
      type: ['Float'],
      nullable: { list: false, items: true },
      description: `Smallest value of each step. ${UNKNOWN}`,
      resolve: ({ grid, metric }) => gridValues(grid, metric, 'min'),
    }),
    max: t.field({
      type: ['Float'],
      nullable: { list: false, items: true },
      description: `Largest value of each step. ${UNKNOWN}`,
      resolve: ({ grid, metric }) => gridValues(grid, metric, 'max'),
    }),
    total: t.field({
      type: 'SafeInt',
      nullable: true,
      description:
        'How much a counter increased in the whole range. It includes what the broker counted while it was not connected to this service, as far as the broker did not restart then. Null for metrics that are no counters, and if the counter is unknown.',
      resolve: ({ grid, metric }) => gridTotal(grid, metric),
    }),
  }),
});

export const DESCRIPTIONS: Readonly<Record<Metric, string>> = {
  clients: 'Connected clients.',
  subscriptions: 'Subscriptions of all sessions.',
  retainedMessages: 'Messages that the broker retains for later subscribers.',
  queuedMessages: 'Messages stored for clients; Mosquitto includes retained messages.',
  queuedBytes: 'Bytes of the payloads of stored messages.',
  messagesIn: 'Messages that clients published, per second.',
  messagesOut: 'Messages delivered, counted once per receiving client, per second.',
  messagesDropped: 'Messages that were not delivered, per second: a queue was full, or a permission was missing.',
  bytesIn: 'Bytes read from clients, per second.',
  bytesOut: 'Bytes written to clients, per second.',
  refusals: 'Refused connections, packets and messages that the broker reports, per second.',
};

/** The fields of what is stored in equal steps. */
export const stepFields = <Of extends { readonly from: number; readonly stepMs: number }>(t: OutputFields<Of>) => ({
  from: knownTimeField(t, 'Beginning of the first step.', ({ from }) => from),
  stepSeconds: t.int({
    description: 'Duration of each step.',
    resolve: ({ stepMs }) => stepMs / 1_000,
  }),
});

const MetricsHistory = builder.objectRef<MetricGrid>('MetricsHistory').implement({
  description:
    'Stored metrics of a broker, in equal steps. The history has steps of 10 seconds for two hours, of one minute for two days, and of ten minutes for HISTORY_DAYS.',
  fields: (t) => ({
    ...stepFields(t),
    ...Object.fromEntries(
      METRICS.map((metric) => [
        metric,
        t.field({
          type: MetricSeries,
          description: DESCRIPTIONS[metric],
          resolve: (grid) => ({ grid, metric }),
        }),
      ]),
    ),
    problem: t.string({
      nullable: true,
      description: 'Why nothing is stored at present, such as a full disk. Null if metrics are stored.',
      resolve: (_grid, _args, { services }) => services.history.state.problem,
    }),
  }),
});

/** Points that cost as much as a field: all metrics of a point have 264 bytes in memory. */
const POINTS_PER_COST = 5;

builder.interfaceFields(Broker, (t) => ({
  metrics: t.field({
    type: MetricsHistory,
    nullable: true,
    description:
      'Stored metrics of the broker. The steps are the shortest that the history has for the whole range and of which at most `maxPoints` cover it.',
    args: {
      from: t.arg({ type: 'DateTime', description: 'Beginning of the range. Default: an hour before `to`.' }),
      to: t.arg({ type: 'DateTime', description: 'End of the range. Default: now.' }),
      maxPoints: t.arg.int({
        required: true,
        defaultValue: 300,
        description: `Maximum number of steps, at most ${MAX_POINTS}.`,
      }),
    },
    complexity: ({ maxPoints }) => ({
      field: 1,
      multiplier: Math.max(1, Math.ceil(Math.min(maxPoints, MAX_POINTS) / POINTS_PER_COST)),
    }),
    resolve: (broker, range, { services, viewer }) => services.metricsHistory.read(broker, range, viewer),
  }),
}));
