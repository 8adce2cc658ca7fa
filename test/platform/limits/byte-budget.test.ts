import { expect, test } from 'vitest';
import { ByteBudget } from '../../../src/platform/limits/byte-budget.ts';

const start = (maxBytes: number, maxBytesPerKey?: number) => {
  const budget = new ByteBudget({ maxBytes, ...(maxBytesPerKey !== undefined && { maxBytesPerKey }) });
  const evicted: string[] = [];
  const hold = (key: string, name = key) => budget.hold(key, () => evicted.push(name));
  return { budget, evicted, hold };
};

test('holds grow while there is room, and what they release can be used again', () => {
  const { budget, evicted, hold } = start(100);
  const [one, other] = [hold('a'), hold('b')];
  expect([one.resize(60), other.resize(40)]).toEqual([true, true]);
  expect(budget.usedBytes).toBe(100);
  one.resize(10);
  expect(other.resize(90)).toBe(true);
  for (const each of [one, other, one]) each.release();
  expect(budget.usedBytes).toBe(0);
  expect(evicted).toEqual([]);
});

test('beyond the budget the oldest hold of the key with the most bytes is evicted', () => {
  const { budget, evicted, hold } = start(100);
  for (const name of ['first', 'second', 'third']) hold('greedy', name).resize(30);
  const modest = hold('modest');
  expect(modest.resize(20)).toBe(true);
  expect(evicted).toEqual(['first']);
  expect(modest.resize(50)).toBe(true);
  expect(evicted).toEqual(['first', 'second']);
  expect(budget.usedBytes).toBe(80);
});

test('a hold of the largest key loses itself if nothing older of that key can be evicted', () => {
  const { budget, evicted, hold } = start(100);
  const small = hold('small');
  small.resize(20);
  const large = hold('large');
  expect(large.resize(80)).toBe(true);
  expect(large.resize(81)).toBe(false);
  expect(evicted).toEqual(['large']);
  expect(large.resize(1)).toBe(false);
  expect(budget.usedBytes).toBe(20);
  expect(small.resize(100)).toBe(true);
});

test('a pinned hold is not evicted: the one that wants more is refused', () => {
  const { budget, evicted, hold } = start(100);
  const pinned = hold('a', 'pinned');
  pinned.resize(70);
  pinned.pin();
  expect(hold('b').resize(40)).toBe(false);
  expect(evicted).toEqual([]);
  expect(budget.usedBytes).toBe(70);
  expect(hold('b').resize(30)).toBe(true);
});

test('one key has its own bound within the budget', () => {
  const { evicted, hold } = start(100, 50);
  hold('a', 'older').resize(30);
  expect(hold('a').resize(30)).toBe(true);
  expect(evicted).toEqual(['older']);
  expect(hold('b').resize(51)).toBe(false);
  expect(hold('b').resize(50)).toBe(true);
});
