import { expect, onTestFinished, test, vi } from 'vitest';
import { Rests } from '../../../src/protocol/mqtt/rests.ts';

test('a thread rests behind turns that follow each other at once, and not behind a long one or after idle time', () => {
  let now = 1_000;
  const slept: number[] = [];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const wait = vi.spyOn(Atomics, 'wait').mockImplementation((_cell, _index, _value, milliseconds = 0) => {
    slept.push(milliseconds);
    now += milliseconds;
    return 'timed-out';
  });
  onTestFinished(() => {
    clock.mockRestore();
    wait.mockRestore();
  });
  const { afterTurn } = new Rests();
  afterTurn();
  expect(slept).toEqual([]);
  for (let turn = 0; turn < 5; turn += 1) {
    now += 0.1;
    afterTurn();
  }
  expect(slept).toEqual([0.3, 0.3, 0.3, 0.3, 0.3]);
  // The turn itself, or the time until it.
  for (let turn = 0; turn < 5; turn += 1) {
    now += 0.5;
    afterTurn();
  }
  expect(slept).toHaveLength(5);
  now += 0.1;
  afterTurn();
  expect(slept).toHaveLength(6);
});
