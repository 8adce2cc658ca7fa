import { expect, test } from 'vitest';
import { secondsOr, timeoutOf } from './budget.ts';
import { compareBrokers, describe } from './differential.ts';

/** Defines the test that compares the embedded broker with Mosquitto for `usualSeconds`, or FUZZ_SECONDS. */
export function testComparison(usualSeconds: number, seed: number): void {
  const seconds = secondsOr(usualSeconds);
  test(
    'clients that keep to the specification see the same of Mosquitto, and no others harm either broker',
    async () => {
      const report = await compareBrokers({ seed, seconds });
      const text = describe(report, seed);
      console.log(text);
      expect(report.difference, text).toBeNull();
    },
    timeoutOf(seconds),
  );
}
