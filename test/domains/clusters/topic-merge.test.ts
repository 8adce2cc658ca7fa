import { expect, test } from 'vitest';
import type { RecordedTopic, RecorderStatus } from '../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import { compareTopics } from '../../../src/data-plane/topic-tree/tree/topic-order.ts';
import { mergedLevels, mergedStatus, mergedTopics } from '../../../src/domains/clusters/serving/topic-merge.ts';

const topic = (name: string, fields: Partial<RecordedTopic> = {}): RecordedTopic => ({
  topic: name,
  messages: 1,
  firstSeen: 10,
  lastSeen: 20,
  qos: 0,
  retain: false,
  payload: null,
  ...fields,
});

const page = (nodeId: number, names: readonly string[], hasMore = false) => ({
  nodeId,
  value: { topics: names.map((name) => topic(name)), hasMore, totalCount: null },
});

const namesOf = ({ topics }: { readonly topics: readonly RecordedTopic[] }) => topics.map((one) => one.topic);

test('pages are merged in the order of the tree, up to the end of the shortest incomplete page', () => {
  const both = [page(1, ['a', 'a/b', 'b']), page(2, ['a/b', 'a!', 'c'])];
  expect(namesOf(mergedTopics(both, 10))).toEqual(['a', 'a/b', 'a!', 'b', 'c']);
  expect(mergedTopics(both, 10).hasMore).toBe(false);
  expect(mergedTopics(both, 2)).toMatchObject({
    hasMore: true,
    topics: [{ nodes: [1] }, { topic: 'a/b', nodes: [1, 2] }],
  });
  // The next topic is unknown beyond the end of a page that has more.
  const cut = mergedTopics([page(1, ['a', 'b'], true), page(2, ['c', 'd'])], 10);
  expect([namesOf(cut), cut.hasMore]).toEqual([['a', 'b'], true]);
});

test('lists that are merged page by page are complete and contain each topic once', () => {
  const all = Array.from({ length: 3 }, (_, node) =>
    Array.from({ length: 200 }, (_unused, index) => `l${(index * (node + 2)) % 7}/${(index * 13) % (90 + node)}`),
  ).map((names) => [...new Set(names)].sort(compareTopics));
  const wanted = [...new Set(all.flat())].sort(compareTopics);
  const found: string[] = [];
  for (let after: string | undefined; ; after = found.at(-1)) {
    const pages = all.map((names, index) => {
      const rest = names.filter((name) => after === undefined || compareTopics(name, after) > 0);
      // Nodes may end a page anywhere.
      const size = 1 + ((found.length + index * 5) % 9);
      return page(index + 1, rest.slice(0, size), rest.length > size);
    });
    const { topics, hasMore } = mergedTopics(pages, 8);
    found.push(...topics.map((one) => one.topic));
    if (!hasMore) break;
    expect(topics.length).toBeGreaterThan(0);
  }
  expect(found).toEqual(wanted);
});

test('a topic of several nodes has the message count of all nodes, and the newest message', () => {
  const one = topic('a', { messages: 2, firstSeen: 5, lastSeen: 40, qos: 1, payload: { data: 'bmV3', bytes: 3 } });
  const other = topic('a', { messages: 3, firstSeen: 1, lastSeen: 30, qos: 2 });
  const page = (recorded: RecordedTopic) => ({ topics: [recorded], hasMore: false, totalCount: null });
  const merged = mergedTopics(
    [
      { nodeId: 4, value: page(other) },
      { nodeId: 7, value: page(one) },
    ],
    10,
  );
  expect(merged.topics).toEqual([{ ...one, messages: 5, firstSeen: 1, nodes: [4, 7] }]);
});

test('levels are merged by name, and their counts are sums', () => {
  const level = (name: string, topicCount: number, recorded: RecordedTopic | null = null) => ({
    name,
    topic: name,
    topicCount,
    childCount: 1,
    recorded,
  });
  const pages = [
    { nodeId: 1, value: { levels: [level('', 1), level('b', 2)], hasMore: false, totalCount: 2 } },
    { nodeId: 2, value: { levels: [level('b', 3, topic('b'))], hasMore: false, totalCount: 1 } },
  ];
  expect(mergedLevels(pages, 10)).toEqual({
    levels: [level('', 1), { ...level('b', 5, topic('b', { nodes: [2] })), childCount: 2 }],
    hasMore: false,
    totalCount: 3,
  });
});

test('the worst status of all nodes is returned, and subscriptions only if every node sees its own', () => {
  const counts = { count: 1, leftOut: 2, isTruncated: false };
  const status = (fields: Partial<RecorderStatus>): RecorderStatus => ({
    state: 'RECORDING',
    reason: null,
    since: 10,
    asOf: 20,
    isComplete: true,
    deniedFilters: [],
    published: counts,
    subscribed: counts,
    subscribedReason: null,
    memoryBytes: 1,
    messages: 1,
    tellsRetain: true,
    ...fields,
  });
  const merged = (fields: Partial<RecorderStatus>, lacking: string | null = null) =>
    mergedStatus(
      [
        { nodeId: 1, value: status({}) },
        { nodeId: 2, value: status(fields) },
      ],
      lacking,
    );
  expect(merged({})).toMatchObject({
    state: 'RECORDING',
    reason: null,
    since: 10,
    asOf: 20,
    isComplete: true,
    published: { count: 2, leftOut: 4 },
    subscribed: { count: 2 },
  });
  expect(merged({ asOf: 15, isComplete: false })).toMatchObject({ asOf: 15, isComplete: false });
  expect(merged({ asOf: null, isComplete: null })).toMatchObject({ asOf: null, isComplete: null });
  expect(merged({}, 'a node is away')).toMatchObject({ isComplete: false });
  expect(merged({ state: 'DENIED', reason: 'no right', since: 30, deniedFilters: ['#'] })).toMatchObject({
    state: 'DENIED',
    reason: 'Node 2: no right',
    since: 30,
    deniedFilters: ['#'],
  });
  expect(merged({ subscribed: null, subscribedReason: 'no log', since: null })).toMatchObject({
    subscribed: null,
    subscribedReason: 'Node 2: no log',
    since: null,
  });
  expect(merged({}, 'node 3: away')).toMatchObject({ state: 'UNREACHABLE', reason: 'node 3: away' });
});
