import { expect, onTestFinished, test } from 'vitest';
import type { TopicKind } from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import {
  DEFAULT_TOPIC_SETTINGS,
  type TopicSettings,
} from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { SteadyClock } from '../../../../src/data-plane/topic-tree/recorder/steady-clock.ts';
import {
  TopicRecording,
  type TopicRecordingOptions,
} from '../../../../src/data-plane/topic-tree/recorder/topic-recording.ts';

const PAYLOAD = Buffer.from('21.5');
const NEW_YEAR = Date.UTC(2026, 0, 1);

/** A recording by clocks that the test moves. */
function startRecording(settings: Partial<TopicSettings> = {}, options: Partial<TopicRecordingOptions> = {}) {
  const times = { monotonic: 5_000, wall: NEW_YEAR };
  const clock = new SteadyClock(
    () => times.monotonic,
    () => times.wall,
  );
  const all = { ...DEFAULT_TOPIC_SETTINGS, ...settings };
  const recording = new TopicRecording({ settings: all, maxBytes: 64 * 1_048_576, clock, ...options });
  onTestFinished(() => recording.close());
  return {
    recording,
    hear: (...topics: string[]) => {
      for (const topic of topics) recording.record(topic, PAYLOAD, 0, false);
    },
    /** Both clocks; the recording has seen it. */
    pass: async (seconds: number) => {
      times.monotonic += seconds * 1_000;
      times.wall += seconds * 1_000;
      await recording.apply(recording.settings);
    },
    setWallClock: (at: number) => {
      times.wall = at;
    },
    change: (changed: Partial<TopicSettings>) => recording.apply({ ...recording.settings, ...changed }),
    topics: async (kind: TopicKind = 'PUBLISHED') => {
      const { topics } = await recording.query('find', { kind, first: 10_000 });
      return topics.map(({ topic }) => topic);
    },
  };
}

test('a topic expires a TTL after its last use, and not earlier', async () => {
  const { hear, pass, topics } = startRecording({ ttlSeconds: 10 });
  hear('once', 'again');
  await pass(6);
  hear('again');
  await pass(3);
  expect(await topics()).toEqual(['again', 'once']);
  await pass(1);
  expect(await topics()).toEqual(['again']);
  await pass(6);
  expect(await topics()).toEqual([]);
});

test('topics expire without requests', async () => {
  const times = { now: 0 };
  const clock = new SteadyClock(
    () => times.now,
    () => times.now,
  );
  const { recording, hear } = startRecording({ ttlSeconds: 10 }, { clock });
  hear('once');
  times.now = 10_000;
  await expect.poll(() => recording.status.published.count).toBe(0);
});

test('a changed TTL also applies to listed topics', async () => {
  const { hear, pass, change, topics } = startRecording({ ttlSeconds: 3_600 });
  hear('old');
  await pass(100);
  hear('young');
  await change({ ttlSeconds: 60 });
  expect(await topics()).toEqual(['young']);
});

test.each([
  ['forward', 365 * 86_400_000],
  ['back', -365 * 86_400_000],
])('a wall clock that is set %s does not affect expiry, and reported times follow it', async (_, jump) => {
  const { recording, hear, pass, setWallClock, topics } = startRecording({ ttlSeconds: 60 });
  hear('a');
  await pass(30);
  setWallClock(NEW_YEAR + 30_000 + jump);
  await pass(10);
  expect(await recording.query('topic', { kind: 'PUBLISHED', topic: 'a' })).toMatchObject({
    firstSeen: NEW_YEAR + jump,
    lastSeen: NEW_YEAR + jump,
  });
  expect(recording.status.since).toBe(NEW_YEAR + jump);
  await pass(20);
  expect(await topics()).toEqual([]);
});

test('without filters, all topics that do not begin with $ are recorded [MQTT-4.7.2-1]', async () => {
  const { hear, topics } = startRecording();
  hear('a', '/a/', '$SYS/broker/uptime', '$CONTROL/dynamic-security/v1', '$other');
  expect(await topics()).toEqual(['/a/', 'a']);
});

test('a filter can select topics that begin with $, but not those of $CONTROL', async () => {
  const { hear, topics } = startRecording({ filters: ['$SYS/#', '$CONTROL/#', 'a/+'] });
  hear('$SYS/broker/uptime', '$CONTROL/dynamic-security/v1', '$CONTROL', 'a/b', 'a/b/c', 'b');
  expect(await topics()).toEqual(['$SYS/broker/uptime', 'a/b']);
});

test('changed filters remove topics that no longer match, and admit new ones', async () => {
  const { hear, change, topics } = startRecording();
  hear('a/1', 'a/2', 'b/1');
  await change({ filters: ['a/#', 'c/#'], excludedFilters: ['+/2'] });
  expect(await topics()).toEqual(['a/1']);
  hear('a/2', 'b/1', 'c/1');
  expect(await topics()).toEqual(['a/1', 'c/1']);
});

test('topics that filters exclude are not counted as left out by a limit', async () => {
  const { recording, hear } = startRecording({ filters: ['a/#'], publishLimit: 1 });
  hear('a/1', 'b/1');
  expect(recording.status.published).toEqual({ count: 1, leftOut: 0, isTruncated: false });
  hear('a/2');
  expect(recording.status.published).toEqual({ count: 1, leftOut: 1, isTruncated: true });
  expect(recording.status.messages).toBe(1);
});

test('a list is truncated until one TTL after the limit excluded a topic', async () => {
  const { recording, hear, pass, change } = startRecording({ publishLimit: 2, ttlSeconds: 10 });
  hear('a', 'b', 'c', 'a');
  expect(recording.status.published).toEqual({ count: 2, leftOut: 1, isTruncated: true });
  await change({ publishLimit: 3 });
  hear('c');
  await pass(9);
  expect(recording.status.published).toEqual({ count: 3, leftOut: 1, isTruncated: true });
  await pass(1);
  expect(recording.status.published).toEqual({ count: 0, leftOut: 1, isTruncated: false });
});

test('each subscription is recorded with its QoS', async () => {
  const { recording, topics } = startRecording({ filters: ['a/#'] });
  recording.subscribed('a/+', 1);
  recording.subscribed('a/+', 2);
  recording.subscribed('$share/group/a/+', 0);
  recording.subscribed('b', 0);
  expect(await topics('SUBSCRIBED')).toEqual(['$share/group/a/+', 'a/+']);
  expect(await recording.query('topic', { kind: 'SUBSCRIBED', topic: 'a/+' })).toMatchObject({ messages: 2, qos: 2 });
  expect(await topics()).toEqual([]);
});

test('a filter stays while a client is subscribed to it, and expires a TTL after the last one unsubscribed', async () => {
  const held = new Set(['held']);
  const { recording, pass, topics } = startRecording(
    { ttlSeconds: 10 },
    { isSubscribed: (filter) => held.has(filter) },
  );
  recording.subscribed('held', 0);
  recording.subscribed('free', 0);
  await pass(10);
  expect(await topics('SUBSCRIBED')).toEqual(['held']);
  await pass(9);
  held.clear();
  recording.released('held');
  await pass(9);
  expect(await topics('SUBSCRIBED')).toEqual(['held']);
  await pass(1);
  expect(await topics('SUBSCRIBED')).toEqual([]);
});

test('payloads are stored up to the limit, and dropped as soon as the limit is 0', async () => {
  const { recording, change } = startRecording({ payloadLimit: 2 });
  recording.record('a', PAYLOAD, 0, true);
  const ask = () => recording.query('topic', { kind: 'PUBLISHED', topic: 'a' });
  expect(await ask()).toMatchObject({
    payload: { data: Buffer.from('21').toString('base64'), bytes: 4 },
    retain: true,
  });
  await change({ payloadLimit: 0 });
  expect(await ask()).toMatchObject({ payload: null });
  recording.record('a', PAYLOAD, 0, false);
  expect(await ask()).toMatchObject({ payload: null, messages: 2, retain: false });
});

test('both kinds share the memory', () => {
  const { recording } = startRecording({ publishLimit: 1_000_000, subscribeLimit: 1_000_000 }, { maxBytes: 2_000_000 });
  for (let n = 0; n < 20_000; n += 1) recording.record(`published/${n}`, PAYLOAD, 0, false);
  for (let n = 0; n < 20_000; n += 1) recording.subscribed(`subscribed/${n}`, 0);
  const { published, subscribed, memoryBytes } = recording.status;
  expect(published.leftOut + published.count).toBe(20_000);
  expect(published.leftOut).toBeGreaterThan(0);
  expect(subscribed.leftOut).toBeGreaterThan(0);
  expect(memoryBytes).toBeLessThanOrEqual(2_000_000 * 1.05);
});

test('changes since the previous response are returned, and a cursor of another recording is not accepted', async () => {
  const { recording, hear } = startRecording();
  const ask = (since: string | null) => recording.query('changes', { kind: 'PUBLISHED', since, first: 10 });
  const { cursor } = await ask(null);
  hear('a');
  const changes = await ask(cursor);
  expect(changes).toMatchObject({ isContinued: true, counts: { count: 1, leftOut: 0, isTruncated: false } });
  expect(changes.added.map(({ topic }) => topic)).toEqual(['a']);

  const other = startRecording();
  other.hear('a');
  expect(await other.recording.query('changes', { kind: 'PUBLISHED', since: cursor, first: 10 })).toMatchObject({
    isContinued: false,
  });
});

test('an invalid filter is INVALID', async () => {
  const { recording } = startRecording();
  await expect(recording.query('find', { kind: 'PUBLISHED', filter: 'a/#/b', first: 1 })).rejects.toMatchObject({
    code: 'INVALID',
  });
  expect(await recording.query('find', { kind: 'PUBLISHED', filter: 'a/#', first: 1 })).toMatchObject({ topics: [] });
});

test('a long search ends with the recording, and when its response is no longer wanted', async () => {
  const { recording, hear } = startRecording();
  for (let index = 0; index < 20_000; index += 1) hear(`plant/line${index % 100}/value${index}`);
  const search = { kind: 'PUBLISHED', search: 'none', first: 1, withCount: true } as const;
  expect(await recording.query('find', search, () => undefined)).toMatchObject({ totalCount: 0 });

  const unwanted = recording.query('find', search, () => {
    throw new Error('nobody waits');
  });
  await expect(unwanted).rejects.toThrow('nobody waits');
  const looking = recording.query('find', search);
  recording.close();
  await expect(looking).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
});

test('if filters change repeatedly, all topics are examined twice, not for each change', async () => {
  const { hear, change, topics } = startRecording();
  for (let index = 0; index < 9_000; index += 1) hear(`plant/line${index % 100}/value${index}`);
  const changes = Array.from({ length: 2_000 }, (_, index) => change({ excludedFilters: [`plant/line1/${index}`] }));
  await Promise.all([...changes, change({ excludedFilters: ['plant/line1/#'] })]);
  hear('plant/line1/later', 'plant/line2/later');
  const left = await topics();
  expect(left.length).toBe(8_911);
  expect(left.filter((topic) => topic.startsWith('plant/line1/'))).toEqual([]);
});
