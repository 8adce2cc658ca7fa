import { METRICS } from '../../../data-plane/history/metrics/metric.ts';
import { builder, signedIn } from '../../../gateway/graphql/builder.ts';
import type { AddedMetrics } from './added-metrics.ts';
import { DESCRIPTIONS, stepFields } from './metrics-history-schema.ts';

const FleetMetrics = builder.objectRef<AddedMetrics>('FleetMetrics').implement({
  description:
    'Stored metrics of several brokers, added up in equal steps, the oldest first. Null where no broker was measured.',
  fields: (t) => ({
    ...stepFields(t),
    brokers: t.intList({
      description:
        'Number of brokers that were measured in each step. A broker that was not connected to this service is missing in the sums.',
      resolve: ({ brokers }) => [...brokers],
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
    resolve: (_root, _args, { services, viewer }) => {
      const projects = services.projects.visibleTo(viewer);
      const brokers = projects.flatMap(({ id }) => services.brokers.visibleIn(id, viewer));
      return services.metricsHistory.fleetHour(brokers, viewer);
    },
  }),
}));
