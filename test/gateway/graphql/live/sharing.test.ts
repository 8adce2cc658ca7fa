import { expect, onTestFinished, test } from 'vitest';
import type { RightsGuard } from '../../../../src/platform/auth/rights-guards.ts';
import type { Viewer } from '../../../../src/platform/auth/viewer.ts';
import { ServiceError } from '../../../../src/platform/errors.ts';
import { startGraphqlServer } from '../server.ts';
import { createTicks, type RawSubscriber, subscriber, type Transport } from './subscribers.ts';

const TRANSPORTS: readonly Transport[] = ['WebSocket', 'SSE'];
const COUNTER =
  'subscription ($label: String! = "", $after: Float) { counter(label: $label, after: $after) { kind n label isRoot whoami } }';

const reach = (subscribers: readonly RawSubscriber[], n: number) =>
  Promise.all(subscribers.map(({ until }) => until(({ data }) => data?.counter.n === n)));

test.each(TRANSPORTS)('100 identical subscribers over %s cost one execution per event', async (transport) => {
  const { ticks, tick } = createTicks();
  let executions = 0;
  const { port } = await startGraphqlServer({ ticks, onExecution: () => (executions += 1) });
  const subscribers = await Promise.all(
    Array.from({ length: 100 }, (_, i) => subscriber(transport, port, COUNTER, { token: `person${i}` })),
  );
  await reach(subscribers, 0);
  // A snapshot is taken again after a second.
  expect(executions).toBeLessThan(20);
  executions = 0;
  for (let n = 1; n <= 10; n++) {
    tick();
    await reach(subscribers, n);
  }
  expect(executions).toBe(10);
  for (const { results } of subscribers) {
    expect(results.map(({ data }) => data.counter.n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    // Shared results contain no name of a subscriber.
    expect(results.every(({ data }) => data.counter.whoami === '')).toBe(true);
  }
});

test('other variables or permissions have other results; other start positions have the same', async () => {
  const { ticks, tick } = createTicks();
  let executions = 0;
  const viewerOf = (viewer: Viewer | null) => ({ ...(viewer as Viewer), isRootAdmin: viewer?.name === 'root' });
  const { port } = await startGraphqlServer({
    ticks,
    onExecution: () => (executions += 1),
    guard: (viewer) => ({
      viewer: viewerOf(viewer),
      signal: new AbortController().signal,
      stop: () => undefined,
    }),
  });
  const all = await Promise.all([
    subscriber('WebSocket', port, COUNTER, { token: 'ann', variables: { label: 'one' } }),
    subscriber('SSE', port, COUNTER, { token: 'bob', variables: { label: 'one', after: ticks.sequence } }),
    subscriber('SSE', port, COUNTER, { token: 'ann', variables: { label: 'two' } }),
    subscriber('WebSocket', port, COUNTER, { token: 'root', variables: { label: 'two' } }),
  ]);
  await Promise.all(all.map(({ until }) => until(() => true)));
  executions = 0;
  tick();
  const results = await reach(all, 1);
  expect(executions).toBe(3);
  expect(results.map(({ data: { counter } }) => [counter.label, counter.isRoot])).toEqual([
    ['one', false],
    ['one', false],
    ['two', false],
    ['two', true],
  ]);
});

/** Permissions that a test changes and ends. */
function changeable(start: Viewer): RightsGuard & { viewer: Viewer; end: (why: unknown) => void } {
  const controller = new AbortController();
  return {
    viewer: start,
    signal: controller.signal,
    stop: () => undefined,
    end: (why) => controller.abort(why),
  };
}

test.each(TRANSPORTS)('changed permissions that still suffice change the results over %s', async (transport) => {
  const { ticks, tick } = createTicks();
  const guards = new Map<string, ReturnType<typeof changeable>>();
  let executions = 0;
  const { port } = await startGraphqlServer({
    ticks,
    onExecution: () => (executions += 1),
    guard: (viewer) => {
      const guard = changeable(viewer as Viewer);
      guards.set(guard.viewer.name, guard);
      return guard;
    },
  });
  const [ann, bob] = await Promise.all(['ann', 'bob'].map((token) => subscriber(transport, port, COUNTER, { token })));
  if (!ann || !bob) throw new Error('both were started');
  await reach([ann, bob], 0);
  const guard = guards.get('ann');
  if (!guard) throw new Error('ann has a guard');
  guard.viewer = { ...guard.viewer, isRootAdmin: true };
  executions = 0;
  tick();
  expect((await reach([ann, bob], 1)).map(({ data }) => data.counter.isRoot)).toEqual([true, false]);
  expect(executions).toBe(2);
  guard.viewer = { ...guard.viewer, isRootAdmin: false };
  tick();
  expect((await reach([ann, bob], 2)).map(({ data }) => data.counter.isRoot)).toEqual([false, false]);
  expect(executions).toBe(3);
});

test.each(TRANSPORTS)('asynchronous results keep the order of the events over %s', async (transport) => {
  const { ticks, tick } = createTicks();
  const { port } = await startGraphqlServer({ ticks });
  const query = 'subscription { counter { n later } }';
  const subscribers = await Promise.all([1, 2, 3].map(() => subscriber(transport, port, query)));
  await reach(subscribers, 0);
  for (let i = 0; i < 20; i++) tick();
  await reach(subscribers, 20);
  for (const { results } of subscribers) {
    expect(results.map(({ data }) => data.counter.later)).toEqual(Array.from({ length: 21 }, (_, n) => n));
  }
});

test('a bug in a shared result is reported to all subscribers and logged once', async () => {
  const { ticks, tick } = createTicks();
  const { port, logged } = await startGraphqlServer({ ticks });
  const query = 'subscription { counter { n bug } }';
  const subscribers = await Promise.all([1, 2, 3].map(() => subscriber('SSE', port, query)));
  await reach(subscribers, 0);
  logged.length = 0;
  tick();
  const results = await reach(subscribers, 1);
  const info = { requestId: expect.any(String) };
  for (const result of results) {
    expect(result).toMatchObject({
      data: { counter: { bug: null } },
      errors: [{ message: 'Internal error', extensions: { code: 'INTERNAL_ERROR', info } }],
    });
  }
  expect(logged).toHaveLength(1);
});

test('a bug in a shared result contains no request id of a subscriber, because callers choose these', async () => {
  const { ticks } = createTicks();
  const { url, logged } = await startGraphqlServer({ ticks });
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-request-id': 'mine' },
    body: JSON.stringify({ query: 'subscription { counter { bug } }' }),
    signal: left.signal,
  });
  let text = '';
  for await (const chunk of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes('INTERNAL_ERROR')) break;
  }
  const told = /"requestId":"([^"]+)"/.exec(text)?.[1];
  expect(told).toMatch(/^[\da-f-]{36}$/);
  expect(logged).toMatchObject([{ requestId: told }]);
});

test.each(TRANSPORTS)(
  'permissions that end while a result is pending end the stream immediately over %s',
  async (transport) => {
    const { ticks } = createTicks();
    let guard: ReturnType<typeof changeable> | undefined;
    const { port } = await startGraphqlServer({
      ticks,
      guard: (viewer) => {
        guard = changeable(viewer as Viewer);
        return guard;
      },
      onExecution: () =>
        setImmediate(() => guard?.end(new ServiceError('NOT_ALLOWED', `You are out: ${'ü'.repeat(100)}`))),
    });
    const events = await subscriber(transport, port, 'subscription { counter { n never } }', { token: 'ann' });
    const { code, reason } = await events.ended;
    expect(events.results).toMatchObject([{ errors: [{ extensions: { code: 'NOT_ALLOWED' } }] }]);
    if (transport === 'SSE') return;
    // A close frame has at most 123 bytes of reason, without half a character.
    expect([code, reason]).toEqual([4403, `You are out: ${'ü'.repeat(55)}`]);
  },
);
