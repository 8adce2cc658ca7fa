import { expect, test } from 'vitest';
import { openStream } from '../../support/event-stream.ts';
import { ADMIN } from '../../support/mosquitto.ts';
import { inputOf } from '../streams/stream-world.ts';
import { type ClusterWorld, type ClusterWorldNode, clusterWorld } from './cluster-world.ts';

const NODES =
  'nodes { nodeId sync differences problem state counters { received } storage { messages } node { name } }';
const FIELDS = `name sourceTopic targetTopic persist state problem isReplaying messageCount provider
  counters { received published } storage { messages } replay { state published total } ${NODES}`;
const LIST = `query ($c: ID!) { broker(id: $c) { streams { totalCount problem nodes { ${FIELDS} } } } }`;
const FIND = `query ($c: ID!, $name: String!) { broker(id: $c) { stream(name: $name) { ${FIELDS} } } }`;
const mutation = (field: string) => `mutation ($input: ${inputOf(field)}) {
  ${field}(input: $input) { broker { id } } }`;

type Issue = { readonly message: string; readonly extensions: { readonly code: string; readonly info?: Fields } };
type Fields = Readonly<Record<string, unknown>>;

/** Returns the error, or `null`. */
async function write({ service, entryId }: ClusterWorld, field: string, input: Fields, brokerId = entryId) {
  const { errors } = await service.graphql(mutation(field), { input: { brokerId, ...input } });
  return (errors?.[0] as Issue | undefined) ?? null;
}

const find = async ({ graph }: ClusterWorld, name: string) => (await graph(FIND, { name })).broker.stream;
const both = (sync: string) => [
  { nodeId: 1, sync },
  { nodeId: 2, sync },
];

async function publish({ broker }: ClusterWorldNode, topic: string, ...payloads: string[]) {
  const client = await broker.client(ADMIN);
  for (const payload of payloads) await client.publishAsync(topic, payload, { qos: 1 });
  await client.endAsync();
}

/** Messages that match a topic filter on a node from now on. */
async function heardAt({ broker }: ClusterWorldNode, filter: string): Promise<string[]> {
  const client = await broker.client(ADMIN);
  const heard: string[] = [];
  client.on('message', (topic, payload) => heard.push(`${topic} ${payload}`));
  await client.subscribeAsync(filter, { qos: 1 });
  return heard;
}

test('a stream of a cluster runs, stores and replays on each node, and its counters are sums', async () => {
  const world = await clusterWorld(2);
  const { graph, entryId, nodes, service } = world;
  const [one, two] = nodes as [ClusterWorldNode, ClusterWorldNode];
  await openToAll(world);
  const watched = openStream('WebSocket', `${service.url}/graphql`, service.root, {
    query: `subscription ($c: ID!) { streams(brokerId: $c) { kind streams { name counters { received } nodes { nodeId sync counters { received } } } removed } }`,
    variables: { c: entryId },
  });
  await watched.until(({ streams: { kind } }) => kind === 'SNAPSHOT');

  const stream = { name: 'sums', sourceTopic: 'in/#', targetTopic: 'out', persist: true };
  expect(await write(world, 'createStream', stream)).toBeNull();
  expect(await find(world, 'sums')).toMatchObject({ provider: 'GATEWAY', nodes: both('EQUAL') });
  for (const { brokerId } of nodes) {
    const at = await graph(LIST, { c: brokerId });
    expect(at.broker.streams.nodes).toMatchObject([{ ...stream, nodes: null }]);
  }
  const [heardAtOne, heardAtTwo] = [await heardAt(one, 'out'), await heardAt(two, 'out')];
  await publish(one, 'in/a', '1', '2');
  await publish(two, 'in/a', '3');
  await expect.poll(() => [heardAtOne.length, heardAtTwo.length]).toEqual([2, 1]);
  await expect.poll(async () => (await find(world, 'sums')).storage.messages).toBe(3);
  expect(await find(world, 'sums')).toMatchObject({
    state: 'RUNNING',
    problem: null,
    messageCount: 3,
    counters: { received: 3, published: 3 },
    nodes: [
      { nodeId: 1, node: { name: 'node 1' }, counters: { received: 2 }, storage: { messages: 2 } },
      { nodeId: 2, node: { name: 'node 2' }, counters: { received: 1 }, storage: { messages: 1 } },
    ],
  });
  const told = await watched.until(({ streams: { streams } }) => streams[0]?.counters.received === 3);
  expect(told.streams.streams[0].nodes).toEqual([
    { nodeId: 1, sync: 'EQUAL', counters: { received: 2 } },
    { nodeId: 2, sync: 'EQUAL', counters: { received: 1 } },
  ]);

  const replayed = openStream('WebSocket', `${service.url}/graphql`, service.root, {
    query: `subscription ($c: ID!) { streamReplay(brokerId: $c, streamName: "sums") { isReplaying replay { state published total } } }`,
    variables: { c: entryId },
  });
  await replayed.until(({ streamReplay: { isReplaying } }) => isReplaying === false);
  const [againAtOne, againAtTwo] = [await heardAt(one, 'again'), await heardAt(two, 'again')];
  const at = `/api/projects/${service.projectId}/brokers/${entryId}/streams`;
  const body = { streamname: 'sums', replayTopic: 'again', speed: 'fastest' };
  expect((await service.rest('PUT', `${at}/replay`, service.root, body)).status).toBe(204);
  await replayed.until(({ streamReplay: { replay } }) => replay?.state === 'DONE' && replay.published === 3);
  expect([againAtOne, againAtTwo]).toEqual([['again 1', 'again 2'], ['again 3']]);

  expect((await service.rest('GET', at)).body).toMatchObject([{ streamname: 'sums', sourcetopic: 'in/#' }]);
  expect((await service.rest('DELETE', `${at}/messages?streamname=sums`)).status).toBe(204);
  expect(await find(world, 'sums')).toMatchObject({ messageCount: 0, nodes: both('EQUAL') });
  expect(await write(world, 'disableStream', { name: 'sums' })).toBeNull();
  expect(await find(world, 'sums')).toMatchObject({ state: 'INACTIVE' });
  expect((await service.rest('DELETE', `${at}?streamname=sums`)).status).toBe(204);
  await watched.until(({ streams: { removed } }) => removed.includes('sums'));
  expect((await replayed.ended).errors).toEqual([]);
  expect((await service.rest('DELETE', `${at}?streamname=sums`)).status).toBe(404);
  for (const { brokerId } of nodes) expect((await graph(LIST, { c: brokerId })).broker.streams.totalCount).toBe(0);
});

test('a stream that differs between nodes is reported, and the next change makes it equal', async () => {
  const world = await clusterWorld(2);
  const { graph, nodes, service } = world;
  const [one, two] = nodes as [ClusterWorldNode, ClusterWorldNode];
  const stream = { name: 's', sourceTopic: 'in/#', targetTopic: 'out' };
  await write(world, 'createStream', stream);
  await write(world, 'updateStream', { name: 's', targetTopic: 'elsewhere', ttl: 5 }, two.brokerId);
  expect(await find(world, 's')).toMatchObject({
    targetTopic: 'out',
    problem: 'Node 2: the definition differs (targetTopic, ttl)',
    nodes: [
      { nodeId: 1, sync: 'EQUAL', differences: [] },
      { nodeId: 2, sync: 'DIFFERENT', differences: ['targetTopic', 'ttl'] },
    ],
  });
  expect(await write(world, 'createStream', stream)).toMatchObject({ extensions: { code: 'ALREADY_EXISTS' } });
  expect(await write(world, 'updateStream', { name: 's', textName: 'all' })).toBeNull();
  expect(await find(world, 's')).toMatchObject({ problem: null, nodes: both('EQUAL') });
  expect((await graph(FIND, { c: two.brokerId, name: 's' })).broker.stream.targetTopic).toBe('out');

  await write(world, 'deleteStream', { name: 's' }, one.brokerId);
  const lacking = [
    { nodeId: 1, sync: 'MISSING', state: null },
    { nodeId: 2, sync: 'EQUAL' },
  ];
  expect(await find(world, 's')).toMatchObject({ nodes: lacking });
  expect((await graph(LIST)).broker.streams).toMatchObject({
    totalCount: 1,
    problem: null,
    nodes: [{ nodes: lacking }],
  });
  // The same stream again completes an earlier attempt. A different stream with the name is refused.
  expect(await write(world, 'createStream', stream)).toMatchObject({ extensions: { code: 'ALREADY_EXISTS' } });
  expect(await write(world, 'createStream', { ...stream, textName: 'all' })).toBeNull();
  expect(await find(world, 's')).toMatchObject({ nodes: both('EQUAL') });

  // The first node refuses, so no other node is changed.
  const loop = await write(world, 'createStream', { name: 'back', sourceTopic: 'out', targetTopic: 'in/x' });
  expect(loop).toMatchObject({ extensions: { code: 'INVALID', info: { issues: [{ path: 'input.targetTopic' }] } } });
  expect((await graph(LIST, { c: two.brokerId })).broker.streams.totalCount).toBe(1);
  const changed = await write(world, 'updateStream', { name: 's', targetTopic: 'in/again' });
  expect(changed).toMatchObject({ extensions: { code: 'INVALID' } });
  expect(await find(world, 's')).toMatchObject({ targetTopic: 'out', nodes: both('EQUAL') });
  expect(await write(world, 'clearStreamMessages', { name: 's' })).toMatchObject({
    extensions: { code: 'BROKER_REJECTED' },
  });
  expect(await write(world, 'updateStream', { name: 'nobody' })).toMatchObject({ extensions: { code: 'NOT_FOUND' } });
  expect(await find(world, 'nobody')).toBeNull();

  // Viewers may read it, as on a single broker, unless the project is strict.
  const { token: viewer } = await service.person('VIEWER');
  const asViewer = () =>
    service.graphql(mutation('disableStream'), { input: { brokerId: world.entryId, name: 's' } }, viewer);
  expect((await asViewer()).errors).toBeUndefined();
  await graph('mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }', {
    input: { projectId: service.projectId, hasStrictRoles: true },
  });
  expect((await asViewer()).errors?.[0]).toMatchObject({ extensions: { code: 'NOT_ALLOWED' } });
  expect((await service.graphql(FIND, { c: world.entryId, name: 's' }, viewer)).data.broker.stream.name).toBe('s');
});

test('a change while a node is away reports the other nodes, and repeating it applies the change to the node', async () => {
  const world = await clusterWorld(2);
  const { graph, nodes } = world;
  const two = nodes[1] as ClusterWorldNode;
  await two.broker.stop();
  const isAway = async () =>
    (await graph('query ($c: ID!) { broker(id: $c) { cluster { nodes { isReachable } } } }')).broker.cluster.nodes[1];
  await expect.poll(isAway).toEqual({ isReachable: false });

  const stream = { name: 's', sourceTopic: 'in/#' };
  expect(await write(world, 'createStream', stream)).toMatchObject({
    message: expect.stringContaining('The change was applied on node 1'),
    extensions: {
      code: 'BROKER_UNREACHABLE',
      info: {
        nodes: [
          { nodeId: 1, error: null },
          { nodeId: 2, code: 'BROKER_UNREACHABLE' },
        ],
      },
    },
  });
  const unknown = [
    { nodeId: 1, sync: 'EQUAL', problem: null },
    { nodeId: 2, sync: 'UNKNOWN', problem: expect.any(String) },
  ];
  expect(await find(world, 's')).toMatchObject({ problem: expect.stringContaining('Node 2'), nodes: unknown });
  expect((await graph(LIST)).broker.streams).toMatchObject({
    totalCount: 1,
    problem: expect.stringContaining('node 2'),
    nodes: [{ nodes: unknown }],
  });
  const update = await write(world, 'updateStream', { name: 's', persist: true });
  expect(update).toMatchObject({ extensions: { code: 'BROKER_UNREACHABLE' } });
  expect(await find(world, 's')).toMatchObject({ persist: true });
  // The unreachable node may have other streams.
  expect(await write(world, 'updateStream', { name: 'other' })).toMatchObject({
    extensions: { code: 'BROKER_UNREACHABLE', info: { nodeId: 2 } },
  });

  await two.broker.start();
  await expect.poll(() => find(world, 's')).toMatchObject({ nodes: [{ sync: 'EQUAL' }, { sync: 'MISSING' }] });
  expect(await write(world, 'updateStream', { name: 's' })).toBeNull();
  expect(await find(world, 's')).toMatchObject({ persist: true, nodes: both('EQUAL') });
});

/** Streams publish as the broker's administrator, who may publish only below $CONTROL. */
async function openToAll({ graph }: ClusterWorld): Promise<void> {
  await graph(
    `mutation ($c: ID!) { changeAccessControl(input: { brokerId: $c, changes: [
      { setDefaultAcl: { publishClientSend: true, publishClientReceive: true, subscribe: true, unsubscribe: true } }
    ] }) { outcome } }`,
  );
}
