import { test } from 'vitest';
import { embeddedTarget, mosquittoTarget } from './topic-targets.ts';
import { checkTruth, LONG_TTL, PAYLOAD_LIMIT } from './truth.ts';

const SETTINGS = { ttlSeconds: LONG_TTL, payloadLimit: PAYLOAD_LIMIT };

test('lists, pages, levels, changes and expiry agree with what clients published, at each time', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
  const plan = { seed, topics: 1_200, rounds: 2, seconds: 3 };
  const targets = [await mosquittoTarget(SETTINGS), await embeddedTarget(SETTINGS)];
  // A seed repeats what is published, though not when.
  await Promise.all(targets.map((target) => checkTruth(target, plan))).catch((error: Error) => {
    error.message = `SEED=${seed}: ${error.message}`;
    throw error;
  });
});
