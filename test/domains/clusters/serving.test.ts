import { expect, test } from 'vitest';
import { openStream } from '../../support/event-stream.ts';
import { FOLLOWED_LOG } from '../../support/mosquitto.ts';
import { type ClusterWorld, type ClusterWorldNode, clusterWorld } from './cluster-world.ts';

const METER = { username: 'meter', password: 'secret' } as const;
const FOLLOWED = { logTypes: FOLLOWED_LOG } as const;

const LIST = `query ($c: ID!, $first: Int, $after: String) { broker(id: $c) { connectedClients(first: $first, after: $after, filter: { username: "meter" }) {
  totalCount isComplete edges { cursor node { clientId nodeId isConnected } } pageInfo { hasNextPage endCursor }
} } }`;
const FIND = `query ($c: ID!, $id: String!, $node: Int) { broker(id: $c) { connectedClient(clientId: $id, nodeId: $node) {
  clientId nodeId isConnected source subscriptions node { nodeId name broker { id } }
} } }`;
const WATCH = `subscription ($c: ID!) { connectedClients(brokerId: $c) {
  kind partsLeft clients { clientId nodeId isConnected } removed removedFrom
} }`;
const DISCONNECT = `mutation ($c: ID!, $id: String!) {
  disconnectClient(input: { brokerId: $c, clientId: $id, force: true }) { clientId method disconnected }
}`;
const TREE = `query ($c: ID!, $node: Int, $kind: TopicKind, $orderBy: TopicOrder, $first: Int, $after: String, $offset: Int) { broker(id: $c) { topicTree(nodeId: $node) {
  nodeId state reason count messages
  topics(kind: $kind, orderBy: $orderBy, first: $first, after: $after, offset: $offset) { totalCount edges { cursor node { topic nodeIds messages } } pageInfo { hasNextPage endCursor } }
  children { totalCount edges { node { name topicCount recorded { nodeIds } } } }
} } }`;
const TTL = 'query ($c: ID!, $node: Int) { broker(id: $c) { topicTtl(nodeId: $node) topicTtls } }';

async function meterWorld(count: number): Promise<ClusterWorld> {
  const world = await clusterWorld(count, FOLLOWED);
  await world.graph(
    `mutation ($c: ID!) { changeAccessControl(input: { brokerId: $c, changes: [
      { createAccessRole: { roleName: "all", acls: [
        { aclType: PUBLISH_CLIENT_SEND, topic: "#", allow: true }
        { aclType: PUBLISH_CLIENT_RECEIVE, topic: "#", allow: true }
        { aclType: SUBSCRIBE_PATTERN, topic: "#", allow: true }
      ] } }
      { createAccount: { username: "meter", password: "secret", roles: [{ roleName: "all" }] } }
    ] }) { outcome } }`,
  );
  return world;
}

const connect = ({ broker }: ClusterWorldNode, clientId: string, clean = true) =>
  broker.client({ ...METER, clientId, clean });

/** Ids and nodes of the listed clients, in order. */
async function listed({ graph }: ClusterWorld): Promise<string[]> {
  const { broker } = await graph(LIST, { first: 100 });
  return broker.connectedClients.edges.map(
    ({ node }: { node: { clientId: string; nodeId: number; isConnected: boolean } }) =>
      `${node.clientId}@${node.nodeId}${node.isConnected ? '' : ' away'}`,
  );
}

test('clients of all nodes are in one list, which has an id once per node, and commands reach them on their nodes', async () => {
  const world = await meterWorld(2);
  const { graph, entryId, service, nodes } = world;
  const [one, two] = nodes as [ClusterWorldNode, ClusterWorldNode];
  const watched = openStream('WebSocket', `${service.url}/graphql`, service.root, {
    query: WATCH,
    variables: { c: entryId },
  });
  await watched.until(({ connectedClients: { partsLeft } }) => partsLeft === 0);

  await connect(one, 'alpha');
  const twinIsSeen = (nodeId: number) =>
    watched.until(({ connectedClients: { clients } }) =>
      clients.some(
        (client: { clientId: string; nodeId: number }) => client.clientId === 'twin' && client.nodeId === nodeId,
      ),
    );
  await connect(one, 'twin');
  await twinIsSeen(1); // Node two's client is the later one only if the log of node one was read first.
  const twin = await connect(two, 'twin');
  await twin.subscribeAsync('twin/of/two');
  await twinIsSeen(2);
  await expect.poll(() => listed(world)).toEqual(['alpha@1', 'twin@1', 'twin@2']);

  const first = (await graph(LIST, { first: 2 })).broker.connectedClients;
  expect([first.totalCount, first.pageInfo.hasNextPage]).toEqual([3, true]);
  const next = (await graph(LIST, { first: 2, after: first.pageInfo.endCursor })).broker.connectedClients;
  expect(next.edges.map(({ node }: { node: object }) => node)).toEqual([
    { clientId: 'twin', nodeId: 2, isConnected: true },
  ]);
  const found = async (id: string, node?: number) =>
    (await graph(FIND, { id, node: node ?? null })).broker.connectedClient;
  expect(await found('alpha')).toMatchObject({
    nodeId: 1,
    source: 'LOG_FEED',
    node: { nodeId: 1, name: 'node 1', broker: { id: one.brokerId } },
  });
  expect(await found('alpha', 2)).toBeNull();
  expect(await found('nobody')).toBeNull();
  expect(await found('twin', 1)).toMatchObject({ nodeId: 1, subscriptions: [] });
  expect(await found('twin', 2)).toMatchObject({ nodeId: 2, subscriptions: ['twin/of/two'] });
  expect((await found('twin')).nodeId).toBe(2);

  const rest = await service.rest('GET', `/api/projects/${service.projectId}/brokers/${entryId}/client-inspect`);
  expect(rest.body.filter(({ username }: { username: string }) => username === 'meter')).toHaveLength(3);

  // Both connections of the id are closed, and alpha is disconnected with the account of its node.
  const { disconnectClient } = await graph(DISCONNECT, { id: 'twin' });
  expect(disconnectClient).toMatchObject({ method: 'ACCOUNT', disconnected: ['alpha', 'twin'] });
  await watched.until(({ connectedClients: { removed, removedFrom } }) =>
    removed.some((id: string, index: number) => id === 'twin' && removedFrom[index] === 2),
  );
  expect(await listed(world)).toEqual([]);
  await expect(graph(DISCONNECT, { id: 'twin' })).rejects.toThrow('NOT_FOUND');
});

test('clients of a disconnected node are removed from the list until it is connected again', async () => {
  const world = await meterWorld(2);
  const { graph, nodes } = world;
  const [one, two] = nodes as [ClusterWorldNode, ClusterWorldNode];
  await connect(one, 'stays');
  await connect(two, 'goes');
  await expect.poll(() => listed(world)).toEqual(['goes@2', 'stays@1']);
  const isComplete = async () => (await graph(LIST)).broker.connectedClients.isComplete;
  await expect.poll(isComplete).toBe(true);
  await two.broker.stop();
  await expect.poll(() => listed(world)).toEqual(['stays@1']);
  expect(await isComplete()).toBe(false);
  await expect(graph(DISCONNECT, { id: 'goes' })).rejects.toThrow('BROKER_UNREACHABLE');
  await two.broker.start();
  await expect.poll(async () => (await graph(LIST)).broker.connectedClients.totalCount).toBe(1);
  await expect
    .poll(
      async () => {
        await connect(two, 'back').catch(() => null);
        return listed(world);
      },
      { interval: 500 },
    )
    .toEqual(['back@2', 'stays@1']);
  // The contact node is stopped, and the other node replaces it.
  await one.broker.stop();
  await expect.poll(() => listed(world).catch(() => [])).toEqual(['back@2']);
});

test('topics of all nodes form one tree with node numbers, and can be read for a single node', async () => {
  const world = await meterWorld(2);
  const { graph, entryId, service, nodes } = world;
  const [one, two] = nodes as [ClusterWorldNode, ClusterWorldNode];
  const tree = async (variables: object = {}) => (await graph(TREE, { first: 100, ...variables })).broker.topicTree;
  await tree();
  const publish = async (node: ClusterWorldNode, ...topics: string[]) => {
    const client = await node.broker.client(METER);
    for (const topic of topics) await client.publishAsync(topic, 'x', { qos: 1 });
  };
  await publish(one, 'plant/1', 'plant/both', 'plant!');
  await publish(two, 'hall', 'plant/both', 'plant/2');
  const names = async (variables: object = {}) =>
    (await tree(variables)).topics.edges.map(({ node }: { node: { topic: string } }) => node.topic);
  await expect.poll(names).toEqual(['hall', 'plant/1', 'plant/2', 'plant/both', 'plant!']);

  const whole = await tree();
  expect(whole).toMatchObject({ nodeId: null, state: 'RECORDING', reason: null, count: 6, messages: 6 });
  expect(whole.topics.totalCount).toBe(5);
  expect(whole.topics.edges[3].node).toEqual({ topic: 'plant/both', nodeIds: [1, 2], messages: 2 });
  expect(whole.children.edges.map(({ node }: { node: object }) => node)).toEqual([
    { name: 'hall', topicCount: 1, recorded: { nodeIds: [2] } },
    { name: 'plant', topicCount: 4, recorded: null },
    { name: 'plant!', topicCount: 1, recorded: { nodeIds: [1] } },
  ]);
  const { pageInfo } = (await tree({ first: 2 })).topics;
  expect(await names({ first: 2 })).toEqual(['hall', 'plant/1']);
  expect(await names({ first: 2, after: pageInfo.endCursor })).toEqual(['plant/2', 'plant/both']);
  expect(await names({ first: 2, offset: 3 })).toEqual(['plant/both', 'plant!']);
  expect(await names({ first: 2, offset: 5 })).toEqual([]);
  expect(await names({ node: 1 })).toEqual(['plant/1', 'plant/both', 'plant!']);
  const orderBy = { field: 'TOPIC', order: 'DESC' };
  expect(await names({ node: 1, orderBy })).toEqual(['plant!', 'plant/both', 'plant/1']);
  const unsorted = await service.graphql(TREE, { c: entryId, orderBy });
  expect(unsorted.errors?.[0]?.extensions.code).toBe('NOT_SUPPORTED_BY_BROKER');

  const at = `/api/projects/${service.projectId}/brokers/${entryId}/topictree`;
  const { body } = await service.rest('GET', at);
  expect(body.publishTopics).toEqual({ count: 5, topics: ['hall', 'plant/1', 'plant/2', 'plant/both', 'plant!'] });
  expect((await service.rest('GET', `${at}?nodeid=2`)).body).toMatchObject({
    nodeid: 2,
    publishTopics: { topics: ['hall', 'plant/2', 'plant/both'] },
  });
  expect((await service.rest('GET', `${at}?nodeid=3`)).status).toBe(400);

  const watched = openStream('WebSocket', `${service.url}/graphql`, service.root, {
    query:
      'subscription ($c: ID!) { topics(brokerId: $c) { kind added { topic nodeIds } changed { topic nodeIds messages } } }',
    variables: { c: entryId },
  });
  await watched.until(({ topics: { kind } }) => kind === 'SNAPSHOT');
  await publish(two, 'plant/1');
  const told = await watched.until(({ topics: { changed } }) => changed.length > 0);
  expect(told.topics).toMatchObject({ added: [], changed: [{ topic: 'plant/1', nodeIds: [1, 2], messages: 2 }] });

  expect((await service.rest('PUT', `${at}/ttl`, service.root, { ttl_sec: 90 })).status).toBe(204);
  expect((await graph(TTL)).broker).toEqual({ topicTtl: 90, topicTtls: null });
  expect((await graph(TTL, { node: 2 })).broker.topicTtl).toBe(90);
  for (const { brokerId } of nodes) {
    expect((await service.rest('GET', at.replace(entryId, brokerId).concat('/ttl'))).body).toEqual({ ttl_sec: 90 });
  }
});

test('features that would receive only a part of the messages are refused on the cluster, and work on its nodes', async () => {
  const { graph, entryId, nodes, service } = await clusterWorld(2);
  const tail = openStream('WebSocket', `${service.url}/graphql`, service.root, {
    query: 'subscription ($c: ID!) { messages(brokerId: $c, filter: "#") { kind } }',
    variables: { c: entryId },
  });
  expect((await tail.ended).errors).toEqual(['NOT_SUPPORTED_BY_BROKER']);
  const bridges = 'query ($b: ID!) { broker(id: $b) { bridges { id } } }';
  await expect(graph(bridges, { b: entryId })).rejects.toThrow('NOT_SUPPORTED_BY_BROKER');
  await expect(graph(bridges, { b: entryId })).rejects.toThrow(nodes[1]?.brokerId);
  expect((await graph(bridges, { b: nodes[0]?.brokerId })).broker.bridges).toHaveLength(3);
});
