import { expect, test } from 'vitest';
import type { RecordedTopic, TopicChanges } from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import { TopicFeed } from '../../../../src/domains/topic-tree/live/topic-feed.ts';
import { TopicFeeds } from '../../../../src/domains/topic-tree/live/topic-feeds.ts';
import { KINDS, streamWorld } from '../../streams/stream-world.ts';
import { publishAll } from './topic-world.ts';

const FOLLOW = `subscription ($b: ID!, $prefix: String, $after: SafeInt) { topics(brokerId: $b, prefix: $prefix, after: $after) {
  kind sequence missed count leftOut isTruncated isConnected
  added { topic messages } changed { topic messages } expired addedLeftOut changedLeftOut expiredLeftOut
} }`;

test.each(KINDS)(
  'topics of %s are followed: how many there are, then which came, were used again and expired',
  async (kind) => {
    const world = await streamWorld(kind);
    const client = await world.client();
    const feed = world.follow(FOLLOW);
    const start = (await feed.until(() => true)).topics;
    expect(start).toMatchObject({
      kind: 'SNAPSHOT',
      count: 0,
      leftOut: 0,
      isTruncated: false,
      added: [],
      expired: [],
      missed: null,
    });
    await publishAll(client, { 'plant/1': 'a' });
    const came = (await feed.until(({ topics }) => topics.added.length > 0)).topics;
    expect(came).toMatchObject({
      kind: 'CHANGE',
      count: 1,
      added: [{ topic: 'plant/1', messages: 1 }],
      addedLeftOut: 0,
    });
    expect(came.sequence).toBeGreaterThan(start.sequence);
    await publishAll(client, { 'plant/1': 'b' });
    const used = (await feed.until(({ topics }) => topics.changed.length > 0)).topics;
    expect(used).toMatchObject({ added: [], changed: [{ topic: 'plant/1', messages: 2 }] });

    // Others who follow the same read of the same, and see only what is below their prefix.
    const below = world.follow(FOLLOW, { prefix: 'hall' });
    await below.until(() => true);
    const resumed = world.follow(FOLLOW, { after: came.sequence });
    expect((await resumed.until(() => true)).topics).toMatchObject({
      kind: 'RESUMED',
      sequence: came.sequence,
      count: null,
    });
    expect((await resumed.until(() => true)).topics.changed).toEqual([{ topic: 'plant/1', messages: 2 }]);
    await publishAll(client, { 'plant/2': 'a', 'hall/1': 'a' });
    const seen = new Set<string>();
    await feed.until(({ topics }) => {
      for (const { topic } of topics.added) seen.add(topic);
      return seen.size === 2;
    });
    expect((await below.until(({ topics }) => topics.added.length > 0)).topics.added).toEqual([
      { topic: 'hall/1', messages: 1 },
    ]);

    await world.change('setTopicTtl', { ttl: 1 });
    const gone = new Set<string>();
    let count = -1;
    await feed.until(({ topics }) => {
      for (const topic of topics.expired) gone.add(topic);
      count = topics.count;
      return gone.size === 3;
    });
    expect([...gone].sort()).toEqual(['hall/1', 'plant/1', 'plant/2']);
    expect(count).toBe(0);
  },
);

/** The options of a feed with the responses of a recorder, tick by tick. */
function scriptOf(answers: (since: string | null) => Partial<TopicChanges>) {
  const lists = { added: [], changed: [], expired: [], addedLeftOut: 0, changedLeftOut: 0, expiredLeftOut: 0 };
  const counts = { count: 0, leftOut: 0, isTruncated: false };
  return {
    changes: async (since: string | null) => ({ cursor: 'c', isContinued: true, ...lists, counts, ...answers(since) }),
    status: async () => ({ state: 'RECORDING' as const, reason: null }),
    isConnected: () => true,
    onFault: (error: unknown) => {
      throw error;
    },
  };
}

const scripted = (answers: (since: string | null) => Partial<TopicChanges>) =>
  new TopicFeed({ ...scriptOf(answers), onIdle: () => undefined });

const topic = (name: string): RecordedTopic => ({
  topic: name,
  messages: 1,
  firstSeen: 0,
  lastSeen: 0,
  qos: 0,
  retain: false,
  payload: { data: 'x'.repeat(1_000_000), bytes: 750_000 },
});

test('a restarted recording and a slow reader cause a GAP and a new SNAPSHOT', async () => {
  let isContinued = true;
  let asked = 0;
  const feed = scripted((since) => {
    asked += 1;
    const counts = { count: asked, leftOut: 0, isTruncated: false };
    return { isContinued, counts, added: since === null ? [] : [topic(`t${asked}`)] };
  });
  const [reader, slow] = await Promise.all([feed.watch({}), feed.watch({ limit: 2 })]);
  expect(asked).toBe(1);
  const next = async () => (await reader.next()).value;
  expect(await next()).toMatchObject({ kind: 'SNAPSHOT', snapshot: { count: 1, added: [] } });
  expect((await slow.next()).value).toMatchObject({ kind: 'SNAPSHOT', snapshot: { count: 1 } });
  expect(await next()).toMatchObject({ kind: 'CHANGE', change: { count: 2, added: [{ topic: 't2' }] } });
  isContinued = false;
  expect(await next()).toMatchObject({ kind: 'GAP' });
  isContinued = true;
  expect(await next()).toMatchObject({ kind: 'SNAPSHOT', snapshot: { count: 3, added: [] } });
  const four = await next();
  expect(four).toMatchObject({ kind: 'CHANGE', change: { added: [{ topic: 't4' }] } });
  expect((await slow.next()).value).toMatchObject({ kind: 'GAP' });
  expect((await slow.next()).value).toMatchObject({ kind: 'SNAPSHOT', snapshot: { count: 4 } });
  // No subscriber resumes from before the restart. Later events can be resumed as long as they are stored.
  const again = await feed.watch({ after: four?.sequence });
  expect((await again.next()).value).toMatchObject({ kind: 'RESUMED' });
  feed.close();
  expect((await slow.next()).done).toBe(true);
});

test('a hundred prefixes of a broker can be subscribed to; one more is refused until one of them has no subscriber', async () => {
  const feeds = new TopicFeeds();
  const watch = async (prefix: string) => feeds.watch('b', prefix, () => scriptOf(() => ({})), {});
  const sources = await Promise.all(Array.from({ length: 100 }, (_, at) => watch(`plant/${at}`)));
  const shared = await watch('plant/7');
  const refusal = { code: 'RATE_LIMITED', info: { limit: 100 } };
  await expect(watch('hall')).rejects.toMatchObject(refusal);
  await sources[7]?.return?.();
  await expect(watch('hall')).rejects.toMatchObject(refusal);
  await shared.return?.();
  expect((await (await watch('hall')).next()).value).toMatchObject({ kind: 'SNAPSHOT' });
  expect((await sources[8]?.next())?.value).toMatchObject({ kind: 'SNAPSHOT' });
  feeds.close();
});
