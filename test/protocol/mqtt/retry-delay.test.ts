import { expect, onTestFinished, test, vi } from 'vitest';
import { EAGER_PERIOD_MS, LinkDelays, RESTART_PERIOD_MS } from '../../../src/protocol/mqtt/retry-delay.ts';

function randomIs(value: number): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(value);
  onTestFinished(() => random.mockRestore());
}

/** The delays of a link while the ports of `others` other brokers are closed. */
function delaysWith(others: number) {
  const [delays, link] = [new LinkDelays(), {}];
  for (let other = 0; other < others; other++) delays.next({}, 0, 0, true);
  return (attempt: number, downForMs: number, hasClosedPort = false) =>
    delays.next(link, attempt, downForMs, hasClosedPort);
}

/** When attempts are made that fail at once, from the loss of the connection on. */
function attempts(untilMs: number, hasClosedPort = false, others = 0): number[] {
  const delay = delaysWith(others);
  const times: number[] = [];
  for (let at = 0; at < untilMs; ) {
    at += delay(times.length, at, hasClosedPort);
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
    for (const hasClosedPort of [true, false]) {
      for (const others of [0, 500]) expect(attempts(1, hasClosedPort, others)[0]).toBeLessThanOrEqual(50);
    }
    expect(longestPause(attempts(RESTART_PERIOD_MS, true))).toBeLessThanOrEqual(100);
  },
);

test('attempts become rare', () => {
  randomIs(1);
  const minute = attempts(EAGER_PERIOD_MS);
  expect(longestPause(minute)).toBe(1_000);
  expect(minute.length).toBeLessThan(70);
  expect(attempts(EAGER_PERIOD_MS, true).length).toBeLessThan(160);
  const delay = delaysWith(0);
  for (const hasClosedPort of [true, false]) expect(delay(500, EAGER_PERIOD_MS, hasClosedPort)).toBe(10_000);
  // A random part, so that links that were lost together do not come back together.
  randomIs(0.5);
  for (const hasClosedPort of [true, false]) expect(delay(500, EAGER_PERIOD_MS, hasClosedPort)).toBe(5_500);
  randomIs(0);
  for (const hasClosedPort of [true, false]) expect(delay(500, EAGER_PERIOD_MS, hasClosedPort)).toBe(1_000);
});

test.each([
  [9, 100],
  [49, 500],
  [499, 1_000],
])('with %d other restarting brokers the attempts are at most %d ms apart', (others, pause) => {
  randomIs(1);
  expect(longestPause(attempts(RESTART_PERIOD_MS, true, others))).toBe(pause);
});

test('a broker that is connected again, or away for long, takes no share', () => {
  randomIs(1);
  const delays = new LinkDelays();
  const [link, ...others] = Array.from({ length: 50 }, () => ({}));
  for (const other of others) delays.next(other, 0, 0, true);
  expect(delays.next(link ?? {}, 500, 0, true)).toBe(500);
  for (const other of others.slice(0, 20)) delays.forget(other);
  expect(delays.next(link ?? {}, 500, 0, true)).toBe(300);
  for (const other of others.slice(20)) delays.next(other, 500, RESTART_PERIOD_MS, true);
  expect(delays.next(link ?? {}, 500, 0, true)).toBe(100);
});
