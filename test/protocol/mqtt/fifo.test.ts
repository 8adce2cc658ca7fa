import { expect, test } from 'vitest';
import { Fifo } from '../../../src/protocol/mqtt/fifo.ts';

test('items are removed in the order in which they were added', () => {
  const fifo = new Fifo<number>();
  let put = 0;
  let taken = 0;
  // Grows and shrinks through its sizes, and is used round and round.
  for (const [more, fewer] of [
    [20, 15],
    [30, 20],
    [100, 115],
    [20_000, 19_000],
    [5, 1_005],
    [3, 3],
  ] as const) {
    for (let count = 0; count < more; count += 1) fifo.push(put++);
    for (let count = 0; count < fewer; count += 1) {
      if (fifo.first !== taken || fifo.shift() !== taken) throw new Error(`${taken} is missing`);
      taken += 1;
    }
    expect(fifo.size).toBe(put - taken);
  }
  expect(fifo.size).toBe(0);
  expect(fifo.first).toBeUndefined();
  expect(fifo.shift()).toBeUndefined();
  fifo.push(1);
  fifo.clear();
  expect(fifo.size).toBe(0);
  expect(fifo.shift()).toBeUndefined();
});
