import { test } from 'vitest';
import { killAtRandom } from './kills.ts';
import { useRedis } from './nodes.ts';

const redis = useRedis();

test.each(['FULL', 'HP'] as const)('kill -9 of nodes loses nothing that was acknowledged (%s)', async (mode) => {
  await killAtRandom(redis(), 3, { mode });
});
