import { expect, test } from 'vitest';
import { RateLimit } from '../../../src/platform/limits/rate-limit.ts';

function limited(options: { readonly perSecond: number; readonly burst: number; readonly maxKeys?: number }) {
  const clock = { ms: 0 };
  return { clock, limit: new RateLimit({ ...options, now: () => clock.ms }) };
}

test('a key takes its burst immediately, and then as much as it regains', () => {
  const { clock, limit } = limited({ perSecond: 10, burst: 2 });
  expect([limit.take('a'), limit.take('a'), limit.take('a')]).toEqual([0, 0, 100]);
  clock.ms = 100;
  expect([limit.take('a'), limit.take('a')]).toEqual([0, 100]);
  clock.ms = 60_000;
  expect([limit.take('a'), limit.take('a'), limit.take('a')]).toEqual([0, 0, 100]);
});

test('keys do not share units, and the key unused for longest is evicted', () => {
  const { limit } = limited({ perSecond: 1, burst: 1, maxKeys: 2 });
  expect([limit.take('a'), limit.take('b'), limit.take('a')]).toEqual([0, 0, 1_000]);
  limit.take('c');
  expect(limit.take('b')).toBe(0);
});

test('work that was charged afterwards is paid for by later requests', () => {
  const { clock, limit } = limited({ perSecond: 1_000, burst: 500 });
  expect(limit.waitOf('a')).toBe(0);
  limit.charge('a', 1_500);
  expect(limit.waitOf('a')).toBe(1_001);
  clock.ms = 1_001;
  expect(limit.waitOf('a')).toBe(0);
});

test('an amount above the burst needs a full bucket', () => {
  const { clock, limit } = limited({ perSecond: 1_000, burst: 100 });
  expect(limit.take('a', 1_000)).toBe(0);
  expect(limit.take('a', 1_000)).toBe(1_000);
  clock.ms = 1_000;
  expect(limit.take('a', 1_000)).toBe(0);
});
