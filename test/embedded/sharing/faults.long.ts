import { test } from 'vitest';
import { startRedis } from '../../support/redis.ts';
import { type Fault, faults } from './faults.ts';

const ALL: readonly Fault[] = ['KILL', 'PAUSE', 'REDIS_KILL', 'REDIS_FLUSH', 'JOIN', 'KILL'];

test.each(['FULL', 'HP'] as const)(
  'faults of nodes and of Redis lose nothing that was acknowledged (%s)',
  async (mode) => {
    await faults(await startRedis({ durable: mode === 'FULL' }), ALL, { mode });
  },
);
