import { expect, test } from 'vitest';
import { isLong } from '../../support/suite.ts';
import { storm } from './dynsec-storm.ts';

// The seed changes every day. A failed run prints its seed.
const seed = Number(process.env.STORM_SEED ?? Math.floor(Date.now() / 86_400_000));

test('random writes while nodes stop and start have true reports, and all nodes end equal', async () => {
  const tally = await storm({ seed, writes: 30, quietAfter: 10, keeps: false });
  expect(tally.applied).toBeGreaterThan(0);
});

test.runIf(isLong)('with stored passwords no account lacks its password', async () => {
  const tally = await storm({ seed: seed + 1, writes: 30, quietAfter: 10, keeps: true });
  expect(tally.applied).toBeGreaterThan(0);
});
