import { expect, test } from 'vitest';
import { RecentGrowth } from '../../../src/domains/problems/sources/recent-growth.ts';

test('the growth of a counter ends with its window, begins again at 0, and is gone with the counter', () => {
  const growth = new RecentGrowth(1_000);
  for (const [count, at] of [
    [10, 0],
    [14, 100],
    [3, 900],
  ] as const)
    growth.note('a b', count, at);
  growth.note('b', 1, 0);
  growth.note('b', 3, 900);
  expect(growth.of('a b', 1_000)).toBe(7);
  expect(growth.of('a b', 1_500)).toBe(3);
  growth.drop((key) => key.startsWith('a '));
  expect(growth.of('a b', 1_500)).toBe(0);
  expect(growth.of('b', 1_500)).toBe(2);
  growth.note('a b', 50, 1_600);
  expect(growth.of('a b', 1_600)).toBe(0);
});

test('a counter that is new begins at 0, and a known one goes on', () => {
  const growth = new RecentGrowth(1_000);
  growth.begin('new');
  growth.note('new', 3, 0);
  growth.begin('new');
  growth.note('new', 5, 100);
  expect(growth.of('new', 100)).toBe(5);
});
