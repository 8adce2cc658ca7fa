import { describe, expect, test } from 'vitest';
import { startRedis } from '../../../support/redis.ts';
import { startNode } from './cluster.ts';

describe('a log over Redis', () => {
  test('all nodes read the same entries in the same order, their own ones as they appended them', async () => {
    const { url } = await startRedis();
    const a = await startNode(1, { url });
    const b = await startNode(2, { url });
    const c = await startNode(3, { url });
    const nodes = [a, b, c];
    const appended: Promise<void>[] = [];
    for (let round = 0; round < 100; round++) {
      for (const node of nodes) appended.push(node.append(`${round}`));
      if (round % 7 === 0) await appended.at(-1);
    }
    await Promise.all(appended);
    for (const node of nodes) await Promise.all(nodes.map(({ nodeId }) => node.has(`${nodeId}:99`)));
    expect(a.state).toHaveLength(300);
    expect(b.state).toEqual(a.state);
    expect(c.state).toEqual(a.state);
    for (const { nodeId } of nodes) {
      expect(a.state.filter((text) => text.startsWith(`${nodeId}:`))).toEqual(
        Array.from({ length: 100 }, (_, round) => `${nodeId}:${round}`),
      );
    }
  });
});
