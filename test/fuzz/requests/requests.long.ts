import { expect, test } from 'vitest';
import { fuzzRequests } from './request-fuzz.ts';

/** Milliseconds. */
const MAX_STALL = 200;

test.each([11, 12, 13, 14])('25,000 requests of seed %i: no crash, no untyped error, no stall', async (seed) => {
  const { faults, longestStallMs, duringLongestStall, statuses } = await fuzzRequests({ seed, count: 25_000 });
  console.log(`seed ${seed}: ${JSON.stringify([...statuses].sort())}, longest stall ${longestStallMs} ms`);
  if (longestStallMs > MAX_STALL) console.log(duringLongestStall.join('\n'));
  expect(faults).toEqual([]);
  expect(longestStallMs).toBeLessThan(MAX_STALL);
});
