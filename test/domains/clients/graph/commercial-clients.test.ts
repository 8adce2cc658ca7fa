import { expect, test } from 'vitest';
import { startTestService } from '../../../support/service.ts';
import { addBroker, freeMeter, meter, startCommercialBroker } from './commercial-broker.ts';
import {
  codeOf,
  DISCONNECT,
  DISCONNECT_MANY,
  issuesOf,
  outcomes,
  ownIds,
  SUBSCRIBE,
  UNSUBSCRIBE,
} from './operations.ts';

async function start({ timeoutMs = 2_000 } = {}) {
  const broker = await startCommercialBroker();
  const service = await startTestService({ env: { BROKER_TIMEOUT_MS: String(timeoutMs) } });
  const brokerId = await addBroker(service, broker.url);
  const rest = `/api/projects/${service.projectId}/brokers/${brokerId}`;
  return { broker, service, brokerId, rest };
}

const FILTERED = `query ($id: ID!, $filter: ConnectedClientFilter) { broker(id: $id) {
  connectedClients(filter: $filter) { totalCount isComplete undecidedCount }
} }`;

const DETAIL = `query ($id: ID!, $client: String!) { broker(id: $id) { connectedClient(clientId: $client) {
  clientId address protocol protocolVersion isConnected lastConnectedAt lastDisconnectedAt source asOf isGateway
  numSubscriptions numPublished numSubscribed numDropped bytesPublished bytesSubscribed keepalive cleanSession
  tls { clientCertificate version ciphers } listener { port bindAddress }
  will { topic qos retain payload properties delayInterval }
  subscriptions subscriptionDetails { topic qos noLocal retainAsPublished }
  queues { bytesIn pagedMessagesMax } inflight { bytesIn messagesMax }
  unknownFields { field reason }
} } }`;

test('all fields of a client from the commercial API are returned by the graph and by REST', async () => {
  const { broker, service, brokerId, rest } = await start();
  broker.clients.set('m1', { ...meter('m1'), subscriptionQos: [1], subscriptionOptions: [{ no_local: true }] });
  const { data } = await service.graphql(DETAIL, { id: brokerId, client: 'm1' });
  expect(data.broker.connectedClient).toMatchObject({
    protocol: 'MQTT_SN',
    lastConnectedAt: new Date(1_700_000_000_000).toISOString(),
    lastDisconnectedAt: null,
    bytesSubscribed: 5_000_000_000,
    will: {
      properties: [
        { identifier: 'user-property', name: 'site', value: 'hall 3' },
        { identifier: 'content-type', value: 'text/plain' },
      ],
      delayInterval: 4_294_967_295,
    },
    subscriptionDetails: [{ topic: 'plant/#', qos: 1, noLocal: true, retainAsPublished: null }],
    source: 'BROKER',
    isGateway: false,
    unknownFields: [],
  });
  const { status, body } = await service.rest('GET', `${rest}/client-inspect/detail?clientid=m1`);
  expect(status).toBe(200);
  expect(body).toEqual(meter('m1'));
});

test('clients whose value is unknown make a filtered list incomplete, unless another condition excludes them', async () => {
  const { broker, service, brokerId } = await start();
  broker.clients.set('known', meter('known'));
  const { address: _address, protocol: _protocol, protocolVersion: _version, ...unknown } = freeMeter('unknown');
  broker.clients.set('unknown', unknown);
  const list = async (filter: object) =>
    (await service.graphql(FILTERED, { id: brokerId, filter })).data.broker.connectedClients;
  for (const filter of [{ protocol: 'MQTT_WS' }, { protocolVersion: 'V3_1' }, { address: '192.0.2.77' }]) {
    expect(await list(filter)).toEqual({ totalCount: 0, isComplete: false, undecidedCount: 1 });
    expect(await list({ ...filter, value: 'kno', mode: 'STARTS_WITH' })).toEqual({
      totalCount: 0,
      isComplete: true,
      undecidedCount: 0,
    });
  }
  expect(await list({ minQueuedMessages: 1_000_000 })).toEqual({ totalCount: 0, isComplete: false, undecidedCount: 1 });
});

test('fields that the API omits without a licence are explained, and no value is invented', async () => {
  const { broker, service, brokerId, rest } = await start();
  broker.clients.set('free', freeMeter('free'));
  broker.clients.set('plain', { ...meter('plain'), tls: undefined, will: undefined });
  const { data } = await service.graphql(DETAIL, { id: brokerId, client: 'free' });
  const { unknownFields, ...client } = data.broker.connectedClient;
  const unknown = unknownFields.map(({ field }: { field: string }) => field);
  expect(unknown).toEqual(
    Object.keys(client)
      .filter((key) => client[key] === null && !['lastDisconnectedAt', 'subscriptionDetails'].includes(key))
      .sort((a, b) => unknown.indexOf(a) - unknown.indexOf(b)),
  );
  expect(unknown).toEqual(expect.arrayContaining(['queues', 'will', 'tls', 'subscriptions', 'isConnected']));
  expect(unknownFields[0].reason).toContain('licence');
  expect((await service.rest('GET', `${rest}/client-inspect/detail?clientid=free`)).body).toEqual({
    ...freeMeter('free'),
    lastDisconnect: null,
  });
  const plain = await service.graphql(DETAIL, { id: brokerId, client: 'plain' });
  expect(plain.data.broker.connectedClient).toMatchObject({ tls: null, will: null, unknownFields: [] });
});

test('numbers that lists omit are requested, and numbers that the API never reports are explained', async () => {
  const { broker, service, brokerId } = await start();
  const { messagesOutQos12, pagedMessagesOut, ...queues } = meter('m1').queues as Record<string, number>;
  broker.clients.set('m1', meter('m1'));
  broker.clients.set('m2', { ...meter('m2'), queues, inflight: { messagesOut: 1 } });
  const list = async (fields: string) => {
    const query = `query ($id: ID!) { broker(id: $id) { connectedClients(first: 10) { nodes { ${fields} } } } }`;
    return (await service.graphql(query, { id: brokerId })).data.broker.connectedClients.nodes;
  };
  expect(await list('queues { messagesOut pagedMessagesOut }')).toEqual([
    { queues: { messagesOut: 7, pagedMessagesOut } },
    { queues: { messagesOut: 7, pagedMessagesOut: null } },
  ]);
  expect(broker.requests.join()).not.toContain('getClient');
  const [m1, m2] = await list('queues { messagesOut bytesIn messagesOutQos12 } unknownFields { field }');
  expect(m1).toEqual({ queues: { messagesOut: 7, bytesIn: 1, messagesOutQos12 }, unknownFields: [] });
  expect(m2.queues).toEqual({ messagesOut: 7, bytesIn: 1, messagesOutQos12: null });
  const unknown = m2.unknownFields.map(({ field }: { field: string }) => field);
  expect(unknown.slice(0, 2)).toEqual(['queues.messagesOutQos12', 'queues.pagedMessagesOut']);
  expect(unknown.slice(2)).toHaveLength(7);
  expect(unknown).not.toContain('inflight.messagesOut');
});

test('a client is disconnected, subscribed and unsubscribed with documented fields only, and returned in its new state', async () => {
  const { broker, service, brokerId } = await start();
  broker.clients.set('m1', meter('m1'));
  await service.graphql(
    'mutation ($b: ID!) { updateBroker(input: { brokerId: $b, allowsClientTakeover: true }) { broker { allowsClientTakeover } } }',
    { b: brokerId },
  );
  const target = { brokerId, clientId: 'm1' };

  const subscribed = await service.graphql(SUBSCRIBE, {
    input: {
      ...target,
      topic: 'cfg/m1',
      qos: 2,
      noLocal: true,
      retainAsPublished: false,
      sendRetain: 'NEVER',
      subscriptionIdentifier: 7,
    },
  });
  expect(subscribed.data.subscribeClient).toEqual({
    clientId: 'm1',
    client: { clientId: 'm1', subscriptions: ['plant/#', 'cfg/m1'] },
    broker: { id: brokerId },
  });
  const unsubscribed = await service.graphql(UNSUBSCRIBE, { input: { ...target, topic: 'plant/#' } });
  expect(unsubscribed.data.unsubscribeClient.client).toEqual({ clientId: 'm1', subscriptions: ['cfg/m1'] });
  const withoutWill = await service.graphql(DISCONNECT, { input: { ...target, discardWill: true } });
  expect(codeOf(withoutWill)).toBe('NOT_SUPPORTED_BY_BROKER');
  const gone = await service.graphql(DISCONNECT, { input: { ...target, force: true, discardWill: false } });
  expect(gone.data.disconnectClient).toEqual({
    clientId: 'm1',
    method: 'BROKER',
    disconnected: ['m1'],
    client: null,
    broker: { id: brokerId },
  });
  expect(broker.commands).toEqual([
    {
      command: 'subscribeClient',
      clientid: 'm1',
      topic: 'cfg/m1',
      qos: 2,
      subscription_identifier: 7,
      options: { no_local: true, retain_as_published: false, send_retain: 'never' },
    },
    { command: 'unsubscribeClient', clientid: 'm1', topic: 'plant/#' },
    { command: 'disconnectClient', clientid: 'm1' },
  ]);
  expect(codeOf(await service.graphql(DISCONNECT, { input: target }))).toBe('NOT_FOUND');
});

test('invalid input is refused with its path, and connections of this service are not touched', async () => {
  const { broker, service, brokerId, rest } = await start();
  const bad = async (document: string, input: Record<string, unknown>) => {
    const answer = await service.graphql(document, { input: { brokerId, ...input } });
    expect(codeOf(answer)).toBe('INVALID');
    return issuesOf(answer).map(({ path }) => path);
  };
  for (const clientId of ['', 'a\0b', 'é'.repeat(32_768), '\ud800']) {
    expect(await bad(DISCONNECT, { clientId })).toEqual(['input.clientId']);
  }
  for (const topic of ['', 'a/#/b', 'a+', '$share/g/a', '$CONTROL/#', '$CONTROL/dynamic-security/v1', 'a\0']) {
    expect(await bad(SUBSCRIBE, { clientId: 'm1', topic, qos: 1 }), topic).toEqual(['input.topic']);
    expect(await bad(UNSUBSCRIBE, { clientId: 'm1', topic }), topic).toEqual(['input.topic']);
  }
  expect(await bad(SUBSCRIBE, { clientId: '', topic: '', qos: 3, subscriptionIdentifier: 268_435_456 })).toEqual([
    'input.clientId',
    'input.topic',
    'input.qos',
    'input.subscriptionIdentifier',
  ]);
  expect(await bad(DISCONNECT_MANY, {})).toEqual(['input']);
  expect(await bad(DISCONNECT_MANY, { clientIds: [] })).toEqual(['input.clientIds']);
  const tooMany = Array.from({ length: 100_001 }, () => 'm');
  expect(await bad(DISCONNECT_MANY, { clientIds: tooMany })).toEqual(['input.clientIds']);
  expect(await bad(DISCONNECT_MANY, { clientIds: ['a', ''], limit: 0 })).toEqual(['input.limit', 'input.clientIds.1']);
  expect(await bad(DISCONNECT_MANY, { filter: { value: '' } })).toEqual(['input.filter']);

  const [own = ''] = ownIds(service, brokerId);
  broker.clients.set(own, meter(own));
  broker.clients.set('m1', meter('m1'));
  expect(codeOf(await service.graphql(DISCONNECT, { input: { brokerId, clientId: own } }))).toBe('IN_USE');
  expect(codeOf(await service.graphql(SUBSCRIBE, { input: { brokerId, clientId: own, topic: 'a', qos: 0 } }))).toBe(
    'IN_USE',
  );
  expect(codeOf(await service.graphql(UNSUBSCRIBE, { input: { brokerId, clientId: own, topic: 'a' } }))).toBe('IN_USE');
  const refused = await service.rest('PUT', `${rest}/client-control/disconnect`, service.root, { clientid: own });
  expect([refused.status, refused.body.code]).toEqual([400, 'IN_USE']);
  expect(broker.commands).toEqual([]);
  const listed = async () => {
    const { data } = await service.graphql(
      'query ($id: ID!) { broker(id: $id) { connectedClients(first: 10) { nodes { clientId isGateway } } } }',
      { id: brokerId },
    );
    const nodes: { clientId: string; isGateway: boolean }[] = data.broker.connectedClients.nodes;
    return Object.fromEntries(nodes.map(({ clientId, isGateway }) => [clientId, isGateway]));
  };
  // The broker reports no change, so the list that the record of events follows is read again in its interval.
  await expect.poll(listed).toEqual({ [own]: true, m1: false });
});

test('many clients are disconnected separately: missing, refused and unanswered ones do not stop the others', async () => {
  const { broker, service, brokerId } = await start({ timeoutMs: 10_000 });
  const ids = Array.from({ length: 1_200 }, (_, index) => `m${String(index).padStart(4, '0')}`);
  for (const id of ids) broker.clients.set(id, meter(id));
  broker.clients.set('other', meter('other', 'others'));
  const [own = ''] = ownIds(service, brokerId);
  broker.clients.set(own, meter(own));
  broker.answers.set('m0003', { error: 'Not today' });
  broker.answers.set('m0005', null);
  const many = (input: object) => service.graphql(DISCONNECT_MANY, { input: { brokerId, ...input } });

  const tooMany = await many({ filter: { value: 'meters', mode: 'EQUALS' } });
  expect(codeOf(tooMany)).toBe('INVALID');
  expect(tooMany.errors?.[0]?.extensions.info).toMatchObject({
    matchCount: 1_201,
    limit: 1_000,
    issues: [{ path: 'input.limit' }],
  });
  const dry = await many({ filter: { value: 'meters', mode: 'EQUALS' }, limit: 5_000, dryRun: true });
  expect(dry.data.disconnectClients).toMatchObject({
    wouldDisconnectCount: 1_200,
    refusedCount: 1,
    disconnectedCount: 0,
  });
  expect(broker.commands).toEqual([]);

  const done = await many({ filter: { value: 'meters', mode: 'EQUALS' }, limit: 5_000, force: true });
  expect(done.data.disconnectClients).toMatchObject({
    disconnectedCount: 1_198,
    refusedCount: 2,
    failedCount: 1,
    notFoundCount: 0,
    alsoDisconnected: [],
    isComplete: true,
  });
  const unusual = outcomes(done).filter(([, status]) => status !== 'DISCONNECTED');
  expect(unusual).toEqual([
    [own, 'REFUSED', 'IN_USE'],
    ['m0003', 'REFUSED', 'BROKER_REJECTED'],
    ['m0005', 'FAILED', 'BROKER_TIMEOUT'],
  ]);
  expect([...broker.clients.keys()].sort()).toEqual([own, 'm0003', 'm0005', 'other'].sort());
  expect(broker.commands.every((command) => Object.keys(command).sort().join() === 'clientid,command')).toBe(true);

  expect(outcomes(await many({ clientIds: ['nobody', 'other', 'nobody'] }))).toEqual([
    ['nobody', 'NOT_FOUND', 'NOT_FOUND'],
    ['other', 'DISCONNECTED'],
  ]);
  broker.answers.clear();
  const both = await many({ clientIds: ['m0005', 'm0003', 'x'], filter: { value: '3', mode: 'ENDS_WITH' } });
  expect(outcomes(both)).toEqual([
    ['m0005', 'NOT_FOUND', 'NOT_FOUND'],
    ['m0003', 'DISCONNECTED'],
    ['x', 'NOT_FOUND', 'NOT_FOUND'],
  ]);
});

test('when the broker stops in the middle, only confirmed commands are reported as done, and the others are not sent', async () => {
  const { broker, service, brokerId } = await start();
  const ids = Array.from({ length: 1_500 }, (_, index) => `m${index}`);
  for (const id of ids) broker.clients.set(id, meter(id));
  broker.onCommand = () => {
    if (broker.commands.length === 600) void broker.stop();
  };
  const { data } = await service.graphql(DISCONNECT_MANY, { input: { brokerId, clientIds: ids, limit: 2_000 } });
  const results = data.disconnectClients.results as {
    clientId: string;
    status: string;
    error: { code: string } | null;
  }[];
  const done = results.filter(({ status }) => status === 'DISCONNECTED').map(({ clientId }) => clientId);
  expect(done.length).toBeGreaterThanOrEqual(500);
  for (const id of done) expect(broker.clients.has(id)).toBe(false);
  const rest = results.filter(({ status }) => status !== 'DISCONNECTED');
  expect(rest.length).toBe(1_500 - done.length);
  expect(new Set(rest.map(({ status, error }) => `${status} ${error?.code}`))).toEqual(
    new Set(['FAILED BROKER_UNREACHABLE']),
  );
  expect(broker.commands.length).toBeLessThanOrEqual(1_000);
});
