import { useBroker } from '../broker/broker-context.ts';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';

const TOPICS = graphql(`query KnownTopics($id: ID!, $typed: String) {
  broker(id: $id) {
    topicTree { topics(first: 20, search: $typed) { names } }
  }
}`);

interface TopicSuggestionsProps {
  /** The `list` of the input. */
  readonly id: string;
  readonly typed?: string;
}

/** Topics that the service has seen at the broker, for an input. */
export function TopicSuggestions({ id, typed = '' }: TopicSuggestionsProps) {
  const broker = useBroker();
  const { data } = useFresh(TOPICS, { id: broker.id, typed: typed === '' ? null : typed }, 0);
  return (
    <datalist id={id}>
      {(data?.broker?.topicTree?.topics?.names ?? []).map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
