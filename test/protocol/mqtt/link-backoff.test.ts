import { expect, test } from 'vitest';
import { LINK_BACKOFF, LinkBackoff, RESTART_PERIOD_MS } from '../../../src/protocol/mqtt/link-backoff.ts';

const EAGER_PERIOD_MS = LINK_BACKOFF.eager.periodMs;

/** The backoff of a link while the ports of `others` other brokers are closed. `random` 1: the longest pauses. */
function linkWith({ others = 0, random = 1 }) {
  const restarting = new Set<LinkBackoff>();
  const clock = { now: 0 };
  const sources = { now: () => clock.now, random: () => random };
  const rest = Array.from({ length: others }, () => new LinkBackoff(restarting, sources));
  for (const other of rest) other.nextOf(true);
  return { link: new LinkBackoff(restarting, sources), rest, clock };
}

/** When attempts are made that fail at once, from the loss of the connection on. */
function attempts(untilMs: number, { hasClosedPort = false, others = 0, random = 1 }): number[] {
  const { link, clock } = linkWith({ others, random });
  const times: number[] = [];
  while (clock.now < untilMs) {
    clock.now += link.nextOf(hasClosedPort);
    times.push(clock.now);
  }
  return times;
}

const longestPause = (times: readonly number[]) =>
  Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)));

test.each([0, 1])(
  'the first attempt follows almost immediately, a restarted broker is found in 100 ms (%d)',
  (random) => {
    for (const hasClosedPort of [true, false])
      for (const others of [0, 500]) expect(attempts(1, { hasClosedPort, others, random })[0]).toBeLessThanOrEqual(50);
    expect(longestPause(attempts(RESTART_PERIOD_MS, { hasClosedPort: true, random }))).toBeLessThanOrEqual(100);
  },
);

test('attempts become rare', () => {
  const minute = attempts(EAGER_PERIOD_MS, {});
  expect(longestPause(minute)).toBe(1_000);
  expect(minute.length).toBeLessThan(70);
  expect(attempts(EAGER_PERIOD_MS, { hasClosedPort: true }).length).toBeLessThan(160);
  // The random part, so that links that were lost together do not come back together.
  for (const [random, pauseMs] of [
    [1, 10_000],
    [0.5, 5_500],
    [0, 1_000],
  ] as const) {
    for (const hasClosedPort of [true, false]) {
      const { link, clock } = linkWith({ random });
      link.reset(500);
      clock.now += EAGER_PERIOD_MS;
      expect(link.nextOf(hasClosedPort)).toBe(pauseMs);
    }
  }
});

test.each([
  [9, 100],
  [49, 500],
  [499, 1_000],
])('with %d other restarting brokers the attempts are at most %d ms apart', (others, pause) => {
  expect(longestPause(attempts(RESTART_PERIOD_MS, { hasClosedPort: true, others }))).toBe(pause);
});

test('a broker that is connected again, or away for long, takes no share', () => {
  const { link, rest, clock } = linkWith({ others: 49 });
  link.reset(500);
  expect(link.nextOf(true)).toBe(500);
  for (const other of rest.slice(0, 20)) other.forget();
  expect(link.nextOf(true)).toBe(300);
  clock.now += RESTART_PERIOD_MS;
  for (const other of rest.slice(20)) other.nextOf(true);
  link.reset(500);
  expect(link.nextOf(true)).toBe(100);
});
