import { expect, onTestFinished, test } from 'vitest';
import { Deadlines } from '../../../src/data-plane/broker/clients/deadlines.ts';

test('due deadlines are handled one after the other, without those that were deleted meanwhile', async () => {
  const events: string[] = [];
  const ends: (() => void)[] = [];
  const deadlines = new Deadlines((name) => {
    events.push(name);
    return new Promise<void>((resolve) => ends.push(resolve));
  });
  onTestFinished(() => deadlines.close());
  const now = Date.now();
  for (const name of ['a', 'b', 'c']) deadlines.set(name, now);
  deadlines.set('later', now + 60_000);
  await expect.poll(() => events).toEqual(['a']);
  deadlines.delete('b');
  ends[0]?.();
  await expect.poll(() => events).toEqual(['a', 'c']);
  deadlines.set('d', Date.now());
  ends[1]?.();
  await expect.poll(() => events).toEqual(['a', 'c', 'd']);
});
