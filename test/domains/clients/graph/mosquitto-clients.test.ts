import type { IClientOptions, MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { ADMIN, FOLLOWED_LOG, sinceVersion, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';
import { addBroker } from './commercial-broker.ts';
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

async function start(accounts: readonly string[]) {
  const mosquitto = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG });
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url, ADMIN);
  const broker = service.services.brokers.visibleIn(service.projectId, null)[0];
  if (!broker) throw new Error('There is no broker');
  const { controls } = service.services.runtimes.get(broker);
  // Before any client connects: clients that connect before the log is followed are unknown.
  await controls.capability('cedalo/inspect');
  const acls = ['publishClientSend', 'publishClientReceive', 'subscribePattern'].map((acltype) => ({
    acltype,
    topic: '#',
    allow: true,
  }));
  await controls.call('dynamic-security', 'createRole', { rolename: 'device', acls });
  for (const username of accounts) {
    await controls.call('dynamic-security', 'createClient', { username, password: username });
    await controls.call('dynamic-security', 'addClientRole', { username, rolename: 'device' });
  }
  const join = (clientId: string, username: string, options: IClientOptions = {}): Promise<MqttClient> =>
    mosquitto.client({ clientId, username, password: username, ...options });
  const LISTED =
    'query ($id: ID!) { broker(id: $id) { connectedClients(first: 50) { isComplete nodes { clientId } } } }';
  /** Until the list has them, and the broker has counted its connections since. */
  const listed = (...ids: string[]) =>
    expect
      .poll(async () => (await service.graphql(LISTED, { id: brokerId })).data.broker.connectedClients)
      .toMatchObject({
        isComplete: true,
        nodes: expect.arrayContaining(ids.map((clientId) => ({ clientId }))),
      });
  const rest = `/api/projects/${service.projectId}/brokers/${brokerId}`;
  return { service, brokerId, join, listed, rest };
}

const ended = (client: MqttClient) => new Promise<void>((resolve) => client.once('close', () => resolve()));

test('a client alone on its account is disconnected; one on a shared account only with force, and the others are listed', async () => {
  const { service, brokerId, join, listed, rest } = await start(['alone', 'hall']);
  const alone = await join('a1', 'alone');
  const hall = await Promise.all(['h1', 'h2', 'h3'].map((id) => join(id, 'hall')));
  await listed('a1', 'h1', 'h2', 'h3');

  const end = ended(alone);
  const { data } = await service.graphql(DISCONNECT, { input: { brokerId, clientId: 'a1' } });
  expect(data.disconnectClient).toMatchObject({ method: 'ACCOUNT', disconnected: ['a1'], client: null });
  await end;

  await listed('h1', 'h2', 'h3');
  const shared = await service.graphql(DISCONNECT, { input: { brokerId, clientId: 'h1' } });
  expect(codeOf(shared)).toBe('IN_USE');
  expect(shared.errors?.[0]?.extensions.info).toMatchObject({ clients: ['h2', 'h3'], isComplete: true });
  const byRest = await service.rest('PUT', `${rest}/client-control/disconnect`, service.root, { clientid: 'h1' });
  expect([byRest.status, byRest.body.code, byRest.body.info.clients]).toEqual([400, 'IN_USE', ['h2', 'h3']]);
  expect(hall.every(({ connected }) => connected)).toBe(true);

  const ends = hall.map(ended);
  const forced = await service.rest('PUT', `${rest}/client-control/disconnect`, service.root, {
    clientid: 'h1',
    force: true,
  });
  expect([forced.status, forced.body]).toEqual([200, {}]);
  await Promise.all(ends);
});

test('many clients are disconnected by account: whole accounts once, others are refused with the ids of the other clients', async () => {
  const { service, brokerId, join, listed } = await start(['pair', 'hall']);
  const pair = await Promise.all(['p1', 'p2'].map((id) => join(id, 'pair')));
  const hall = await Promise.all(['h1', 'h2', 'h3'].map((id) => join(id, 'hall')));
  await listed('p1', 'p2', 'h1', 'h2', 'h3');
  const [own = ''] = ownIds(service, brokerId);
  const many = (input: object) => service.graphql(DISCONNECT_MANY, { input: { brokerId, ...input } });

  const clientIds = ['p1', 'h1', 'nobody', own, 'p2'];
  const refused = ['h1', 'REFUSED', 'IN_USE'];
  const dry = await many({ clientIds, dryRun: true });
  expect(outcomes(dry)).toEqual([
    ['p1', 'WOULD_DISCONNECT'],
    refused,
    ['nobody', 'NOT_FOUND', 'NOT_FOUND'],
    [own, 'REFUSED', 'IN_USE'],
    ['p2', 'WOULD_DISCONNECT'],
  ]);
  expect([...pair, ...hall].every(({ connected }) => connected)).toBe(true);

  const ends = pair.map(ended);
  const done = await many({ clientIds });
  expect(outcomes(done)).toEqual([
    ['p1', 'DISCONNECTED'],
    refused,
    ['nobody', 'NOT_FOUND', 'NOT_FOUND'],
    [own, 'REFUSED', 'IN_USE'],
    ['p2', 'DISCONNECTED'],
  ]);
  expect(done.data.disconnectClients.results[1].error.info).toMatchObject({ clients: ['h2', 'h3'], canForce: true });
  await Promise.all(ends);
  expect(hall.every(({ connected }) => connected)).toBe(true);

  const hallEnds = hall.map(ended);
  const forced = await many({ filter: { value: 'h1', mode: 'EQUALS' }, force: true });
  expect(outcomes(forced)).toEqual([['h1', 'DISCONNECTED']]);
  expect(forced.data.disconnectClients.alsoDisconnected.sort()).toEqual(['h2', 'h3']);
  await Promise.all(hallEnds);
  // Its own account is never disconnected, whatever is forced.
  expect(outcomes(await many({ filter: { value: 'admin', mode: 'EQUALS' }, force: true }))).toEqual([
    [own, 'REFUSED', 'IN_USE'],
  ]);
});

test('a client is subscribed and unsubscribed only if its session may be taken over, and returned in its new state', async () => {
  const { service, brokerId, join, listed, rest } = await start(['meters']);
  await join('m1', 'meters', PERSISTENT);
  await listed('m1');
  const input = { brokerId, clientId: 'm1', topic: 'cfg/m1' };
  const refused = await service.graphql(SUBSCRIBE, { input: { ...input, qos: 1 } });
  expect(codeOf(refused)).toBe('NOT_SUPPORTED_BY_BROKER');
  const body = { clientid: 'm1', topic: 'cfg/m1' };
  const byRest = await service.rest('PUT', `${rest}/client-control/subscribe`, service.root, { ...body, qos: 1 });
  expect([byRest.status, byRest.body.code, byRest.body.info.reason]).toEqual([
    405,
    'NOT_SUPPORTED_BY_BROKER',
    expect.stringContaining('allowsClientTakeover'),
  ]);

  await service.graphql(
    'mutation ($b: ID!) { updateBroker(input: { brokerId: $b, allowsClientTakeover: true }) { broker { allowsClientTakeover } } }',
    { b: brokerId },
  );
  const subscribed = await service.graphql(SUBSCRIBE, { input: { ...input, qos: 1 } });
  expect(subscribed.data.subscribeClient.client).toEqual({ clientId: 'm1', subscriptions: ['cfg/m1'] });
  const unsubscribed = await service.graphql(UNSUBSCRIBE, { input });
  expect(unsubscribed.data.unsubscribeClient.client).toEqual({ clientId: 'm1', subscriptions: [] });
});

test('sessions of offline clients cannot be deleted, and the error states what ends them', async () => {
  const { service, brokerId } = await start(['meters']);
  const { errors } = await service.graphql(DELETE_SESSIONS, { input: { brokerId, clientIds: ['m1'] } });
  expect(errors?.[0]?.extensions).toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
    info: { api: 'cedalo/client-control', reason: expect.stringContaining('persistent_client_expiration') },
  });
});

test('a client with more subscriptions than are listed has their number, and the list is stated to be incomplete', async () => {
  const { service, brokerId, join, rest } = await start(['meters']);
  const many = await join('many', 'meters');
  const filters = Array.from({ length: 1_250 }, (_, index) => `f/${index}`);
  const READ = `query ($id: ID!) { broker(id: $id) {
    connectedClient(clientId: "many") { numSubscriptions subscriptions unknownFields { field reason } }
    topicSubscribers(topic: "f/7") { totalCount isComplete }
  } }`;
  const read = async () => (await service.graphql(READ, { id: brokerId })).data.broker;
  const numbers = async () => {
    const { numSubscriptions, subscriptions } = (await read()).connectedClient;
    return [numSubscriptions, subscriptions.length];
  };
  const subscribe = async (from: number, to: number) => {
    for (let start = from; start < to; start += 250)
      await many.subscribeAsync(filters.slice(start, Math.min(to, start + 250)));
  };
  for (const [from, to] of [
    [0, 999],
    [999, 1_000],
    [1_000, 1_001],
  ] as const) {
    await subscribe(from, to);
    await expect.poll(numbers).toEqual([to, Math.min(to, 1_000)]);
    const { unknownFields } = (await read()).connectedClient;
    const { body } = await service.rest('GET', `${rest}/client-inspect/detail?clientid=many`, service.root);
    const reason =
      to > 1_000 ? 'lists at most 1000 subscriptions of a client of this broker. It counted further ones: 1' : '';
    expect(body.subscriptionsReason ?? '').toContain(reason);
    expect('subscriptionsReason' in body).toBe(to > 1_000);
    expect(unknownFields.some(({ field }: { field: string }) => field === 'subscriptions')).toBe(to > 1_000);
  }
  await subscribe(1_001, 1_250);
  await expect.poll(numbers).toEqual([1_250, 1_000]);
  const { connectedClient, topicSubscribers } = await read();
  expect(topicSubscribers).toEqual({ totalCount: 1, isComplete: false });
  const reasons = connectedClient.unknownFields.filter(({ field }: { field: string }) => field === 'subscriptions');
  expect(reasons).toEqual([{ field: 'subscriptions', reason: expect.stringMatching(/at most 1000 .*: 250$/) }]);
  const { body } = await service.rest('GET', `${rest}/client-inspect/detail?clientid=many`, service.root);
  expect([body.numSubscriptions, body.subscriptions.length]).toEqual([1_250, 1_000]);
  // Listed ones and those that are only counted.
  await many.unsubscribeAsync(filters.slice(900, 1_100));
  await expect.poll(numbers).toEqual([1_050, 900]);
});

test('an offline persistent session remains listed, clients are filtered, and fields that the log does not contain are explained', async () => {
  const { service, brokerId, join, listed } = await start(['meters', 'gates']);
  const away = await join('m1', 'meters', PERSISTENT);
  const here = await join('m2', 'meters');
  await join('g1', 'gates');
  await here.subscribeAsync('plant/#', { qos: 1 });
  await listed('m1', 'm2', 'g1');
  await away.endAsync();
  const LIST = `query ($id: ID!, $filter: ConnectedClientFilter) { broker(id: $id) {
    connectedClients(first: 10, filter: $filter) { totalCount nodes { clientId isConnected } }
  } }`;
  const list = async (filter: object) =>
    (await service.graphql(LIST, { id: brokerId, filter })).data.broker.connectedClients;
  await expect
    .poll(() => list({ isConnected: false }))
    .toEqual({ totalCount: 1, nodes: [{ clientId: 'm1', isConnected: false }] });
  expect(await list({ username: 'meters' })).toEqual({
    totalCount: 2,
    nodes: [
      { clientId: 'm1', isConnected: false },
      { clientId: 'm2', isConnected: true },
    ],
  });
  expect((await list({ username: 'meters', isConnected: true })).nodes).toEqual([
    { clientId: 'm2', isConnected: true },
  ]);
  expect((await list({ username: 'meter' })).totalCount).toBe(0);

  const { data } = await service.graphql(
    `query ($id: ID!) { broker(id: $id) { connectedClient(clientId: "m2") {
      source subscriptions subscriptionDetails { topic qos noLocal } numSubscriptions tls { version }
      unknownFields { field reason }
    } } }`,
    { id: brokerId },
  );
  const [own = ''] = ownIds(service, brokerId);
  const ours = await service.graphql(
    `query ($id: ID!, $own: String!) { broker(id: $id) { connectedClient(clientId: $own) {
      isGateway protocol protocolVersion keepalive unknownFields { field reason }
    } } }`,
    { id: brokerId, own },
  );
  const { unknownFields: unknownOfOurs, ...known } = ours.data.broker.connectedClient;
  expect(known).toMatchObject({
    isGateway: true,
    protocol: 'MQTT',
    protocolVersion: 'V5',
    keepalive: expect.any(Number),
  });
  const toldOfOurs = unknownOfOurs.map(({ field, reason }: { field: string; reason: string }) => [
    field,
    reason.includes('own connection'),
  ]);
  expect(toldOfOurs).toEqual(
    expect.arrayContaining([
      ['remotePort', true],
      ['cleanSession', true],
      ['tls', true],
    ]),
  );
  expect(toldOfOurs.map(([field]: unknown[]) => field)).not.toContain('keepalive');
  const { unknownFields, ...client } = data.broker.connectedClient;
  expect(client).toEqual({
    source: 'LOG_FEED',
    subscriptions: ['plant/#'],
    subscriptionDetails: [{ topic: 'plant/#', qos: 1, noLocal: null }],
    numSubscriptions: 1,
    tls: null,
  });
  expect(unknownFields.map(({ field }: { field: string }) => field)).toEqual([
    // Mosquitto 2.0 does not log whether a connection is encrypted, and this account may not list listeners.
    sinceVersion({ '2.0.0': 'tls', '2.1.0': 'protocol' }),
    'queues',
    'numPublished',
    'numSubscribed',
    'numDropped',
    'bytesPublished',
    'bytesSubscribed',
    'will',
    'inflight',
  ]);
});
