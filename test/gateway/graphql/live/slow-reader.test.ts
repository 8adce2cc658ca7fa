import { expect, test } from 'vitest';
import { send, startGraphqlServer } from '../server.ts';
import { expectFlatMemoryThenTruth } from './slow-reader.ts';
import { createTicks, type RawSubscriber, subscriber, type Transport } from './subscribers.ts';

test.each<Transport>(['WebSocket', 'SSE'])(
  'who stops reading %s under 5,000 events a second costs no memory, and is then told of the gap and the truth',
  (transport) => expectFlatMemoryThenTruth(transport, 2_500),
);

test('a request is answered while a burst is told to 1,000 subscribers', async () => {
  const { ticks, tick } = createTicks();
  const server = await startGraphqlServer({ ticks });
  const query = 'subscription { counter { n } }';
  const subscribers: RawSubscriber[] = [];
  // Not all at once: who has not said hello after three seconds is turned away.
  while (subscribers.length < 1_000) {
    const some = await Promise.all(Array.from({ length: 100 }, () => subscriber('WebSocket', server.port, query)));
    await Promise.all(some.map(({ until }) => until(() => true)));
    subscribers.push(...some);
  }
  const told = () => subscribers.reduce((sum, { results }) => sum + results.length, 0);
  const before = told();
  const burst = 30;
  const last = Promise.all(subscribers.map(({ until }) => until(({ data }) => data.counter.n === burst)));
  for (let i = 0; i < burst; i++) tick();
  const { json } = await send(server, 'POST', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ hello }' }),
  });
  expect(json).toEqual({ data: { hello: 'hello you' } });
  // It was answered while most were still waiting for theirs.
  expect(told() - before).toBeLessThan((burst * 1_000) / 2);
  await last;
});
