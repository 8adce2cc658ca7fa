import { graphql, type ResultOf } from '../graph/graphql.ts';

const TOP = graphql(`fragment Top on TopTraffic @_unmask {
  from
  to
  total
  maxError
  isComplete
  entries { name count perSecond }
}`);

export const TOP_TRAFFIC = graphql(
  `query TopTraffic($id: ID!, $last: TrafficWindow!, $clients: TrafficMeasure!, $topics: TopicTrafficMeasure!) {
  broker(id: $id) {
    topClients(by: $clients, last: $last, first: 10) { ...Top }
    topTopics(by: $topics, last: $last, first: 10) { ...Top }
  }
}`,
  [TOP],
);

export type Top = ResultOf<typeof TOP>;
