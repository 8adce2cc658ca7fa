import type { ResultOf } from '../graph/graphql.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { topicTexts } from './texts.ts';
import type { OVERVIEW, TopicKind } from './topic-graph.ts';

type Tree = NonNullable<NonNullable<ResultOf<typeof OVERVIEW>['broker']>['topicTree']>;

/** What is missing in the recording of topics, and why. Nothing if it is complete. */
export function Recording({ tree, kind }: { readonly tree: Tree; readonly kind: TopicKind }) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const notes = [
    tree.state === 'RECORDING' ? null : text(tree.state),
    tree.reason,
    kind === 'SUBSCRIBED' ? (tree.unavailable?.subscribed ?? null) : null,
    tree.deniedFilters.length > 0 ? text('denied', { filters: tree.deniedFilters.join(', ') }) : null,
    tree.isTruncated ? text('leftOut', { count: numberText(tree.leftOut) }) : null,
    tree.droppedByBroker ? text('dropped', { count: numberText(tree.droppedByBroker) }) : null,
  ].filter((note) => note !== null);
  return (
    <>
      {[...new Set(notes)].map((note) => (
        <p key={note} className="note">
          {note}
        </p>
      ))}
      {tree.settings && <p className="quiet">{text('listedFor', { duration: numberText(tree.settings.ttl / 60) })}</p>}
    </>
  );
}
