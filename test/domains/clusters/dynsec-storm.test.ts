import { expect, test } from 'vitest';
import { storm } from './dynsec-storm.ts';

// Another storm each day: one that fails tells its seed.
const seed = Number(process.env.STORM_SEED ?? Math.floor(Date.now() / 86_400_000));

test('random writes while nodes stop and start: every answer is true, and nodes end equal', async () => {
  const tally = await storm({ seed, writes: 30, quietAfter: 10, keeps: false });
  expect(tally.applied).toBeGreaterThan(0);
});

test('with passwords kept for nodes that are away nobody is left without', async () => {
  const tally = await storm({ seed: seed + 1, writes: 30, quietAfter: 10, keeps: true });
  expect(tally.applied).toBeGreaterThan(0);
});
