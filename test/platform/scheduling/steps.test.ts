import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { atOnce, inTurns, type Steps } from '../../../src/platform/scheduling/steps.ts';

function* counting(steps: number, told: () => void = () => {}): Steps<number> {
  for (let step = 0; step < steps; step += 1) yield told();
  return steps;
}

test('the same work comes to the same, at once and in turns', async () => {
  expect(atOnce(counting(3))).toBe(3);
  expect(await inTurns(counting(3))).toBe(3);
  expect(await inTurns(counting(3), 0)).toBe(3);
});

test('after each slice the event loop turns, and short work takes no turn', async () => {
  let turns = 0;
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; turns += 1) await turn();
  })();
  await inTurns(counting(100), 60_000);
  expect(turns).toBe(0);
  await inTurns(counting(100), 0);
  expect(turns).toBeGreaterThanOrEqual(100);
  isOver = true;
  await watching;
});

test('several at the same time get one slice each, one in each turn', async () => {
  const order: string[] = [];
  let inThisTurn = 0;
  let most = 0;
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; inThisTurn = 0) await turn();
  })();
  const work = (name: string) =>
    inTurns(
      counting(10, () => {
        order.push(name);
        inThisTurn += 1;
        most = Math.max(most, inThisTurn);
      }),
      0,
    );
  await turn();
  const all = [work('a'), work('b'), work('c')];
  await turn();
  most = 0;
  await Promise.all(all);
  isOver = true;
  await watching;
  // The first one begins before there is anybody to wait for.
  expect(order.join('')).toBe(`a${'abc'.repeat(9)}bc`);
  expect(most).toBe(1);
});

test('an error ends the work, and the others go on', async () => {
  function* failing(): Steps<never> {
    yield;
    throw new Error('it fails');
  }
  const other = inTurns(counting(5), 0);
  await expect(inTurns(failing(), 0)).rejects.toThrow('it fails');
  expect(await other).toBe(5);
});

test('where work waits for the loop, more of it does not begin in the same turn', async () => {
  let begun = 0;
  const all = Array.from({ length: 10 }, () =>
    inTurns(
      counting(3, () => {
        begun += 1;
      }),
      0,
    ),
  );
  expect(begun).toBe(1);
  expect(await Promise.all(all)).toEqual(Array.from({ length: 10 }, () => 3));
  expect(begun).toBe(30);
});
