import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_TOPIC_SETTINGS } from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { TopicSources, type TopicSourcesOptions } from '../../../../src/domains/topic-tree/control/topic-sources.ts';
import type { ControlCaller } from '../../../../src/protocol/control/plugin.ts';
import { startScriptedBroker } from '../../../support/aedes-broker.ts';
import { reached } from '../../../support/link.ts';
import { startRelay } from '../../../support/relay.ts';
import { commercial, controlsOf, startGatewayPlugin, startScripted, startServing } from './topic-world.ts';

function askerOf(controls: ControlCaller, options: TopicSourcesOptions = {}) {
  const askers = new TopicSources(options);
  onTestFinished(() => askers.close());
  expect(askers.of(controls)).toBe(askers.of(controls));
  return askers.of(controls);
}

const ALL = { kind: 'PUBLISHED', first: 1_000 } as const;

test.each([
  ['beside a broker', startGatewayPlugin],
  ['in the broker itself', startServing],
])('a plugin of this service %s receives its own commands', async (_title, start) => {
  const { controls, recorder, settings } = await start();
  const asker = askerOf(controls);
  expect(await asker.settings()).toEqual(DEFAULT_TOPIC_SETTINGS);
  const changed = {
    ...DEFAULT_TOPIC_SETTINGS,
    ttlSeconds: 9,
    filters: ['a/#'],
    excludedFilters: ['a/b'],
    isAlwaysOn: true,
  };
  await asker.updateSettings({ ttlSeconds: 9, filters: ['a/#'], excludedFilters: ['a/b'], isAlwaysOn: true });
  expect(settings.kept).toEqual(changed);
  expect(await asker.settings()).toEqual(changed);
  expect(recorder.isAsked).toBe(false);

  for (const topic of ['a/c', 'a/b', 'a/d/e', 'x']) recorder.publish(topic, 'é');
  expect(await asker.query('status', {})).toMatchObject({
    state: 'RECORDING',
    published: { count: 2 },
    tellsRetain: true,
  });
  const found = await asker.query('find', { ...ALL, withCount: true });
  expect(found).toMatchObject({ hasMore: false, totalCount: 2 });
  expect(found.topics.map(({ topic }) => topic)).toEqual(['a/c', 'a/d/e']);
  expect(found.topics[0]).toMatchObject({
    messages: 1,
    payload: { data: Buffer.from('é').toString('base64'), bytes: 2 },
  });
  expect(await asker.query('levels', { kind: 'PUBLISHED', of: null, first: 10 })).toMatchObject({
    levels: [{ name: 'a', topic: 'a', topicCount: 2, childCount: 2, recorded: null }],
    totalCount: 1,
  });
  expect(await asker.query('topic', { kind: 'PUBLISHED', topic: 'a/c' })).toEqual(found.topics[0]);
  expect(await asker.query('topic', { kind: 'PUBLISHED', topic: 'a' })).toBeNull();
  expect(await asker.query('changes', { kind: 'SUBSCRIBED', since: null, first: 1 })).toMatchObject({
    counts: { count: 0 },
  });

  await expect(asker.query('find', { ...ALL, filter: 'a/#/b' })).rejects.toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: '/filter' }] },
  });
  await expect(asker.updateSettings({ ttlSeconds: 0, filters: ['a', '#b'], publishLimit: 5 })).rejects.toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: '/ttlSeconds' }, { path: '/filters/1' }] },
  });
  expect(settings.kept).toEqual(changed);
});

test('a commercial broker is queried by the documented commands, and only their settings can be changed', async () => {
  const { dataOf, state } = commercial(() => ({ publishTopics: { count: 1, data: [{ topic: 'a', payload: 'x' }] } }));
  const { controls, commands } = await startScripted(dataOf);
  const asker = askerOf(controls);
  const fixed = { excludedFilters: [], isAlwaysOn: true };
  expect(await asker.settings()).toEqual({ ...DEFAULT_TOPIC_SETTINGS, ...fixed });
  await asker.updateSettings({ ttlSeconds: 9, filters: ['a/#', 'b'], payloadLimit: 7, ...fixed });
  expect(state).toEqual({
    ttl: 9,
    filters: ['a/#', 'b'],
    limits: { publishLimit: 50_000, subscribeLimit: 50_000, payloadLimit: 7 },
  });
  state.limits.publishLimit = 8;
  await asker.updateSettings({ filters: ['b', 'c'], subscribeLimit: 6 });
  expect(state.filters).toEqual(['b', 'c']);
  expect(state.limits).toEqual({ publishLimit: 8, subscribeLimit: 6, payloadLimit: 7 });
  expect(await asker.settings()).toEqual({ ...state.limits, ttlSeconds: 9, filters: ['b', 'c'], ...fixed });
  await asker.updateSettings({ filters: [] });
  expect(commands().at(-1)).toEqual({ command: 'clearFilters' });
  const before = commands().length;
  await asker.updateSettings({});
  for (const [change, setting] of [
    [{ ttlSeconds: 5, excludedFilters: ['a'] }, 'excludedFilters'],
    [{ ttlSeconds: 5, isAlwaysOn: false }, 'isAlwaysOn'],
  ] as const) {
    await expect(asker.updateSettings(change)).rejects.toMatchObject({
      code: 'NOT_SUPPORTED_BY_BROKER',
      info: { setting, reason: expect.any(String) },
    });
  }
  await expect(asker.updateSettings({ ttlSeconds: 0 })).rejects.toMatchObject({ code: 'INVALID' });
  expect(commands().length).toBe(before);
  expect((await asker.query('find', ALL)).topics.map(({ topic }) => topic)).toEqual(['a']);
  // Ours were tried once for the connection.
  expect(commands().filter(({ command }) => command === 'getRecording')).toHaveLength(1);
});

test('errors of a commercial broker are returned, and unsupported settings have their defaults', async () => {
  const { dataOf, state } = commercial(() => undefined);
  const { controls } = await startScripted((asked) => {
    if (asked.command === 'getLimits' || asked.command === 'listFilters') return new Error('Unknown command');
    return asked.command === 'setTtl' ? new Error('No licence for it') : dataOf(asked);
  });
  const asker = askerOf(controls);
  expect(await asker.settings()).toMatchObject({ ttlSeconds: 60, publishLimit: 50_000, filters: [] });
  state.ttl = 1e300;
  expect(await asker.settings()).toMatchObject({ ttlSeconds: 2_147_483_647 });
  await expect(asker.updateSettings({ ttlSeconds: 5 })).rejects.toMatchObject({
    code: 'BROKER_REJECTED',
    info: { brokerError: 'No licence for it' },
  });
});

test('a broker that does not respond to unknown commands is a commercial one', async () => {
  const { dataOf } = commercial(() => ({ publishTopics: { topics: ['a'], count: 1 } }));
  const { controls } = await startScripted((asked) => (asked.command === 'getRecording' ? null : dataOf(asked)), {
    timeoutMs: 300,
  });
  expect((await askerOf(controls).query('find', ALL)).topics).toMatchObject([{ topic: 'a' }]);
});

test('mirrored topics of a commercial broker are discarded by close, and read again by the next request', async () => {
  const { dataOf } = commercial(() => ({ publishTopics: { count: 1, data: ['a'] } }));
  const { controls, commands } = await startScripted(dataOf);
  const askers = new TopicSources({ maxAgeMs: 3_600_000 });
  onTestFinished(() => askers.close());
  const ask = (since: string | null) => askers.of(controls).query('changes', { kind: 'PUBLISHED', since, first: 1 });
  const { cursor } = await ask(null);
  expect(await ask(cursor)).toMatchObject({ isContinued: true, counts: { count: 1 } });
  const readings = () => commands().filter(({ command }) => command === 'listTopics').length;
  expect(readings()).toBe(1);
  askers.close();
  expect(await ask(cursor)).toMatchObject({ isContinued: false, counts: { count: 1 } });
  expect(readings()).toBe(2);
});

test('each request fails if no provider serves topics', async () => {
  const broker = await startScriptedBroker(() => [JSON.stringify({ error: 'endpoint not available' })]);
  const asker = askerOf(await controlsOf(broker.url));
  await expect(asker.query('status', {})).rejects.toMatchObject({ code: 'NOT_SUPPORTED_BY_BROKER' });
  await expect(asker.settings()).rejects.toMatchObject({ code: 'NOT_SUPPORTED_BY_BROKER' });
});

test('after a reconnect the provider is determined again', async () => {
  let isOurs = false;
  const { dataOf } = commercial(() => ({ publishTopics: { count: 1, data: ['mirrored'] } }));
  const recorded = { topic: 'recorded', messages: 1, firstSeen: 1, lastSeen: 2, qos: 1, retain: true, payload: null };
  const { broker } = await startScripted((asked) => {
    if (!isOurs) return dataOf(asked);
    if (asked.command === 'getRecording') return { always: false };
    if (asked.command === 'getTopicStatus')
      return { state: 'ODD', published: { count: 1e300, leftOut: 'x' }, since: {} };
    return asked.command === 'findTopics' ? { topics: [recorded], hasMore: false } : dataOf(asked);
  });
  const relay = await startRelay(Number(new URL(broker.url).port));
  const controls = await controlsOf(relay.url);
  const asker = askerOf(controls);
  expect((await asker.query('find', ALL)).topics).toMatchObject([{ topic: 'mirrored' }]);
  isOurs = true;
  const again = reached(controls.link, 'UNREACHABLE').then(() => reached(controls.link, 'CONNECTED'));
  relay.cut();
  await again;
  expect((await asker.query('find', ALL)).topics).toEqual([recorded]);
  expect(await asker.query('status', {})).toMatchObject({
    state: 'STARTING',
    published: { count: 2_147_483_647, leftOut: 0, isTruncated: false },
    since: null,
    subscribed: null,
  });
});
