import { expect, onTestFinished, test, vi } from 'vitest';
import { EAGER_PERIOD_MS, RESTART_PERIOD_MS, retryDelay } from '../../../src/protocol/mqtt/retry-delay.ts';

function randomIs(value: number): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(value);
  onTestFinished(() => random.mockRestore());
}

/** When attempts are made that fail at once, from the loss of the connection on. */
function attempts(untilMs: number, restarting = 0): number[] {
  const times: number[] = [];
  for (let at = 0; at < untilMs; ) {
    at += retryDelay(times.length, at, at < RESTART_PERIOD_MS ? restarting : 0);
    times.push(at);
  }
  return times;
}

const longestPause = (times: readonly number[]) =>
  Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)));

test.each([0, 1])(
  'the first attempt follows almost immediately, a restarted broker is found in 100 ms (%d)',
  (value) => {
    randomIs(value);
    for (const restarting of [0, 1, 500]) expect(attempts(1, restarting)[0]).toBeLessThanOrEqual(50);
    expect(longestPause(attempts(RESTART_PERIOD_MS, 10))).toBeLessThanOrEqual(100);
  },
);

test('attempts become rare', () => {
  randomIs(1);
  const minute = attempts(EAGER_PERIOD_MS);
  expect(longestPause(minute)).toBe(1_000);
  expect(minute.length).toBeLessThan(70);
  expect(attempts(EAGER_PERIOD_MS, 1).length).toBeLessThan(160);
  expect(retryDelay(500, EAGER_PERIOD_MS)).toBe(10_000);
  randomIs(0);
  expect(retryDelay(500, EAGER_PERIOD_MS)).toBe(7_500);
});

test.each([
  [10, 100],
  [50, 500],
  [500, 1_000],
])('the attempts on %d restarting brokers are at most %d ms apart', (restarting, pause) => {
  randomIs(1);
  expect(longestPause(attempts(RESTART_PERIOD_MS, restarting))).toBe(pause);
});
