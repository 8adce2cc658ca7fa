import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { MAX_RESPONSE_CHARACTERS } from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import { TopicFinder } from '../../../../src/data-plane/topic-tree/tree/topic-finder.ts';
import { TopicLevels } from '../../../../src/data-plane/topic-tree/tree/topic-levels.ts';
import { TopicTree, type TopicTreeOptions } from '../../../../src/data-plane/topic-tree/tree/topic-tree.ts';
import { busyMs } from '../../../support/busy-time.ts';
import { chance, compareByLevel } from './topic-model.ts';

const T0 = 1_700_000_000_000;

function treeOf(topics: Iterable<string>, options: Partial<TopicTreeOptions> = {}): TopicTree {
  const tree = new TopicTree({ limit: 1_000_000, maxBytes: 200e6, payloadLimit: 0, ...options });
  for (const topic of topics) tree.record(topic, T0, 0, false, null);
  return tree;
}

const many = (count: number, name: (index: number) => string): string[] =>
  Array.from({ length: count }, (_, index) => name(index));

async function allOf(tree: TopicTree, first: number, between?: () => void): Promise<string[]> {
  const all: string[] = [];
  for (let hasMore = true; hasMore; ) {
    const page = await tree.find({ first, after: all.at(-1) });
    all.push(...page.topics.map(({ topic }) => topic));
    ({ hasMore } = page);
    between?.();
  }
  return all;
}

test('the uses of a topic are stored', () => {
  const tree = treeOf([], { payloadLimit: 4 });

  tree.record('a/b', T0, 1, true, Buffer.from('first'));
  tree.record('a/b', T0 + 1_000, 2, false, Buffer.from([0, 255, 128, 1, 2]));

  expect(tree.get('a/b')).toEqual({
    topic: 'a/b',
    messages: 2,
    firstSeen: T0,
    lastSeen: T0 + 1_000,
    qos: 2,
    retain: false,
    payload: { data: Buffer.from([0, 255, 128, 1]).toString('base64'), bytes: 5 },
  });
  expect(tree.get('a')).toBeNull();
  expect(tree.has('a/b')).toBe(true);
  expect(tree.has('a')).toBe(false);
});

test('topics of all levels that MQTT allows are listed', async () => {
  const topics = ['', '/', '//', 'a', 'a/', '/a', 'a//b', '$SYS/x', '😀/é', '\u{10FFFF}', 'a b', 'x'.repeat(65_535)];
  const deep = `${'/'.repeat(10_000)}end`;
  const tree = treeOf([...topics, deep]);

  expect(await allOf(tree, 1)).toEqual([...topics, deep].sort(compareByLevel));
  expect(tree.get(deep)?.topic).toBe(deep);
  expect((await tree.find({ first: 1, search: '/END' })).topics[0]?.topic).toBe(deep);
  expect((await tree.find({ first: 9, filter: `${'+/'.repeat(10_000)}#` })).topics[0]?.topic).toBe(deep);
  tree.expire(T0, T0 + 1_000, 100);
  expect(tree.size).toBe(0);
});

test('topics of many levels yield seldom, because reading their position takes time in proportion to their depth', async () => {
  const levels = new TopicLevels();
  for (let index = 0; index < 20; index += 1) levels.add(`${index}${'/'.repeat(2_000)}`, index);
  const told = vi.spyOn(levels, 'topicOf');
  const finder = new TopicFinder(levels, { search: 'none' }, () => undefined);
  expect(await finder.list(null, 0, () => true, true)).toMatchObject({ count: 0 });
  expect(told.mock.calls.length).toBeLessThan(40);
});

test('a search text of more levels than are compared one by one is found', async () => {
  const long = many(50, (index) => `l${index}`).join('/');
  const tree = treeOf([long, 'other']);

  const { topics, totalCount } = await tree.find({ first: 10, search: long.slice(1).toUpperCase(), withCount: true });

  expect(topics.map(({ topic }) => topic)).toEqual([long]);
  expect(totalCount).toBe(1);
});

test('a search for a long text takes linear time, in each kind of name', async () => {
  const half = 'a'.repeat(16_000);
  for (const begin of ['', 'ā', 'b/'.repeat(10)]) {
    const topic = `${begin}${half.repeat(4)}`;
    const tree = treeOf([topic, `${topic}b`]);
    const since = busyMs();
    const { topics } = await tree.find({ first: 10, search: `${half}b${half}` });
    expect(topics).toEqual([]);
    expect(busyMs() - since).toBeLessThan(200);
    const found = await tree.find({ first: 10, search: `${half}B` });
    expect(found.topics.map((one) => one.topic)).toEqual([`${topic}b`]);
  }
});

test('[MQTT-4.7.2-1] a filter that begins with a wildcard does not match topics that begin with $', async () => {
  const tree = treeOf(['$SYS/a', 'x/a']);

  expect((await tree.find({ first: 10, filter: '+/a' })).topics).toMatchObject([{ topic: 'x/a' }]);
  expect((await tree.find({ first: 10, filter: '$SYS/+' })).topics).toMatchObject([{ topic: '$SYS/a' }]);
});

test('an invalid filter is refused', async () => {
  await expect(treeOf([]).find({ first: 1, filter: 'a/#/b' })).rejects.toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: 'filter' }] },
  });
});

test('pages contain each topic that is listed the whole time once, while others are added and removed', async () => {
  const random = chance(5);
  const staying = many(600, (index) => `s/${index % 40}/${index}`);
  const tree = treeOf([]);
  for (const topic of staying) tree.record(topic, T0 + 10_000_000, 0, false, null);
  let now = T0 + 10_000_000;

  const all = await allOf(tree, 7, () => {
    now += 100;
    for (let count = 0; count < 20; count += 1) tree.record(`s/${random(40)}/x${random(5_000)}`, now, 0, false, null);
    for (const topic of [...staying.slice(random(500)).slice(0, 20), 's/1']) tree.touch(topic, now + 1e9);
  });

  expect(new Set(all).size).toBe(all.length);
  expect(all.filter((topic) => !topic.includes('x'))).toEqual([...staying].sort(compareByLevel));
});

test('a long search finds each topic that is listed the whole time, while others change, and yields to the event loop', async () => {
  const staying = many(20_000, (index) => `s/${index % 300}/${index}/keep`);
  const tree = treeOf(many(20_000, (index) => `s/${index % 300}/${index}/gone`));
  for (const topic of staying) tree.record(topic, T0 + 5_000, 0, false, null);
  let isDone = false;

  const looking = tree.find({ first: 10_000, search: '7/keep', offset: 500, withCount: true });
  void looking.then(() => {
    isDone = true;
  });
  let turns = 0;
  for (; !isDone; turns += 1) {
    await turn();
    tree.expire(T0, T0 + 6_000, 500);
    tree.record(`s/${turns % 300}/more${turns}`, T0 + 6_000, 0, false, null);
  }
  const { topics, totalCount, hasMore } = await looking;

  const expected = staying.filter((topic) => topic.endsWith('7/keep')).sort(compareByLevel);
  expect(topics.map(({ topic }) => topic)).toEqual(expected.slice(500));
  expect(totalCount).toBe(expected.length);
  expect(hasMore).toBe(false);
  expect(turns).toBeGreaterThan(1);
});

test('each client that requests changes receives each use once', () => {
  const random = chance(9);
  const tree = treeOf([]);
  const askers = Array.from({ length: 3 }, (_, index) => ({
    since: tree.changes({ since: null, first: 0 }, T0 + index * 10).cursor,
  }));
  const used = askers.map(() => new Set<string>());
  const listed = askers.map(() => new Set<string>());
  let askedAt = T0;
  for (let now = T0 + 1_000; now < T0 + 60_000; now += 37) {
    const topic = `t/${random(500)}`;
    tree.record(topic, now, 0, false, null);
    for (const set of used) set.add(topic);
    if (random(20) === 0) tree.expire(now - 15_000, now, 1_000);
    const index = random(12);
    const asker = askers[index];
    if (asker === undefined || now < askedAt + 50) continue;
    askedAt = now;
    const answer = tree.changes({ since: asker.since, first: 1_000 }, now);
    asker.since = answer.cursor;
    expect(answer.isContinued).toBe(true);
    const [set = new Set<string>(), sure = new Set<string>()] = [listed[index], used[index]];
    for (const gone of answer.expired) expect(set.delete(gone)).toBe(true);
    const told = [...answer.added, ...answer.changed].map((recorded) => recorded.topic);
    for (const { topic: changed } of answer.changed) expect(set.has(changed)).toBe(true);
    for (const name of told) expect(sure.has(name)).toBe(true);
    expect(new Set(told).size).toBe(told.length);
    expect(new Set(told)).toEqual(new Set([...sure].filter((name) => tree.has(name))));
    for (const name of told) set.add(name);
    sure.clear();
    expect([...set].sort()).toEqual(listedBy(tree).sort());
  }
});

function listedBy(tree: TopicTree): string[] {
  return tree.levels({ of: 't', first: 10_000 }).levels.map(({ topic }) => topic);
}

test('changes that do not fit are counted, and a prefix selects changes', () => {
  const tree = treeOf(['a/1', 'a/2', 'b/1', 'c']);
  const { cursor } = tree.changes({ since: null, first: 0 }, T0 + 200);
  tree.touch('b/1', T0 + 10_000);
  tree.expire(T0, T0 + 10_000, 100);
  for (const topic of ['a/3', 'a/4', 'b/1', 'd']) tree.record(topic, T0 + 10_100, 0, false, null);

  expect(tree.changes({ since: cursor, first: 1 }, T0 + 11_000)).toMatchObject({
    isContinued: true,
    added: [{ topic: 'd' }],
    changed: [{ topic: 'b/1' }],
    expired: ['a/1'],
    addedLeftOut: 2,
    changedLeftOut: 0,
    expiredLeftOut: 2,
  });
  expect(tree.changes({ since: cursor, first: 10, prefix: 'a' }, T0 + 12_000)).toMatchObject({
    added: [{ topic: 'a/4' }, { topic: 'a/3' }],
    changed: [],
    expired: ['a/1', 'a/2'],
  });
  // Nothing is, or was, below it.
  expect(tree.changes({ since: cursor, first: 10, prefix: 'elsewhere' }, T0 + 12_000)).toMatchObject({
    added: [],
    changed: [],
    expired: [],
    addedLeftOut: 0,
    changedLeftOut: 0,
  });
});

test('`isContinued` is false if the changes are no longer known', () => {
  const tree = treeOf(['a']);
  const other = treeOf(['a']).changes({ since: null, first: 1 }, T0).cursor;
  const { cursor } = tree.changes({ since: null, first: 1 }, T0);
  const ask = (since: string, now: number) => tree.changes({ since, first: 1 }, now).isContinued;

  expect(ask(cursor, T0 + 1_000)).toBe(true);
  expect(ask(other, T0 + 1_000)).toBe(false);
  expect(ask('nonsense', T0 + 1_000)).toBe(false);

  tree.expire(T0, T0 + 1_000_000, 10);
  expect(ask(cursor, T0 + 1_000_100)).toBe(false);

  const next = tree.changes({ since: null, first: 1 }, T0 + 1_000_200).cursor;
  for (let index = 0; index < 20_000; index += 1) tree.record(`t/${index}`, T0 + 1_000_300, 0, false, null);
  expect(ask(next, T0 + 1_000_400)).toBe(true);
  tree.expire(T0 + 1_000_300, T0 + 1_001_000, 20_000);
  expect(ask(next, T0 + 1_001_100)).toBe(false);

  tree.clear();
  expect(ask(next, T0 + 1_001_200)).toBe(false);
});

test('topics beyond the limit are left out and their uses counted, until others are removed', () => {
  const tree = treeOf(['a', 'b'], { limit: 2 });

  expect(tree.record('c', T0 + 500, 0, false, null)).toBe(false);
  expect(tree.record('b', T0 + 600, 0, false, null)).toBe(true);
  expect({ size: tree.size, leftOut: tree.leftOut, leftOutAt: tree.leftOutAt }).toEqual({
    size: 2,
    leftOut: 1,
    leftOutAt: T0 + 500,
  });

  tree.expire(T0, T0 + 700, 10);
  expect(tree.record('c', T0 + 700, 0, false, null)).toBe(true);
});

test('topics that are not admitted are neither listed nor counted, and listed topics are not checked again', () => {
  const asked: string[] = [];
  const tree = treeOf(['a', 'b', 'a', 'c'], {
    admits: (topic) => {
      asked.push(topic);
      return topic !== 'b';
    },
  });

  expect(asked).toEqual(['a', 'b', 'c']);
  expect({ size: tree.size, leftOut: tree.leftOut }).toEqual({ size: 2, leftOut: 0 });
});

test('subscribed filters stay when they would expire, as if they were used now', () => {
  const tree = treeOf(['a', 'b', 'c']);

  expect(tree.expire(T0, T0 + 5_000, 2, (topic) => topic === 'a')).toBe(true);
  expect(tree.expire(T0, T0 + 5_000, 2, (topic) => topic === 'a')).toBe(false);

  expect(tree.size).toBe(1);
  expect(tree.get('a')).toMatchObject({ messages: 1, firstSeen: T0, lastSeen: T0 + 5_000 });
});

test('a touch is a use without a message, and does nothing for topics that are not listed', () => {
  const tree = treeOf(['a']);

  tree.touch('a', T0 + 1_000);
  tree.touch('b', T0 + 1_000);

  expect(tree.get('a')).toMatchObject({ messages: 1, lastSeen: T0 + 1_000 });
  expect(tree.size).toBe(1);
});

test('time does not go back', () => {
  const tree = treeOf(['a']);
  tree.record('b', T0 + 1_000, 0, false, null);
  tree.record('a', T0 - 60_000, 0, false, null);

  expect(tree.get('a')).toMatchObject({ firstSeen: T0, lastSeen: T0 + 1_000 });
  tree.expire(T0 + 900, T0 + 2_000, 10);
  expect(tree.size).toBe(2);
});

test('matching topics are removed, and topics that are recorded meanwhile stay', async () => {
  const tree = treeOf(many(10_000, (index) => `t/${index % 100}/${index}`));

  const removing = tree.remove((topic) => topic.endsWith('7'));
  // It may wait for its turn.
  while (tree.size === 10_000) await turn();
  tree.record('a/7', T0 + 1_000, 0, false, null);

  expect(await removing).toBe(1_000);
  expect(tree.size).toBe(9_001);
  expect((await tree.find({ first: 1, search: '7', filter: 't/+/17' })).topics).toEqual([]);
});

test('a result that would be too large is shortened and has `hasMore`', async () => {
  const tree = treeOf(
    many(100, (index) => `${'x'.repeat(60_000)}/${index}`),
    { limit: 1_000 },
  );
  const { cursor } = tree.changes({ since: null, first: 1 }, T0 + 500);
  const parent = 'x'.repeat(60_000);
  const expected = Math.ceil(MAX_RESPONSE_CHARACTERS / 60_002);

  const page = await tree.find({ first: 1_000, withCount: true });
  expect(Math.abs(page.topics.length - expected)).toBeLessThan(2);
  expect({ hasMore: page.hasMore, totalCount: page.totalCount }).toEqual({ hasMore: true, totalCount: 100 });
  expect((await allOf(tree, 1_000)).length).toBe(100);

  const levels = tree.levels({ of: parent, first: 1_000 });
  expect(levels).toMatchObject({ hasMore: true, totalCount: 100 });
  expect(levels.levels.length).toBeLessThan(100);

  for (let index = 0; index < 100; index += 1) tree.touch(`${parent}/${index}`, T0 + 1_000);
  const changes = tree.changes({ since: cursor, first: 1_000 }, T0 + 2_000);
  expect(changes.changed.length).toBeLessThan(100);
  expect(changes.changed.length + changes.changedLeftOut).toBe(100);
});

test('previews are dropped immediately with a limit of 0, and not returned unless requested', async () => {
  const tree = treeOf([], { payloadLimit: 100_000 });
  const payload = Buffer.alloc(70_001, 'abc');
  tree.record('a', T0, 0, false, payload);
  tree.record('b', T0, 0, false, Buffer.alloc(0));

  expect(tree.get('a')?.payload).toEqual({ data: payload.toString('base64'), bytes: 70_001 });
  expect(tree.get('b')?.payload).toEqual({ data: '', bytes: 0 });
  expect((await tree.find({ first: 2, withPayloads: false })).topics).toMatchObject([
    { payload: null },
    { payload: null },
  ]);
  tree.record('b', T0, 0, false, null);
  expect(tree.get('b')?.payload).toBeNull();

  tree.payloadLimit = 0;
  expect(tree.get('a')?.payload).toBeNull();
  tree.record('a', T0, 0, false, payload);
  expect(tree.get('a')?.payload).toBeNull();
  tree.payloadLimit = 3;
  tree.record('a', T0, 0, false, payload);
  expect(tree.get('a')?.payload).toEqual({ data: Buffer.from('abc').toString('base64'), bytes: 70_001 });
});
