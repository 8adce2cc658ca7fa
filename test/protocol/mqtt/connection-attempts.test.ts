import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { LoopClock } from '../../../src/platform/scheduling/loop-clock.ts';
import { AttemptSlots, newCells } from '../../../src/protocol/mqtt/attempt-slots.ts';
import { ConnectionAttempts, connectionAttempts } from '../../../src/protocol/mqtt/connection-attempts.ts';
import { busyMs } from '../../support/busy-time.ts';
import { startLateBroker } from '../../support/late-broker.ts';
import { openLink, reached } from '../../support/link.ts';

/** A clock that the test turns. */
function manualClock() {
  const ticks = new Set<() => void>();
  const clock = new LoopClock((_ms, callback) => {
    ticks.add(callback);
    return () => ticks.delete(callback);
  });
  const turn = async () => {
    for (const tick of [...ticks]) tick();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, turn };
}

/** The attempts of one thread. `started` has the names of those that run or have run. */
function thread(cells: Int32Array, number: number) {
  const { clock, turn } = manualClock();
  const attempts = new ConnectionAttempts(new AttemptSlots(cells, number), clock);
  const started: string[] = [];
  const add = (name: string, group = '', rank: 'FIRST' | 'NORMAL' | 'LAST' = 'NORMAL') => {
    const attempt = attempts.create({ group, rank, start: () => started.push(name) });
    attempts.add(attempt);
    return attempt;
  };
  return { attempts, started, add, turn };
}

test('beyond the maximum attempts wait, in turns of groups, and an attempt that a caller waits for comes first', () => {
  const { started, add } = thread(newCells(2), 0);
  const running = [add('a1', 'a'), add('a2', 'a')];
  for (const name of ['a3', 'a4']) add(name, 'a');
  add('failed', 'f', 'LAST');
  const b1 = add('b1', 'b');
  const cancelled = add('b2', 'b');
  const hurried = add('c1', 'c');
  expect(started).toEqual(['a1', 'a2']);
  cancelled.end();
  hurried.hurry();
  running[0]?.end();
  running[0]?.end();
  expect(started).toEqual(['a1', 'a2', 'c1']);
  running[1]?.end();
  hurried.end();
  b1.end();
  expect(started).toEqual(['a1', 'a2', 'c1', 'a3', 'b1', 'a4']);
});

test('while attempts are held, an attempt that ends starts no other one', () => {
  const { attempts, started, add } = thread(newCells(1), 0);
  const [first, second] = [add('1'), add('2')];
  add('3');
  const releases = [attempts.hold(), attempts.hold()];
  first?.end();
  second?.end();
  releases[0]?.();
  releases[0]?.();
  expect(started).toEqual(['1']);
  releases[1]?.();
  expect(started).toEqual(['1', '3']);
});

test('attempts that fail again and again leave slots to the others', () => {
  const { started, add } = thread(newCells(4), 0);
  for (const name of ['1', '2', '3', '4']) add(name, '', 'LAST');
  expect(started).toEqual(['1', '2', '3']);
  add('other');
  expect(started).toEqual(['1', '2', '3', 'other']);
});

test('threads share the maximum equally, and the slots of a thread that exited are free', async () => {
  const cells = newCells(4);
  const [one, two] = [thread(cells, 1), thread(cells, 2)];
  const ofOne = Array.from({ length: 6 }, (_, n) => one.add(`one ${n}`));
  expect(one.started).toHaveLength(4);
  for (let n = 0; n < 4; n += 1) two.add(`two ${n}`);
  await two.turn();
  expect(two.started).toHaveLength(0);
  for (const attempt of ofOne.slice(0, 2)) attempt.end();
  await two.turn();
  await two.turn();
  expect([one.started.length, two.started.length]).toEqual([4, 2]);
  one.attempts.threadExited(2);
  await one.turn();
  await one.turn();
  expect(one.started).toHaveLength(6);
});

test('the exit of one of very many threads frees no slot of another thread', () => {
  const cells = newCells(4);
  const main = thread(cells, 0);
  for (let number = 1; number <= 600; number += 1) {
    thread(cells, number);
    if (number === 300) for (const name of ['1', '2', '3', '4']) main.add(name);
    main.attempts.threadExited(number);
  }
  main.add('5');
  expect(main.started).toEqual(['1', '2', '3', '4']);
});

test('no more attempts run than the maximum, and each one runs that is not cancelled', () => {
  const steps = fc.array(
    fc.record({
      group: fc.nat(3),
      rank: fc.constantFrom('FIRST', 'NORMAL', 'LAST'),
      ends: fc.nat(5),
      hurries: fc.nat(5),
    }),
  );
  fc.assert(
    fc.property(steps, (list) => {
      const attempts = new ConnectionAttempts(new AttemptSlots(newCells(4), 0), manualClock().clock);
      const running = new Set<object>();
      const all = list.map(({ group, rank, ends, hurries }, nth) => {
        const start = () => void running.add(attempt);
        const attempt = attempts.create({ group: String(group), rank: rank as 'FIRST', start });
        attempts.add(attempt);
        expect(running.size).toBeLessThanOrEqual(4);
        for (const [index, one] of [...running].entries()) if (index < ends && nth % 3 === 0) end(one);
        return { attempt, hurries };
      });
      function end(one: object) {
        running.delete(one);
        (one as ReturnType<typeof attempts.create>).end();
      }
      for (const { attempt, hurries } of all) if (hurries === 0) attempt.hurry();
      while (running.size > 0) {
        expect(running.size).toBeLessThanOrEqual(4);
        for (const one of [...running]) end(one);
      }
      expect(all.every(({ attempt }) => !attempt.isWaiting)).toBe(true);
      expect(attempts.hasWaiting).toBe(false);
    }),
  );
});

test('time in which the event loop is busy is no part of a time-out', async () => {
  const clock = new LoopClock();
  let isOver = false;
  const over = new Promise<void>((resolve) => {
    clock.after(200, () => {
      isOver = true;
      resolve();
    });
  });
  for (const until = busyMs() + 500; busyMs() < until; );
  // A timer that is due long ago has fired.
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  await over;
});

test('links connect a few at a time, and the one that a caller waits for is next', async () => {
  connectionAttempts.setMaximum(4);
  onTestFinished(() => connectionAttempts.setMaximum(32));
  const broker = await startLateBroker();
  const links = Array.from({ length: 40 }, (_, n) => openLink({ url: broker.url, group: `project ${n % 4}` }));
  await expect.poll(() => broker.waitingCount()).toBe(4);
  expect(links.every(({ status }) => status.state === 'CONNECTING')).toBe(true);
  const connected: number[] = [];
  for (const [nth, link] of links.entries()) void reached(link, 'CONNECTED').then(() => connected.push(nth));
  links[39]?.hurry();
  // A link that is closed while it waits leaves its turn to others.
  await links[38]?.close();
  broker.respond();
  await expect.poll(() => connected.length).toBe(39);
  expect(connected.slice(0, 5)).toContain(39);
  expect(broker.mostWaiting()).toBe(4);
});

test('attempts that failed again and again are no reason to expect more connections', () => {
  const { attempts, add } = thread(newCells(1), 0);
  add('running');
  add('failed', '', 'LAST');
  expect([attempts.hasWaiting, attempts.hasPromising]).toEqual([true, false]);
  add('new').end();
  expect(attempts.hasPromising).toBe(false);
  add('next');
  expect(attempts.hasPromising).toBe(true);
});
