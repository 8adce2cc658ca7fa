import { expect, test } from 'vitest';
import {
  EAGER_PERIOD_MS,
  RESTART_PERIOD_MS,
  type RetryOptions,
  retryDelay,
} from '../../../src/protocol/mqtt/retry-delay.ts';

/** When attempts are made that fail at once, from the loss of the connection on. */
function attempts(untilMs: number, options: RetryOptions): number[] {
  const times: number[] = [];
  for (let at = 0; at < untilMs; ) {
    at += retryDelay(times.length, at, options);
    times.push(at);
  }
  return times;
}

const longestPause = (times: readonly number[]) =>
  Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)));

test('the first attempt follows almost immediately, and a restarted broker is found within 100 ms', () => {
  for (const random of [() => 0, () => 1]) {
    for (const isPortClosed of [true, false]) expect(attempts(1, { isPortClosed, random })[0]).toBeLessThanOrEqual(50);
    expect(longestPause(attempts(RESTART_PERIOD_MS, { isPortClosed: true, random }))).toBeLessThanOrEqual(100);
  }
});

test('attempts become rare', () => {
  const random = () => 1;
  const minute = attempts(EAGER_PERIOD_MS, { random });
  expect(longestPause(minute)).toBe(1_000);
  expect(minute.length).toBeLessThan(70);
  expect(attempts(EAGER_PERIOD_MS, { isPortClosed: true, random }).length).toBeLessThan(160);
  for (const isPortClosed of [true, false]) {
    expect(retryDelay(500, EAGER_PERIOD_MS, { isPortClosed, random })).toBe(10_000);
    expect(retryDelay(500, EAGER_PERIOD_MS, { isPortClosed, random: () => 0 })).toBe(7_500);
  }
});
