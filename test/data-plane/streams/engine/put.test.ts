import { expect, onTestFinished, test, vi } from 'vitest';
import type { StreamQuery } from '../../../../src/data-plane/streams/model/stream-query.ts';
import type { StreamReport } from '../../../../src/data-plane/streams/model/stream-report.ts';
import { ServiceError } from '../../../../src/platform/errors.ts';
import { definition, openStore, reported, reportOf, startEngine, stored } from './engine-parts.ts';
import { lostConnection, notAllowed, ScriptedSession } from './scripted-session.ts';

const COUNT: StreamQuery = { select: [{ source: '', target: '[n]', function: 'count' }] };
const SUM: StreamQuery = { select: [{ source: '[v]', target: '[n]', function: 'sum' }] };

test('aggregates continue if the target or the source changes, and start again if the query changes or it was off', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  const last = () => session.published.at(-1);
  const first = definition({ sourceTopic: 'in', targetTopic: 'out', query: COUNT });
  await engine.put('a', first);
  session.deliver('in', '{"v":5}');
  session.deliver('in', '{"v":5}');
  expect(last()).toMatchObject({ topic: 'out', payload: '{"n":2}' });

  await engine.put('a', { ...first, targetTopic: 'out2' });
  session.deliver('in', '{"v":5}');
  expect(last()).toMatchObject({ topic: 'out2', payload: '{"n":3}' });

  await engine.put('a', { ...first, sourceTopic: 'in2' });
  session.deliver('in', '{"v":5}');
  session.deliver('in2', '{"v":5}');
  expect(last()).toMatchObject({ topic: 'out', payload: '{"n":4}' });

  await engine.put('a', { ...first, query: SUM });
  session.deliver('in', '{"v":5}');
  expect(last()).toMatchObject({ payload: '{"n":5}' });

  await engine.put('a', { ...first, query: SUM, active: false });
  expect(session.filters).toEqual([]);
  await engine.put('a', { ...first, query: SUM });
  session.deliver('in', '{"v":5}');
  expect(last()).toMatchObject({ payload: '{"n":5}' });
  expect((await reportOf(engine)).counters).toMatchObject({ received: 6, published: 6 });
});

test('a new source is subscribed before the old one is left, and what both match comes once', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  const first = definition({ sourceTopic: 'in/#', targetTopic: 'old', process: false });
  await engine.put('a', first);
  session.grantsAtOnce = false;

  const put = engine.put('a', { ...first, sourceTopic: 'in/+', targetTopic: 'new' });
  await asked(session, 2);
  expect(session.filters).toEqual(['in/#']);
  session.deliver('in/1', 'x');
  session.asked[1]?.answer();
  // The grant is reported before `subscribe` resolves.
  expect(session.deliver('in/2', 'x').listeners).toBe(2);
  await put;
  session.deliver('in/3', 'x');

  expect(session.filters).toEqual(['in/+']);
  expect(session.published.map(({ topic }) => topic)).toEqual(['old', 'old', 'new']);
});

test('a refused source is reported with the missing access, retried with each put and connection, and runs when granted', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  const first = definition({ sourceTopic: 'in/#', targetTopic: 'out', process: false });
  await engine.put('a', first);
  session.grantsAtOnce = false;

  const put = engine.put('a', { ...first, sourceTopic: 'secret/#' });
  await asked(session, 2);
  session.asked[1]?.answer(notAllowed());
  await put;
  const refused = await reportOf(engine);
  expect(refused.state).toBe('REFUSED');
  expect(refused.problem).toMatch(/"secret\/#": the account of this service needs permission to subscribe/);
  // What is no longer its source is left all the same.
  expect(session.filters).toEqual([]);

  const again = engine.put('a', { ...first, sourceTopic: 'secret/#', targetTopic: 'out2' });
  await asked(session, 3);
  session.asked[2]?.answer(new ServiceError('BROKER_REJECTED', 'Quota exceeded'));
  await again;
  expect((await reportOf(engine)).problem).toContain('Quota exceeded');

  session.lose();
  expect((await reportOf(engine)).state).toBe('WAITING');
  session.grantsAtOnce = true;
  session.connect();
  expect((await reported(engine, ({ state }) => state === 'RUNNING')).problem).toBeNull();
  expect(session.filters).toEqual(['secret/#']);

  session.asked.at(-1)?.refuseLater(notAllowed());
  expect((await reportOf(engine)).state).toBe('REFUSED');
  expect(session.filters).toEqual([]);
});

test.each([
  ['refused', notAllowed(), 30_000],
  ['not answered', new ServiceError('BROKER_TIMEOUT', 'No answer'), 5_000],
])('a source that was %s is asked for again after a while', async (_, error, ms) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const session = new ScriptedSession();
  session.grantsAtOnce = false;
  const engine = startEngine(session);
  const put = engine.put('a', definition({ sourceTopic: 'in' }));
  await asked(session, 1);
  session.asked[0]?.answer(error);
  await put;
  expect((await reportOf(engine)).state).toBe(error.code === 'NOT_ALLOWED' ? 'REFUSED' : 'WAITING');

  session.grantsAtOnce = true;
  vi.advanceTimersByTime(ms - 1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(session.asked.length).toBe(1);
  vi.advanceTimersByTime(1);
  expect((await reported(engine, ({ state }) => state === 'RUNNING')).problem).toBeNull();
});

test('a query that cannot be compiled is reported, and the stream runs with the next valid one', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  const bad = { select: [{ source: 'no path', target: '[x]' }] };
  await engine.put('a', definition({ sourceTopic: 'in', query: bad }));
  const failed = await reportOf(engine);
  expect(failed.state).toBe('FAILED');
  expect(failed.problem).toContain('source');
  expect(session.filters).toEqual([]);
  await engine.put('a', definition({ sourceTopic: 'in', query: COUNT }));
  expect(await reportOf(engine)).toMatchObject({ state: 'RUNNING', problem: null });
});

test('a stream waits while the broker is not connected, and each change is reported once', async () => {
  const session = new ScriptedSession();
  session.lose();
  const engine = startEngine(session);
  const told: string[] = [];
  engine.onChange((id, { state }) => told.push(`${id} ${state}`));

  await engine.put('a', definition({ sourceTopic: 'in' }));
  expect(session.asked).toEqual([]);
  session.connect();
  await reported(engine, ({ state }) => state === 'RUNNING');
  session.lose();
  session.connect();
  await engine.put('a', definition({ sourceTopic: 'in', active: false }));

  const seen = told.filter((state, index) => state !== told[index - 1]);
  expect(seen).toEqual(['a WAITING', 'a RUNNING', 'a WAITING', 'a RUNNING', 'a INACTIVE']);
  expect(session.asked.length).toBe(1);
});

test('a broker that is being connected to is not said to be away', async () => {
  const session = new ScriptedSession();
  session.status = { state: 'CONNECTING', since: new Date(0).toISOString() };
  const engine = startEngine(session);
  await engine.put('a', definition({ sourceTopic: 'in' }));
  expect((await engine.report(['a'])).get('a')).toMatchObject({
    state: 'WAITING',
    problem: 'The broker is being connected to',
  });
  session.connect();
  await reported(engine, ({ state, problem }) => state === 'RUNNING' && problem === null);
});

test('a source that was asked for when the connection was lost is asked for again', async () => {
  const session = new ScriptedSession();
  session.grantsAtOnce = false;
  const engine = startEngine(session);
  const put = engine.put('a', definition({ sourceTopic: 'in' }));
  await asked(session, 1);
  session.lose();
  session.connect();
  session.asked[0]?.answer(lostConnection());
  await asked(session, 2);
  session.asked[1]?.answer();
  await put;
  expect((await reportOf(engine)).state).toBe('RUNNING');
});

test('a stream that is removed while it is being subscribed leaves nothing behind', async () => {
  const session = new ScriptedSession();
  session.grantsAtOnce = false;
  const store = openStore();
  const engine = startEngine(session, { store });
  const put = engine.put('a', definition({ sourceTopic: 'in', persist: true, process: false }));
  await asked(session, 1);
  await engine.remove('a');
  session.asked[0]?.answer();
  await put;

  expect(session.filters).toEqual([]);
  expect(session.asked[0]?.isStopped).toBe(true);
  expect((await engine.report()).size).toBe(0);
  await expect(engine.clear('a', { from: null, to: null })).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('remove deletes stored messages, also of a stream that does not run here; an unknown id is ignored', async () => {
  const store = openStore();
  for (const id of ['a', 'b', 'c']) await stored(store.log(id), 'x');
  const engine = startEngine(new ScriptedSession(), { store });
  await engine.put('a', definition({ sourceTopic: 'in' }));
  const { storage } = await reportOf(engine);
  expect(storage).toMatchObject({ state: 'OFF', messages: 1 });

  await Promise.all([engine.remove('a'), engine.remove('b'), engine.remove('unknown')]);

  expect(store.ids()).toEqual(['c']);
});

test('what is stored of streams that were deleted before the start is removed, and nothing of others', async () => {
  const store = openStore();
  for (const id of ['put', 'known', 'deleted']) await stored(store.log(id), 'x');
  const engine = startEngine(new ScriptedSession(), { store });
  await engine.put('put', definition({ sourceTopic: 'in' }));

  await engine.removeOthers(['known']);

  expect(store.ids().toSorted()).toEqual(['known', 'put']);
});

test('persist off and on: what is stored stays, and what comes meanwhile is not stored', async () => {
  const session = new ScriptedSession();
  const store = openStore();
  const engine = startEngine(session, { store });
  const on = definition({ sourceTopic: 'in', process: false, persist: true });
  for (const persist of [true, false, true]) {
    await engine.put('a', { ...on, persist });
    session.deliver('in', String(persist));
  }
  await expect.poll(async () => (await reportOf(engine)).counters.stored).toBe(2);
  expect((await reportOf(engine)).storage).toMatchObject({ state: 'STORING', messages: 2 });
  expect(await engine.clear('a', { from: null, to: null })).toBe(2);
});

test('thousands of streams are subscribed a few at a time', async () => {
  const session = new ScriptedSession();
  session.grantsAtOnce = false;
  const engine = startEngine(session);
  const count = 2_000;
  const puts = Array.from({ length: count }, (_, index) =>
    engine.put(`s${index}`, definition({ name: `s${index}`, sourceTopic: `in/${index}` })),
  );
  let most = 0;
  for (let answered = 0; answered < count; ) {
    await asked(session, answered + 1);
    most = Math.max(most, session.asked.length - answered);
    session.asked[answered]?.answer();
    answered += 1;
  }
  await Promise.all(puts);
  expect(most).toBe(32);
  const reports = [...(await engine.report()).values()];
  expect(reports.filter(({ state }: StreamReport) => state === 'RUNNING').length).toBe(count);
});

/** Waits until so many subscriptions were asked for. */
async function asked(session: ScriptedSession, count: number): Promise<void> {
  while (session.asked.length < count) await new Promise((resolve) => setImmediate(resolve));
}

test('`settled` waits for the first connection and the response of the broker, and not after a lost connection', async () => {
  const session = new ScriptedSession();
  session.status = { state: 'CONNECTING', since: new Date(0).toISOString() };
  session.grantsAtOnce = false;
  const engine = startEngine(session);
  const order: string[] = [];
  const waited = async (id: string) => {
    await engine.settled(id, 600_000);
    const { state } = await reportOf(engine, id);
    order.push(`${id} ${state}`);
  };
  for (const id of ['a', 'b', 'c', 'off'])
    await engine.put(id, definition({ name: id, sourceTopic: id, active: id !== 'off' }));
  const all = ['a', 'b', 'c', 'off'].map(waited);
  await engine.settled('unknown', 600_000);
  await all[3];
  expect(order).toEqual(['off INACTIVE']);

  session.connect();
  await asked(session, 3);
  session.asked[1]?.answer(notAllowed());
  await all[1];
  session.asked[0]?.answer();
  await all[0];
  // Of the one that is not answered, no longer than asked for.
  await engine.settled('c', 1);
  expect(order).toEqual(['off INACTIVE', 'b REFUSED', 'a RUNNING']);
  await engine.remove('c');
  await expect(all[2]).rejects.toThrow('no stream c');

  session.lose();
  await waited('a');
  expect(order.at(-1)).toBe('a WAITING');
});
