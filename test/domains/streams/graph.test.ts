import { expect, test } from 'vitest';
import { heardOn, KINDS, streamWorld } from './stream-world.ts';

const REPORT = `stream {
  state problem isReplaying messageCount provider
  counters { received published stored filtered failed notStored lastError { reason } lastFiltered { at reason } }
  storage { state messages bytes oldest newest problem }
  replay { state topic from to limit speed isReverse published total position startedAt endedAt problem }
}`;
const ONE = `query ($b: ID!, $name: String!) { broker(id: $b) { ${REPORT.replace('stream', 'stream(name: $name)')} } }`;

test.each(KINDS)('a stream on %s is made, works, stores, replays and is deleted', async (kind) => {
  const { graph, change, unchanged, client } = await streamWorld(kind);
  const device = await client();
  const { heard, until } = await heardOn(await client(), 'out/#');
  const told = async (name: string) => (await graph(ONE, { name })).broker.stream;

  const query = {
    select: [{ source: '[speed]', target: '[data][speed]' }],
    where: [{ operator: '>', left: '[speed]', right: 10 }],
  };
  const fast = { name: 'fast ü/1', sourceTopic: 'in/+', targetTopic: 'out/fast', query, persist: true };
  const { stream } = await change('createStream', fast, REPORT);
  expect(stream).toMatchObject({
    state: 'RUNNING',
    isReplaying: false,
    messageCount: 0,
    provider: kind === 'Mosquitto' ? 'GATEWAY' : 'BROKER',
    storage: { state: 'STORING', messages: 0 },
    replay: null,
  });
  for (const payload of ['{"speed":5}', '{"speed":12}', 'no JSON', '{"speed":99,"more":1}']) {
    await device.publishAsync('in/a', payload, { qos: 1 });
  }
  expect((await until(2)).map(({ topic, text, qos, retain }) => [topic, text, qos, retain])).toEqual([
    ['out/fast', '{"data":{"speed":12}}', 1, false],
    ['out/fast', '{"data":{"speed":99}}', 1, false],
  ]);
  await expect.poll(async () => (await told(fast.name)).counters).toMatchObject({ published: 2, stored: 2 });
  expect(await told(fast.name)).toMatchObject({
    state: 'RUNNING',
    problem: null,
    messageCount: 2,
    counters: {
      received: 4,
      published: 2,
      stored: 2,
      filtered: 1,
      failed: 1,
      lastError: { reason: 'the payload is not JSON' },
      lastFiltered: { at: expect.stringContaining('Z'), reason: 'not [speed] > 10' },
    },
  });

  // A loop is refused with the chain, wherever the streams run.
  const loop = await unchanged('createStream', { name: 'back', sourceTopic: 'out/#', targetTopic: 'in/b' });
  expect(loop.extensions).toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: 'input.targetTopic', reason: expect.stringContaining('back -> fast ü/1 -> back') }] },
  });
  const again = await unchanged('replayStream', { name: fast.name, topic: 'in/again' });
  expect(again.extensions).toMatchObject({ code: 'INVALID', info: { issues: [{ path: 'input.topic' }] } });
  expect((await unchanged('createStream', { ...fast, query: {} })).extensions.code).toBe('ALREADY_EXISTS');
  expect(
    (await unchanged('updateStream', { name: fast.name, ttl: -1, sourceTopic: '$SYS/#' })).extensions.info,
  ).toEqual({
    issues: [
      { path: 'input.sourceTopic', reason: expect.any(String) },
      { path: 'input.ttl', reason: expect.any(String) },
    ],
  });

  await change('replayStream', { name: fast.name, topic: 'out/replay', fastest: true, reverse: true, limit: 1 });
  expect((await until(3)).at(-1)).toMatchObject({ topic: 'out/replay', text: '{"data":{"speed":99}}' });
  await expect.poll(async () => (await told(fast.name)).replay?.state).toBe('DONE');
  expect((await told(fast.name)).replay).toMatchObject({
    topic: 'out/replay',
    limit: 1,
    speed: null,
    isReverse: true,
    published: 1,
    total: 1,
    from: null,
    problem: null,
    endedAt: expect.any(String),
  });

  const off = await change('disableStream', { name: fast.name }, REPORT);
  expect(off.stream).toMatchObject({ state: 'INACTIVE', messageCount: 2 });
  await device.publishAsync('in/a', '{"speed":77}', { qos: 1 });
  await change('enableStream', { name: fast.name });
  await expect.poll(async () => (await told(fast.name)).state).toBe('RUNNING');
  await change('updateStream', { name: fast.name, process: false, targetQos: 0, key: '' });
  await device.publishAsync('in/a', 'as it is', { qos: 2 });
  expect((await until(4)).at(-1)).toMatchObject({ topic: 'out/fast', text: 'as it is', qos: 0 });
  expect(heard).toHaveLength(4);

  const cleared = await change('clearStreamMessages', { name: fast.name, to: '2001-01-01T00:00:00Z' }, REPORT);
  expect(cleared.stream.messageCount).toBe(3);
  expect((await change('clearStreamMessages', { name: fast.name }, REPORT)).stream.messageCount).toBe(0);
  await change('updateStream', { name: fast.name, persist: false });
  expect((await unchanged('replayStream', { name: fast.name, topic: 'x' })).extensions.code).toBe('BROKER_REJECTED');
  await change('deleteStream', { name: fast.name });
  expect(await told(fast.name)).toBeNull();
  expect((await unchanged('enableStream', { name: fast.name })).extensions.code).toBe('NOT_FOUND');
});

test.each(KINDS)('an expression filters and computes on %s', async (kind) => {
  const { change, unchanged, client } = await streamWorld(kind);
  const device = await client();
  const { until } = await heardOn(await client(), 'out/#');
  const query = {
    expression: { filter: 'levels[1] != "b"', output: '{"celsius": (payload.f - 32) * 5 / 9, "line": levels[1]}' },
  };
  const celsius = { name: 'celsius', sourceTopic: 'in/+', targetTopic: 'out/celsius', query };
  const { stream } = await change('createStream', celsius, 'stream { state query }');
  expect(stream).toEqual({ state: 'RUNNING', query });

  for (const [topic, payload] of [
    ['in/a', '{"f":212}'],
    ['in/b', '{"f":50}'],
    ['in/c', '{"f":50}'],
  ] as const) {
    await device.publishAsync(topic, payload, { qos: 1 });
  }
  expect((await until(2)).map(({ text }) => text)).toEqual(['{"celsius":100,"line":"a"}', '{"celsius":10,"line":"c"}']);

  const invalid = await unchanged('updateStream', { name: 'celsius', query: { expression: { output: 'payload.' } } });
  expect(invalid.extensions).toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: 'input.query.expression.output' }] },
  });
});
