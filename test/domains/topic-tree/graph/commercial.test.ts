import { expect, test } from 'vitest';
import { startTestService } from '../../../support/service.ts';
import { addBroker, worldOf } from '../../streams/stream-world.ts';
import { startCommercialTopics } from './commercial-topics.ts';

const TREE = `query ($b: ID!) { broker(id: $b) { topicTtl topicTree {
  state droppedByBroker unavailable { subscribed } count
  topics { totalCount nodes { topic payload payloadBytes } }
  subscribed: topics(kind: SUBSCRIBED) { totalCount names }
  lines: topics(filter: "plant/+", first: 1) { totalCount names pageInfo { hasNextPage } }
  children { nodes { name topicCount } }
} } }`;
const PAYLOADS =
  'mutation ($p: ID!, $keep: Boolean!) { updateProject(input: { projectId: $p, storesTopicPayloads: $keep }) { project { id } } }';

test('topics of a broker with the plugin are read by the documented commands', async () => {
  const broker = await startCommercialTopics();
  const service = await startTestService();
  const world = worldOf(service, await addBroker(service, broker.url), broker.url, {});
  broker.published.set('plant/1', 'running').set('plant/2', 'idle').set('hall', 'x');
  broker.subscribed.add('plant/#');
  const told = (await world.graph(TREE)).broker;
  expect(told).toEqual({
    topicTtl: 60,
    topicTree: {
      state: 'RECORDING',
      droppedByBroker: null,
      unavailable: null,
      count: 3,
      topics: {
        totalCount: 3,
        nodes: [
          { topic: 'hall', payload: 'x', payloadBytes: 1 },
          { topic: 'plant/1', payload: 'running', payloadBytes: 7 },
          { topic: 'plant/2', payload: 'idle', payloadBytes: 4 },
        ],
      },
      subscribed: { totalCount: 1, names: ['plant/#'] },
      lines: { totalCount: 2, names: ['plant/1'], pageInfo: { hasNextPage: true } },
      children: {
        nodes: [
          { name: 'hall', topicCount: 1 },
          { name: 'plant', topicCount: 2 },
        ],
      },
    },
  });

  const feed = world.follow(
    'subscription ($b: ID!) { topics(brokerId: $b, prefix: "plant") { kind count added { topic payload } expired } }',
  );
  expect((await feed.until(() => true)).topics).toMatchObject({ kind: 'SNAPSHOT', count: 3 });
  broker.published.set('plant/3', 'new');
  broker.published.delete('plant/2');
  const [added, expired] = [new Set<string>(), new Set<string>()];
  await feed.until(({ topics }) => {
    for (const { topic } of topics.added) added.add(topic);
    for (const topic of topics.expired) expired.add(topic);
    return added.has('plant/3') && expired.has('plant/2');
  });

  expect(await world.change('setTopicTtl', { ttl: 120 }, 'broker { topicTtl }')).toEqual({ broker: { topicTtl: 120 } });
  await world.change('updateTopicTree', { filters: ['plant/#'], payloadLimit: 10 });
  expect(broker.changes).toEqual(
    expect.arrayContaining([
      { command: 'setTtl', ttl: 120 },
      { command: 'addFilter', filter: 'plant/#' },
      expect.objectContaining({ command: 'setLimits', payloadLimit: 10 }),
    ]),
  );
  expect((await world.unchanged('updateTopicTree', { excludedFilters: ['a'] })).extensions).toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
    info: { reason: expect.any(String) },
  });

  // Payloads of the broker are not returned if the project stores none. The settings of the broker stay unchanged.
  const changes = broker.changes.length;
  await world.graph(PAYLOADS, { p: service.projectId, keep: false });
  const without = (await world.graph(TREE)).broker.topicTree;
  expect(without.topics.nodes.map(({ payload }: { payload: unknown }) => payload)).toEqual([null, null, null]);
  await world.graph(PAYLOADS, { p: service.projectId, keep: true });
  expect((await world.graph(TREE)).broker.topicTree.topics.nodes[0].payload).toBe('x');
  expect(broker.changes).toHaveLength(changes);

  // Mirrored topics are returned for some time after the broker disconnected, and the state says so.
  const away = world.follow('subscription ($b: ID!) { topics(brokerId: $b) { isConnected } }');
  await away.until(({ topics }) => topics.isConnected);
  await broker.stop();
  await away.until(({ topics }) => topics.isConnected === false);
  const old = await world.graph('query ($b: ID!) { broker(id: $b) { topicTree { state reason topics { names } } } }');
  expect(old.broker.topicTree).toEqual({
    state: 'UNREACHABLE',
    reason: expect.any(String),
    topics: { names: ['hall', 'plant/1', 'plant/3'] },
  });
});

test('a broker whose topics cannot be recorded has an error for them, and its other fields are returned', async () => {
  const broker = await startCommercialTopics();
  const service = await startTestService({ env: { BROKER_TIMEOUT_MS: '5000' } });
  const id = await addBroker(service, broker.url);
  await broker.stop();
  const { data, errors } = await service.graphql(
    'query ($b: ID!) { broker(id: $b) { name topicTree { state } topicTtl } }',
    { b: id },
  );
  expect(data.broker).toEqual({ name: 'plant', topicTree: null, topicTtl: null });
  expect(errors?.map(({ path, extensions }) => [path, extensions.code])).toEqual([
    [['broker', 'topicTree'], 'BROKER_UNREACHABLE'],
    [['broker', 'topicTtl'], 'BROKER_UNREACHABLE'],
  ]);
});
