import { expect, test } from 'vitest';
import { TOPIC_API } from '../../../../src/data-plane/topic-tree/control/topic-control.ts';
import { topicSettingIssues } from '../../../../src/data-plane/topic-tree/control/topic-setting-issues.ts';
import { DEFAULT_TOPIC_SETTINGS, MAX_FILTERS } from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { queryRecorder } from '../../../../src/domains/topic-tree/control/recorder-client.ts';
import { ServiceError } from '../../../../src/platform/errors.ts';
import type { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { oddFields } from './odd-fields.ts';
import { makePlugin, startGatewayPlugin, startServing } from './topic-world.ts';

const call = (controls: BrokerControls, command: string, fields: object = {}) =>
  controls.call<Record<string, unknown>>(TOPIC_API, command, { ...fields });

const listed = (answer: Record<string, unknown>, list = 'publishTopics') =>
  (answer[list] as { data: { topic: string }[] }).data.map(({ topic }) => topic);

test('the documented commands return the documented data, and only requests for topics start the recording', async () => {
  const { controls, recorder, settings } = await startGatewayPlugin();
  expect(await call(controls, 'getTtl')).toEqual({ ttl: 60 });
  await call(controls, 'setTtl', { ttl: 3_600 });
  expect(await call(controls, 'getTtl')).toEqual({ ttl: 3_600 });
  expect(await call(controls, 'listFilters')).toEqual({ filters: [], excludedFilters: [] });
  await call(controls, 'addFilter', { filter: 'plant/#' });
  await call(controls, 'addFilter', { filter: '$SYS/broker/+' });
  await call(controls, 'addFilter', { filter: 'plant/noise/#', exclude: true });
  await call(controls, 'removeFilter', { filter: '$SYS/broker/+' });
  expect(await call(controls, 'listFilters')).toEqual({ filters: ['plant/#'], excludedFilters: ['plant/noise/#'] });
  expect(await call(controls, 'getLimits')).toEqual({
    publishLimit: 50_000,
    subscribeLimit: 50_000,
    payloadLimit: 1_000,
  });
  await call(controls, 'setLimits', { publishLimit: 10 });
  expect(await call(controls, 'getLimits')).toEqual({ publishLimit: 10, subscribeLimit: 50_000, payloadLimit: 1_000 });
  expect(recorder.isAsked).toBe(false);
  expect(recorder.applied.at(-1)).toEqual(settings.kept);

  recorder.publish('plant/a', '{"speed":7.5}');
  recorder.publish('plant/b', 'é');
  recorder.publish('plant/noise/c');
  recorder.publish('other');
  recorder.recording.subscribed('plant/#', 1);
  expect(await call(controls, 'topicCount')).toEqual({ publishCount: 2, subscribeCount: 1 });
  expect(recorder.isAsked).toBe(true);
  const all = {
    publishTopics: {
      count: 2,
      data: [
        { topic: 'plant/a', payload: '{"speed":7.5}' },
        { topic: 'plant/b', payload: 'é' },
      ],
    },
    subscribeTopics: { count: 1, data: [{ topic: 'plant/#' }] },
  };
  expect(await call(controls, 'listTopics')).toEqual(all);
  expect(await call(controls, 'LISTTOPICS', { COUNT: -1, offset: 0 })).toEqual(all);
  const second = await call(controls, 'listTopics', { count: 1, offset: 1 });
  expect(second).toEqual({
    publishTopics: { count: 2, data: [all.publishTopics.data[1]] },
    subscribeTopics: { count: 1, data: [] },
  });
  await call(controls, 'clearFilters');
  expect(await call(controls, 'listFilters')).toEqual({ filters: [], excludedFilters: [] });
});

test('subscriptions that cannot be observed are reported, and so is a limit that excludes topics', async () => {
  const { controls, recorder } = await startGatewayPlugin();
  recorder.seesSubscriptions = false;
  await call(controls, 'setLimits', { publishLimit: 1 });
  recorder.publish('a');
  expect(await call(controls, 'topicCount')).toEqual({
    publishCount: 1,
    unavailable: { subscribeCount: 'log_type subscribe is missing' },
  });
  recorder.publish('b');
  expect(await call(controls, 'topicCount')).toMatchObject({ publishCount: 1, truncated: true });
  expect(await call(controls, 'listTopics')).toEqual({
    publishTopics: { count: 1, data: [{ topic: 'a', payload: 'x' }] },
    unavailable: { subscribeTopics: 'log_type subscribe is missing' },
    truncated: true,
  });
});

test('a payload is returned as text if it is UTF-8, truncated between characters, and otherwise as base64', async () => {
  const { controls, recorder } = await startGatewayPlugin();
  await call(controls, 'setLimits', { payloadLimit: 3 });
  recorder.publish('a', 'aaé');
  recorder.publish('b', Buffer.from([1, 255, 3]));
  recorder.publish('c', '');
  const { publishTopics } = await call(controls, 'listTopics');
  expect((publishTopics as { data: unknown }).data).toEqual([
    { topic: 'a', payload: 'aa', payloadBytes: 4 },
    { topic: 'b', payloadBase64: 'Af8D' },
    { topic: 'c', payload: '' },
  ]);
  await call(controls, 'setLimits', { payloadLimit: 0 });
  recorder.publish('a');
  expect(((await call(controls, 'listTopics', { count: 1 })).publishTopics as { data: unknown }).data).toEqual([
    { topic: 'a' },
  ]);
});

test('invalid settings are refused with their path and reason, together with valid ones, and change nothing', async () => {
  const { controls, settings } = await startGatewayPlugin();
  const long = 'x'.repeat(1_001);
  const many = Array.from({ length: MAX_FILTERS + 1 }, (_, n) => `f/${n}`);
  const refused: [command: string, fields: object, path: string][] = [
    ['setTtl', {}, '/ttl'],
    ['setTtl', { ttl: 0 }, '/ttl'],
    ['setTtl', { ttl: 31_536_001 }, '/ttl'],
    ['setTtl', { ttl: 1.5 }, '/ttl'],
    ['setTtl', { ttl: '60' }, '/ttl'],
    ['addFilter', {}, '/filter'],
    ['addFilter', { filter: 7 }, '/filter'],
    ['addFilter', { filter: '' }, '/filter'],
    ['addFilter', { filter: 'a/#/b' }, '/filter'],
    ['addFilter', { filter: 'a+' }, '/filter'],
    ['addFilter', { filter: long }, '/filter'],
    ['addFilter', { filter: 'a\ud800' }, '/filter'],
    ['addFilter', { filter: '$share/group/a' }, '/filter'],
    ['addFilter', { filter: '$CONTROL/#' }, '/filter'],
    ['addFilter', { filter: 'a', exclude: 'yes' }, '/exclude'],
    ['removeFilter', {}, '/filter'],
    ['removeFilter', { filter: 'a', exclude: 1 }, '/exclude'],
    ['clearFilters', { exclude: 'all' }, '/exclude'],
    ['setLimits', { publishLimit: -1 }, '/publishLimit'],
    ['setLimits', { publishLimit: 5_000_001 }, '/publishLimit'],
    ['setLimits', { publishLimit: 10, subscribeLimit: 'many' }, '/subscribeLimit'],
    ['setLimits', { publishLimit: 10, payloadLimit: 65_537 }, '/payloadLimit'],
    ['setRecording', { always: 'yes' }, '/always'],
    ['setRecording', { ttl: 5, filters: ['a', 'a'] }, '/filters/1'],
    ['setRecording', { ttl: 5, filters: 'a' }, '/filters'],
    ['setRecording', { ttl: 5, excludedFilters: many }, '/excludedFilters'],
    ['findTopics', { kind: 'BOTH' }, '/kind'],
    ['findTopics', { first: 10_001 }, '/first'],
    ['findTopics', { filter: '#/a' }, '/filter'],
    ['findTopics', { offset: -1 }, '/offset'],
    ['findTopics', { prefix: [] }, '/prefix'],
    ['listLevels', { of: 5 }, '/of'],
    ['listLevels', { withPayloads: 'no' }, '/withPayloads'],
    ['getTopic', {}, '/topic'],
    ['topicChanges', { first: 1_001 }, '/first'],
    ['topicChanges', { since: {} }, '/since'],
  ];
  for (const [command, fields, path] of refused) {
    const issues = [{ path, reason: expect.any(String) }];
    await expect(call(controls, command, fields), `${command} ${path}`).rejects.toMatchObject({
      code: 'INVALID',
      info: { issues },
    });
  }
  await expect(call(controls, 'setLimits', { publishLimit: -1, payloadLimit: 1.5 })).rejects.toMatchObject({
    info: { issues: [{ path: '/publishLimit' }, { path: '/payloadLimit' }] },
  });
  await expect(call(controls, 'removeFilter', { filter: 'a' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    info: { brokerError: 'Filter not found' },
  });
  await expect(call(controls, 'nothing')).rejects.toMatchObject({ code: 'NOT_SUPPORTED_BY_BROKER' });
  expect(settings.kept).toEqual(DEFAULT_TOPIC_SETTINGS);
  expect(settings.puts).toBe(0);

  await call(controls, 'setTtl', { ttl: 31_536_000 });
  await call(controls, 'setTtl', { ttl: 1 });
  await call(controls, 'addFilter', { filter: 'a/+/#' });
  await expect(call(controls, 'addFilter', { filter: 'a/+/#' })).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  await call(controls, 'addFilter', { filter: 'a/+/#', exclude: true });
  await expect(call(controls, 'removeFilter', { filter: 'a', exclude: true })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
  await call(controls, 'clearFilters', { exclude: true });
  expect(settings.kept).toMatchObject({ ttlSeconds: 1, filters: ['a/+/#'], excludedFilters: [] });
  await call(controls, 'setLimits', { publishLimit: 0, subscribeLimit: 5_000_000, payloadLimit: 65_536 });
  await call(controls, 'setRecording', { filters: many.slice(1), excludedFilters: ['x/#'], always: true, ttl: 9 });
  await expect(call(controls, 'addFilter', { filter: 'one/more' })).rejects.toMatchObject({ code: 'INVALID' });
  expect(await call(controls, 'getRecording')).toEqual({
    ttl: 9,
    filters: many.slice(1),
    excludedFilters: ['x/#'],
    publishLimit: 0,
    subscribeLimit: 5_000_000,
    payloadLimit: 65_536,
    always: true,
  });
});

test('concurrent changes are executed one after another, and none is lost', async () => {
  const { controls, recorder, settings } = await startGatewayPlugin();
  const filters = Array.from({ length: 60 }, (_, n) => `f/${n}`);
  await Promise.all([
    ...filters.map((filter) => call(controls, 'addFilter', { filter })),
    ...filters.slice(0, 20).map((filter) => call(controls, 'removeFilter', { filter })),
    call(controls, 'setTtl', { ttl: 5 }),
    call(controls, 'setLimits', { publishLimit: 7 }),
    ...filters.slice(0, 30).map((filter) => call(controls, 'addFilter', { filter, exclude: true })),
  ]);
  expect(settings.kept).toMatchObject({
    filters: filters.slice(20),
    excludedFilters: filters.slice(0, 30),
    ttlSeconds: 5,
    publishLimit: 7,
  });
  expect(recorder.applied.at(-1)).toEqual(settings.kept);
});

test('settings that cannot be stored are not applied, and settings that another process stored are applied', async () => {
  const { controls, recorder, settings } = await startGatewayPlugin();
  settings.failure = new ServiceError('NOT_FOUND', 'The broker was removed');
  await expect(call(controls, 'setTtl', { ttl: 5 })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(recorder.applied).toEqual([DEFAULT_TOPIC_SETTINGS]);
  await call(controls, 'setTtl', { ttl: 6 });
  await call(controls, 'setTtl', { ttl: 6 });
  expect(settings.puts).toBe(1);
  settings.changeElsewhere({ ttlSeconds: 7, isAlwaysOn: true });
  await expect.poll(() => recorder.applied.map(({ ttlSeconds }) => ttlSeconds)).toEqual([60, 6, 7]);
  expect(recorder.isAsked).toBe(false);
});

test('a closed plugin refuses commands and ignores changed settings', async () => {
  const { plugin, recorder, settings } = makePlugin();
  await plugin.started;
  await plugin.close();
  await plugin.close();
  settings.changeElsewhere({ ttlSeconds: 7 });
  expect(recorder.applied).toEqual([DEFAULT_TOPIC_SETTINGS]);
  expect(() => plugin.execute({ command: 'getTtl' })).toThrow(expect.objectContaining({ name: 'ControlRefusal' }));
});

test('a list that is too long for one packet is shortened, reports it, and continues with the next page', async () => {
  const { controls, recorder } = await startServing();
  await call(controls, 'setLimits', { payloadLimit: 20_000 });
  const topics = Array.from({ length: 80 }, (_, n) => `t/${String(n).padStart(3, '0')}`);
  for (const topic of topics) recorder.publish(topic, 'x'.repeat(20_000));
  for (const topic of topics.slice(0, 60)) recorder.recording.subscribed(topic, 0);
  const start = await call(controls, 'listTopics');
  expect(start).toMatchObject({
    publishTopics: { count: 80, truncated: true },
    subscribeTopics: { count: 60, truncated: true },
  });
  const count = listed(start).length;
  expect(listed(start, 'subscribeTopics')).toEqual(topics.slice(0, count));
  const rest = await call(controls, 'listTopics', { offset: count });
  expect([...listed(start), ...listed(rest)]).toEqual(topics);
  expect([...listed(start, 'subscribeTopics'), ...listed(rest, 'subscribeTopics')]).toEqual(topics.slice(0, 60));
  expect(rest.publishTopics).not.toHaveProperty('truncated');
  // The list is as long as requested.
  expect((await call(controls, 'listTopics', { count: 20 })).publishTopics).not.toHaveProperty('truncated');
});

test('responses to one request share a packet: each is shortened, and paged requests still return whole lists', async () => {
  const { controls, recorder, broker, bugs } = await startServing();
  await call(controls, 'setLimits', { payloadLimit: 60_000 });
  const topics = Array.from({ length: 16 }, (_, n) => `t/${String(n).padStart(2, '0')}`);
  for (const topic of topics) recorder.publish(topic, Buffer.alloc(60_000, 1));
  const before = await queryRecorder(controls, 'changes', { kind: 'PUBLISHED', since: null, first: 1_000 });
  const all = { kind: 'PUBLISHED', first: 1_000, withCount: true } as const;
  const four = <T>(ask: () => Promise<T>) => Promise.all(Array.from({ length: 4 }, ask));
  const pages = await four(() => queryRecorder(controls, 'find', all));
  const levels = await four(() => queryRecorder(controls, 'levels', { kind: 'PUBLISHED', of: 't', first: 1_000 }));
  for (const page of pages) {
    expect(page.topics.map(({ topic }) => topic)).toEqual(topics);
    expect(page).toMatchObject({ hasMore: false, totalCount: 16 });
  }
  for (const page of levels) expect(page.levels.map(({ topic }) => topic)).toEqual(topics);
  for (const topic of topics) recorder.publish(topic, Buffer.alloc(60_000, 2));
  const since = before.cursor;
  const asked = await four(() => queryRecorder(controls, 'changes', { kind: 'PUBLISHED', since, first: 1_000 }));
  for (const { changed, changedLeftOut } of asked) {
    expect(changed.length).toBeLessThan(16);
    expect(changed.length + changedLeftOut).toBe(16);
  }
  expect(broker.requests.length).toBeGreaterThan(3);
  expect(bugs).toEqual([]);
});

test('every command is executed or refused, and stored settings stay valid', async () => {
  const { controls, recorder, settings, bugs, faults } = await startServing();
  for (let n = 0; n < 50; n += 1) recorder.publish(`plant/${n % 7}/${n}`, `${n}`);
  const next = oddFields(11);
  for (let n = 0; n < 60; n += 1) {
    const commands = Array.from({ length: 10 }, next);
    const results = await controls.callAll(TOPIC_API, commands);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(ServiceError);
    }
    expect(topicSettingIssues(settings.kept)).toEqual([]);
    expect(recorder.applied.at(-1)).toEqual(settings.kept);
  }
  expect(bugs).toEqual([]);
  expect(faults).toEqual([]);
  expect(settings.puts).toBeGreaterThan(5);
});
