import { expect, test } from 'vitest';
import { secondsOr, seed, timeoutOf } from './budget.ts';
import { compareBrokers, describe } from './differential.ts';

const seconds = secondsOr(10);

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
