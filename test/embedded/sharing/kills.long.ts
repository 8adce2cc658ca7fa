import { test } from 'vitest';
import { killAtRandom } from './kills.ts';
import { useRedis } from './nodes.ts';

const redis = useRedis();

test.each(['FULL', 'HP'] as const)('many kills of nodes lose nothing that was acknowledged (%s)', async (mode) => {
  await killAtRandom(redis(), 40, { mode });
});
