import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Broadcast, type BroadcastEvent, type BroadcastOptions } from '../../../src/gateway/live/broadcast.ts';
import { runs } from '../../support/suite.ts';

/** Broadcast of a counter: a snapshot is its value, a change is the difference. */
function counter(options: BroadcastOptions<number, number> = {}) {
  let value = 0;
  const broadcast = new Broadcast<number, number>(() => value, options);
  const start = broadcast.sequence;
  return {
    broadcast,
    /** The sequence number of the nth change. */
    at: (n: number) => start + n,
    add: (by = 1) => {
      value += by;
      broadcast.publish(by);
    },
    value: () => value,
  };
}

const read = async (events: AsyncIterator<BroadcastEvent<number, number>>) => (await events.next()).value;

test('a subscriber gets the state first, then every change with the next number', async () => {
  const { broadcast, add, at } = counter();
  add(5);
  const events = broadcast.subscribe();
  expect(await read(events)).toEqual({ kind: 'SNAPSHOT', sequence: at(1), partsLeft: 0, snapshot: 5 });
  add(2);
  add(3);
  expect(await read(events)).toEqual({ kind: 'CHANGE', sequence: at(2), partsLeft: 0, change: 2 });
  expect(await read(events)).toEqual({ kind: 'CHANGE', sequence: at(3), partsLeft: 0, change: 3 });
});

test('numbers start at random, so numbers of another feed are not valid', () => {
  expect(counter().broadcast.sequence).not.toBe(counter().broadcast.sequence);
});

test('a change between subscribing and the first read is in the snapshot once', async () => {
  const { broadcast, add, at } = counter();
  const events = broadcast.subscribe();
  add(4);
  expect(await read(events)).toMatchObject({ kind: 'SNAPSHOT', sequence: at(1), snapshot: 4 });
  add(1);
  expect(await read(events)).toMatchObject({ kind: 'CHANGE', sequence: at(2), change: 1 });
});

test('a slow subscriber gets a GAP with the number of missed changes, then a new snapshot', async () => {
  const { broadcast, add, at } = counter();
  const events = broadcast.subscribe({ limit: 10 });
  await read(events);
  for (let i = 0; i < 1_000; i++) add();
  expect(await read(events)).toEqual({ kind: 'GAP', sequence: 0, partsLeft: 1, missed: 1_000 });
  add();
  expect(await read(events)).toMatchObject({ kind: 'SNAPSHOT', sequence: at(1_001), snapshot: 1_001 });
  add();
  expect(await read(events)).toMatchObject({ kind: 'CHANGE', sequence: at(1_002) });
});

test('a subscriber that is exactly `limit` changes behind misses nothing', async () => {
  const { broadcast, add, at } = counter();
  const events = broadcast.subscribe({ limit: 10 });
  await read(events);
  for (let i = 0; i < 10; i++) add();
  for (let i = 1; i <= 10; i++) expect(await read(events)).toMatchObject({ kind: 'CHANGE', sequence: at(i) });
});

test('the weight of stored changes is bounded, and subscribers that need dropped changes get a GAP', async () => {
  const { broadcast, add } = counter({ maxWeight: 10, weigh: (change) => change });
  const [slow, slower] = [broadcast.subscribe(), broadcast.subscribe()];
  await read(slow);
  await read(slower);
  add(6);
  await read(slow);
  add(6);
  expect(await read(slow)).toMatchObject({ kind: 'CHANGE', change: 6 });
  expect(await read(slower)).toMatchObject({ kind: 'GAP', missed: 2 });
  add(100);
  expect(await read(slow)).toMatchObject({ kind: 'CHANGE', change: 100 });
});

test('one slow subscriber does not affect the others', async () => {
  const { broadcast, add, at } = counter();
  broadcast.subscribe({ limit: 5 });
  const fast = broadcast.subscribe({ limit: 5 });
  await read(fast);
  for (let i = 1; i <= 50; i++) {
    add();
    expect(await read(fast)).toMatchObject({ kind: 'CHANGE', sequence: at(i), change: 1 });
  }
});

test('all subscribers get the same event object, and the same snapshot until something changes', async () => {
  const { broadcast, add } = counter();
  const streams = [broadcast.subscribe(), broadcast.subscribe()];
  const both = async () => Promise.all(streams.map(read));
  for (let i = 0; i < 4; i++) {
    const [one, other] = await both();
    expect(one).toBe(other);
    add();
  }
  const [late, old] = [broadcast.subscribe(), streams[0] as (typeof streams)[0]];
  expect(await read(late)).toMatchObject({ kind: 'SNAPSHOT', snapshot: 4 });
  expect(await read(old)).toMatchObject({ kind: 'CHANGE', change: 1, partsLeft: 0 });
});

test('subscribers share a recent snapshot in parts, and get the changes since then', async () => {
  const { broadcast, add, at } = counter({ split: (whole) => ({ first: 0, rest: [whole] }) });
  add(7);
  const early = broadcast.subscribe();
  const parts = [await read(early), await read(early)];
  for (let n = 0; n < 3; n++) add(1);
  const late = broadcast.subscribe();
  expect(await read(late)).toBe(parts[0]);
  expect(await read(late)).toBe(parts[1]);
  expect(await read(late)).toEqual({ kind: 'CHANGE', sequence: at(2), partsLeft: 0, change: 1 });
  // Too old for a subscriber with a small limit; then too old for all.
  expect(await read(broadcast.subscribe({ limit: 29 }))).not.toBe(parts[0]);
  for (let n = 0; n < 101; n++) add(1);
  const next = broadcast.subscribe();
  await read(next);
  expect(await read(next)).toMatchObject({ kind: 'CHANGE', sequence: at(105), change: 111 });
});

test('snapshots in parts that are read slowly are dropped, and their readers get a GAP', async () => {
  const { broadcast, add } = counter({ split: (whole) => ({ first: 0, rest: [whole] }) });
  const streams = Array.from({ length: 40 }, () => {
    const events = broadcast.subscribe({ limit: 10 });
    events.take();
    for (let n = 0; n < 2; n++) add();
    return events;
  });
  const kinds = streams.map((events) => events.take()?.kind);
  expect(kinds).toEqual([...Array(8).fill('GAP'), ...Array(32).fill('CHANGE')]);
  const [first, second] = [
    await read(streams[0] as (typeof streams)[0]),
    await read(streams[0] as (typeof streams)[0]),
  ];
  expect([first, second]).toMatchObject([
    { kind: 'SNAPSHOT', partsLeft: 1 },
    { change: 80, partsLeft: 0 },
  ]);
});

test('a large snapshot comes in parts, and only the last part has a number to resume from', async () => {
  const { broadcast, add, at } = counter({ split: (whole) => ({ first: 1, rest: Array(whole - 1).fill(1) }) });
  add(3);
  const events = broadcast.subscribe();
  expect(await read(events)).toEqual({ kind: 'SNAPSHOT', sequence: 0, partsLeft: 2, snapshot: 1 });
  add(7);
  expect(await read(events)).toEqual({ kind: 'CHANGE', sequence: 0, partsLeft: 1, change: 1 });
  expect(await read(events)).toEqual({ kind: 'CHANGE', sequence: at(1), partsLeft: 0, change: 1 });
  expect(await read(events)).toEqual({ kind: 'CHANGE', sequence: at(2), partsLeft: 0, change: 7 });
});

test('a subscriber resumes after the last number of its earlier subscription', async () => {
  const { broadcast, add, at } = counter();
  add();
  add(2);
  add(3);
  const events = broadcast.subscribe({ after: at(1) });
  expect(await read(events)).toEqual({ kind: 'RESUMED', sequence: at(1), partsLeft: 0 });
  expect(await read(events)).toMatchObject({ kind: 'CHANGE', sequence: at(2), change: 2 });
  expect(await read(events)).toMatchObject({ kind: 'CHANGE', sequence: at(3), change: 3 });
  const upToDate = broadcast.subscribe({ after: at(3) });
  expect(await read(upToDate)).toMatchObject({ kind: 'RESUMED', sequence: at(3) });
  expect(upToDate.take()).toBeNull();
});

test.each([
  ['the number of a dropped change', 0],
  ['a number of the future', 6],
  ['the number of another feed', -1_000_000],
  ['a fraction', 2.5],
  ['NaN', Number.NaN],
])('a subscriber that resumes from %s gets a snapshot', async (_name, number) => {
  const { broadcast, add, at } = counter({ history: 3 });
  for (let i = 0; i < 5; i++) add();
  expect(await read(broadcast.subscribe({ after: at(2) }))).toMatchObject({ kind: 'RESUMED' });
  expect(await read(broadcast.subscribe({ after: at(number) }))).toMatchObject({ kind: 'SNAPSHOT', snapshot: 5 });
});

test('after a reset no subscriber can resume from an earlier number', async () => {
  const { broadcast, add, at } = counter();
  add();
  const events = broadcast.subscribe();
  await read(events);
  broadcast.reset();
  expect(await read(events)).toMatchObject({ kind: 'GAP' });
  expect(await read(events)).toMatchObject({ kind: 'SNAPSHOT', snapshot: 1 });
  expect(await read(broadcast.subscribe({ after: at(1) }))).toMatchObject({ kind: 'SNAPSHOT' });
});

test('subscribers are woken in time slices, and the event loop serves others between them', async () => {
  const { broadcast, add } = counter();
  let woken = 0;
  for (let i = 0; i < 50; i++) {
    const subscriber = broadcast.subscribe();
    subscriber.take();
    subscriber.wait(() => {
      woken += 1;
      // Each callback blocks the loop for 1 ms, as writing to many sockets does.
      for (const until = performance.now() + 1; performance.now() < until; );
    });
  }
  add();
  expect(woken).toBe(0);
  const perIteration: number[] = [];
  while (woken < 50) {
    const before = woken;
    await new Promise((resolve) => setImmediate(resolve));
    perIteration.push(woken - before);
  }
  expect(Math.max(...perIteration)).toBeLessThan(25);
});

test('a subscriber that closes while it waits for a change is removed', async () => {
  const { broadcast } = counter();
  const subscriber = broadcast.subscribe();
  subscriber.take();
  const woken = new Promise<void>((resolve) => subscriber.wait(resolve));
  await subscriber.return();
  await woken;
  expect([broadcast.subscriberCount, subscriber.isOver, subscriber.take()]).toEqual([0, true, null]);
});

test('a signal ends the stream immediately with its reason', async () => {
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

test('a waiting reader is woken when the broadcast closes', async () => {
  const { broadcast } = counter();
  const events = broadcast.subscribe();
  await read(events);
  const waiting = events.next();
  broadcast.close();
  expect(await waiting).toEqual({ done: true, value: undefined });
});

test('an error ends the stream after the events that are not read yet', async () => {
  const { broadcast, add } = counter();
  const events = broadcast.subscribe();
  await read(events);
  add(7);
  const reason = new Error('nothing left to observe');
  broadcast.close(reason);
  expect(await read(events)).toMatchObject({ kind: 'CHANGE', change: 7 });
  await expect(events.next()).rejects.toBe(reason);
  expect(await events.next()).toEqual({ done: true, value: undefined });
});

test('snapshot and changes add up to the state, in any order of publishing and reading', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constant('add' as const), fc.constant('read' as const)), { maxLength: 200 }),
      fc.constantFrom(3, 40),
      fc.boolean(),
      async (steps, limit, isInParts) => {
        const { broadcast, add, value } = counter(
          isInParts ? { split: (whole) => ({ first: 0, rest: [whole - 1, 1] }) } : {},
        );
        // Another subscriber takes a snapshot that this one may get later.
        if (isInParts) broadcast.subscribe().take();
        const events = broadcast.subscribe({ limit });
        let state = Number.NaN;
        const apply = (event: BroadcastEvent<number, number>) => {
          if (event.kind === 'SNAPSHOT') state = event.snapshot;
          if (event.kind === 'CHANGE') state += event.change;
        };
        for (const step of steps) {
          if (step === 'add') add();
          else {
            // A read without a change would wait, so a change is added first.
            add();
            apply(await read(events));
          }
        }
        add();
        for (let i = 0; i < limit + 6; i++) {
          const next = events.next();
          const done = await Promise.race([next, new Promise<null>((resolve) => setImmediate(resolve, null))]);
          if (done === null) break;
          apply(done.value);
        }
        expect(state).toBe(value());
      },
    ),
    { numRuns: runs(200) },
  );
});
