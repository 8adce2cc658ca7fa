import { expect, test } from 'vitest';
import { fuzzRequests } from './request-fuzz.ts';

/** `FUZZ_SEED=7 npx vitest run test/fuzz/requests` repeats a run. */
const seed = Number(process.env.FUZZ_SEED ?? 1);
const count = Number(process.env.FUZZ_REQUESTS ?? 600);

/** Milliseconds. If a stall is longer, the requests in progress are printed. */
const MAX_STALL = 100;

test('the service returns documented codes for requests generated from the schema and the routes', async () => {
  const { faults, longestStallMs, duringLongestStall, statuses } = await fuzzRequests({ seed, count });
  console.log(`seed ${seed}: ${JSON.stringify([...statuses].sort())}, longest stall ${longestStallMs} ms`);
  if (longestStallMs > MAX_STALL) console.log(duringLongestStall.join('\n'));
  expect(faults).toEqual([]);
});
