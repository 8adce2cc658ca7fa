import { expect, test } from 'vitest';
import { startGraphqlServer } from '../server.ts';
import { createTicks, subscriber, type Transport } from './subscribers.ts';

const COUNTER = 'subscription ($after: Float) { counter(after: $after) { kind sequence partsLeft n } }';

test.each<Transport>(['WebSocket', 'SSE'])(
  'a subscriber that reconnects over %s resumes while the changes are stored',
  async (transport) => {
    const { ticks, tick } = createTicks({ history: 3 });
    const { port } = await startGraphqlServer({ ticks });
    const first = await subscriber(transport, port, COUNTER);
    tick();
    const { data } = await first.until((result) => result.data.counter.n === 1);
    const { sequence } = data.counter;
    expect([sequence, data.counter.partsLeft]).toEqual([ticks.sequence, 0]);
    first.end();

    tick();
    tick();
    const back = await subscriber(transport, port, COUNTER, { variables: { after: sequence } });
    await back.until((result) => result.data.counter.n === 3);
    expect(back.results.map((result) => result.data.counter)).toEqual([
      { kind: 'RESUMED', sequence, partsLeft: 0, n: null },
      { kind: 'CHANGE', sequence: sequence + 1, partsLeft: 0, n: 2 },
      { kind: 'CHANGE', sequence: sequence + 2, partsLeft: 0, n: 3 },
    ]);

    tick();
    tick();
    for (const after of [sequence, sequence + 1_000, 0, createTicks().ticks.sequence, 1.5]) {
      const late = await subscriber(transport, port, COUNTER, { variables: { after } });
      expect((await late.until(() => true)).data.counter).toEqual({
        kind: 'SNAPSHOT',
        sequence: ticks.sequence,
        partsLeft: 0,
        n: 5,
      });
    }
  },
);
