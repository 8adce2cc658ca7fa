import { expect, test } from 'vitest';
import { embeddedWorld } from './embedded-world.ts';
import {
  codeOf,
  DELETE_SESSIONS,
  DISCONNECT,
  DISCONNECT_MANY,
  outcomes,
  ownIds,
  SUBSCRIBE,
  UNSUBSCRIBE,
} from './operations.ts';

const PERSISTENT = { clean: false, protocolVersion: 5, properties: { sessionExpiryInterval: 600 } } as const;

const ended = (client: { once(event: 'close', then: () => void): unknown }) =>
  new Promise<void>((resolve) => client.once('close', () => resolve()));

test('all subscriptions of a client are listed and counted, also in REST', async () => {
  const { service, brokerId, join } = await embeddedWorld();
  const client = await join('many');
  const topics = Array.from({ length: 1_001 }, (_, index) => `f/${index}`);
  let from = 0;
  for (const count of [999, 1_000, 1_001]) {
    await client.subscribeAsync(topics.slice(from, count));
    from = count;
    const path = `/api/projects/${service.projectId}/brokers/${brokerId}/client-inspect/detail?clientid=many`;
    const { body } = await service.rest('GET', path);
    expect(body.subscriptions.toSorted()).toEqual(topics.slice(0, count).toSorted());
    expect(body.numSubscriptions).toBe(count);
    expect(body).not.toHaveProperty('subscriptionsReason');
  }
});

test('single clients are disconnected, subscribed and unsubscribed without affecting others of their account', async () => {
  const { service, brokerId, join } = await embeddedWorld();
  const [m1, m2] = [await join('m1', PERSISTENT), await join('m2')];
  const target = { brokerId, clientId: 'm1' };
  const messages: string[] = [];
  m1.on('message', (topic, _payload, { qos }) => messages.push(`${topic} ${qos}`));

  const subscribed = await service.graphql(SUBSCRIBE, { input: { ...target, topic: 'cfg/+', qos: 1 } });
  expect(subscribed.data.subscribeClient.client).toEqual({ clientId: 'm1', subscriptions: ['cfg/+'] });
  await m2.publishAsync('cfg/a', 'x', { qos: 2 });
  await expect.poll(() => messages).toEqual(['cfg/a 1']);
  const unsubscribed = await service.graphql(UNSUBSCRIBE, { input: { ...target, topic: 'cfg/+' } });
  expect(unsubscribed.data.unsubscribeClient.client).toEqual({ clientId: 'm1', subscriptions: [] });

  const end = ended(m1);
  const gone = await service.graphql(DISCONNECT, { input: { ...target, force: true } });
  expect(gone.data.disconnectClient).toMatchObject({
    method: 'BROKER',
    disconnected: ['m1'],
    client: { clientId: 'm1', isConnected: false },
  });
  await end;
  expect(m2.connected).toBe(true);
  expect(codeOf(await service.graphql(DISCONNECT, { input: target }))).toBe('NOT_FOUND');
  const offline = await service.graphql(SUBSCRIBE, { input: { ...target, topic: 'later', qos: 0 } });
  expect(offline.data.subscribeClient.client.subscriptions).toEqual(['later']);

  const LIST = `query ($id: ID!) { broker(id: $id) { connectedClients(first: 10, filter: { isConnected: false }) { nodes {
    clientId isConnected isGateway subscriptionDetails { topic qos } unknownFields { field }
  } } } }`;
  const { data } = await service.graphql(LIST, { id: brokerId });
  expect(data.broker.connectedClients.nodes).toEqual([
    {
      clientId: 'm1',
      isConnected: false,
      isGateway: false,
      subscriptionDetails: [{ topic: 'later', qos: 0 }],
      unknownFields: [],
    },
  ]);
});

test('the wills of disconnected clients are published or discarded', async () => {
  const { service, brokerId, join } = await embeddedWorld();
  const watcher = await join('watcher');
  const wills: string[] = [];
  watcher.on('message', (topic) => wills.push(topic));
  await watcher.subscribeAsync('status/+', { qos: 1 });
  const ids = ['a', 'b', 'c', 'd'];
  for (const id of ids) await join(id, { will: { topic: `status/${id}`, payload: 'offline', qos: 1, retain: true } });
  for (const [clientId, discardWill] of [['a', true] as const, ['b', false] as const]) {
    const { data } = await service.graphql(DISCONNECT, { input: { brokerId, clientId, discardWill } });
    expect(data.disconnectClient.disconnected).toEqual([clientId]);
  }
  for (const [clientId, discardWill] of [['c', true] as const, ['d', false] as const]) {
    const { data } = await service.graphql(DISCONNECT_MANY, {
      input: { brokerId, clientIds: [clientId], discardWill },
    });
    expect(data.disconnectClients.disconnectedCount).toBe(1);
  }
  await expect.poll(() => wills).toEqual(['status/b', 'status/d']);
});

test('many clients are disconnected by a filter, and connections of this service remain', async () => {
  const { service, brokerId, join } = await embeddedWorld();
  const crowd = await Promise.all(Array.from({ length: 60 }, (_, index) => join(`m${index}`)));
  const other = await join('other');
  const own = ownIds(service, brokerId)[0] ?? '';
  const many = (input: object) => service.graphql(DISCONNECT_MANY, { input: { brokerId, ...input } });
  const filter = { value: 'm', mode: 'STARTS_WITH' };
  expect(codeOf(await many({ filter, limit: 59 }))).toBe('INVALID');
  expect((await many({ filter, dryRun: true })).data.disconnectClients).toMatchObject({ wouldDisconnectCount: 60 });
  expect(crowd.every(({ connected }) => connected)).toBe(true);

  const ends = crowd.map(ended);
  const done = await many({ filter });
  expect(done.data.disconnectClients).toMatchObject({ disconnectedCount: 60, isComplete: true, alsoDisconnected: [] });
  await Promise.all(ends);
  expect(other.connected).toBe(true);
  expect(outcomes(await many({ clientIds: [own, 'm1', 'other'] }))).toEqual([
    [own, 'REFUSED', 'IN_USE'],
    ['m1', 'NOT_FOUND', 'NOT_FOUND'],
    ['other', 'DISCONNECTED'],
  ]);
  const { data } = await service.graphql(
    'query ($id: ID!) { broker(id: $id) { connectedClient(clientId: "X") { clientId } isConnected } }'.replace(
      'X',
      own,
    ),
    { id: brokerId },
  );
  expect(data.broker).toEqual({ connectedClient: { clientId: own }, isConnected: true });
});

test('a disconnected client is not listed as connected in the next response', async () => {
  const { service, brokerId, join } = await embeddedWorld();
  const LIST =
    'query ($id: ID!) { broker(id: $id) { connectedClients(first: 100, filter: { isConnected: true }) { nodes { clientId } } } }';
  const listed = async () =>
    (await service.graphql(LIST, { id: brokerId })).data.broker.connectedClients.nodes.map(
      ({ clientId }: { clientId: string }) => clientId,
    );
  const ids = Array.from({ length: 30 }, (_, index) => `m${index}`);
  for (const id of ids) await join(id);
  expect(await listed()).toEqual(expect.arrayContaining(ids));
  for (const clientId of ids.slice(0, 10)) {
    await service.graphql(DISCONNECT, { input: { brokerId, clientId } });
    expect(await listed()).not.toContain(clientId);
  }
  await service.graphql(DISCONNECT_MANY, { input: { brokerId, clientIds: ids } });
  expect((await listed()).filter((id: string) => ids.includes(id))).toEqual([]);
});

test('sessions of offline clients are deleted with their queues, by ids and by a filter', async () => {
  const { service, brokerId, join } = await embeddedWorld();
  for (const id of ['m1', 'm2', 'm3', 'other']) {
    const client = await join(id, PERSISTENT);
    await client.subscribeAsync('cfg', { qos: 1 });
    await client.endAsync();
  }
  await join('m4', PERSISTENT);
  const publisher = await join('publisher');
  await publisher.publishAsync('cfg', 'x', { qos: 1 });
  const LIST =
    'query ($id: ID!) { broker(id: $id) { connectedClients(first: 10, filter: { isConnected: false }) { nodes { clientId } } } }';
  const offline = async () =>
    (await service.graphql(LIST, { id: brokerId })).data.broker.connectedClients.nodes.map(
      ({ clientId }: { clientId: string }) => clientId,
    );
  const run = (input: object) => service.graphql(DELETE_SESSIONS, { input: { brokerId, ...input } });
  const own = ownIds(service, brokerId)[0] ?? '';
  const clientIds = ['m4', 'nobody', 'm1', own];
  const refused = [
    { clientId: 'm4', status: 'REFUSED', error: { code: 'IN_USE' } },
    { clientId: 'nobody', status: 'NOT_FOUND', error: { code: 'NOT_FOUND' } },
  ];
  const isOwn = { clientId: own, status: 'REFUSED', error: { code: 'IN_USE' } };
  expect((await run({ clientIds, dryRun: true })).data.deleteClientSessions.results).toEqual([
    ...refused,
    { clientId: 'm1', status: 'WOULD_DELETE', error: null },
    isOwn,
  ]);
  expect(await offline()).toEqual(['m1', 'm2', 'm3', 'other']);
  expect((await run({ clientIds })).data.deleteClientSessions.results).toEqual([
    ...refused,
    { clientId: 'm1', status: 'DELETED', error: null },
    isOwn,
  ]);
  expect(await offline()).toEqual(['m2', 'm3', 'other']);

  const filter = { value: 'm', mode: 'STARTS_WITH' };
  expect(codeOf(await run({ filter, limit: 1 }))).toBe('INVALID');
  expect(codeOf(await run({ filter: { isConnected: true } }))).toBe('INVALID');
  expect((await run({ filter, dryRun: true })).data.deleteClientSessions).toMatchObject({ wouldDeleteCount: 2 });
  expect((await run({ filter })).data.deleteClientSessions).toMatchObject({
    deletedCount: 2,
    refusedCount: 0,
    notFoundCount: 0,
    failedCount: 0,
    broker: { id: brokerId },
  });
  expect(await offline()).toEqual(['other']);
  const again = await join('m2', PERSISTENT);
  const messages: string[] = [];
  again.on('message', (topic) => messages.push(topic));
  await again.subscribeAsync('ready', { qos: 1 });
  await publisher.publishAsync('ready', 'x', { qos: 1 });
  await expect.poll(() => messages).toEqual(['ready']);
});
