import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { matches } from './matches.ts';
import { topicTexts } from './texts.ts';
import { type Place, SUBSCRIBED } from './topic-graph.ts';

/** Number of filters that are compared with the topic. */
const COMPARED = 2_000;
const SHOWN = 20;
const EVERY_MS = 10_000;

/** The subscriptions that match a topic, as far as the broker reports them. */
export function Subscribed({ place, topic }: { readonly place: Place; readonly topic: string }) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const { data, error } = useQuery(SUBSCRIBED, { id: place.id, node: place.node, first: COMPARED }, EVERY_MS);
  const tree = data?.broker?.topicTree;
  const filters = tree?.topics;
  const matching = filters?.nodes.filter((filter) => matches(filter.topic, topic)) ?? [];
  return (
    <>
      <h3>{text('subscribers')}</h3>
      {!tree && <p className="quiet">{error ? error.message : text('loading')}</p>}
      {tree && !filters && <p className="quiet">{tree.unavailable?.subscribed ?? error?.message}</p>}
      {filters && matching.length === 0 && <p>{text('noSubscriber')}</p>}
      <ul>
        {matching.slice(0, SHOWN).map((filter) => (
          <li key={filter.topic}>
            <code>{filter.topic}</code> {text('subscriptions', { count: numberText(filter.messages) })}
          </li>
        ))}
      </ul>
      {matching.length > SHOWN && <p>{text('further', { count: numberText(matching.length - SHOWN) })}</p>}
      {filters && filters.totalCount > filters.nodes.length && (
        <p className="quiet">{text('compared', { count: numberText(filters.nodes.length) })}</p>
      )}
    </>
  );
}
