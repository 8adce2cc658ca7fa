import { existsSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { BROKER_LIMITS, type BrokerLimits } from '../../../src/data-plane/broker/limits.ts';
import { BrokerStore } from '../../../src/data-plane/broker/store/broker-store.ts';
import { filterMatches } from '../../../src/protocol/mqtt/filter-match.ts';
import { runs } from '../../support/suite.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

import { rawClient } from './raw-client.ts';
import { fill, memory } from './retained.ts';
import { got, numbers, subscribe } from './shared.ts';
import { startTappedCore } from './tapped-core.ts';

function openStore(folder = temporaryFolder(), limits: Partial<BrokerLimits> = {}) {
  const onBroken = (error: Error) => {
    throw error;
  };
  const store = new BrokerStore({ folder, limits: { ...BROKER_LIMITS, ...limits }, onBroken });
  onTestFinished(() => store.close());
  const { retained } = store;
  const put = (topic: string, payload = 'x', expiresAt?: number) =>
    retained.put({
      cmd: 'publish',
      topic,
      payload,
      qos: 1,
      retain: true,
      ...(expiresAt === undefined ? {} : { properties: { messageExpiryInterval: 1, expiresAt } }),
    });
  return { store, retained, put };
}

type Retained = BrokerStore['retained'];

/** The topics of a snapshot, read in small steps. */
function topicsOf(snapshot: ReturnType<Retained['snapshot']>, messages = 3): string[] {
  const topics: string[] = [];
  for (;;) {
    const { matches, isDone } = snapshot.read({ messages, bytes: 1_000 });
    topics.push(...matches.map(({ packet }) => packet.topic));
    if (isDone) return topics;
  }
}

/** In Latin-1, because strings are compared faster than buffers. */
const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => 255 - byte)).toString('latin1');

/** Payloads of all bytes, also of such that are no UTF-8, and the properties of some messages are large. */
const sizedMessages = (sizes: readonly number[]) =>
  Array.from({ length: 350 }, (_, n) => ({
    topic: `t/${String(n).padStart(3, '0')}`,
    payload: ALL_BYTES.repeat(100).slice(0, sizes[n % sizes.length]),
    contentType: 'y'.repeat(n % 7 === 0 ? 600 : 5),
  }));

function storeMessages({ retained, store }: ReturnType<typeof openStore>, messages: ReturnType<typeof sizedMessages>) {
  for (const { topic, payload, contentType } of messages) {
    const packet = { cmd: 'publish', topic, payload: Buffer.from(payload, 'latin1'), qos: 1, retain: true } as const;
    retained.put({ ...packet, properties: { contentType } });
  }
  store.journal.flush();
}

function messagesOf(retained: Retained) {
  const snapshot = retained.snapshot(['#']);
  const found: object[] = [];
  for (let isDone = false; !isDone; ) {
    const reading = snapshot.read({ messages: 130, bytes: 1_000_000 });
    isDone = reading.isDone;
    for (const { packet } of reading.matches) {
      const { topic, payload, properties } = packet;
      found.push({ topic, payload: Buffer.from(payload).toString('latin1'), contentType: properties?.contentType });
    }
  }
  return found;
}

test('small and large messages are read whole and in the order of their topics', () => {
  const opened = openStore();
  const written = sizedMessages([1, 400, 513, 20_000]);
  storeMessages(opened, written);
  expect(messagesOf(opened.retained)).toEqual(written);
});

test('a large message is replaced by a small one, and a small by a large one, and each is deleted whole', () => {
  const folder = temporaryFolder();
  const opened = openStore(folder);
  storeMessages(opened, sizedMessages([1, 20_000, 25_000]));
  const written = sizedMessages([20_000, 1, 25_001]);
  storeMessages(opened, written);
  expect(messagesOf(opened.retained)).toEqual(written);
  const bytes = written.reduce((sum, { topic, payload, contentType }) => {
    return sum + topic.length + payload.length + JSON.stringify({ contentType }).length;
  }, 0);
  expect(opened.retained.rows.totals()).toMatchObject({ count: written.length, bytes });
  for (const { topic } of written) opened.put(topic, '');
  opened.store.journal.flush();
  expect(messagesOf(opened.retained)).toEqual([]);
  expect(opened.store.journal.rows('SELECT topic FROM retained_large')).toEqual([]);
});

const LEVEL = fc.constantFrom('', 'a', 'b', 'a-', 'a!', 'a0', 'é', '\uffff', '😀', '$x', '$SYS', 'a b');
const TOPIC = fc
  .array(LEVEL, { minLength: 1, maxLength: 3 })
  .map((levels) => levels.join('/'))
  .filter((topic) => topic !== '');
const FILTER = fc
  .tuple(fc.array(fc.oneof(LEVEL, fc.constant('+')), { maxLength: 3 }), fc.boolean())
  .map(([levels, hasHash]) => [...levels, ...(hasHash || levels.length === 0 ? ['#'] : [])].join('/'))
  .filter((filter) => filter !== '');

test('a snapshot has every retained message that matches, once for each filter, in any alphabet', () => {
  const { retained, put } = openStore();
  const property = fc.property(
    fc.uniqueArray(TOPIC, { maxLength: 30 }),
    fc.uniqueArray(FILTER, { maxLength: 4 }),
    (topics, filters) => {
      for (const topic of topics) put(topic);
      const expected = filters.flatMap((filter) => topics.filter((topic) => filterMatches(filter, topic)));
      expect(topicsOf(retained.snapshot(filters)).sort()).toEqual(expected.sort());
      expect([...retained.all()].map(({ topic }) => topic).sort()).toEqual([...topics].sort());
      expect(retained.count).toBe(topics.length);
      for (const topic of topics) put(topic, '');
      expect(retained.count).toBe(0);
    },
  );
  fc.assert(property, { numRuns: runs(300) });
});

test('a snapshot leaves out what is stored, replaced or deleted after it, and has each other topic once', () => {
  const { store, retained, put } = openStore();
  for (let i = 0; i < 50; i += 1) put(`t/${i}`);
  const snapshot = retained.snapshot(['t/#']);
  put('t/new');
  put('t/7', 'again');
  put('t/8', '');
  store.journal.flush();
  put('t/9', 'again');
  const expected = Array.from({ length: 50 }, (_, i) => `t/${i}`).filter(
    (topic) => !/[789]$/.test(topic) || topic.length > 3,
  );
  expect(topicsOf(snapshot).sort()).toEqual(expected.sort());
});

test('an expired message is deleted when it is read, and the remaining interval is returned', () => {
  const { retained, put } = openStore();
  put('old', 'x', Date.now() - 1);
  put('young', 'x', Date.now() + 60_500);
  const { matches } = retained.snapshot(['#']).read({ messages: 10, bytes: 1_000 });
  expect(matches.map(({ packet }) => [packet.topic, packet.properties])).toEqual([
    ['young', { messageExpiryInterval: 61 }],
  ]);
  expect(retained.count).toBe(1);
});

test('beyond a limit new topics are refused and counted; existing ones are replaced and deleted; $SYS does not count', () => {
  const folder = temporaryFolder();
  const { store, retained, put } = openStore(folder, { retainedMessages: 2, retainedBytes: 100 });
  for (const topic of ['$SYS/1', '$SYS/2', '$SYS/3', 'a', 'b', 'c']) put(topic);
  expect([retained.count, retained.refused]).toEqual([5, 1]);
  put('a', 'again');
  put('b', 'x'.repeat(100));
  expect(retained.refused).toBe(2);
  put('b', '');
  put('c', 'x');
  expect(retained.refused).toBe(2);
  store.close();

  const { retained: again, put: putAgain } = openStore(folder, { retainedMessages: 2, retainedBytes: 100 });
  expect([...again.all()].map(({ topic, payload }) => `${topic} ${payload}`)).toEqual(['a again', 'c x']);
  putAgain('d');
  putAgain('a', 'x'.repeat(98));
  expect([again.count, again.refused]).toEqual([2, 2]);
});

test('a retained message takes at most 300 bytes of memory, whatever its payload', async () => {
  const { store } = openStore();
  const payload = Buffer.alloc(2_048, 'x');
  const topics = Array.from({ length: 10_000 }, (_, i) => `plant/line/${i % 100}/device/${i}/value`);
  const before = await memory();
  fill(store, topics, payload);
  expect((await memory(before + 10_000 * 300)) - before).toBeLessThan(10_000 * 300);
  expect(store.retained.count).toBe(10_000);
});

/** Bytes that this process has read from files. Linux only. */
const bytesRead = (): number => Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);

test.runIf(existsSync('/proc/self/io'))('filters without wildcards read no payload of other topics', async () => {
  const folder = temporaryFolder();
  const { store } = openStore(folder);
  fill(store, ['a/5x'], Buffer.alloc(8 * 1_048_576, 'x'));
  fill(store, ['a/7']);
  store.close();
  const { port } = await startTappedCore(folder);
  const client = await rawClient(port, { clientId: 'client' });
  const before = bytesRead();
  await subscribe(
    client,
    numbers(100).map((number) => `a/${number}`),
  );
  await client.until('publish', 1);
  await client.settle();
  expect(got(client)).toEqual(['x']);
  expect(bytesRead() - before).toBeLessThan(8 * 1_048_576);
});
