import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Broadcast, type BroadcastEvent } from '../../src/live/broadcast.ts';

/** A counter that is observed: its snapshot is its value, a change adds one. */
function counter() {
  let value = 0;
  const broadcast = new Broadcast<number, number>(() => value);
  return {
    broadcast,
    add: (by = 1) => {
      value += by;
      broadcast.publish(by);
    },
    value: () => value,
  };
}

const read = async (events: AsyncIterator<BroadcastEvent<number, number>>) => (await events.next()).value;

test('a subscriber gets the state first, then every change with the next number', async () => {
  const { broadcast, add } = counter();
  add(5);
  const events = broadcast.subscribe();
  expect(await read(events)).toEqual({ kind: 'SNAPSHOT', sequence: 1, snapshot: 5 });
  add(2);
  add(3);
  expect(await read(events)).toEqual({ kind: 'CHANGE', sequence: 2, change: 2 });
  expect(await read(events)).toEqual({ kind: 'CHANGE', sequence: 3, change: 3 });
});

test('what happens between subscribing and the first read is in the snapshot, not lost and not doubled', async () => {
  const { broadcast, add } = counter();
  const events = broadcast.subscribe();
  add(4);
  expect(await read(events)).toEqual({ kind: 'SNAPSHOT', sequence: 1, snapshot: 4 });
  add(1);
  expect(await read(events)).toEqual({ kind: 'CHANGE', sequence: 2, change: 1 });
});

test('who reads too slowly is told how much was left out, and starts again with the state', async () => {
  const { broadcast, add } = counter();
  const events = broadcast.subscribe({ limit: 10 });
  await read(events);
  for (let i = 0; i < 1_000; i++) add();
  expect(await read(events)).toEqual({ kind: 'GAP', sequence: 1_000, missed: 1_000 });
  add();
  expect(await read(events)).toEqual({ kind: 'SNAPSHOT', sequence: 1_001, snapshot: 1_001 });
  add();
  expect(await read(events)).toMatchObject({ kind: 'CHANGE', sequence: 1_002 });
});

test('one slow subscriber costs the others nothing', async () => {
  const { broadcast, add } = counter();
  broadcast.subscribe({ limit: 5 });
  const fast = broadcast.subscribe({ limit: 5 });
  await read(fast);
  for (let i = 1; i <= 50; i++) {
    add();
    expect(await read(fast)).toEqual({ kind: 'CHANGE', sequence: i, change: 1 });
  }
});

test('a signal ends the stream with its reason, at once and for good', async () => {
  const { broadcast, add } = counter();
  const control = new AbortController();
  const events = broadcast.subscribe({ signal: control.signal });
  await read(events);
  add();
  const reason = new Error('rights ended');
  control.abort(reason);
  await expect(events.next()).rejects.toBe(reason);
  expect(await events.next()).toEqual({ done: true, value: undefined });
  expect(broadcast.subscriberCount).toBe(0);
});

test('a reader that waits is woken by the end', async () => {
  const { broadcast } = counter();
  const events = broadcast.subscribe();
  await read(events);
  const waiting = events.next();
  broadcast.close();
  expect(await waiting).toEqual({ done: true, value: undefined });
});

test('whatever is published and read in whatever order, snapshot and changes add up to the truth', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constant('add' as const), fc.constant('read' as const)), { maxLength: 200 }),
      async (steps) => {
        const { broadcast, add, value } = counter();
        const events = broadcast.subscribe({ limit: 3 });
        let held = Number.NaN;
        const apply = (event: BroadcastEvent<number, number>) => {
          if (event.kind === 'SNAPSHOT') held = event.snapshot;
          if (event.kind === 'CHANGE') held += event.change;
        };
        for (const step of steps) {
          if (step === 'add') add();
          else {
            // A read with nothing to tell would wait, so there is always something.
            add();
            apply(await read(events));
          }
        }
        add();
        for (let i = 0; i < 6; i++) {
          const next = events.next();
          const done = await Promise.race([next, new Promise<null>((resolve) => setImmediate(resolve, null))]);
          if (done === null) break;
          apply(done.value);
        }
        expect(held).toBe(value());
      },
    ),
    { numRuns: 200 },
  );
});
