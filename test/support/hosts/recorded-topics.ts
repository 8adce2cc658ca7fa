import type { ServiceOnHost } from './service-on-host.ts';
import type { StreamedBroker } from './stream-traffic.ts';

const RECORD = 'mutation ($input: UpdateTopicTreeInput!) { updateTopicTree(input: $input) { broker { id } } }';
const TOPICS = 'query ($id: ID!) { broker(id: $id) { topicTree { state topics(first: 100) { nodes { topic } } } } }';

/** Records the topics of a broker, also while no client requests them. */
export async function recordTopics(service: ServiceOnHost, { id }: StreamedBroker): Promise<void> {
  await service.graphql(RECORD, { input: { brokerId: id, isAlwaysOn: true } });
}

/** The recorded topics as a process reports them, or the error. */
export const topicsOf = (service: ServiceOnHost, { id }: StreamedBroker): Promise<string[]> =>
  service.graphql(TOPICS, { id }).then(
    ({ broker }) => broker.topicTree.topics.nodes.map(({ topic }: { readonly topic: string }) => topic),
    ({ message }: Error) => [message],
  );
