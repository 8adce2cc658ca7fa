import { expect, test, vi } from 'vitest';
import { startRedis } from '../../../support/redis.ts';
import { startNode, type TestNode } from './cluster.ts';

/**
 * Three nodes append while something happens to Redis. A node that falls behind begins again, as brokers do. Gives what was
 * acknowledged, and the nodes as they are when all have the same.
 */
async function appendThrough(url: string, happens: () => Promise<unknown>) {
  const nodes = new Map<number, TestNode>();
  for (const nodeId of [1, 2, 3]) nodes.set(nodeId, await startNode(nodeId, { url }));
  const acknowledged: string[] = [];
  const ends: string[] = [];
  let isOver = false;
  const append = async (nodeId: number) => {
    for (let number = 0; !isOver || number < 100; number++) {
      const node = nodes.get(nodeId) as TestNode;
      try {
        await Promise.all([node.append(`${number}`), node.append(`${number}b`)]);
        acknowledged.push(`${nodeId}:${number}`, `${nodeId}:${number}b`);
      } catch {
        ends.push((await node.ended).reason);
        nodes.set(nodeId, await startNode(nodeId, { url, former: node }));
      }
    }
  };
  const appending = [1, 2, 3].map(append);
  await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(60), { timeout: 30_000 });
  await happens();
  isOver = true;
  await Promise.all(appending);
  for (const node of nodes.values()) {
    await node.append('end');
    for (const other of nodes.values()) await other.has(`${node.nodeId}:end`);
  }
  return { acknowledged, ends, states: [...nodes.values()].map(({ state }) => state) };
}

function expectOnce(states: readonly string[][], acknowledged: readonly string[]) {
  const [first = [], ...others] = states;
  for (const other of others) expect(other).toEqual(first);
  const entries = first.filter((text) => !text.startsWith('lost'));
  expect(new Set(entries).size).toBe(entries.length);
  const had = new Set(entries);
  expect(acknowledged.filter((text) => !had.has(text))).toEqual([]);
  for (const nodeId of [1, 2, 3]) {
    const numbers = entries.filter((text) => text.startsWith(`${nodeId}:`) && !text.endsWith('end'));
    const inOrder = [...numbers].sort((x, y) => Number.parseInt(x.slice(2), 10) - Number.parseInt(y.slice(2), 10));
    expect(numbers).toEqual(inOrder);
  }
}

test('Redis that keeps everything is killed and started again: all go on, and nothing is lost or doubled', async () => {
  const redis = await startRedis({ durable: true });
  const { acknowledged, ends, states } = await appendThrough(redis.url, async () => {
    await redis.kill();
    await redis.start();
  });
  expect(ends).toEqual([]);
  expectOnce(states, acknowledged);
});

test('Redis that keeps nothing is killed and started again: the cluster goes on with what the farthest node has', async () => {
  const redis = await startRedis();
  const { acknowledged, ends, states } = await appendThrough(redis.url, async () => {
    await redis.kill();
    await redis.start();
  });
  expect(ends.length).toBeLessThan(3);
  expectOnce(states, acknowledged);
});

test('somebody deletes everything in Redis: the cluster goes on with what the farthest node has', async () => {
  const redis = await startRedis();
  const { acknowledged, ends, states } = await appendThrough(redis.url, () => redis.command('FLUSHALL'));
  expect(ends.length).toBeLessThan(3);
  expectOnce(states, acknowledged);
});

test('all end and Redis keeps nothing: the one that had come farthest tells what the cluster has', async () => {
  const redis = await startRedis();
  const a = await startNode(1, { url: redis.url });
  const b = await startNode(2, { url: redis.url });
  await a.append('both');
  await b.has('1:both');
  await a.log.close();
  await b.append('only b');
  await redis.kill();
  await b.log.close();
  await redis.start();
  const [a2, b2] = await Promise.all([
    startNode(1, { url: redis.url, former: a }),
    startNode(2, { url: redis.url, former: b }),
  ]);
  await a2.append('again');
  await b2.has('1:again');
  expect(b2.tookSnapshot).toBe(false);
  expect(a2.tookSnapshot).toBe(true);
  expect(a2.state).toEqual(b2.state);
  expect(a2.state).toEqual(expect.arrayContaining(['1:both', '2:only b', '1:again']));
  // The run that ended without a word.
  expect(a2.state.filter((text) => text === 'lost 2')).toHaveLength(1);
});

test('nodes that have nothing wait for those that have, however they are started', async () => {
  const redis = await startRedis();
  const a = await startNode(1, { url: redis.url });
  await a.append('first');
  await a.log.close();
  await redis.command('FLUSHALL');
  const second = startNode(2, { url: redis.url });
  const first = await startNode(1, { url: redis.url, former: a });
  expect((await second).state).toEqual(['1:first']);
  expect(first.state).toContain('1:first');
});
