import { expect, test } from 'vitest';
import { fuzzRequests } from './request-fuzz.ts';

/** Another seed, to repeat a run that found something: `FUZZ_SEED=7 npx vitest run test/fuzz/requests`. */
const seed = Number(process.env.FUZZ_SEED ?? 1);
const count = Number(process.env.FUZZ_REQUESTS ?? 2_000);

/** Milliseconds; beyond it the requests that were under way are printed. */
const MAX_STALL = 100;

test('requests made from the schema and the routes get a response with a documented code, and the service lives', async () => {
  const { faults, longestStallMs, duringLongestStall, statuses } = await fuzzRequests({ seed, count });
  console.log(`seed ${seed}: ${JSON.stringify([...statuses].sort())}, longest stall ${longestStallMs} ms`);
  if (longestStallMs > MAX_STALL) console.log(duringLongestStall.join('\n'));
  expect(faults).toEqual([]);
});
