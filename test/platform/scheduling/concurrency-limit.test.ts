import { expect, test } from 'vitest';
import { ConcurrencyLimit, QueueFull } from '../../../src/platform/scheduling/concurrency-limit.ts';

/** Adds work that ends when `end` is called; `started` lists it in the order in which it started. */
function recorded(limit: ConcurrencyLimit) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (key: string, name: string, isWanted?: () => boolean) => {
    const work = () => {
      started.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    };
    const result = limit.run(work, { key, ...(isWanted && { isWanted }) });
    result.catch(() => {});
    return result;
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { started, add, end };
}

test('a key with much waiting work delays another key by one piece of work', async () => {
  const { started, add, end } = recorded(new ConcurrencyLimit({ maxRunning: 1, maxWaiting: 10 }));
  for (const name of ['a1', 'a2', 'a3', 'a4']) void add('a', name);
  void add('b', 'b1');
  await end('a1');
  await end('a2');
  expect(started).toEqual(['a1', 'a2', 'b1']);
});

test('work that is no longer wanted is never started', async () => {
  const { started, add, end } = recorded(new ConcurrencyLimit({ maxRunning: 1, maxWaiting: 10 }));
  void add('a', 'a1');
  const gone = add('a', 'a2', () => false);
  void add('a', 'a3');
  await end('a1');
  await expect(gone).rejects.toThrow(QueueFull);
  expect(started).toEqual(['a1', 'a3']);
});

test('a full queue refuses the newest work of the longest key for a key with less', async () => {
  const limit = new ConcurrencyLimit({ maxRunning: 1, maxWaiting: 3 });
  const { started, add, end } = recorded(limit);
  void add('a', 'a0');
  void add('a', 'a1');
  void add('a', 'a2');
  const newest = add('a', 'a3');
  await expect(add('a', 'a4')).rejects.toThrow(QueueFull);
  void add('b', 'b1');
  await expect(newest).rejects.toThrow(QueueFull);
  expect(limit.waitingCount).toBe(3);
  for (const name of ['a0', 'a1', 'b1', 'a2']) await end(name);
  expect(started).toEqual(['a0', 'a1', 'b1', 'a2']);
  expect(limit.waitingCount).toBe(0);
});

test('each key has its own bound, and work that fails frees its place', async () => {
  const limit = new ConcurrencyLimit({ maxRunning: 1, maxWaiting: 10, maxWaitingPerKey: 1 });
  const { started, add, end } = recorded(limit);
  const failing = limit.run(() => Promise.reject(new Error('failure of the work')), { key: 'a' });
  void add('a', 'a1');
  await expect(add('a', 'a2')).rejects.toThrow(QueueFull);
  await expect(failing).rejects.toThrow('failure of the work');
  expect(started).toEqual(['a1']);
  await end('a1');
  await expect(limit.run(async () => 'free again', { key: 'a' })).resolves.toBe('free again');
});

test('work without a key is started in order, and the limit is idle when nothing runs', async () => {
  const limit = new ConcurrencyLimit({ maxRunning: 2 });
  const order: number[] = [];
  let running = 0;
  let mostRunning = 0;
  const work = async (number: number) => {
    order.push(number);
    running += 1;
    mostRunning = Math.max(mostRunning, running);
    await new Promise(setImmediate);
    running -= 1;
  };
  const all = Promise.all([1, 2, 3, 4, 5].map((number) => limit.run(() => work(number))));
  expect([limit.isIdle, limit.waitingCount]).toEqual([false, 3]);
  await all;
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect([limit.isIdle, mostRunning]).toEqual([true, 2]);
});
