import { expect, test } from 'vitest';
import { KINDS, streamWorld } from '../../streams/stream-world.ts';
import { listed } from './topic-world.ts';

const LIST = `query ($b: ID!, $orderBy: TopicOrder, $filter: String, $first: Int, $after: String, $offset: Int) {
  broker(id: $b) {
    topicTree {
      topics(orderBy: $orderBy, filter: $filter, first: $first, after: $after, offset: $offset) {
        totalCount nodes { topic messages payload lastSeen } pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;

const MESSAGES = { 'a/b': 3, a: 1, 'a.b': 2, 'z/1': 3 } as const;
const ORDERS = [
  ['TOPIC', ['a', 'a/b', 'a.b', 'z/1'], ['z/1', 'a.b', 'a/b', 'a']],
  ['MESSAGES', ['a', 'a.b', 'a/b', 'z/1'], ['a/b', 'z/1', 'a.b', 'a']],
  ['LAST_SEEN', ['z/1', 'a/b', 'a', 'a.b'], ['a.b', 'a', 'a/b', 'z/1']],
] as const;

test.each(KINDS)('topics of %s are sorted by each field in both directions, also page by page', async (kind) => {
  const world = await streamWorld(kind);
  const client = await world.client();
  const topics = async (variables: object) => (await world.graph(LIST, { ...variables })).broker.topicTree.topics;
  await topics({});
  for (const [topic, count] of Object.entries(MESSAGES)) {
    for (let n = 0; n < count; n += 1) await client.publishAsync(topic, `${n}`, { qos: 1 });
  }
  await listed(world, 4);
  await expect.poll(async () => (await topics({ first: 10 })).nodes.at(-1).messages).toBe(3);
  const lastSeen = async (topic: string) =>
    (await topics({})).nodes.find((node: { topic: string }) => node.topic === topic).lastSeen;
  // The next use of a topic is later than the previous one, although times have steps.
  let previous = '';
  for (const topic of ['z/1', 'a/b', 'a', 'a.b']) {
    await expect
      .poll(async () => {
        await client.publishAsync(topic, 'last', { qos: 1 });
        return await lastSeen(topic);
      })
      .not.toBe(previous);
    await expect.poll(async () => (await lastSeen(topic)) > previous).toBe(true);
    previous = await lastSeen(topic);
  }
  const counts = new Map<string, number>(
    (await topics({})).nodes.map(({ topic, messages }: { topic: string; messages: number }) => [topic, messages]),
  );
  for (const [field, ...expected] of ORDERS) {
    for (const [index, order] of (['ASC', 'DESC'] as const).entries()) {
      const orderBy = { field, order };
      const whole = await topics({ orderBy });
      const names = whole.nodes.map(({ topic }: { topic: string }) => topic);
      if (field !== 'MESSAGES') expect([field, order, names]).toEqual([field, order, expected[index]]);
      else {
        const numbers = names.map((name: string) => counts.get(name) ?? 0);
        expect(numbers).toEqual([...numbers].sort((a, b) => (order === 'ASC' ? a - b : b - a)));
      }
      expect(whole).toMatchObject({ totalCount: 4, nodes: Array(4).fill({ payload: 'last' }) });
      const found: string[] = [];
      let after: string | null = null;
      for (let isMore = true; isMore; ) {
        const page: { nodes: { topic: string }[]; pageInfo: { hasNextPage: boolean; endCursor: string } } =
          await topics({ orderBy, first: 1, after });
        found.push(...page.nodes.map(({ topic }) => topic));
        after = page.pageInfo.endCursor;
        isMore = page.pageInfo.hasNextPage;
      }
      expect(found).toEqual(names);
      const part = await topics({ orderBy, first: 2, offset: 1 });
      expect(part.nodes.map(({ topic }: { topic: string }) => topic)).toEqual(names.slice(1, 3));
    }
  }
  const filtered = await topics({ filter: 'a/#', orderBy: { field: 'LAST_SEEN', order: 'DESC' } });
  expect(filtered.nodes.map(({ topic }: { topic: string }) => topic)).toEqual(['a', 'a/b']);
  expect(filtered.totalCount).toBe(2);
  const byTopic = await topics({ first: 1 });
  const other = { orderBy: { field: 'MESSAGES', order: 'ASC' }, after: byTopic.pageInfo.endCursor };
  expect((await world.refused(LIST, other)).extensions.code).toBe('INVALID');
});
