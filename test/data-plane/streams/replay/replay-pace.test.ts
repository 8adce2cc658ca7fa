import { expect, onTestFinished, test, vi } from 'vitest';
import { REPLAY_CLOCK } from '../../../../src/data-plane/streams/replay/replay-clock.ts';
import { definition, reportOf, stored } from '../engine/engine-parts.ts';
import { ALL, HOUR, recorded, replayOf, START } from './recorded-stream.ts';

test('the first message goes at once, and each later one when as much time has passed as had when it was stored', async () => {
  const { clock, engine, news } = await recorded([0, 100, 350, 3 * HOUR, 3 * HOUR + 60 * 24 * HOUR]);
  const started = await engine.startReplay('a', ALL);
  expect(started).toMatchObject({ state: 'RUNNING', total: 5, published: 1, position: START });
  expect(news()).toBe('0');
  clock.pass(99);
  expect(news()).toBe('');
  clock.pass(1);
  expect(news()).toBe('1');
  clock.pass(250);
  expect(news()).toBe('2');
  clock.pass(3 * HOUR - 351);
  expect(news()).toBe('');
  clock.pass(1);
  expect(news()).toBe('3');
  clock.pass(60 * 24 * HOUR - 1);
  expect(news()).toBe('');
  clock.pass(1);
  expect(news()).toBe('4');
  expect(await replayOf(engine)).toMatchObject({ state: 'DONE', published: 5, position: START + 1_443 * HOUR });
});

test('timers that come late do not add up: what is due goes at once', async () => {
  const { clock, engine, news } = await recorded([0, 100, 200, 300, 400]);
  await engine.startReplay('a', ALL);
  expect(news()).toBe('0');
  clock.jump(250);
  expect(news()).toBe('1 2');
  clock.pass(49);
  expect(news()).toBe('');
  clock.pass(1);
  expect(news()).toBe('3');
});

test('twice as fast, half as fast, and without pauses', async () => {
  const { clock, engine, news } = await recorded([0, 100, 300]);
  await engine.startReplay('a', { ...ALL, speed: 2 });
  news();
  clock.pass(50);
  expect(news()).toBe('1');
  clock.pass(100);
  expect(news()).toBe('2');

  await engine.startReplay('a', { ...ALL, speed: 0.5 });
  news();
  clock.pass(199);
  expect(news()).toBe('');
  clock.pass(1);
  expect(news()).toBe('1');
  clock.pass(400);
  expect(news()).toBe('2');

  expect(await engine.startReplay('a', { ...ALL, speed: 'fastest' })).toMatchObject({ state: 'DONE', published: 3 });
  expect(news()).toBe('0 1 2');
});

test('backwards the newest goes first and the gaps are mirrored; the limit counts from there', async () => {
  const { clock, engine, news } = await recorded([0, 100, 300, 1_000]);
  expect(await engine.startReplay('a', { ...ALL, reverse: true, limit: 3 })).toMatchObject({ total: 3 });
  expect(news()).toBe('3');
  clock.pass(699);
  expect(news()).toBe('');
  clock.pass(1);
  expect(news()).toBe('2');
  clock.pass(200);
  expect(news()).toBe('1');
  clock.pass(HOUR);
  expect(news()).toBe('');
  expect(await replayOf(engine)).toMatchObject({ state: 'DONE', published: 3 });
});

test.each([
  [{ from: START + 100 }, '1 2 3'],
  [{ from: START + 101 }, '2 3'],
  [{ to: START + 300 }, '0 1 2'],
  [{ to: START + 299 }, '0 1'],
  [{ from: START + 100, to: START + 300 }, '1 2'],
  [{ from: START + 100, limit: 1 }, '1'],
  [{ limit: 2 }, '0 1'],
  [{ limit: 2, reverse: true }, '3 2'],
  [{ to: START + 300, reverse: true }, '2 1 0'],
  [{ from: START + 301, to: START + 999 }, ''],
  [{ from: START + 5_000 }, ''],
])('with %j these are replayed: %s', async (bounds, expected) => {
  const { engine, news } = await recorded([0, 100, 300, 1_000]);
  const replay = await engine.startReplay('a', { ...ALL, speed: 'fastest', ...bounds });
  const total = expected === '' ? 0 : expected.split(' ').length;
  expect(replay).toMatchObject({ state: 'DONE', total, published: total });
  expect(news()).toBe(expected);
});

test.each([false, true])('what is stored after the start is not replayed (reverse: %s)', async (reverse) => {
  const { engine, clock, log, news, setNow } = await recorded([0, 100]);
  // Still to come when the replay begins.
  await engine.startReplay('a', { ...ALL, reverse, to: START + HOUR });
  setNow(START + 100);
  await stored(log, 'in the same millisecond');
  await engine.clear('a', { from: START + HOUR, to: null });
  clock.pass(HOUR);
  expect(news()).toBe(reverse ? '1 0' : '0 1');
  expect(await replayOf(engine)).toMatchObject({ state: 'DONE', total: 2, published: 2 });
});

test('what is cleared or expires meanwhile is left out, and the replay is DONE with fewer', async () => {
  const { clock, engine, news, setNow } = await recorded([0, 1_000, 2_000, 10_000, 4 * HOUR], 3_600);
  setNow(START);
  await engine.startReplay('a', ALL);
  clock.pass(1_000);
  expect(news()).toBe('0 1');
  expect(await engine.clear('a', { from: START + 2_000, to: START + 2_000 })).toBe(1);
  clock.pass(5_000);
  expect(news()).toBe('');
  setNow(START + 10_000 + 3 * HOUR);
  clock.pass(4_000);
  expect(news()).toBe('');
  clock.pass(4 * HOUR);
  expect(news()).toBe('4');
  expect(await replayOf(engine)).toMatchObject({ state: 'DONE', total: 5, published: 3 });
});

test('while the broker is away a replay pauses, the pause does not count, and what was under way goes again', async () => {
  const { session, clock, engine, news } = await recorded([0, 100, 200, 1_000]);
  session.takesAtOnce = false;
  await engine.startReplay('a', ALL);
  session.published[0]?.done();
  clock.pass(201);
  expect(news()).toBe('0 1 2');
  // The broker took the second of the three; the answers for the others are lost.
  session.published[2]?.done();
  clock.pass(99);
  session.lose();
  expect(await replayOf(engine)).toMatchObject({ state: 'PAUSED', published: 2, problem: 'The connection was lost' });

  clock.pass(HOUR);
  expect(news()).toBe('');
  session.connect();
  expect(await replayOf(engine)).toMatchObject({ state: 'RUNNING', problem: null });
  expect(news()).toBe('1');
  session.published.at(-1)?.done();
  clock.pass(699);
  expect(news()).toBe('');
  clock.pass(2);
  expect(news()).toBe('3');
  expect(await replayOf(engine)).toMatchObject({ state: 'RUNNING', published: 3 });
  session.published.at(-1)?.done();
  expect(await replayOf(engine)).toMatchObject({ state: 'DONE', published: 4 });
});

test('one replay of a stream at a time; it goes on whatever the stream is changed to, and ends when stopped or removed', async () => {
  const { session, clock, engine, news } = await recorded([0, 100, 200]);
  const first = await engine.startReplay('a', ALL);
  await expect(engine.startReplay('a', ALL)).rejects.toMatchObject({ code: 'IN_USE' });
  await expect(engine.startReplay('b', ALL)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await engine.put('a', definition({ sourceTopic: 'in', persist: false, active: false, targetQos: 2 }));
  clock.pass(101);
  expect(news()).toBe('0 1');
  expect(session.published.map(({ topic, qos }) => `${topic} ${qos}`)).toEqual(['again 1', 'again 2']);

  expect(await engine.stopReplay('a')).toBe(true);
  expect(await engine.stopReplay('a')).toBe(false);
  clock.pass(HOUR);
  expect(news()).toBe('');
  expect(await replayOf(engine)).toMatchObject({ id: first.id, state: 'STOPPED', published: 2, total: 3 });
  expect((await reportOf(engine)).counters.replayed).toBe(2);

  const second = await engine.startReplay('a', ALL);
  expect(second.id).not.toBe(first.id);
  const told: (string | undefined)[] = [];
  engine.onChange((_, { replay }) => told.push(replay?.state));
  await engine.remove('a');
  expect(told).toEqual(['STOPPED']);
  expect(clock.next).toBeNull();
});

test('what is published and not yet taken is bounded, and the replay ends when the last is taken', async () => {
  const { session, clock, engine } = await recorded(Array.from({ length: 600 }, (_, index) => index));
  session.takesAtOnce = false;
  await engine.startReplay('a', { ...ALL, speed: 'fastest' });
  clock.pass(0);
  expect(session.published.length).toBe(512);
  session.published[0]?.done();
  expect(session.published.length).toBe(513);
  for (let taken = 1; taken < 599; taken += 1) session.published[taken]?.done();
  expect(await replayOf(engine)).toMatchObject({ state: 'RUNNING', published: 599 });
  session.published[599]?.done();
  expect(await replayOf(engine)).toMatchObject({ state: 'DONE', published: 600 });
});

test('a change of state is reported immediately, and progress at most ten times per second', async () => {
  const { session, clock, engine } = await recorded(Array.from({ length: 400 }, (_, index) => index));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const told: string[] = [];
  engine.onChange((_, { replay }) => told.push(`${replay?.state} ${replay?.published}`));
  const take = (count: number) => {
    for (const published of session.published.slice(taken, taken + count)) published.done();
    taken += count;
  };
  let taken = 0;
  session.takesAtOnce = false;
  await engine.startReplay('a', { ...ALL, speed: 'fastest' });
  clock.pass(0);
  take(100);
  expect(told).toEqual(['RUNNING 0']);
  vi.advanceTimersByTime(100);
  expect(told).toEqual(['RUNNING 0', 'RUNNING 100']);
  take(100);
  vi.advanceTimersByTime(99);
  take(100);
  vi.advanceTimersByTime(1_000);
  expect(told.slice(2)).toEqual(['RUNNING 300']);
  take(100);
  expect(told.slice(3)).toEqual(['DONE 400']);
  vi.advanceTimersByTime(1_000);
  expect(told.length).toBe(4);
});

test('an invalid topic is refused', async () => {
  const { engine } = await recorded([0]);
  await expect(engine.startReplay('a', { ...ALL, topic: 'a/#' })).rejects.toMatchObject({ code: 'INVALID' });
});

test('timers of the real clock hold for longer than Node lets them', async () => {
  let called = false;
  const stop = REPLAY_CLOCK.after(2 ** 31 + 1, () => {
    called = true;
  });
  await new Promise<void>((resolve) => REPLAY_CLOCK.after(5, resolve));
  expect(called).toBe(false);
  stop();
});
