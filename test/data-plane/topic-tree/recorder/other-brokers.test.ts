import { once } from 'node:events';
import { createServer } from 'node:net';
import { Aedes } from 'aedes';
import { generate } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { startClient } from '../../../support/mosquitto.ts';
import { startRelay } from '../../../support/relay.ts';
import { type RawClient, startRawBroker } from './raw-broker.ts';
import { recorded, recorderOf, statusOf, until } from './remote-recorder.ts';

const publish = (topic: string, changes: object = {}) => ({
  cmd: 'publish',
  topic,
  payload: 'x',
  qos: 0,
  retain: false,
  dup: false,
  ...changes,
});

/** A broker that knows MQTT 3.1.1 alone. */
async function startAedes() {
  const aedes = await Aedes.createBroker();
  aedes.preConnect = ({ conn }, { protocolVersion }, callback) => {
    if (protocolVersion !== 4) conn.end(generate({ cmd: 'connack', returnCode: 1, sessionPresent: false }));
    callback(null, protocolVersion === 4);
  };
  const server = createServer(aedes.handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    await new Promise<void>((resolve) => aedes.close(() => resolve()));
  });
  const { port } = server.address() as { port: number };
  return { port, url: `mqtt://127.0.0.1:${port}` };
}

test('with MQTT 3.1.1 retained messages are recorded once, also after a reconnect and with overlapping filters', async () => {
  const broker = await startAedes();
  const relay = await startRelay(broker.port);
  const client = await startClient(broker.url);
  await client.publishAsync('a/b', 'kept', { retain: true, qos: 1 });
  const recorder = await recorderOf({ url: relay.url, settings: { filters: ['a/+', '+/b', 'end/+'] } });
  expect(await statusOf(recorder)).toMatchObject({ state: 'RECORDING', tellsRetain: false, published: { count: 1 } });
  relay.cut();
  await until(
    async () => {
      client.publish('end/1', 'x');
      return recorded(recorder);
    },
    (topics) => 'end/1' in topics,
  );
  expect(await recorded(recorder)).toMatchObject({ 'a/b': 1 });
  for (const payload of ['1', '2', '3']) await client.publishAsync('a/b', payload, { qos: 1 });
  await client.publishAsync('end/2', 'x', { qos: 1 });
  await until(
    () => recorded(recorder),
    (topics) => 'end/2' in topics,
  );
  expect(await recorded(recorder)).toMatchObject({ 'a/b': 4 });
});

test.each([
  ['a copy for each filter', 2],
  ['one', 1],
])('with MQTT 3.1.1 messages for overlapping filters count once where the broker sends %s', async (_, copies) => {
  const broker = await startRawBroker({
    version: 4,
    onSubscribed: ({ send }, filter) => {
      if (filter !== '+/b') return;
      for (const payload of ['1', '2', '3']) for (let n = 0; n < copies; n += 1) send(publish('a/b', { payload }));
    },
  });
  const recorder = await recorderOf({ url: broker.url, settings: { filters: ['a/+', '+/b'] } });
  expect(await recorded(recorder)).toEqual({ 'a/b': 3 });
});

test('a filter for which the broker closes the connection is reported as denied, and the others are recorded', async () => {
  const broker = await startRawBroker({
    answer: (filter) => (filter === 'bad/#' ? null : 0),
    onSubscribed: ({ send }, filter) => send(publish(filter === 'good/#' ? 'good/1' : 'other/1')),
  });
  const recorder = await recorderOf({ url: broker.url, settings: { filters: ['bad/#', 'good/#', 'other/#'] } });
  const status = await until(
    () => statusOf(recorder),
    ({ state }) => state === 'DENIED',
  );
  expect(status.deniedFilters).toEqual(['bad/#']);
  expect(status.reason).toContain('bad/#');
  await until(
    () => recorded(recorder),
    (topics) => 'good/1' in topics && 'other/1' in topics,
  );
});

test('if the broker closes the connection because of the log topics, all other topics are recorded', async () => {
  const broker = await startRawBroker({
    answer: (filter) => (filter.startsWith('$SYS/') ? null : 0),
    onSubscribed: ({ send }) => send(publish('a')),
  });
  const recorder = await recorderOf({ url: broker.url });
  const status = await until(
    () => statusOf(recorder),
    ({ messages }) => messages === 1,
  );
  expect(status).toMatchObject({ state: 'RECORDING', reason: null, deniedFilters: [], subscribed: null });
  expect(status.subscribedReason).toContain('$SYS/broker/log/M/subscribe');
});

test.each([
  [0x87, true],
  [0x80, true],
  [0x8f, false],
])('a SUBACK with reason %i is a refusal; that a right is missing is only said where it is', async (code, isRight) => {
  const broker = await startRawBroker({ answer: (filter) => (filter === '#' ? code : 0) });
  const recorder = await recorderOf({ url: broker.url });
  const { state, reason } = await statusOf(recorder);
  expect([state, reason?.includes('subscribePattern')]).toEqual(['DENIED', isRight]);
});

test('retained messages are requested once per start and filter', async () => {
  const broker = await startRawBroker();
  const recorder = await recorderOf({ url: broker.url });
  await statusOf(recorder);
  broker.client?.socket.destroy();
  await until(
    () => statusOf(recorder),
    () => broker.subscribed.filter(({ filter }) => filter === '#').length === 2,
  );
  expect(broker.subscribed.filter(({ filter }) => filter === '#').map(({ rh }) => rh)).toEqual([0, 2]);
});

test('filters that another one covers are not subscribed to', async () => {
  const broker = await startRawBroker();
  const recorder = await recorderOf({
    url: broker.url,
    settings: {
      filters: ['a/b', 'a/#', 'a/+/c', 'x/+', 'x/1', 'left/out', '$share/g/a', '$CONTROL/#'],
      excludedFilters: ['left/#'],
    },
  });
  await statusOf(recorder);
  const filters = broker.subscribed.map(({ filter }) => filter).filter((filter) => !filter.startsWith('$SYS/'));
  expect(filters).toEqual(['a/#', 'x/+']);
});

test('the first result waits for the retained messages for a limited time', async () => {
  const broker = await startRawBroker({ answersPings: false, onSubscribed: ({ send }) => send(publish('kept')) });
  const recorder = await recorderOf({ url: broker.url, durations: { firstResponseMs: 100 } });
  const asked = performance.now();
  await statusOf(recorder);
  expect(performance.now() - asked).toBeGreaterThan(90);
  await until(
    () => statusOf(recorder),
    ({ state, messages }) => state === 'RECORDING' && messages > 0,
  );
});

test('messages with QoS 1 and 2, which were not requested, are recorded and acknowledged', async () => {
  const broker = await startRawBroker({
    onSubscribed: ({ send }, filter, identifier) => {
      if (filter !== '#') return;
      const properties = { subscriptionIdentifier: identifier };
      send(publish('one', { qos: 1, messageId: 7, properties }));
      send(publish('two', { qos: 2, messageId: 8, properties }));
    },
  });
  const recorder = await recorderOf({ url: broker.url });
  expect(await recorded(recorder)).toEqual({ one: 1, two: 1 });
  expect(await recorder.query('topic', { kind: 'PUBLISHED', topic: 'two' })).toMatchObject({ qos: 2 });
  await expect.poll(() => broker.received.map(({ cmd }) => cmd)).toContain('pubrec');
  expect(broker.received.map(({ cmd }) => cmd)).toContain('puback');
});

test('topics of 65,535 bytes, with empty levels and with bytes that are not text are recorded', async () => {
  const longest = 'x'.repeat(65_535);
  const levels = '/'.repeat(65_535);
  const broker = await startRawBroker({
    onSubscribed: ({ send, socket }, filter) => {
      if (filter !== '#') return;
      for (const topic of [longest, levels]) send(publish(topic));
      // Topic of three bytes that are no UTF-8, no properties, no payload.
      socket.write(Buffer.from([0x30, 6, 0, 3, 0xff, 0xfe, 0xc0, 0]));
    },
  });
  const recorder = await recorderOf({ url: broker.url });
  const topics = await recorded(recorder);
  expect([topics[longest], topics[levels], Object.keys(topics).length]).toEqual([1, 1, 3]);
});

const GARBAGE: readonly (readonly [string, readonly number[]])[] = [
  ['a topic with a wildcard', [0x30, 4, 0, 1, 0x23, 0]],
  ['QoS 3', [0x36, 4, 0, 1, 0x61, 0]],
  ['a length of five bytes', [0x30, 0xff, 0xff, 0xff, 0xff, 0x7f]],
  ['a reserved type', [0xf5, 0]],
];

test.each(GARBAGE)('%s only closes the connection, and the recorder reconnects', async (_, bytes) => {
  let floods = 0;
  const broker = await startRawBroker({
    onSubscribed: ({ send, socket }: RawClient, filter) => {
      if (filter !== '#') return;
      floods += 1;
      send(publish(`flood/${floods}`));
      if (floods === 1) socket.write(Buffer.from(bytes));
    },
  });
  const recorder = await recorderOf({ url: broker.url });
  await until(
    () => recorded(recorder).catch(() => ({})),
    (topics) => 'flood/2' in topics,
  );
  expect(await recorded(recorder)).toEqual({ 'flood/1': 1, 'flood/2': 1 });
});
