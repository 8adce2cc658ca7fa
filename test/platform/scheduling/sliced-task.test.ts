import { setImmediate as nextIteration } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { runInSlices, runSync, SlicedStarts, type SlicedTask } from '../../../src/platform/scheduling/sliced-task.ts';

function* counting(steps: number, onStep: () => void = () => {}): SlicedTask<number> {
  for (let step = 0; step < steps; step += 1) yield onStep();
  return steps;
}

test('a task has the same result without and with slices', async () => {
  expect(runSync(counting(3))).toBe(3);
  expect(await runInSlices(counting(3))).toBe(3);
  expect(await runInSlices(counting(3), 0)).toBe(3);
});

test('a task yields to the event loop after each slice, and a task of one slice does not yield', async () => {
  let iterations = 0;
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; iterations += 1) await nextIteration();
  })();
  await runInSlices(counting(100), 60_000);
  expect(iterations).toBe(0);
  await runInSlices(counting(100), 0);
  expect(iterations).toBeGreaterThanOrEqual(100);
  isOver = true;
  await watching;
});

test('several tasks run one slice each in turn, one slice per iteration', async () => {
  const order: string[] = [];
  let inThisIteration = 0;
  let most = 0;
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; inThisIteration = 0) await nextIteration();
  })();
  const work = (name: string) =>
    runInSlices(
      counting(10, () => {
        order.push(name);
        inThisIteration += 1;
        most = Math.max(most, inThisIteration);
      }),
      0,
    );
  await nextIteration();
  const all = [work('a'), work('b'), work('c')];
  await nextIteration();
  most = 0;
  await Promise.all(all);
  isOver = true;
  await watching;
  // The first task starts immediately: no other task waits.
  expect(order.join('')).toBe(`a${'abc'.repeat(9)}bc`);
  expect(most).toBe(1);
});

test('tasks that start in one iteration share one slice', async () => {
  await nextIteration();
  let steps = 0;
  const busy = () => {
    steps += 1;
    for (const end = performance.now() + 4; performance.now() < end; );
  };
  const all = Array.from({ length: 10 }, () => runInSlices(counting(2, busy)));
  // Each task alone needs less than a slice of 10 ms.
  expect(steps).toBeLessThanOrEqual(3);
  await Promise.all(all);
  expect(steps).toBe(20);
});

test('a task that fails does not stop the others', async () => {
  function* failing(): SlicedTask<never> {
    yield;
    throw new Error('it fails');
  }
  const other = runInSlices(counting(5), 0);
  await expect(runInSlices(failing(), 0)).rejects.toThrow('it fails');
  expect(await other).toBe(5);
});

test('a task does not start in an iteration in which other tasks wait', async () => {
  await nextIteration();
  let started = 0;
  const all = Array.from({ length: 10 }, () =>
    runInSlices(
      counting(3, () => {
        started += 1;
      }),
      0,
    ),
  );
  expect(started).toBe(1);
  expect(await Promise.all(all)).toEqual(Array.from({ length: 10 }, () => 3));
  expect(started).toBe(30);
});

test('work that waits starts although something postpones it in each iteration', async () => {
  const starts = new SlicedStarts();
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  let iterations = 0;
  // As connections that arrive in each iteration.
  port2.on('message', () => {
    iterations += 1;
    starts.postpone();
    port1.postMessage(null);
  });
  port1.postMessage(null);
  await expect.poll(() => iterations).toBeGreaterThan(0);
  expect(starts.isFree).toBe(true);
  starts.postpone();
  const before = iterations;
  await Promise.all(['a', 'b'].map((caller) => new Promise<void>((start) => starts.add(caller, start))));
  expect(iterations).toBeGreaterThan(before);
});
