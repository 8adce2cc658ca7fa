import { readFileSync } from 'node:fs';
import { isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../src/app/schema.ts';
import { passwordFile } from '../../src/engines/cloud-brokers/cloud-brokers.ts';
import { nodeTypeNames } from '../../src/gateway/graphql/node.ts';
import { namedNodeId } from '../../src/gateway/named-node-id.ts';
import { eventsOf } from '../domains/audit/audited-service.ts';
import { type StreamWorld, streamWorld, worldOf } from '../domains/streams/stream-world.ts';
import { createAuthority } from '../support/certificates.ts';
import { shared } from '../support/shared.ts';

interface Found {
  readonly __typename: string;
  readonly id: string;
}

const NODE = '{ __typename id }';
const OF_BROKER = `query ($b: ID!) { broker(id: $b) { __typename id
  bridges ${NODE} listeners ${NODE} streams { nodes ${NODE} } connectedClients { nodes ${NODE} }
  accounts { nodes ${NODE} } accessGroups { nodes ${NODE} } accessRoles { nodes ${NODE} }
  refusals { nodes ${NODE} } jobs ${NODE}
  topicTree { topics { nodes ${NODE} } children { nodes { recorded ${NODE} } } topic(topic: "t") ${NODE} }
} }`;
const CLIENTS = 'query ($b: ID!) { broker(id: $b) { connectedClients { nodes { clientId } } } }';
const OF_PROJECT = `query ($p: ID!) { viewer { user ${NODE} sessions ${NODE} } organizations { nodes ${NODE} } project(id: $p) {
  __typename id tokens ${NODE} certificates { nodes ${NODE} } signInRules ${NODE} auditEvents(first: 2) { nodes ${NODE} }
} }`;

/** All objects in a result that have an id. */
function nodesIn(value: unknown): Found[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(nodesIn);
  if (!('id' in value)) return inner;
  const { __typename, id } = value as Found;
  return [{ __typename, id }, ...inner];
}

/** Two brokers on which everything has the same names, as long as no test has changed that. */
const twins = shared(async (): Promise<readonly [StreamWorld, StreamWorld]> => {
  const first = await streamWorld('the embedded broker');
  const { service } = first;
  const { broker } = await first.graph(
    'mutation ($i: CreateCloudBrokerInput!) { broker: createCloudBroker(input: $i) { broker { id } } }',
    { i: { projectId: service.projectId, name: 'second' } },
  );
  const { id } = broker.broker;
  await expect.poll(() => service.services.runtimes.isConnected(id)).toBe(true);
  const { url } = await service.storage.db.broker.findUniqueOrThrow({ where: { id } });
  const password = readFileSync(passwordFile(service.config.dataDir, id), 'utf8').trim();
  const second = worldOf(service, id, url ?? '', { username: 'admin', password });
  for (const world of [first, second]) {
    await world.change('createStream', { name: 's', sourceTopic: 'in', targetTopic: 'out' });
    await world.change('createAccessGroup', { change: { groupName: 'g' } }, 'group { id }');
    await world.graph(
      'mutation ($b: ID!) { deleteRetainedMessages(input: { brokerId: $b, filter: "#", dryRun: true }) { deletion { total } } }',
    );
    const client = await world.client({ clientId: 'c' });
    await expect(world.client({ clientId: 'refused', password: 'wrong' })).rejects.toThrow();
    await expect.poll(async () => (await world.graph(OF_BROKER)).broker.refusals.nodes.length).toBe(1);
    await world.graph('query ($b: ID!) { broker(id: $b) { topicTree { state } } }');
    // The reader of retained messages disconnects after the dry run.
    await expect.poll(async () => JSON.stringify(await world.graph(CLIENTS))).not.toContain('-retained"');
    await expect
      .poll(async () => {
        await client.publishAsync('t', 'x');
        return (await world.graph(OF_BROKER)).broker.topicTree.topic?.id;
      })
      .toBeTypeOf('string');
  }
  await service.graphql(
    `mutation ($p: ID!, $c: String!) {
      createToken(input: { projectId: $p, name: "t", role: VIEWER }) { token { id } }
      createCertificate(input: { projectId: $p, filename: "ca.pem", cert: $c }) { certificate { id } }
      createSignInRules(input: { projectId: $p, rules: [{ provider: SSO, pattern: "x", role: VIEWER }] }) { rules { id } }
      createOrganization(input: { name: "o" }) { organization { id } }
    }`,
    { p: service.projectId, c: createAuthority().cert },
  );
  return [first, second];
});

test('each type with an id is a Node that `node` finds, and has no other id', () => {
  const types = Object.values(schema.getTypeMap()).filter(isObjectType);
  const withId = types.filter((type) => type.getFields().id !== undefined);
  for (const type of withId) expect(String(type.getFields().id?.type), type.name).toBe('ID!');
  const names = withId.map(({ name }) => name).sort();
  expect(names).toEqual(
    schema
      .getPossibleTypes(schema.getType('Node') as never)
      .map(({ name }) => name)
      .sort(),
  );
  expect(names).toEqual(nodeTypeNames().sort());
});

test('objects of two brokers have ids of their own, and `node` finds each for those who may see it', async () => {
  const [first, second] = await twins();
  const { graphql, projectId: p, person } = first.service;
  const idsOf = async ({ graph }: StreamWorld) => nodesIn(await graph(OF_BROKER));
  const [ofFirst, ofSecond, others] = [
    await idsOf(first),
    await idsOf(second),
    nodesIn(await first.graph(OF_PROJECT, { p })),
  ];
  const all = [...ofFirst, ...ofSecond, ...others];
  const typeNames = new Set(all.map(({ __typename }) => __typename));
  const elsewhere = ['NotificationChannel', 'NotificationDelivery', 'Problem', 'ProblemSilence'];
  expect([...typeNames, ...elsewhere, 'Cluster', 'ClusterNode', 'SelfHostedBroker', 'OnPremiseSetup'].sort()).toEqual(
    nodeTypeNames().sort(),
  );
  // A topic is in the page, in the level and by itself.
  expect(new Set(ofFirst.map(({ id }) => id)).size).toBe(
    ofFirst.filter(({ __typename }) => __typename !== 'Topic').length + 1,
  );
  const shared = new Set(ofFirst.map(({ id }) => id));
  expect(ofSecond.filter(({ id }) => shared.has(id))).toEqual([]);

  const seen = async (nodes: readonly Found[], token?: string) => {
    const found: (Found | null)[] = [];
    for (const { id } of nodes) {
      const { data, errors } = await graphql('query ($id: ID!) { node(id: $id) { __typename id } }', { id }, token);
      expect(errors, id).toBeUndefined();
      found.push(data.node);
    }
    return found;
  };
  expect(await seen(all)).toEqual(all);
  const nothing = (nodes: readonly Found[]) => nodes.map(() => null);
  const stranger = await person(null);
  expect(await seen(all, stranger.token)).toEqual(nothing(all));
  const viewer = await person('VIEWER');
  const hidden = ['AuditEvent', 'Session', 'User', 'Organization'];
  expect(await seen(all, viewer.token)).toEqual(all.map((one) => (hidden.includes(one.__typename) ? null : one)));
  const admin = await person('ADMIN');
  expect(await seen(all, admin.token)).toEqual(
    all.map((one) => (hidden.slice(1).includes(one.__typename) ? null : one)),
  );
  const { createToken } = (
    await graphql(
      `mutation ($p: ID!, $b: [ID!]) { createToken(input: { projectId: $p, name: "r", role: ADMIN, brokerIds: $b }) { secret } }`,
      { p, b: [second.brokerId] },
    )
  ).data;
  expect(await seen(ofFirst, createToken.secret)).toEqual(nothing(ofFirst));
  expect(await seen(ofSecond, createToken.secret)).toEqual(ofSecond);
  const ofProject = ['Project', 'Certificate'];
  expect(await seen(others, createToken.secret)).toEqual(
    others.map((one) => (ofProject.includes(one.__typename) ? one : null)),
  );
});

test('ids that are malformed, too long, or of something else are null', async () => {
  const [first] = await twins();
  const { graphql } = first.service;
  const { brokerId } = first;
  const read = async (id: string, token?: string | null) =>
    graphql('query ($id: ID!) { node(id: $id) { __typename id } }', { id }, token);
  const idOf = (kind: Parameters<typeof namedNodeId>[0]['kind'], name: string, of = brokerId) =>
    namedNodeId({ kind, brokerId: of, name });
  const bridge = idOf('bridge', 'mqtt-bridge');
  expect((await read(bridge)).data.node).toEqual({ __typename: 'Bridge', id: bridge });
  const hostile = [
    ...['', '=', ' ', '.', '.x', '\0', '%00', '/', '\n'].map((end) =>
      end === '' ? bridge.slice(0, -1) : bridge + end,
    ),
    ...['brg', 'brg_', 'brg_.', `brg_${brokerId}`, `brg_${brokerId}.`, `brg_${brokerId}._w`, `brg_.${bridge}`],
    ...['__proto___x', 'constructor_x', '_', ''],
    bridge.replace('brg_', 'lsn_'),
    bridge.replace('brg_', 'cls_'),
    brokerId.replace('brk_', 'cls_'),
    idOf('bridge', 'none'),
    idOf('bridge', 'mqtt-bridge', 'brk_unknown'),
    idOf('bridge', 'mqtt-bridge', 'prj_unknown'),
    ...['c\x001', 'none', 'C', 'c\0', 'c\0x'].map((name) => idOf('connectedClient', name)),
    ...['1', '0', 'NaN'].map((name) => idOf('clusterNode', name)),
    ...['1/', '1', '/', '01883/'].map((name) => idOf('brokerListener', name)),
    ...['PUBLISHED', 'PUBLISHED/', 'PUBLISHED/none', 'OTHER/t', 'published/t', '/t'].map((name) => idOf('topic', name)),
    idOf('topic', `PUBLISHED/${'x'.repeat(65_535)}`),
    `brg_${brokerId}.${'A'.repeat(400_000)}`,
    `ses_${'x'.repeat(400_000)}`,
    'ses_none',
    'rul_none',
    'aud_none',
  ];
  for (const id of hostile) {
    const { data, errors } = await read(id);
    expect([data?.node, errors], id.slice(0, 100)).toEqual([null, undefined]);
  }
  expect((await read(`${bridge}\ud800`)).errors?.[0]?.extensions.code).toBe('INVALID');
  expect((await read(bridge, null)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
});

test('events of subscriptions have the ids of queries', async () => {
  const [world] = await twins();
  const { graph, follow, client, change, service } = world;
  const idsOf = nodesIn(await graph(OF_BROKER)).map(({ id }) => id);
  const clients = follow(
    'subscription ($b: ID!) { connectedClients(brokerId: $b) { clients { id clientId } removed removedIds } }',
  );
  const { connectedClients } = await clients.until(() => true);
  const idOfC = connectedClients.clients.find(({ clientId }: { clientId: string }) => clientId === 'c').id;
  expect(idsOf).toContain(idOfC);
  const leaving = await client({ clientId: 'leaving' });
  const arrived = await clients.until((data) => data.connectedClients.clients[0]?.clientId === 'leaving');
  const { id } = arrived.connectedClients.clients[0];
  await leaving.endAsync();
  const left = await clients.until((data) => data.connectedClients.removed.length > 0);
  expect(left.connectedClients).toEqual({ clients: [], removed: ['leaving'], removedIds: [id] });

  const streams = follow('subscription ($b: ID!) { streams(brokerId: $b) { streams { id name } removed removedIds } }');
  const stream = (await streams.until(() => true)).streams.streams[0];
  expect(idsOf).toContain(stream.id);
  await change('deleteStream', { name: 's' }, 'deletedStreamId');
  const deleted = await streams.until((data) => data.streams.removed.length > 0);
  expect(deleted.streams).toMatchObject({ removed: ['s'], removedIds: [stream.id] });

  await graph('mutation ($b: ID!) { setTopicTtl(input: { brokerId: $b, ttl: 2 }) { broker { id } } }');
  const topics = follow('subscription ($b: ID!) { topics(brokerId: $b) { added { id topic } expired expiredIds } }');
  await topics.until(() => true);
  const publisher = await client({});
  await publisher.publishAsync('t/new', 'x');
  const added = await topics.until((data) =>
    data.topics.added.some(({ topic }: { topic: string }) => topic === 't/new'),
  );
  const expired = await topics.until((data) => data.topics.expired.includes('t/new'));
  const index = expired.topics.expired.indexOf('t/new');
  const topic = added.topics.added.find((one: { topic: string }) => one.topic === 't/new');
  expect(expired.topics.expiredIds[index]).toBe(topic.id);
  expect(topic.id).toBe(namedNodeId({ kind: 'topic', brokerId: world.brokerId, name: 'PUBLISHED/t/new' }));

  const bridgeId = namedNodeId({ kind: 'bridge', brokerId: world.brokerId, name: 'mqtt-bridge' });
  expect(idsOf).toContain(bridgeId);
  for (const id of ['mqtt-bridge', bridgeId]) {
    const bridge = follow(
      'subscription ($b: ID!, $id: ID!) { bridgeStatus(brokerId: $b, bridgeId: $id) { bridgeId bridge { id key } } }',
      { id },
    );
    expect((await bridge.until(() => true)).bridgeStatus).toEqual({
      bridgeId,
      bridge: { id: bridgeId, key: 'mqtt-bridge' },
    });
  }
  const FOLLOW = 'subscription ($p: ID!) { brokerStatus(projectId: $p) { brokers { brokerId broker { id } } } }';
  const status = follow(FOLLOW, { p: service.projectId });
  expect((await status.until(() => true)).brokerStatus.brokers).toContainEqual({
    brokerId: world.brokerId,
    broker: { id: world.brokerId },
  });
});

test('the audit has the ids of bridges and connected clients, without secrets that were sent as a name', async () => {
  const { brokerId, change, unchanged, service } = await streamWorld('the embedded broker');
  await change('updateBridgeConfig', { bridgeKey: 'mqtt-bridge', config: { connections: [] } });
  await unchanged('disconnectClient', { clientId: 'none' });
  await unchanged('disconnectClient', { clientId: service.root });
  const [secret, client] = await eventsOf(service, { operation: 'disconnectClient' });
  const [bridge] = await eventsOf(service, { operation: 'updateBridgeConfig' });
  const idOf = (kind: 'bridge' | 'connectedClient', name: string) => namedNodeId({ kind, brokerId, name });
  expect(bridge).toMatchObject({ targetKind: 'bridge', targetId: idOf('bridge', 'mqtt-bridge'), brokerId });
  const target = { targetKind: 'connectedClient', targetId: idOf('connectedClient', 'none') };
  expect(client).toMatchObject({ ...target, brokerId });
  expect(secret?.targetId).toBe(idOf('connectedClient', '***'));
});
