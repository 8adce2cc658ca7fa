import type { Values } from '../charts/path.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';

const SERIES = graphql(`fragment Series on MetricSeries @_unmask { mean min max }`);

export const METRICS = graphql(
  `query MetricsOfBroker($id: ID!, $from: DateTime!, $to: DateTime!, $maxPoints: Int!) {
  broker(id: $id) {
    metrics(from: $from, to: $to, maxPoints: $maxPoints) {
      from
      stepSeconds
      problem
      clients { ...Series }
      messagesIn { ...Series }
      messagesOut { ...Series }
      messagesDropped { ...Series }
      bytesIn { ...Series }
      bytesOut { ...Series }
      refusals { ...Series }
      queuedMessages { ...Series }
      subscriptions { ...Series }
      retainedMessages { ...Series }
    }
  }
}`,
  [SERIES],
);

/** The last hour in steps of a minute. */
export const HOUR = graphql(`query HourOfBroker($id: ID!) {
  broker(id: $id) {
    metrics(maxPoints: 61) {
      clients { mean }
      messagesIn { mean }
      messagesOut { mean }
      refusals { mean total }
      subscriptions { mean }
      retainedMessages { mean }
      queuedMessages { mean }
    }
  }
}`);

export type Metrics = NonNullable<NonNullable<ResultOf<typeof METRICS>['broker']>['metrics']>;

/** Names of metrics that are series. */
export type Metric = {
  [Key in keyof Metrics]: Metrics[Key] extends { readonly mean: Values } ? Key : never;
}[keyof Metrics];

/** Steps of a chart: one for some pixels. The first and the last one may be incomplete. */
export const POINTS = 240;
