import { expect, test } from 'vitest';
import { MirroredTopics } from '../../../../src/domains/topic-tree/control/mirrored-topics.ts';
import { dice } from './odd-fields.ts';
import { type Asked, commercial, startScripted } from './topic-world.ts';

interface Entry {
  readonly topic: string;
  readonly payload?: unknown;
}

/** A broker with lists that the test changes, returned in pages. Each request reads the lists again. */
async function startMirrored(
  options: { pageOf?: (asked: Asked, lists: Lists) => unknown; maxTopics?: number; timeoutMs?: number } = {},
) {
  const { pageOf = inPages, maxTopics, timeoutMs } = options;
  const lists: Lists = { published: [], subscribed: [] };
  const { dataOf, state } = commercial((asked) => pageOf(asked, lists));
  const { broker, controls, asked } = await startScripted(dataOf, timeoutMs === undefined ? {} : { timeoutMs });
  const topics = new MirroredTopics({
    caller: controls,
    maxAgeMs: 0,
    readingFactor: 0,
    ...(maxTopics === undefined ? {} : { maxTopics }),
  });
  const readings = () => asked.filter(({ command }) => command === 'listTopics');
  return { broker, controls, lists, state, topics, readings };
}

interface Lists {
  published: Entry[];
  subscribed: Entry[];
}

const inPages = ({ count, offset }: Asked, { published, subscribed }: Lists) => ({
  publishTopics: { count: published.length, data: published.slice(offset, offset + count) },
  subscribeTopics: { count: subscribed.length, data: subscribed.slice(offset, offset + count) },
});

const names = (length: number, prefix = 't') =>
  Array.from({ length }, (_, n) => ({ topic: `${prefix}/${String(n).padStart(6, '0')}` }));
const ALL = { kind: 'PUBLISHED', first: 10_000, withCount: true } as const;

const shown = async (topics: MirroredTopics, kind: 'PUBLISHED' | 'SUBSCRIBED' = 'PUBLISHED') =>
  (await topics.query('find', { ...ALL, kind })).topics.map(({ topic }) => topic);

test('all requests are served from the lists of a broker, including changes', async () => {
  const { lists, topics } = await startMirrored();
  lists.published = [
    { topic: 'plant/line1', payload: '{"speed":7.5}' },
    { topic: 'plant/line2', payload: 'é' },
    { topic: 'weather', payload: '' },
  ];
  lists.subscribed = [{ topic: 'plant/#' }];
  const begun = Date.now();
  const status = await topics.query('status', {});
  expect(status).toMatchObject({
    state: 'RECORDING',
    reason: null,
    deniedFilters: [],
    published: { count: 3, leftOut: 0, isTruncated: false },
    subscribed: { count: 1, leftOut: 0, isTruncated: false },
    messages: 3,
    tellsRetain: false,
  });
  expect(status.since).toBeGreaterThanOrEqual(begun);
  const page = await topics.query('find', { kind: 'PUBLISHED', first: 2, withCount: true });
  expect(page).toMatchObject({ hasMore: true, totalCount: 3 });
  expect(page.topics[0]).toMatchObject({
    topic: 'plant/line1',
    messages: 1,
    qos: 0,
    retain: false,
    payload: { data: Buffer.from('{"speed":7.5}').toString('base64'), bytes: 13 },
  });
  expect((await topics.query('find', { ...ALL, search: 'LINE' })).topics).toHaveLength(2);
  expect((await topics.query('find', { ...ALL, filter: '+/line2' })).topics).toMatchObject([{ topic: 'plant/line2' }]);
  expect(await topics.query('levels', { kind: 'PUBLISHED', of: null, first: 10 })).toMatchObject({
    levels: [
      { name: 'plant', topicCount: 2, childCount: 2 },
      { name: 'weather', topicCount: 1, recorded: { payload: { bytes: 0 } } },
    ],
  });
  expect(await shown(topics, 'SUBSCRIBED')).toEqual(['plant/#']);

  const { cursor } = await topics.query('changes', { kind: 'PUBLISHED', since: null, first: 10 });
  lists.published = [
    { topic: 'plant/line1', payload: '{"speed":8}' },
    { topic: 'plant/line2', payload: 'é' },
    { topic: 'new', payload: 'x' },
  ];
  const changes = await topics.query('changes', { kind: 'PUBLISHED', since: cursor, first: 10 });
  expect(changes).toMatchObject({ isContinued: true, expired: ['weather'], counts: { count: 3 } });
  expect(changes.added.map(({ topic }) => topic)).toEqual(['new']);
  expect(changes.changed).toMatchObject([{ topic: 'plant/line1', messages: 2 }]);
  expect(await topics.query('topic', { kind: 'PUBLISHED', topic: 'plant/line2' })).toMatchObject({ messages: 1 });
  expect(await topics.query('topic', { kind: 'PUBLISHED', topic: 'weather' })).toBeNull();
});

test('concurrent callers share one reading of the lists', async () => {
  const { controls, lists, readings } = await startMirrored();
  lists.published = names(10);
  const topics = new MirroredTopics({ caller: controls });
  await Promise.all(Array.from({ length: 20 }, () => topics.query('find', ALL)));
  lists.published = [];
  expect(await shown(topics)).toHaveLength(10);
  expect(readings()).toHaveLength(1);
});

test.each<[string, (asked: Asked, lists: Lists) => unknown]>([
  ['returns the length of the list', inPages],
  [
    'returns the length of the page',
    ({ count, offset }, { published }) => {
      const data = published.slice(offset, offset + count);
      return { publishTopics: { count: data.length, data } };
    },
  ],
  [
    'returns names',
    ({ count, offset }, { published }) => ({
      publishTopics: {
        count: published.length,
        topics: published.slice(offset, offset + count).map(({ topic }) => topic),
      },
    }),
  ],
  [
    'returns numbers as texts',
    ({ count, offset }, { published }) => ({
      publishTopics: { count: String(published.length), data: published.slice(offset, offset + count) },
    }),
  ],
  [
    'returns plain lists',
    ({ count, offset }, { published }) => ({ publishTopics: published.slice(offset, offset + count) }),
  ],
  ['does not support pages', (_asked, { published }) => ({ PublishTopics: { Data: published } })],
  [
    'returns shorter pages than requested',
    ({ count, offset }, { published }) => ({
      publishTopics: { count: published.length, data: published.slice(offset, offset + Math.min(count, 700)) },
    }),
  ],
])('a long list is read completely from a broker that %s', async (_title, pageOf) => {
  const { lists, topics } = await startMirrored({ pageOf });
  lists.published = names(1_300);
  expect(await shown(topics)).toEqual(lists.published.map(({ topic }) => topic));
  lists.published = lists.published.slice(0, 1_100);
  // What is missed by a list of several pages may have moved: it goes when it is missed again.
  await topics.query('status', {});
  await topics.query('status', {});
  expect(await shown(topics)).toEqual(lists.published.map(({ topic }) => topic));
});

test('a kind that the broker does not list is refused', async () => {
  const { lists, topics } = await startMirrored({
    pageOf: (_asked, { published }) => ({ publishTopics: { data: published } }),
  });
  lists.published = names(3);
  expect(await topics.query('status', {})).toMatchObject({ subscribed: null, subscribedReason: expect.any(String) });
  await expect(topics.query('find', { ...ALL, kind: 'SUBSCRIBED' })).rejects.toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
    info: { reason: expect.any(String) },
  });
  expect(await shown(topics)).toHaveLength(3);
});

test('topics beyond the bound are counted, and topics beyond the limit of the broker are reported', async () => {
  const { lists, state, topics } = await startMirrored({ maxTopics: 1_500 });
  lists.published = names(4_000);
  expect(await topics.query('status', {})).toMatchObject({
    published: { count: 1_500, leftOut: 2_500, isTruncated: true },
  });
  lists.published = names(10);
  expect(await topics.query('status', {})).toMatchObject({ published: { count: 10, leftOut: 0, isTruncated: false } });
  state.limits = { ...state.limits, publishLimit: 10 };
  expect(await topics.query('status', {})).toMatchObject({ published: { count: 10, leftOut: 0, isTruncated: true } });
});

test('the topics of the last reading stay while the broker refuses or is disconnected, and the status reports it', async () => {
  let refusal: Error | null = new Error('Access denied');
  const { broker, lists, topics } = await startMirrored({
    pageOf: (asked, all) => refusal ?? inPages(asked, all),
  });
  lists.published = names(3);
  expect(await topics.query('status', {})).toMatchObject({ state: 'DENIED', reason: 'Access denied', since: null });
  await expect(topics.query('find', ALL)).rejects.toMatchObject({ code: 'BROKER_REJECTED' });
  refusal = null;
  expect(await shown(topics)).toHaveLength(3);
  expect(await topics.query('status', {})).toMatchObject({ state: 'RECORDING', reason: null });
  refusal = new Error('Access denied');
  const denied = await topics.query('status', {});
  expect(denied).toMatchObject({ state: 'DENIED', published: { count: 3 } });
  expect(denied.reason).toMatch(/Access denied; the listed topics are \d+ s old/);
  await broker.stop();
  expect(await topics.query('status', {})).toMatchObject({ state: 'UNREACHABLE', published: { count: 3 } });
  expect(await shown(topics)).toHaveLength(3);
});

test('a page that is too large for the broker is requested again with a smaller size', async () => {
  const { lists, topics, readings } = await startMirrored({
    timeoutMs: 200,
    pageOf: (asked, all) => (asked.count > 150 ? null : inPages(asked, all)),
  });
  lists.published = names(120);
  expect(await shown(topics)).toHaveLength(120);
  expect(readings().map(({ count }) => count)).toEqual([
    1_000,
    100,
    expect.any(Number),
    ...Array(readings().length - 3).fill(expect.any(Number)),
  ]);
});

test('a broker that repeats pages or returns invalid values does no harm', async () => {
  let answer: (asked: Asked) => unknown = () => undefined;
  const { topics, readings } = await startMirrored({ maxTopics: 5_000, pageOf: (asked) => answer(asked) });
  const bounded = async () => {
    const before = readings().length;
    const status = await topics.query('status', {});
    expect(readings().length - before).toBeLessThan(40);
    return status;
  };
  answer = () => ({ publishTopics: { count: 1e300, data: names(5) } });
  expect(await bounded()).toMatchObject({ published: { count: 5, leftOut: expect.any(Number), isTruncated: true } });
  answer = ({ offset }) => ({ publishTopics: { count: 1e9, data: [{ topic: `one/${offset % 30}` }] } });
  await topics.query('status', {});
  answer = () => ({ publishTopics: { data: names(7_500) } });
  await bounded();
  expect(await bounded()).toMatchObject({ published: { count: 5_000, leftOut: 2_500, isTruncated: true } });

  const random = dice(5);
  const odd: readonly unknown[] = [
    null,
    '',
    'a',
    '\u0000',
    'x'.repeat(70_000),
    -1,
    0,
    2.5,
    1e308,
    true,
    [],
    {},
    [[]],
    { topic: {} },
    { topic: 'a', payload: {} },
    { topic: 'a/b', payload: 'p', payloadBase64: 5 },
    { topic: 'a/b', payloadBase64: '%%%' },
  ];
  const oneOf = () => odd[random(odd.length)];
  const list = () => Array.from({ length: random(6) }, oneOf);
  const lists = [
    oneOf,
    list,
    () => ({ count: oneOf(), data: list() }),
    () => ({ count: oneOf(), topics: list() }),
    () => ({ data: oneOf(), topics: oneOf() }),
  ];
  answer = () => ({
    publishTopics: lists[random(lists.length)]?.(),
    subscribeTopics: lists[random(lists.length)]?.(),
    truncated: oneOf(),
  });
  for (let n = 0; n < 100; n += 1) {
    const status = await bounded();
    expect(['RECORDING', 'DENIED']).toContain(status.state);
    const found = await shown(topics).catch((error: unknown) => {
      expect(error).toMatchObject({ code: expect.stringMatching(/^(NOT_SUPPORTED_BY_BROKER|BROKER_REJECTED)$/) });
      return [];
    });
    for (const topic of found) expect(topic).toMatch(/^[^\0]{1,65535}$/);
  }
});
