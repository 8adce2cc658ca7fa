import { expect, test } from 'vitest';
import { send, startGraphqlServer } from '../server.ts';
import { expectFlatMemoryAndGap } from './slow-reader.ts';
import { createTicks, type RawSubscriber, subscriber, type Transport } from './subscribers.ts';

test.each<Transport>(['WebSocket', 'SSE'])(
  'a client that stops reading %s under load costs no memory, and gets a GAP and the state',
  (transport) => expectFlatMemoryAndGap(transport, 2_500),
);

test('a request gets a response while a burst is sent to 1,000 subscribers', async () => {
  const { ticks, tick } = createTicks();
  const server = await startGraphqlServer({ ticks });
  const query = 'subscription { counter { n } }';
  const subscribers: RawSubscriber[] = [];
  // Opened in groups: a socket without connection_init after three seconds is refused.
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
  // The response came while most subscribers still waited.
  expect(told() - before).toBeLessThan((burst * 1_000) / 2);
  await last;
});
