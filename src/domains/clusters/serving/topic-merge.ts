import {
  type KindCounts,
  type LevelPage,
  MAX_RESPONSE_CHARACTERS,
  type RecordedTopic,
  type RecorderState,
  type RecorderStatus,
  type TopicLevel,
  type TopicPage,
} from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import { compareTopics } from '../../../data-plane/topic-tree/tree/topic-order.ts';

/**
 * A value of one node. Message counts are sums; the last message is that of the node that received it last. Counts of
 * topics are sums, too: the number of different topics would require reading all topics.
 */
export interface NodeValue<T> {
  readonly nodeId: number;
  readonly value: T;
}

export function mergedTopic(topics: readonly NodeValue<RecordedTopic>[]): RecordedTopic {
  const [first, ...others] = topics as [NodeValue<RecordedTopic>, ...NodeValue<RecordedTopic>[]];
  let merged = first.value;
  for (const { value } of others) {
    const last = value.lastSeen > merged.lastSeen ? value : merged;
    merged = {
      ...last,
      messages: merged.messages + value.messages,
      firstSeen: Math.min(merged.firstSeen, value.firstSeen),
    };
  }
  return { ...merged, nodes: topics.map(({ nodeId }) => nodeId) };
}

/** Merges pages that start at the same topic into one of at most `first` topics, without gaps between its topics. */
export function mergedTopics(pages: readonly NodeValue<TopicPage>[], first: number): Omit<TopicPage, 'totalCount'> {
  const lists = pages.map(({ nodeId, value: { topics, hasMore } }) => ({ nodeId, entries: topics, hasMore }));
  const { items, hasMore } = merged(lists, first, (a, b) => compareTopics(a.topic, b.topic), mergedTopic, sizeOf);
  return { topics: items, hasMore };
}

export function mergedLevels(pages: readonly NodeValue<LevelPage>[], first: number): LevelPage {
  const lists = pages.map(({ nodeId, value: { levels, hasMore } }) => ({ nodeId, entries: levels, hasMore }));
  const { items, hasMore } = merged(
    lists,
    first,
    (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
    mergedLevel,
    ({ topic, recorded }) => topic.length + (recorded === null ? 0 : sizeOf(recorded)),
  );
  return { levels: items, hasMore, totalCount: sum(pages, ({ totalCount }) => totalCount) };
}

export const mergedCounts = (counts: readonly NodeValue<KindCounts>[]): KindCounts => ({
  count: sum(counts, ({ count }) => count),
  leftOut: sum(counts, ({ leftOut }) => leftOut),
  isTruncated: counts.some(({ value: { isTruncated } }) => isTruncated),
});

const STATES: readonly RecorderState[] = ['UNREACHABLE', 'DENIED', 'STARTING', 'STOPPED', 'RECORDING'];

/** Returns the worst status. `lacking` has the errors of failed nodes. `null` if there are none. */
export function mergedStatus(statuses: readonly NodeValue<RecorderStatus>[], lacking: string | null): RecorderStatus {
  const subscribed = partsOf(statuses, (status) => status.subscribed);
  const isSeen = subscribed.length === statuses.length;
  const unseen = textsOf(statuses, (status) => (status.subscribed === null ? status.subscribedReason : null));
  const reasons = [...textsOf(statuses, ({ reason }) => reason), ...(lacking === null ? [] : [lacking])];
  const sinces = statuses.map(({ value: { since } }) => since);
  const asOfs = statuses.map(({ value: { asOf } }) => asOf);
  const worst = STATES.find((state) => statuses.some(({ value }) => value.state === state)) ?? 'RECORDING';
  return {
    state: lacking === null ? worst : 'UNREACHABLE',
    reason: joinedText(reasons),
    since: sinces.includes(null) ? null : Math.max(...sinces.map((since) => since ?? 0)),
    asOf: asOfs.includes(null) ? null : Math.min(...asOfs.map((asOf) => asOf ?? 0)),
    isComplete: lacking === null ? allComplete(statuses) : false,
    deniedFilters: [...new Set(statuses.flatMap(({ value: { deniedFilters } }) => deniedFilters))],
    published: mergedCounts(partsOf(statuses, ({ published }) => published)),
    subscribed: isSeen ? mergedCounts(subscribed) : null,
    subscribedReason: isSeen ? null : (joinedText(unseen) ?? ''),
    memoryBytes: sum(statuses, ({ memoryBytes }) => memoryBytes),
    messages: sum(statuses, ({ messages }) => messages),
    tellsRetain: statuses.every(({ value: { tellsRetain } }) => tellsRetain),
  };
}

function allComplete(statuses: readonly NodeValue<RecorderStatus>[]): boolean | null {
  const all = statuses.map(({ value: { isComplete } }) => isComplete);
  if (all.includes(false)) return false;
  return all.includes(null) ? null : true;
}

const MAX_TEXT = 1_000;

interface NodeList<T> {
  readonly nodeId: number;
  readonly entries: readonly T[];
  readonly hasMore: boolean;
}

/** Merges sorted lists. The result ends where a list ends that has more entries. */
function merged<T>(
  lists: readonly NodeList<T>[],
  first: number,
  compare: (a: T, b: T) => number,
  join: (same: readonly NodeValue<T>[]) => T,
  size: (entry: T) => number,
): { readonly items: readonly T[]; readonly hasMore: boolean } {
  const places = lists.map(() => 0);
  const items: T[] = [];
  let characters = 0;
  const isAtEnd = ({ entries }: NodeList<T>, index: number) => (places[index] ?? 0) >= entries.length;
  const isCut = () => lists.some((list, index) => list.hasMore && isAtEnd(list, index));
  while (items.length < first && characters < MAX_RESPONSE_CHARACTERS && !isCut()) {
    let least: T | undefined;
    for (const [index, { entries }] of lists.entries()) {
      const entry = entries[places[index] ?? 0];
      if (entry !== undefined && (least === undefined || compare(entry, least) < 0)) least = entry;
    }
    if (least === undefined) break;
    const same: NodeValue<T>[] = [];
    for (const [index, { nodeId, entries }] of lists.entries()) {
      const place = places[index] ?? 0;
      const entry = entries[place];
      if (entry === undefined || compare(entry, least) !== 0) continue;
      same.push({ nodeId, value: entry });
      places[index] = place + 1;
    }
    items.push(join(same));
    characters += size(least);
  }
  return { items, hasMore: lists.some((list, index) => list.hasMore || !isAtEnd(list, index)) };
}

function mergedLevel(levels: readonly NodeValue<TopicLevel>[]): TopicLevel {
  const [first] = levels as [NodeValue<TopicLevel>, ...NodeValue<TopicLevel>[]];
  const recorded = partsOf(levels, (level) => level.recorded);
  return {
    name: first.value.name,
    topic: first.value.topic,
    topicCount: sum(levels, ({ topicCount }) => topicCount),
    childCount: sum(levels, ({ childCount }) => childCount),
    recorded: recorded.length === 0 ? null : mergedTopic(recorded),
  };
}

const sizeOf = ({ topic, payload }: RecordedTopic): number => topic.length + (payload?.data.length ?? 0);

export const sum = <T>(list: readonly NodeValue<T>[], of: (value: T) => number): number =>
  list.reduce((total, { value }) => total + of(value), 0);

/** Returns a part of each value. Values without the part (`null`) are left out. */
export const partsOf = <T, Part>(list: readonly NodeValue<T>[], of: (value: T) => Part | null): NodeValue<Part>[] =>
  list.flatMap(({ nodeId, value }) => {
    const part = of(value);
    return part === null ? [] : [{ nodeId, value: part }];
  });

export const textsOf = <T>(list: readonly NodeValue<T>[], of: (value: T) => string | null): string[] =>
  partsOf(list, of).map(({ nodeId, value }) => `Node ${nodeId}: ${value}`);

export const joinedText = (texts: readonly string[]): string | null =>
  texts.length === 0 ? null : texts.join('; ').slice(0, MAX_TEXT);

/** Cursors by node. A cursor in another format counts as none. */
export function readCursor(cursor: string | null): ReadonlyMap<number, string> {
  try {
    const entries: unknown = cursor === null ? [] : JSON.parse(cursor);
    return new Map(Array.isArray(entries) ? (entries as [number, string][]) : []);
  } catch {
    return new Map();
  }
}

export const writeCursor = (cursors: ReadonlyMap<number, string>): string => JSON.stringify([...cursors]);
