import { filterCovers } from '../../../protocol/mqtt/filter-match.ts';
import type { SourceFilter } from '../link/source-subscriptions.ts';
import type { SinkTopic } from './sink.ts';

/** The filters to subscribe: a filter that another one covers is left out, and the higher QoS of both is used. */
export function subscribedTopics(topics: readonly SinkTopic[]): SourceFilter[] {
  const byFilter = new Map<string, SinkTopic>();
  for (const topic of topics) {
    const known = byFilter.get(topic.filter);
    if (known === undefined || known.qos < topic.qos) byFilter.set(topic.filter, topic);
  }
  const all = [...byFilter.values()];
  const isCovered = ({ filter }: SinkTopic) =>
    all.some((other) => other.filter !== filter && filterCovers(other.filter, filter));
  return all
    .filter((topic) => !isCovered(topic))
    .map(({ filter }) => {
      const covered = all.filter((other) => filterCovers(filter, other.filter));
      return { filter, qos: highestQos(covered), retained: true };
    });
}

const highestQos = (topics: readonly SinkTopic[]): 0 | 1 | 2 =>
  ([2, 1] as const).find((level) => topics.some(({ qos }) => qos === level)) ?? 0;
