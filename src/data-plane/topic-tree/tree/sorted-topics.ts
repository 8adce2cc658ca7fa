import { FirstItems } from '../../../platform/sorting/first-items.ts';
import { type Place, placeIn } from '../../../platform/sorting/places.ts';
import type { FindTopics, RecordedTopic, TopicOrder, TopicPage } from '../model/topic-recorder.ts';
import { BoundedList, charactersOf } from './bounded-list.ts';
import { NONE } from './rows.ts';
import type { TopicFinder } from './topic-finder.ts';
import { topicComparison, topicPlace } from './topic-order.ts';
import type { TopicStore } from './topic-store.ts';

interface PlacedTopic extends Place {
  readonly recorded: RecordedTopic;
}

/** A page of the topics of a finder in an order: visits all of them, and stores about two pages. */
export async function sortedPage(
  store: TopicStore,
  finder: TopicFinder,
  { after, offset = 0, first, withCount = false, withPayloads = true }: Omit<FindTopics, 'kind'>,
  order: TopicOrder,
): Promise<TopicPage> {
  const { levels, uses, ticks } = store;
  const compare = topicComparison(order);
  const start = after === undefined ? null : placeIn(after, order);
  // One more shows whether there are more.
  const found = new FirstItems<PlacedTopic, Place>(offset + first + 1, compare);
  const take = (node: number) => {
    const use = levels.useOf(node);
    const numbers = { lastSeen: ticks.timeOf(uses.lastTickOf(use)), messages: uses.messagesOf(use) };
    const isByTopic = order.field === 'TOPIC';
    // Without its text, which takes longer to read than the numbers.
    if (!isByTopic && !found.accepts(topicPlace({ topic: '', ...numbers }, order))) return true;
    const recorded = store.recorded(use, false);
    const place = topicPlace(recorded, order);
    if (start === null || compare(place, start) > 0) found.add({ ...place, recorded });
    return true;
  };
  const { count } = await finder.list(null, 0, take, withCount);
  const sorted = found.sorted().slice(offset);
  const topics = new BoundedList<RecordedTopic>(first);
  const isShort = sorted.some(
    ({ recorded }) => !topics.take(() => (withPayloads ? withPayload(store, recorded) : recorded), charactersOf),
  );
  return { topics: topics.items, hasMore: isShort, totalCount: withCount ? count : null };
}

/** The topic may have expired during the search. */
function withPayload(store: TopicStore, recorded: RecordedTopic): RecordedTopic {
  const use = store.find(recorded.topic);
  return use === NONE ? recorded : { ...recorded, payload: store.recorded(use, true).payload };
}
