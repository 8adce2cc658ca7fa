import { expect, test } from 'vitest';
import type { FindTopics } from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import { TopicTree } from '../../../../src/data-plane/topic-tree/tree/topic-tree.ts';
import { chance, TopicModel } from './topic-model.ts';

const WORDS = [
  'a',
  'b',
  '',
  'A',
  'cc',
  'ccd',
  '$SYS',
  '+',
  'é',
  '日本',
  '😀',
  '\uffff',
  'x'.repeat(16),
  'y'.repeat(17),
  'z'.repeat(90),
];
const PARTS = ['', 'a', 'C', 'c/a', '/', 'b//', 'É', '日本/', 'xy', 'z/a/b', 'nothing', '😀', '/a/'];
const FILTERS = [
  '#',
  '+/#',
  'a/#',
  'a',
  '+',
  '+/+',
  '+/a',
  'b/+/a/#',
  '$SYS/#',
  '/+',
  '+/+/d1/#',
  '日本/+',
  'unknown/+',
  '+/unknown',
];

type Random = ReturnType<typeof chance>;

const pick = <T>(random: Random, list: readonly T[]): T => list[random(list.length)] as T;

function someTopic(random: Random): string {
  const level = () => (random(3) === 0 ? `d${random(120)}` : pick(random, WORDS));
  return Array.from({ length: 1 + random(4) }, level).join('/');
}

test.each([1, 2])('random operations have the same results as on a plain map (seed %i)', async (seed) => {
  const random = chance(seed);
  const limit = seed === 2 ? 400 : 100_000;
  const tree = new TopicTree({ limit, maxBytes: 100e6, payloadLimit: 50 });
  const model = new TopicModel(limit);
  let now = 1_000_000;
  for (let step = 0; step < 15_000; step += 1) {
    const action = random(100);
    if (action < 90) {
      const topic = someTopic(random);
      const payload = random(2) === 0 ? null : 'p'.repeat(random(120));
      const qos = random(3) as 0 | 1 | 2;
      const isListed = tree.record(topic, now, qos, random(2) === 0, payload === null ? null : Buffer.from(payload));
      if (isListed !== model.record(topic, now, payload)) throw new Error(`step ${step}: ${topic}`);
    } else if (action < 96) now += 100 * random(4);
    else if (action < 99) {
      const lastUse = now - 100 * (30 + random(60));
      while (tree.expire(lastUse, now, 1 + random(50)));
      model.expire(lastUse);
    }
    if (step % 750 === 749) await compare(tree, model, random);
    if (step % 7_500 === 7_499) {
      now += 60_000;
      while (tree.expire(now - 60_000 + 100, now, 1_000));
      model.expire(now - 60_000 + 100);
      expect(tree.size).toBe(model.topics.size);
    }
  }
});

async function compare(tree: TopicTree, model: TopicModel, random: Random): Promise<void> {
  expect(tree.size).toBe(model.topics.size);
  expect(tree.leftOut).toBe(model.leftOut);
  const some = [...model.topics.keys()];
  const prefix =
    random(2) === 0
      ? undefined
      : pick(random, some)
          .split('/')
          .slice(0, 1 + random(2))
          .join('/');
  const condition: Omit<FindTopics, 'kind' | 'first'> = {
    prefix,
    search: random(2) === 0 ? undefined : pick(random, PARTS),
    filter: random(2) === 0 ? undefined : pick(random, FILTERS),
    after: random(2) === 0 ? undefined : random(2) === 0 ? pick(random, some) : someTopic(random),
  };
  // The last slash is ignored, so that an empty last level can be selected.
  const asked = prefix === undefined ? undefined : `${prefix}${pick(random, ['/', '/#'])}`;
  const expected = model.find(condition);
  const offset = random(3) === 0 ? random(20) : 0;
  const first = 1 + random(40);
  const page = await tree.find({ ...condition, prefix: asked, offset, first, withCount: true });
  const topics = page.topics.map(({ qos: _qos, retain: _retain, payload, ...topic }) => ({
    ...topic,
    payload: payload && { text: Buffer.from(payload.data, 'base64').toString(), bytes: payload.bytes },
  }));
  const wanted = expected.slice(offset, offset + first).map(({ payload, ...topic }) => ({
    ...topic,
    payload: payload === null ? null : { text: payload.slice(0, 50), bytes: payload.length },
  }));
  expect({ condition, topics }).toEqual({ condition, topics: wanted });
  expect(page.hasMore).toBe(expected.length > offset + first);
  expect(page.totalCount).toBe(model.find({ ...condition, after: undefined }).length);
  expect(tree.count(asked)).toBe(model.find({ prefix }).length);

  const of =
    random(3) === 0
      ? null
      : pick(random, some)
          .split('/')
          .slice(0, 1 + random(2))
          .join('/');
  const levels = tree.levels({ of, first: 10_000 });
  expect(levels.levels.map(({ name, topicCount }) => ({ name, topicCount }))).toEqual(model.levels(of));
  expect(levels.totalCount).toBe(levels.levels.length);
}
