import { expect, test } from 'vitest';
import { DEFAULT_TOPIC_SETTINGS } from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { freePort } from '../../../support/free-port.ts';
import { FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { startRelay } from '../../../support/relay.ts';
import { PREFIX, recorded, recorderOf, statusOf, until } from './remote-recorder.ts';

test('the first result has the retained messages, and live messages follow with their flags', async () => {
  const broker = await startMosquitto();
  const client = await broker.client({ protocolVersion: 5 });
  for (let n = 0; n < 500; n += 1) client.publish(`kept/${n}`, 'x', { retain: true });
  await client.publishAsync('kept/last', 'x', { retain: true, qos: 1 });

  const recorder = await recorderOf({ url: broker.url });
  expect(await statusOf(recorder)).toMatchObject({
    state: 'RECORDING',
    reason: null,
    published: { count: 501, leftOut: 0, isTruncated: false },
    messages: 501,
    tellsRetain: true,
  });

  await client.publishAsync('kept/0', 'live', { retain: true, qos: 1 });
  await client.publishAsync('kept/1', '', { retain: true, qos: 1 });
  await client.publishAsync('live', '21.5', { qos: 1 });
  await until(
    () => statusOf(recorder),
    ({ messages }) => messages === 504,
  );
  const topic = (name: string) => recorder.query('topic', { kind: 'PUBLISHED', topic: name });
  expect(await topic('kept/0')).toMatchObject({ messages: 2, retain: true, qos: 0 });
  expect(await topic('kept/1')).toMatchObject({ messages: 2, retain: false });
  expect(await topic('live')).toMatchObject({
    messages: 1,
    retain: false,
    payload: { data: Buffer.from('21.5').toString('base64'), bytes: 4 },
  });
});

test('nothing is subscribed before the first request, unless the recording is always on', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const observer = await broker.client();
  const lines: string[] = [];
  observer.on('message', (_topic, payload) => lines.push(payload.toString()));
  await observer.subscribeAsync('$SYS/broker/log/M/subscribe');
  const recorder = await recorderOf({ url: broker.url });
  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, ttlSeconds: 30 });
  await recorderOf({ url: broker.url, settings: { isAlwaysOn: true, filters: ['always/#'] } });
  await expect.poll(() => lines.filter((line) => line.endsWith(' always/#'))).toHaveLength(1);
  expect(lines.filter((line) => line.endsWith(' #'))).toEqual([]);
  await statusOf(recorder);
  await expect.poll(() => lines.filter((line) => line.endsWith(' #'))).toHaveLength(1);
});

test('after a lost connection retained messages are not counted again, and live messages are counted', async () => {
  const broker = await startMosquitto();
  const relay = await startRelay(broker.port);
  const client = await broker.client();
  await client.publishAsync('kept', 'x', { retain: true, qos: 1 });
  const recorder = await recorderOf({ url: relay.url, settings: { filters: ['kept', 'live/+'] } });
  const { since } = await statusOf(recorder);
  relay.cut();
  await until(
    async () => {
      client.publish('live/1', 'x');
      return recorded(recorder);
    },
    (topics) => 'live/1' in topics,
  );
  expect(await recorded(recorder)).toMatchObject({ kept: 1 });
  await client.publishAsync('kept', 'y', { retain: true, qos: 1 });
  await until(
    () => recorded(recorder),
    ({ kept }) => kept === 2,
  );
  expect((await statusOf(recorder)).since).toBe(since);
});

test('while the broker is disconnected, recorded topics stay until they expire, and the state is UNREACHABLE', async () => {
  const broker = await startMosquitto();
  const client = await broker.client();
  const recorder = await recorderOf({ url: broker.url });
  await statusOf(recorder);
  await client.publishAsync('a', 'x', { qos: 1 });
  await until(
    () => recorded(recorder),
    ({ a }) => a === 1,
  );
  await broker.stop();
  const away = await until(
    () => statusOf(recorder),
    ({ state }) => state !== 'RECORDING',
  );
  expect(away).toMatchObject({ state: 'UNREACHABLE', published: { count: 1 } });
  expect(away.reason).toMatch(/broker/i);
  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, ttlSeconds: 1 });
  await until(
    () => recorded(recorder),
    (topics) => Object.keys(topics).length === 0,
  );
  await broker.start();
  await until(
    () => statusOf(recorder),
    ({ state }) => state === 'RECORDING',
  );
});

test('a recording is complete a TTL after it began, and again a TTL after a lost connection returned', async () => {
  const broker = await startMosquitto();
  const relay = await startRelay(broker.port);
  const recorder = await recorderOf({ url: relay.url, settings: { ttlSeconds: 2 } });
  const becomes = (isComplete: boolean) =>
    until(
      () => statusOf(recorder),
      (status) => status.isComplete === isComplete,
    );
  const first = await statusOf(recorder);
  expect(first.isComplete).toBe(false);
  const { since, asOf } = await becomes(true);
  expect(asOf).toBeGreaterThanOrEqual((since ?? 0) + 2_000);
  relay.cut();
  const { asOf: lostAt } = await becomes(false);
  expect(lostAt).toBeGreaterThanOrEqual(asOf ?? 0);
  const again = await becomes(true);
  expect(again.since).toBe(since);
  expect(again.asOf).toBeGreaterThanOrEqual((lostAt ?? 0) + 2_000);
  // A longer TTL includes times before the recording.
  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, ttlSeconds: 3_600 });
  expect((await statusOf(recorder)).isComplete).toBe(false);
});

test('if the broker was never connected, only the status can be requested', async () => {
  const port = await freePort();
  const recorder = await recorderOf({ url: `mqtt://127.0.0.1:${port}` });
  await expect(recorder.query('find', { kind: 'PUBLISHED', first: 1 })).rejects.toMatchObject({
    code: 'BROKER_UNREACHABLE',
  });
  expect(await statusOf(recorder)).toMatchObject({ state: 'UNREACHABLE', since: null });
});

test('a message is counted once although it is received for two overlapping filters', async () => {
  const broker = await startMosquitto();
  const client = await broker.client();
  await client.publishAsync('a/b', 'kept', { retain: true, qos: 1 });
  const recorder = await recorderOf({ url: broker.url, settings: { filters: ['a/+', '+/b', 'a/b', 'a/b/#', 'c'] } });
  expect(await recorded(recorder)).toEqual({ 'a/b': 1 });
  for (const topic of ['a/b', 'a/b', 'a/c', 'x/b', 'a/b/c']) await client.publishAsync(topic, 'same', { qos: 1 });
  await client.publishAsync('c', 'x', { qos: 1 });
  await until(
    () => recorded(recorder),
    ({ c }) => c === 1,
  );
  expect(await recorded(recorder)).toEqual({ 'a/b': 3, 'a/c': 1, 'x/b': 1, 'a/b/c': 1, c: 1 });
});

test('changed filters take effect immediately: other topics are removed, and new filters add retained messages', async () => {
  const broker = await startMosquitto();
  const client = await broker.client();
  for (const topic of ['a/1', 'a/2', 'b/1']) await client.publishAsync(topic, 'x', { retain: true, qos: 1 });
  const recorder = await recorderOf({ url: broker.url, settings: { filters: ['a/#'] } });
  expect(await recorded(recorder)).toEqual({ 'a/1': 1, 'a/2': 1 });

  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, filters: ['b/#', 'a/1'], excludedFilters: ['b/x'] });
  await until(
    () => recorded(recorder),
    (topics) => 'b/1' in topics,
  );
  expect(await recorded(recorder)).toEqual({ 'a/1': 1, 'b/1': 1 });
  for (const topic of ['a/2', 'b/x', 'a/1', 'b/2']) await client.publishAsync(topic, 'x', { qos: 1 });
  await until(
    () => recorded(recorder),
    (topics) => 'b/2' in topics,
  );
  expect(await recorded(recorder)).toEqual({ 'a/1': 2, 'b/1': 1, 'b/2': 1 });

  // A wider one takes the place of those that it covers.
  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, filters: ['b/#', 'a/1', '#'] });
  await until(
    () => recorded(recorder),
    (topics) => 'a/2' in topics,
  );
  await client.publishAsync('b/2', 'x', { qos: 1 });
  await client.publishAsync('end', 'x', { qos: 1 });
  expect(
    await until(
      () => recorded(recorder),
      (topics) => 'end' in topics,
    ),
  ).toMatchObject({ 'a/1': 2, 'b/2': 2 });
});

test('without requests the recording stops and is discarded, and the next request starts a new one', async () => {
  const broker = await startMosquitto();
  const client = await broker.client();
  let stops = 0;
  const recorder = await recorderOf({
    url: broker.url,
    onStopped: () => {
      stops += 1;
    },
    durations: { idleMs: 300 },
  });
  await statusOf(recorder);
  await client.publishAsync('before', 'x', { qos: 1 });
  await until(
    () => recorded(recorder),
    (topics) => 'before' in topics,
  );
  await expect.poll(() => stops).toBe(1);
  expect(await recorded(recorder)).toEqual({});

  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, isAlwaysOn: true });
  await client.publishAsync('after', 'x', { qos: 1 });
  await until(
    () => recorded(recorder),
    (topics) => 'after' in topics,
  );
  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, isAlwaysOn: false });
  await expect.poll(() => stops).toBe(2);
});

test('subscriptions in the log are recorded, and stay listed while clients are subscribed', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const recorder = await recorderOf({ url: broker.url, settings: { ttlSeconds: 1 } });
  expect(await statusOf(recorder)).toMatchObject({ subscribed: { count: 0 }, subscribedReason: null });
  const holder = await broker.client();
  await holder.subscribeAsync({ 'site/+/temp': { qos: 1 }, '$SYS/broker/uptime': { qos: 0 } });
  const ours = await broker.client({ clientId: `${PREFIX}streams` });
  await ours.subscribeAsync('ours');
  const subscribed = () => recorded(recorder, 'SUBSCRIBED');
  const [first] = (
    await until(
      () => recorder.query('find', { kind: 'SUBSCRIBED', first: 10 }),
      ({ topics }) => topics.length > 0,
    )
  ).topics;
  expect(first).toMatchObject({ topic: 'site/+/temp', messages: 1, qos: 1 });
  // Longer than the TTL: as if it were used again.
  await until(
    () => recorder.query('topic', { kind: 'SUBSCRIBED', topic: 'site/+/temp' }),
    (topic) => (topic?.lastSeen ?? 0) > (first?.lastSeen ?? 0),
  );
  expect(await subscribed()).toEqual({ 'site/+/temp': 1 });
  await holder.endAsync();
  await until(subscribed, (filters) => Object.keys(filters).length === 0);
});

test('if the broker does not report subscriptions, the status names the two lines of mosquitto.conf', async () => {
  const broker = await startMosquitto();
  const recorder = await recorderOf({ url: broker.url });
  const { subscribed, subscribedReason } = await statusOf(recorder);
  expect(subscribed).toBeNull();
  expect(subscribedReason).toContain('log_dest topic');
  expect(subscribedReason).toContain('log_type subscribe');
  await expect(recorder.query('find', { kind: 'SUBSCRIBED', first: 1 })).rejects.toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
    info: { reason: subscribedReason },
  });
  expect(await recorded(recorder)).toEqual({});
});

test('a closed recorder refuses requests, and close can be called twice', async () => {
  const broker = await startMosquitto();
  const recorder = await recorderOf({ url: broker.url });
  await statusOf(recorder);
  await recorder.close();
  await recorder.close();
  await expect(statusOf(recorder)).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
});
