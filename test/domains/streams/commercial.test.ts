import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';
import { startCommercialStreams } from './commercial-streams.ts';
import { addBroker, worldOf } from './stream-world.ts';

test('a broker with the plugin runs its own streams: what is returned, what is sent to it, and what is refused before', async () => {
  const broker = await startCommercialStreams();
  const service = await startTestService();
  const { graph, rest, change, unchanged, follow } = worldOf(
    service,
    await addBroker(service, broker.url),
    broker.url,
    {},
  );
  const last = () => broker.commands.at(-1);

  const created = await change(
    'createStream',
    { name: 'fast', sourceTopic: 'plant/+', targetTopic: 'fast', ttl: 60, textName: null },
    'stream { id name targetQos ttl isActive persist query state counters { received } messageCount provider }',
  );
  expect(broker.commands.find(({ command }) => command === 'createStream')).toEqual({
    command: 'createStream',
    streamname: 'fast',
    sourcetopic: 'plant/+',
    targettopic: 'fast',
    targetqos: -1,
    ttl: 60,
    active: true,
    process: true,
    persist: false,
    query: {},
  });
  expect(created.stream).toEqual({
    id: expect.stringMatching(/^str_brk_\w+\.ZmFzdA$/),
    name: 'fast',
    targetQos: -1,
    ttl: 60,
    isActive: true,
    persist: false,
    query: {},
    state: null,
    counters: null,
    messageCount: null,
    provider: 'BROKER',
  });
  const node = 'query ($id: ID!) { node(id: $id) { __typename id ... on Stream { name broker { id } } } }';
  expect((await graph(node, { id: created.stream.id })).node).toMatchObject({ __typename: 'Stream', name: 'fast' });
  expect((await graph(node, { id: created.stream.id.replace('ZmFzdA', 'bm9uZQ') })).node).toBeNull();
  expect((await unchanged('createStream', { name: 'fast', sourceTopic: 'a' })).extensions.code).toBe('ALREADY_EXISTS');

  // Expressions are refused here, because the plugin does not know them.
  const before = broker.commands.length;
  const expression = { name: 'celsius', sourceTopic: 'plant/+', query: { expression: { output: 'payload.f / 2' } } };
  expect((await unchanged('createStream', expression)).extensions.code).toBe('NOT_SUPPORTED_BY_BROKER');
  const { query } = expression;
  expect((await unchanged('updateStream', { name: 'fast', query })).extensions.code).toBe('NOT_SUPPORTED_BY_BROKER');

  // Loops are refused here, because the plugin may accept them.
  const loop = await unchanged('createStream', { name: 'back', sourceTopic: 'fast', targetTopic: 'plant/7' });
  expect(loop.extensions).toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: 'input.targetTopic', reason: expect.stringContaining('back -> fast -> back') }] },
  });
  expect((await unchanged('updateStream', { name: 'fast', sourceTopic: 'fast' })).extensions.info).toMatchObject({
    issues: [{ path: 'input.targetTopic', reason: expect.stringContaining('fast -> fast') }],
  });
  expect(broker.commands.slice(before).map(({ command }) => command)).toEqual(['listStreams', 'listStreams']);

  await change('updateStream', { name: 'fast', persist: true, textName: 'Fast', targetTopic: null });
  expect(last()).toEqual({
    command: 'modifyStream',
    streamname: 'fast',
    persist: true,
    textname: 'Fast',
    targettopic: '',
  });
  const many =
    'query ($b: ID!) { broker(id: $b) { streams(first: 1) { totalCount nodes { name messageCount targetTopic } pageInfo { hasNextPage endCursor } } } }';
  broker.streams.set('odd', { streamname: 'odd', sourcetopic: 's', replaying: true });
  const page = (await graph(many)).broker.streams;
  expect(page).toEqual({
    totalCount: 2,
    nodes: [{ name: 'fast', messageCount: 17, targetTopic: null }],
    pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
  });
  const next = `query ($b: ID!) { broker(id: $b) { streams(after: "${page.pageInfo.endCursor}") { nodes { name isReplaying ttl } pageInfo { hasNextPage hasPreviousPage } } } }`;
  expect((await graph(next)).broker.streams).toEqual({
    nodes: [{ name: 'odd', isReplaying: true, ttl: 86_400 }],
    pageInfo: { hasNextPage: false, hasPreviousPage: true },
  });

  const replays = follow(
    'subscription ($b: ID!) { streamReplay(brokerId: $b, streamName: "fast") { kind isReplaying replay { state } isConnected } }',
  );
  expect(await replays.until(() => true)).toEqual({
    streamReplay: { kind: 'SNAPSHOT', isReplaying: false, replay: null, isConnected: true },
  });
  expect(
    await rest('PUT', '/streams/replay', { streamname: 'fast', replayTopic: 'r', gte: '1700000000', speed: 2 }),
  ).toMatchObject({ status: 204 });
  expect(broker.commands.find(({ command }) => command === 'replayStream')).toEqual({
    command: 'replayStream',
    streamname: 'fast',
    replaytopic: 'r',
    gte: 1_700_000_000,
    limit: -1,
    speed: 2,
    reverse: false,
  });
  await replays.until(({ streamReplay }) => streamReplay.kind === 'CHANGE' && streamReplay.isReplaying);
  await change('stopStreamReplay', { name: 'fast' });
  await replays.until(({ streamReplay }) => streamReplay.isReplaying === false);

  const all = follow(
    'subscription ($b: ID!) { streams(brokerId: $b) { kind streams { name isActive provider } removed } }',
  );
  expect((await all.until(() => true)).streams).toEqual({
    kind: 'SNAPSHOT',
    streams: [
      { name: 'fast', isActive: true, provider: 'BROKER' },
      { name: 'odd', isActive: true, provider: 'BROKER' },
    ],
    removed: [],
  });
  await change('disableStream', { name: 'odd' });
  expect((await all.until(({ streams }) => streams.kind === 'CHANGE')).streams).toEqual({
    kind: 'CHANGE',
    streams: [{ name: 'odd', isActive: false, provider: 'BROKER' }],
    removed: [],
  });
  expect(await change('deleteStream', { name: 'odd' }, 'deletedStreamId')).toEqual({
    deletedStreamId: expect.stringMatching(/^str_/),
  });
  expect((await all.until(({ streams }) => streams.removed.length > 0)).streams.removed).toEqual(['odd']);
  // A deleted stream has no further events.
  const ended = expect(replays.until(() => false)).rejects.toThrow('ended');
  await change('deleteStream', { name: 'fast' });
  await ended;

  for (const [method, path, body] of [
    ['PUT', '/streams', { streamname: 'fast' }],
    ['DELETE', '/streams?streamname=fast', undefined],
    ['DELETE', '/streams/messages?streamname=fast', undefined],
    ['PUT', '/streams/replay', { streamname: 'fast', replayTopic: 'r' }],
  ] as const) {
    const answer = await rest(method, path, body);
    expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 404, 'NOT_FOUND']);
  }
});

test('a list goes on behind streams that cannot be read, and counts all wherever it is looked at', async () => {
  const broker = await startCommercialStreams();
  const service = await startTestService();
  const brokerId = await addBroker(service, broker.url);
  const { graph, rest, follow } = worldOf(service, brokerId, broker.url, {});
  const page = async (first: number, after: string | null, offset = 0) =>
    (
      await graph(
        `query ($b: ID!, $first: Int, $after: String, $offset: Int) {
          broker(id: $b) {
            streams(first: $first, after: $after, offset: $offset) { totalCount nodes { name } pageInfo { hasNextPage endCursor } }
          }
        }`,
        { first, after, offset },
      )
    ).broker.streams;
  const as = (names: readonly string[], hasNextPage: boolean, endCursor: unknown = expect.any(String)) => ({
    totalCount: broker.streams.size,
    nodes: names.map((name) => ({ name })),
    pageInfo: { hasNextPage, endCursor },
  });

  broker.streams.set('odd', { streamname: 'odd' });
  expect(await rest('GET', '/streams')).toMatchObject({ status: 200, body: [] });
  expect(await page(1, null)).toEqual(as([], false));
  broker.streams.set('a', { streamname: 'a', sourcetopic: 's' });
  broker.streams.set('odder', { streamname: 'odder', sourcetopic: 5 });
  broker.streams.set('b', { streamname: 'b', sourcetopic: 's' });
  const first = await page(1, null);
  expect(first).toEqual(as([], true));
  const second = await page(2, first.pageInfo.endCursor);
  expect(second).toEqual(as(['a'], true));
  expect(await page(2, second.pageInfo.endCursor)).toEqual(as(['b'], false));
  expect((await rest('GET', '/streams?verbose=false')).body).toEqual(['a', 'b']);
  expect(await page(0, null)).toEqual(as([], true, null));
  expect(await page(5, null, 40)).toEqual(as([], false, null));
  const beyond = await rest('GET', '/streams?offset=40&count=5');
  expect([beyond.body, beyond.headers.get('x-total-count')]).toEqual([[], '4']);

  // Subscriptions to the streams of a removed broker end without an error.
  const all = follow('subscription ($b: ID!) { streams(brokerId: $b) { kind isConnected streams { name } } }');
  await all.until(() => true);
  const ended = expect(all.until(() => false)).rejects.toThrow('ended');
  await service.rest('DELETE', `/api/projects/${service.projectId}/brokers/${brokerId}`);
  await ended;
});
