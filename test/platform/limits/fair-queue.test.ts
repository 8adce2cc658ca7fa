import { expect, test } from 'vitest';
import { FairQueue, QueueFull } from '../../../src/platform/limits/fair-queue.ts';

/** Work that ends when it is released; `started` lists it in the order in which it started. */
function recorded(queue: FairQueue) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (key: string, name: string, isWanted?: () => boolean) => {
    const work = () => {
      started.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    };
    const result = queue.run(key, work, isWanted);
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
  const { started, add, end } = recorded(new FairQueue({ atOnce: 1, maxWaiting: 10 }));
  for (const name of ['a1', 'a2', 'a3', 'a4']) void add('a', name);
  void add('b', 'b1');
  await end('a1');
  await end('a2');
  expect(started).toEqual(['a1', 'a2', 'b1']);
});

test('work that is not wanted any more is never started', async () => {
  const { started, add, end } = recorded(new FairQueue({ atOnce: 1, maxWaiting: 10 }));
  void add('a', 'a1');
  const gone = add('a', 'a2', () => false);
  void add('a', 'a3');
  await end('a1');
  await expect(gone).rejects.toThrow(QueueFull);
  expect(started).toEqual(['a1', 'a3']);
});

test('a full queue refuses the newest work of the longest key for a key with less', async () => {
  const queue = new FairQueue({ atOnce: 1, maxWaiting: 3 });
  const { started, add, end } = recorded(queue);
  void add('a', 'a0');
  void add('a', 'a1');
  void add('a', 'a2');
  const newest = add('a', 'a3');
  await expect(add('a', 'a4')).rejects.toThrow(QueueFull);
  void add('b', 'b1');
  await expect(newest).rejects.toThrow(QueueFull);
  expect(queue.waitingCount).toBe(3);
  for (const name of ['a0', 'a1', 'b1', 'a2']) await end(name);
  expect(started).toEqual(['a0', 'a1', 'b1', 'a2']);
  expect(queue.waitingCount).toBe(0);
});

test('a key has its own bound, and what fails gives its place to the next', async () => {
  const queue = new FairQueue({ atOnce: 1, maxWaiting: 10, maxWaitingPerKey: 1 });
  const { started, add, end } = recorded(queue);
  const failing = queue.run('a', () => Promise.reject(new Error('of the work')));
  void add('a', 'a1');
  await expect(add('a', 'a2')).rejects.toThrow(QueueFull);
  await expect(failing).rejects.toThrow('of the work');
  expect(started).toEqual(['a1']);
  await end('a1');
  await expect(queue.run('a', async () => 'free again')).resolves.toBe('free again');
});
