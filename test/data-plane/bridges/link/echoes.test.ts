import { expect, onTestFinished, test, vi } from 'vitest';
import { Echoes } from '../../../../src/data-plane/bridges/link/echoes.ts';

const X = Buffer.from('x');

test('as many as were published are echoes, and no more', () => {
  const echoes = new Echoes();
  echoes.expect('t', X);
  echoes.expect('t', X);
  expect(echoes.isEcho('other', X)).toBe(false);
  expect(echoes.isEcho('t', Buffer.from('y'))).toBe(false);
  expect([1, 2, 3].map(() => echoes.isEcho('t', X))).toEqual([true, true, false]);
});

test('one that never came back is forgotten after a while, or with the session', () => {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const echoes = new Echoes();
  echoes.expect('t', X);
  now = 31_000;
  expect(echoes.isEcho('t', X)).toBe(false);
  echoes.expect('t', X);
  echoes.clear();
  expect(echoes.isEcho('t', X)).toBe(false);
});
