import { expect, test } from 'vitest';
import { RecentGrowth } from '../../../src/domains/problems/sources/recent-growth.ts';

test('the growth of a counter ends with its window, begins again at 0, and is gone with the counter', () => {
  const growth = new RecentGrowth(1_000);
  for (const [count, now] of [
    [10, 0],
    [14, 100],
    [3, 900],
  ] as const)
    growth.note('a', count, { now });
  growth.note('b', 1, { now: 0 });
  growth.note('b', 3, { now: 900 });
  expect(growth.of('a', 1_000)).toBe(7);
  expect(growth.of('a', 1_500)).toBe(3);
  growth.delete('a');
  expect(growth.of('a', 1_500)).toBe(0);
  expect(growth.of('b', 1_500)).toBe(2);
  growth.note('a', 50, { now: 1_600 });
  expect(growth.of('a', 1_600)).toBe(0);
});

test('a counter that is new begins at 0, and one that is not among all of them is gone', () => {
  const growth = new RecentGrowth(1_000);
  growth.noteAll([['known', 7]], { now: 0 });
  const counts = [
    ['known', 9],
    ['new', 3],
  ] as const;
  growth.noteAll(counts, { areNew: true, now: 100 });
  expect([growth.of('known', 100), growth.of('new', 100)]).toEqual([2, 3]);
  growth.noteAll([['new', 3]], { areNew: true, now: 200 });
  expect([growth.of('known', 200), growth.of('new', 200)]).toEqual([0, 3]);
});

test('a counter that was not noted for a minute restarts, unless it is noted only when it changes', () => {
  const [polled, paused] = [new RecentGrowth(10_000), new RecentGrowth(10_000, { maxGapMs: Number.POSITIVE_INFINITY })];
  for (const growth of [polled, paused]) {
    growth.note('a', 5, { now: 0 });
    growth.note('a', 7, { now: 60_000 });
    expect(growth.of('a', 60_000)).toBe(2);
    growth.note('a', 5_000, { now: 120_001 });
  }
  expect([polled.of('a', 120_001), paused.of('a', 120_001)]).toEqual([0, 4_993]);
});
