import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Closers } from '../../src/platform/closers.ts';

function world(options: ConstructorParameters<typeof Closers>[0] = {}) {
  const closers = new Closers(options);
  const closed: string[] = [];
  closers.add(() => closed.push('first'));
  let finish = () => {};
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  class Slow {
    async close(): Promise<void> {
      closed.push('slow');
      await slow;
    }
  }
  closers.keep(new Slow(), { maxMs: 20 });
  closers.add(() => closed.push('last'));
  return { closers, closed, finish };
}

test('a part that does not close in time is named in the log, and does not delay the others', async () => {
  const warnings: object[] = [];
  const { closers, closed } = world({ log: { warn: (fields) => void warnings.push(fields) } });
  await closers.close();
  expect(closed).toEqual(['last', 'slow', 'first']);
  expect(warnings).toEqual([{ part: 'Slow', maxMs: 20 }]);
});

test('without a log each part is waited for', async () => {
  const { closers, closed, finish } = world();
  const done = closers.close();
  await nextIteration();
  expect(closed).toEqual(['last', 'slow']);
  finish();
  await done;
  expect(closed).toEqual(['last', 'slow', 'first']);
});
