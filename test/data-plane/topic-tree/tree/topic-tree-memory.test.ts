import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { TopicTree } from '../../../../src/data-plane/topic-tree/tree/topic-tree.ts';
import { programUrl } from '../../../support/programs.ts';

const T0 = 1_700_000_000_000;
const COUNT = 40_000;

const wide = (index: number): string => `site/${index % 1_000}/device-${index}/sensor/temp`;
const shared = (index: number): string =>
  `plant/line${index % 20}/cell${Math.floor(index / 20) % 100}/v${Math.floor(index / 2_000)}`;

function filled(topicOf: (index: number) => string, maxBytes = 200e6, limit = COUNT): TopicTree {
  const tree = new TopicTree({ limit, maxBytes, payloadLimit: 0 });
  for (let index = 0; index < COUNT; index += 1) tree.record(topicOf(index), T0 + index, 0, false, null);
  return tree;
}

test('a topic takes at most 350 bytes, and `bytes` equals the memory of the process for it', async () => {
  const program = programUrl('test/data-plane/topic-tree/tree/memory-worker.mjs');
  const [{ size, bytes, taken }] = await once(new Worker(program, { workerData: { count: COUNT, at: T0 } }), 'message');

  expect(size).toBe(COUNT);
  expect(bytes / COUNT).toBeLessThan(250);
  expect(taken).toBeGreaterThan(bytes * 0.8);
  expect(filled(shared).bytes / COUNT).toBeLessThan(115);
});

test('memory is freed when topics are removed, and the other topics are unchanged', async () => {
  const tree = filled(wide);
  const full = tree.bytes;
  const { messages, firstSeen } = tree.get(wide(COUNT - 1)) ?? {};
  for (let index = 0; index < 100; index += 1) tree.record(wide(index * 50), T0 + COUNT, 1, true, null);

  while (tree.expire(T0 + COUNT - 2_000, T0 + COUNT, 1_000));

  const left = tree.size;
  expect(left).toBeGreaterThan(1_900);
  expect(left).toBeLessThan(2_300);
  expect(tree.bytes).toBeLessThan(full / 8);
  expect(tree.get(wide(COUNT - 1))).toMatchObject({ messages, firstSeen });
  expect(tree.get(wide(50))).toMatchObject({ messages: 2, qos: 1, retain: true });
  expect(tree.count('site/999')).toBe((await tree.find({ first: 10_000, prefix: 'site/999' })).topics.length);
  expect((await tree.find({ first: 10_000, filter: 'site/+/+/sensor/temp' })).topics.length).toBe(left);
  expect(tree.levels({ of: 'site', first: 10_000 }).levels.reduce((sum, level) => sum + level.topicCount, 0)).toBe(
    left,
  );

  for (let index = 0; index < 10_000; index += 1) tree.record(shared(index), T0 + COUNT + 1_000, 0, false, null);
  expect(tree.size).toBe(left + 10_000);
  while (tree.expire(T0 + COUNT + 900, T0 + COUNT + 2_000, 1_000));
  expect((await tree.find({ first: 0, withCount: true, search: 'V3' })).totalCount).toBe(2_000);
  tree.clear();
  expect({ size: tree.size, leftOut: tree.leftOut }).toEqual({ size: 0, leftOut: 0 });
});

test('beyond the maximum memory topics are left out, and new ones are listed after others were removed', () => {
  const maxBytes = 6 * 1024 * 1024;
  const tree = new TopicTree({ limit: COUNT, maxBytes, payloadLimit: 0 });
  let most = 0;
  for (let index = 0; index < COUNT; index += 1) {
    tree.record(wide(index), T0 + index, 0, false, null);
    if (index % 1_000 === 0) most = Math.max(most, tree.bytes);
  }

  expect(most).toBeLessThanOrEqual(maxBytes);
  expect(tree.size).toBeGreaterThan(20_000);
  expect(tree.leftOut).toBe(COUNT - tree.size);
  const { size } = tree;
  tree.expire(T0 + 10_000, T0 + COUNT, 10_000);
  for (let index = 0; index < 5_000; index += 1)
    expect(tree.record(`site/${index % 9}/new-${index}/a/b`, T0 + COUNT, 0, false, null)).toBe(true);
  expect(tree.size).toBe(size - 5_000);
});

test('with a limit, memory stays the same however many further topics are used', () => {
  const tree = filled(wide, 200e6, 10_000);
  const { bytes } = tree;

  for (let index = 0; index < COUNT; index += 1) tree.record(`another/${index}`, T0 + COUNT, 0, false, null);

  expect(tree.bytes).toBe(bytes);
  expect(tree.leftOut).toBe(2 * COUNT - 10_000);
});

test('previews take at most half of the memory, and beyond it the previews of later payloads are dropped', () => {
  const maxBytes = 6 * 1024 * 1024;
  const tree = new TopicTree({ limit: COUNT, maxBytes, payloadLimit: 1_000 });
  const payload = Buffer.alloc(2_000, 'p');

  for (let index = 0; index < 15_000; index += 1) tree.record(`t/${index}`, T0 + index, 0, false, payload);

  expect(tree.size).toBe(15_000);
  expect(tree.bytes).toBeLessThanOrEqual(maxBytes);
  expect(tree.get('t/1')?.payload).toMatchObject({ bytes: 2_000 });
  expect(tree.get('t/14999')?.payload).toBeNull();
  // The rows of its own older preview are enough.
  tree.record('t/1', T0 + 15_000, 0, false, Buffer.alloc(900, 'q'));
  expect(tree.get('t/1')?.payload).toMatchObject({ bytes: 900 });
});

test('a recently used topic that was removed is not treated as listed', () => {
  const tree = new TopicTree({ limit: 100_000, maxBytes: 100e6, payloadLimit: 0 });
  const topics = Array.from({ length: 20_000 }, (_, index) => `site/${index % 7}/device-${index}`);
  for (const turn of [0, 1, 2]) for (const topic of topics) tree.record(topic, T0 + turn, 0, false, null);
  const { bytes } = tree;
  while (tree.expire(T0 + 1_000, T0 + 1_000, 500));
  expect(tree.size).toBe(0);
  expect(topics.filter((topic) => tree.has(topic))).toEqual([]);

  // Other topics are in the rows of those before, and one of them again.
  for (const topic of topics) tree.record(`${topic}/value`, T0 + 2_000, 0, false, null);
  tree.record('site/0/device-0', T0 + 2_000, 1, false, null);
  expect(topics.filter((topic) => tree.has(topic))).toEqual(['site/0/device-0']);
  expect(tree.get('site/0/device-0')).toMatchObject({ messages: 1, qos: 1 });
  expect(tree.size).toBe(20_001);
  expect(bytes).toBeLessThan(20_000 * 250);
});
