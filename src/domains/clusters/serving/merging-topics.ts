import {
  type KindCounts,
  type LevelPage,
  MAX_ANSWER_CHARACTERS,
  type RecordedTopic,
  type RecorderState,
  type RecorderStatus,
  type TopicLevel,
  type TopicPage,
} from '../../topic-tree/model/topic-recorder.ts';
import { compareTopics } from '../../topic-tree/tree/topic-order.ts';

/**
 * What the recordings of several nodes come to, each with topics of its own. A topic of several nodes is one: its messages are those of
 * all, what is told of the last one is of the node that had it last, and `nodes` says where it is listed.
 *
 * Counts are sums: a topic is counted once for each node that lists it, because how many different ones there are would be known only by
 * reading all.
 */
export interface OfNode<T> {
  readonly nodeId: number;
  readonly told: T;
}

export function mergedTopic(topics: readonly OfNode<RecordedTopic>[]): RecordedTopic {
  const [first, ...others] = topics as [OfNode<RecordedTopic>, ...OfNode<RecordedTopic>[]];
  let merged = first.told;
  for (const { told } of others) {
    const last = told.lastSeen > merged.lastSeen ? told : merged;
    merged = {
      ...last,
      messages: merged.messages + told.messages,
      firstSeen: Math.min(merged.firstSeen, told.firstSeen),
    };
  }
  return { ...merged, nodes: topics.map(({ nodeId }) => nodeId) };
}

/** Pages that begin at the same place, as one that has `first` at most: nothing is left out between its topics. */
export function mergedTopics(pages: readonly OfNode<TopicPage>[], first: number): Omit<TopicPage, 'totalCount'> {
  const lists = pages.map(({ nodeId, told: { topics, hasMore } }) => ({ nodeId, entries: topics, hasMore }));
  const { items, hasMore } = merged(lists, first, (a, b) => compareTopics(a.topic, b.topic), mergedTopic, sizeOf);
  return { topics: items, hasMore };
}

/** As `mergedTopics`; `totalCount` is a sum. */
export function mergedLevels(pages: readonly OfNode<LevelPage>[], first: number): LevelPage {
  const lists = pages.map(({ nodeId, told: { levels, hasMore } }) => ({ nodeId, entries: levels, hasMore }));
  const { items, hasMore } = merged(
    lists,
    first,
    (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
    mergedLevel,
    ({ topic, recorded }) => topic.length + (recorded === null ? 0 : sizeOf(recorded)),
  );
  return { levels: items, hasMore, totalCount: sum(pages, ({ totalCount }) => totalCount) };
}

export const mergedCounts = (counts: readonly OfNode<KindCounts>[]): KindCounts => ({
  count: sum(counts, ({ count }) => count),
  leftOut: sum(counts, ({ leftOut }) => leftOut),
  isTruncated: counts.some(({ told: { isTruncated } }) => isTruncated),
});

/** From the one that matters most. */
const STATES: readonly RecorderState[] = ['UNREACHABLE', 'DENIED', 'STARTING', 'STOPPED', 'RECORDING'];

/** The worst of all; `lacking` says why nodes told nothing, null: all did. */
export function mergedStatus(statuses: readonly OfNode<RecorderStatus>[], lacking: string | null): RecorderStatus {
  const unseen = statuses.find(({ told: { subscribed } }) => subscribed === null);
  const words = (pick: (status: RecorderStatus) => string | null) =>
    statuses.flatMap(({ nodeId, told }) => {
      const text = pick(told);
      return text === null ? [] : [`Node ${nodeId}: ${text}`];
    });
  const reasons = [...words(({ reason }) => reason), ...(lacking === null ? [] : [lacking])];
  const sinces = statuses.map(({ told: { since } }) => since);
  const worst = STATES.find((state) => statuses.some(({ told }) => told.state === state)) ?? 'RECORDING';
  return {
    state: lacking === null ? worst : 'UNREACHABLE',
    reason: reasons.length === 0 ? null : reasons.join('; ').slice(0, MAX_REASON),
    since: sinces.includes(null) ? null : Math.max(...sinces.map((since) => since ?? 0)),
    deniedFilters: [...new Set(statuses.flatMap(({ told: { deniedFilters } }) => deniedFilters))],
    published: mergedCounts(statuses.map(({ nodeId, told: { published } }) => ({ nodeId, told: published }))),
    subscribed:
      unseen === undefined
        ? mergedCounts(statuses.map(({ nodeId, told: { subscribed } }) => ({ nodeId, told: subscribed ?? NONE })))
        : null,
    subscribedReason:
      unseen === undefined
        ? null
        : words(({ subscribed, subscribedReason }) => (subscribed === null ? subscribedReason : null))
            .join('; ')
            .slice(0, MAX_REASON),
    memoryBytes: sum(statuses, ({ memoryBytes }) => memoryBytes),
    messages: sum(statuses, ({ messages }) => messages),
    tellsRetain: statuses.every(({ told: { tellsRetain } }) => tellsRetain),
  };
}

const NONE: KindCounts = { count: 0, leftOut: 0, isTruncated: false };
const MAX_REASON = 1_000;

interface NodeList<T> {
  readonly nodeId: number;
  readonly entries: readonly T[];
  readonly hasMore: boolean;
}

/** Sorted lists as one. It ends where the beginning of a list ends that has more. */
function merged<T>(
  lists: readonly NodeList<T>[],
  first: number,
  compare: (a: T, b: T) => number,
  join: (same: readonly OfNode<T>[]) => T,
  size: (entry: T) => number,
): { readonly items: readonly T[]; readonly hasMore: boolean } {
  const places = lists.map(() => 0);
  const items: T[] = [];
  let characters = 0;
  const isAtEnd = ({ entries }: NodeList<T>, index: number) => (places[index] ?? 0) >= entries.length;
  const isCut = () => lists.some((list, index) => list.hasMore && isAtEnd(list, index));
  while (items.length < first && characters < MAX_ANSWER_CHARACTERS && !isCut()) {
    let least: T | undefined;
    for (const [index, { entries }] of lists.entries()) {
      const entry = entries[places[index] ?? 0];
      if (entry !== undefined && (least === undefined || compare(entry, least) < 0)) least = entry;
    }
    if (least === undefined) break;
    const same: OfNode<T>[] = [];
    for (const [index, { nodeId, entries }] of lists.entries()) {
      const place = places[index] ?? 0;
      const entry = entries[place];
      if (entry === undefined || compare(entry, least) !== 0) continue;
      same.push({ nodeId, told: entry });
      places[index] = place + 1;
    }
    items.push(join(same));
    characters += size(least);
  }
  return { items, hasMore: lists.some((list, index) => list.hasMore || !isAtEnd(list, index)) };
}

function mergedLevel(levels: readonly OfNode<TopicLevel>[]): TopicLevel {
  const [first] = levels as [OfNode<TopicLevel>, ...OfNode<TopicLevel>[]];
  const recorded = levels.flatMap(({ nodeId, told }) =>
    told.recorded === null ? [] : [{ nodeId, told: told.recorded }],
  );
  return {
    name: first.told.name,
    topic: first.told.topic,
    topicCount: sum(levels, ({ topicCount }) => topicCount),
    childCount: sum(levels, ({ childCount }) => childCount),
    recorded: recorded.length === 0 ? null : mergedTopic(recorded),
  };
}

const sizeOf = ({ topic, payload }: RecordedTopic): number => topic.length + (payload?.data.length ?? 0);

const sum = <T>(list: readonly OfNode<T>[], of: (told: T) => number): number =>
  list.reduce((total, { told }) => total + of(told), 0);
