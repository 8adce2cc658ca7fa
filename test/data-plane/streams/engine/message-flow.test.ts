import { expect, test } from 'vitest';
import { ServiceError } from '../../../../src/platform/errors.ts';
import { definition, openStore, reported, reportOf, startEngine } from './engine-parts.ts';
import { lostConnection, notAllowed, ScriptedSession } from './scripted-session.ts';

test('a message is released when what came of it is on disk and taken by the broker, not before', async () => {
  const session = new ScriptedSession();
  const store = openStore();
  const engine = startEngine(session, { store });
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', process: false, persist: true }));
  session.takesAtOnce = false;

  const message = session.deliver('in', 'x');
  expect(message.isReleased()).toBe(false);
  session.published[0]?.done();
  expect(message.isReleased()).toBe(false);
  await store.close();

  expect(message.isReleased()).toBe(true);
  expect((await reportOf(engine)).counters).toMatchObject({ received: 1, stored: 1, published: 1, failed: 0 });
});

test('a message whose publish was lost with the connection is never released; at QoS 0 it is counted as lost', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', process: false }));
  session.takesAtOnce = false;

  const atLeastOnce = session.deliver('in', 'x', 1);
  const atMostOnce = session.deliver('in', 'y', 0);
  for (const { done } of session.published) done(lostConnection());

  expect([atLeastOnce.isReleased(), atMostOnce.isReleased()]).toEqual([false, false]);
  const { counters } = await reportOf(engine);
  expect(counters).toMatchObject({ received: 2, published: 0, failed: 1 });
  expect(counters.lastError?.reason).toContain('out');
});

test('what the broker refuses to take is counted with what to grant, and released', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', process: false }));
  session.takesAtOnce = false;

  const refused = session.deliver('in', 'x');
  session.published[0]?.done(notAllowed());
  expect(refused.isReleased()).toBe(true);
  const { state, problem, counters: counted } = await reportOf(engine);
  expect(counted.lastError?.reason).toMatch(/"out": the account of this service needs permission to publish there/);
  expect([state, problem]).toEqual(['RUNNING', counted.lastError?.reason]);

  const tooLarge = session.deliver('in', 'y');
  session.published[1]?.done(new ServiceError('BROKER_REJECTED', 'Packet too large'));
  expect(tooLarge.isReleased()).toBe(true);
  const { counters } = await reportOf(engine);
  expect(counters).toMatchObject({ failed: 2, published: 0 });
  expect(counters.lastError?.reason).toContain('Packet too large');

  const told = reported(engine, (report) => report.problem === null);
  session.deliver('in', 'z');
  session.published[2]?.done();
  expect((await told).counters).toMatchObject({ failed: 2, published: 1 });
});

test('a late refusal of an earlier target is no problem of the new target', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  const first = definition({ sourceTopic: 'in', targetTopic: 'old', process: false });
  await engine.put('a', first);
  session.takesAtOnce = false;
  session.deliver('in', 'x');
  await engine.put('a', { ...first, targetTopic: 'new' });
  session.published[0]?.done(notAllowed());
  const { problem, counters } = await reportOf(engine);
  expect([problem, counters.failed]).toEqual([null, 1]);
});

test('filtered messages, and those that are not JSON, are counted and not held', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  const query = { where: [{ left: '[n]', operator: '>', right: 1 } as const] };
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', query }));

  const lastFiltered = async () => (await reportOf(engine)).counters.lastFiltered?.reason;
  expect(await lastFiltered()).toBeUndefined();
  for (const payload of ['{"n":2}', '{"n":1}']) session.deliver('in', payload);
  expect(await lastFiltered()).toBe('not [n] > 1');
  for (const payload of ['{}', 'no json']) session.deliver('in', payload);
  expect(await lastFiltered()).toBe('[n] is missing');

  expect(session.published.map(({ payload }) => payload)).toEqual(['{"n":2}']);
  expect((await reportOf(engine)).counters).toMatchObject({ received: 4, published: 1, filtered: 2, failed: 1 });
});

test('with a full store messages are counted as not stored, still published and released, until there is room', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session, { store: openStore({ maxBytes: 500_000 }) });
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', process: false, persist: true }));

  const full = reported(engine, ({ storage }) => storage.state === 'FULL');
  for (let sent = 0; sent < 20; sent += 1) {
    const message = session.deliver('in', 'x'.repeat(50_000));
    while (!message.isReleased()) await new Promise((resolve) => setImmediate(resolve));
  }

  const { state, problem, storage } = await full;
  expect(state).toBe('RUNNING');
  expect(problem).toBe(storage.problem);
  const { counters } = await reportOf(engine);
  expect(counters).toMatchObject({ received: 20, published: 20, failed: 0 });
  expect(counters.notStored).toBeGreaterThan(0);
  expect(counters.stored + counters.notStored).toBe(20);
  expect(counters.lastError?.reason).toBe(problem);

  const free = reported(engine, (report) => report.storage.state === 'STORING');
  expect(await engine.clear('a', { from: null, to: null })).toBe(counters.stored);
  expect((await free).problem).toBeNull();
});

test('reading stops at the bound of messages in flight and goes on at half of it', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', process: false }));
  session.takesAtOnce = false;

  let sent = 0;
  for (; !session.isPaused && sent < 100_000; sent += 1) session.deliver('in', 'x');
  expect(sent).toBe(4_096);
  for (const { done } of session.published.slice(0, sent / 2 - 1)) done();
  expect(session.isPaused).toBe(true);
  session.published[sent / 2 - 1]?.done();
  expect(session.isPaused).toBe(false);
  for (const { done } of session.published.slice(sent / 2)) done();
  expect(session.pauses).toBe(1);

  const large = 'x'.repeat(1024 * 1024);
  for (sent = 0; !session.isPaused && sent < 100; sent += 1) session.deliver('in', large);
  expect(sent).toBe(16);
  for (const { done } of session.published.slice(4_096)) done();
  expect(session.isPaused).toBe(false);
});

test('closing waits for what is under way', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', process: false }));
  session.takesAtOnce = false;
  const message = session.deliver('in', 'x');
  let isClosed = false;
  const closed = engine.close().then(() => {
    isClosed = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isClosed).toBe(false);
  session.published[0]?.done();
  await closed;
  expect(message.isReleased()).toBe(true);
});

test('what comes when the engine is closed is left to the broker', async () => {
  const session = new ScriptedSession();
  const engine = startEngine(session);
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', process: false }));

  await engine.close();

  expect(session.filters).toEqual(['in']);
  expect(session.deliver('in', 'x').isReleased()).toBe(false);
  expect(session.published).toEqual([]);
  await expect(engine.put('b', definition({ sourceTopic: 'in' }))).rejects.toMatchObject({
    code: 'BROKER_UNREACHABLE',
  });
});
