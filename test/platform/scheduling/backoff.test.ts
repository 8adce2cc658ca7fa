import { expect, test } from 'vitest';
import { Backoff } from '../../../src/platform/scheduling/backoff.ts';

const pausesOf = (backoff: Backoff, count: number) => Array.from({ length: count }, () => backoff.next());

test('pauses double up to the maximum, and begin again after a success', () => {
  const backoff = new Backoff({ firstMs: 250, longestMs: 30_000 });
  expect(pausesOf(backoff, 9)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  expect(backoff.failures).toBe(9);
  expect(backoff.next(7_000)).toBe(7_000);
  backoff.reset();
  expect(pausesOf(backoff, 2)).toEqual([250, 500]);
  backoff.reset(3);
  expect(backoff.next()).toBe(2_000);
});

test('a failure after a long run is the first one, a failure after a short run is not', () => {
  const backoff = new Backoff({ firstMs: 250, longestMs: 30_000, steadyMs: 60_000 });
  pausesOf(backoff, 5);
  expect(backoff.nextAfterRun(60_000)).toBe(8_000);
  expect(backoff.nextAfterRun(60_001)).toBe(250);
  expect(backoff.nextAfterRun(60_000)).toBe(500);
});

test('the maximum of the first time after a failure is lower', () => {
  let now = 5_000;
  const eager = { longestMs: 1_000, periodMs: 60_000 };
  const backoff = new Backoff({ firstMs: 50, longestMs: 10_000, eager }, { now: () => now });
  pausesOf(backoff, 20);
  now += 59_999;
  expect(backoff.next()).toBe(1_000);
  now += 1;
  expect(backoff.failingMs).toBe(60_000);
  expect(backoff.next()).toBe(10_000);
  backoff.reset();
  expect(backoff.failingMs).toBe(0);
  expect(pausesOf(backoff, 10).at(-1)).toBe(1_000);
});

test.each([
  [1, 1_000],
  [0.5, 550],
  [0, 100],
])('the jitter is a random part of each pause (%d)', (random, pauseMs) => {
  const backoff = new Backoff({ firstMs: 1_000, longestMs: 1_000, jitter: 0.9 }, { random: () => random });
  expect(pausesOf(backoff, 2_000).at(-1)).toBe(pauseMs);
});
