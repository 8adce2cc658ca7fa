import { METRICS, type Metric } from '../../../data-plane/history/metrics/metric.ts';
import { builder, signedIn } from '../../../gateway/graphql/builder.ts';
import type { BrokerMetrics } from '../../brokers/broker-metrics.ts';
import type { AddedMetrics } from './added-metrics.ts';
import { DESCRIPTIONS, stepFields } from './metrics-history-schema.ts';

interface Published {
  readonly id: string;
  readonly metrics: BrokerMetrics;
}

/**
 * Adds up the current numbers of brokers. `null`: none of them has the value. A rate needs two publications on one
 * connection; until then it is the last one of the hour.
 */
function currentOf(published: readonly Published[], last: AddedMetrics['last']) {
  const sum = (read: (metrics: BrokerMetrics) => number | null, metric?: Metric) => {
    const known = published
      .map(({ id, metrics }) => read(metrics) ?? (metric === undefined ? null : last(id, metric)))
      .filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
  };
  return {
    brokers: published.length,
    clients: sum(({ clients }) => clients.connected),
    messagesIn: sum(({ rates }) => rates.publishReceivedPerSecond, 'messagesIn'),
    messagesOut: sum(({ rates }) => rates.publishSentPerSecond, 'messagesOut'),
  };
}

const FleetNumbers = builder.objectRef<ReturnType<typeof currentOf>>('FleetNumbers').implement({
  description:
    'Numbers of several brokers, added up. Null if none of them has published the value; a rate needs two values.',
  fields: (t) => ({
    brokers: t.exposeInt('brokers', { description: 'Number of brokers that are added up.' }),
    clients: t.expose('clients', { type: 'SafeInt', nullable: true, description: DESCRIPTIONS.clients }),
    messagesIn: t.exposeFloat('messagesIn', { nullable: true, description: DESCRIPTIONS.messagesIn }),
    messagesOut: t.exposeFloat('messagesOut', { nullable: true, description: DESCRIPTIONS.messagesOut }),
  }),
});

interface Fleet extends AddedMetrics {
  readonly current: ReturnType<typeof currentOf>;
}

const FleetMetrics = builder.objectRef<Fleet>('FleetMetrics').implement({
  description:
    'Stored metrics of several brokers, added up in equal steps, the oldest first. Null where no broker was measured.',
  fields: (t) => ({
    ...stepFields(t),
    brokers: t.intList({
      description:
        'Number of brokers that were measured in each step. A broker that was not connected to this service is missing in the sums.',
      resolve: ({ brokers }) => [...brokers],
    }),
    current: t.expose('current', {
      type: FleetNumbers,
      description:
        'What the brokers published last, added up. Brokers with stale numbers are missing, such as those that are not connected.',
    }),
    refused: t.expose('refused', {
      type: 'SafeInt',
      nullable: true,
      description: 'What the brokers refused in the whole hour. Null if no broker reports refusals.',
    }),
    ...Object.fromEntries(
      METRICS.map((metric) => [
        metric,
        t.field({
          type: ['Float'],
          nullable: { list: false, items: true },
          description: DESCRIPTIONS[metric],
          resolve: ({ values }) => [...values[metric]],
        }),
      ]),
    ),
  }),
});

/** Reading an hour of 1,000 brokers takes some hundred milliseconds in the thread of the history. */
const FLEET_COST = 500;

builder.queryFields((t) => ({
  fleetMetrics: t.field({
    type: FleetMetrics,
    description:
      'The last hour of all brokers that the caller may see, added up in steps of one minute. The last step is not complete.',
    ...signedIn,
    complexity: FLEET_COST,
    resolve: async (_root, _args, { services, viewer }) => {
      const projects = services.projects.visibleTo(viewer);
      const brokers = projects.flatMap(({ id }) => services.brokers.visibleIn(id, viewer));
      const hour = await services.metricsHistory.fleetHour(brokers, viewer);
      const published = brokers.flatMap(({ id }) => {
        const metrics = services.metrics.last(id);
        return metrics === null || metrics.isStale ? [] : [{ id, metrics }];
      });
      return { ...hour, current: currentOf(published, hour.last) };
    },
  }),
}));
