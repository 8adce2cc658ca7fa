import { expect, test } from 'vitest';
import { secondsOr, seed, timeoutOf } from './budget.ts';
import { describe, fuzz } from './fuzz.ts';

/** Maximum resident memory in bytes. */
const MAX_RSS = 700 * 1_048_576;

/** Defines the test that runs the fuzzer for `usualSeconds`, or FUZZ_SECONDS. */
export function testSurvival(usualSeconds: number): void {
  const seconds = secondsOr(usualSeconds);
  test(
    'no sequence of packets ends the broker or affects another client',
    async () => {
      const report = await fuzz({ seed, seconds });
      const text = describe(report, seed);
      console.log(text);
      expect(report.failure, text).toBeNull();
      expect(report.largestRss).toBeLessThan(MAX_RSS);
      expect(report.stalls, text).toBe(0);
    },
    timeoutOf(seconds),
  );
}
