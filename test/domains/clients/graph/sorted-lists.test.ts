import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { type IClientOptions, MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { openStream } from '../../../support/event-stream.ts';
import { FOLLOWED_LOG, startClient, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../../support/service.ts';
import { onTestFinished, shared } from '../../../support/shared.ts';
import { addBroker, meter, startCommercialBroker } from './commercial-broker.ts';
import { codeOf, issuesOf } from './operations.ts';

const LIST = `query ($id: ID!, $filter: ConnectedClientFilter, $orderBy: ConnectedClientOrder, $first: Int, $after: String, $offset: Int) {
  broker(id: $id) {
    connectedClients(filter: $filter, orderBy: $orderBy, first: $first, after: $after, offset: $offset) {
      totalCount nodes { clientId queues { messagesOut } numDropped } pageInfo { hasNextPage hasPreviousPage endCursor }
    }
  }
}`;
const DEVICES = { value: 'dev-', mode: 'STARTS_WITH' } as const;

const lists = (service: TestService, id: string) => {
  const answer = (variables: object) => service.graphql(LIST, { id, ...variables });
  const page = async (variables: object) => {
    const { data, errors } = await answer(variables);
    if (errors) throw new Error(JSON.stringify(errors));
    const { nodes, ...rest } = data.broker.connectedClients;
    return { ...rest, ids: nodes.map(({ clientId }: { clientId: string }) => clientId), nodes };
  };
  return { answer, page };
};

/** dev-1 and dev-4 belong to anna, dev-2 and dev-3 to bert. dev-3 is offline, and dev-4 does not acknowledge. */
async function start() {
  const service = await startTestService({ embeddedBroker: true });
  const { mqtt } = service.report;
  if (!mqtt) throw new Error('The embedded broker did not start');
  const { id } = await service.storage.db.broker.findFirstOrThrow();
  const [broker] = service.services.brokers.visibleIn(service.projectId, null);
  if (!broker) throw new Error('There is no broker');
  const { controls } = service.services.runtimes.get(broker);
  const acls = ['publishClientReceive', 'subscribePattern'].map((acltype) => ({ acltype, topic: '#', allow: true }));
  await controls.call('dynamic-security', 'createRole', { rolename: 'device', acls });
  for (const username of ['anna', 'bert']) {
    await controls.call('dynamic-security', 'createClient', { username, password: username });
    await controls.call('dynamic-security', 'addClientRole', { username, rolename: 'device' });
  }
  const { port } = new URL(mqtt.url);
  const join = async (clientId: string, username: string, localAddress: string, options: IClientOptions = {}) => {
    const open = () => connect({ host: '127.0.0.1', port: Number(port), localAddress });
    const client = new MqttClient(open, { clientId, username, password: username, reconnectPeriod: 0, ...options });
    onTestFinished(() => void client.end(true));
    await new Promise((resolve) => client.once('connect', resolve));
    return client;
  };
  const v5 = { protocolVersion: 5 } as const;
  await join('dev-1', 'anna', '127.0.0.10', v5);
  await join('dev-2', 'bert', '127.0.0.9');
  const properties = { sessionExpiryInterval: 600 };
  const away = await join('dev-3', 'bert', '127.0.0.2', { ...v5, clean: false, properties });
  await away.subscribeAsync('all', { qos: 1 });
  await away.endAsync();
  const stuck = await join('dev-4', 'anna', '127.0.1.3', { ...v5, properties: { receiveMaximum: 5 } });
  stuck.handleMessage = () => undefined;
  await stuck.subscribeAsync('some', { qos: 1 });
  const password = readFileSync(mqtt.passwordFile, 'utf8').trim();
  const publisher = await startClient(mqtt.url, { clientId: 'publisher', username: mqtt.username, password });
  const publish = (topic: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => publisher.publishAsync(topic, 'x', { qos: 1 })));
  await publish('all', 1_003);
  await publish('some', 12);
  return { service, id, join, publish, ...lists(service, id) };
}

const world = shared(start);

const ORDERS = [
  ['CLIENT_ID', ['dev-1', 'dev-2', 'dev-3', 'dev-4'], ['dev-4', 'dev-3', 'dev-2', 'dev-1']],
  ['USERNAME', ['dev-1', 'dev-4', 'dev-2', 'dev-3'], ['dev-2', 'dev-3', 'dev-1', 'dev-4']],
  ['CONNECTED_AT', ['dev-1', 'dev-2', 'dev-3', 'dev-4'], ['dev-4', 'dev-3', 'dev-2', 'dev-1']],
  ['ADDRESS', ['dev-3', 'dev-2', 'dev-1', 'dev-4'], ['dev-4', 'dev-1', 'dev-2', 'dev-3']],
  ['QUEUED_MESSAGES', ['dev-1', 'dev-2', 'dev-4', 'dev-3'], ['dev-3', 'dev-4', 'dev-1', 'dev-2']],
  ['DROPPED_MESSAGES', ['dev-1', 'dev-2', 'dev-4', 'dev-3'], ['dev-3', 'dev-1', 'dev-2', 'dev-4']],
] as const;

test('clients are sorted by each field in both directions, also page by page', async () => {
  const { page } = await world();
  for (const [field, ...expected] of ORDERS) {
    for (const [index, order] of (['ASC', 'DESC'] as const).entries()) {
      const query = { filter: DEVICES, orderBy: { field, order } };
      const whole = await page(query);
      expect([field, order, whole.ids]).toEqual([field, order, expected[index]]);
      expect(whole.totalCount).toBe(4);
      const found: string[] = [];
      let after: string | null = null;
      for (let isMore = true; isMore; ) {
        const part: Awaited<ReturnType<typeof page>> = await page({ ...query, first: 1, after });
        expect(part.pageInfo.hasPreviousPage).toBe(after !== null);
        found.push(...part.ids);
        after = part.pageInfo.endCursor;
        isMore = part.pageInfo.hasNextPage;
      }
      expect(found).toEqual(whole.ids);
      expect((await page({ ...query, first: 2, offset: 1 })).ids).toEqual(whole.ids.slice(1, 3));
    }
  }
  const byQueue = await page({ filter: DEVICES, orderBy: { field: 'QUEUED_MESSAGES', order: 'DESC' }, first: 2 });
  expect(byQueue.nodes).toMatchObject([
    { queues: { messagesOut: 1_000 }, numDropped: 3 },
    { queues: { messagesOut: 7 }, numDropped: 0 },
  ]);
});

test('a cursor stays valid after its client has changed or gone, and is refused in another order', async () => {
  const { page, answer, publish, join } = await start();
  const orderBy = { field: 'QUEUED_MESSAGES', order: 'DESC' };
  const query = { filter: DEVICES, orderBy };
  const { endCursor: after } = (await page({ ...query, first: 2 })).pageInfo;
  await publish('some', 2_000);
  expect((await page(query)).ids).toEqual(['dev-4', 'dev-3', 'dev-1', 'dev-2']);
  expect((await page({ ...query, after })).ids).toEqual(['dev-1', 'dev-2']);
  const gone = await join('dev-0', 'anna', '127.0.0.1');
  const named = { filter: DEVICES, orderBy: { field: 'USERNAME', order: 'ASC' } };
  const first = await page({ ...named, first: 1 });
  expect(first.ids).toEqual(['dev-0']);
  await gone.endAsync();
  await expect.poll(async () => (await page(named)).totalCount).toBe(4);
  const rest = await page({ ...named, after: first.pageInfo.endCursor });
  expect(rest.ids).toEqual(['dev-1', 'dev-4', 'dev-2', 'dev-3']);
  for (const cursor of [after, 'dev-1', '']) {
    const other = await answer({ ...named, after: cursor });
    expect([codeOf(other), issuesOf(other).map(({ path }) => path)]).toEqual(['INVALID', ['after']]);
  }
});

test('clients are selected by address, version, state and numbers of messages; other values are refused', async () => {
  const { page, answer } = await world();
  const selected = async (filter: object) => (await page({ filter: { ...DEVICES, ...filter } })).ids;
  expect(await selected({ address: '127.0.0.9' })).toEqual(['dev-2']);
  expect(await selected({ address: '127.0.0.8/30' })).toEqual(['dev-1', 'dev-2']);
  expect(await selected({ address: '127.0.0.0/16' })).toEqual(['dev-1', 'dev-2', 'dev-3', 'dev-4']);
  expect(await selected({ address: '::1' })).toEqual([]);
  expect(await selected({ protocolVersion: 'V3_1_1' })).toEqual(['dev-2']);
  expect(await selected({ protocol: 'MQTT_WS' })).toEqual([]);
  expect(await selected({ isConnected: false })).toEqual(['dev-3']);
  expect(await selected({ username: 'anna', clientIds: ['dev-2', 'dev-4'] })).toEqual(['dev-4']);
  expect(await selected({ minQueuedMessages: 7 })).toEqual(['dev-3', 'dev-4']);
  expect(await selected({ minQueuedMessages: 8 })).toEqual(['dev-3']);
  expect(await selected({ minDroppedMessages: 1 })).toEqual(['dev-3']);
  expect(await selected({ minDroppedMessages: 0 })).toEqual(['dev-1', 'dev-2', 'dev-3', 'dev-4']);
  expect(await selected({ nodeId: 1 })).toEqual([]);
  for (const address of ['127.0.0', '127.0.0.1/33', 'localhost', '']) {
    const refused = await answer({ filter: { address } });
    expect([codeOf(refused), issuesOf(refused).map(({ path }) => path)]).toEqual(['INVALID', ['filter.address']]);
  }
});

test('a subscription takes the same filter, without the numbers that send no events', async () => {
  const { service, id, join } = await world();
  const watch = (filter: object) =>
    openStream('SSE', `${service.url}/graphql`, service.root, {
      query: `subscription ($id: ID!, $filter: ConnectedClientFilter) {
        connectedClients(brokerId: $id, filter: $filter) { kind clients { clientId } }
      }`,
      variables: { id, filter: { ...DEVICES, ...filter } },
    });
  const events = watch({ address: '127.0.0.0/28', protocolVersion: 'V5', isConnected: true });
  expect((await events.until(() => true)).connectedClients.clients).toEqual([{ clientId: 'dev-1' }]);
  await join('dev-5', 'anna', '127.0.0.3');
  await join('dev-6', 'anna', '127.0.0.4', { protocolVersion: 5 });
  expect((await events.until(() => true)).connectedClients).toEqual({
    kind: 'CHANGE',
    clients: [{ clientId: 'dev-6' }],
  });
  for (const filter of [{ minQueuedMessages: 1 }, { minDroppedMessages: 1 }]) {
    await expect(watch(filter).until(() => true)).rejects.toThrow('INVALID');
  }
});

test('many clients are disconnected only with a condition, and only connected ones', async () => {
  const { service, id } = await world();
  const dryRun = (filter: object) =>
    service.graphql(
      'mutation ($input: DisconnectClientsInput!) { disconnectClients(input: $input) { results { clientId } } }',
      { input: { brokerId: id, filter, dryRun: true } },
    );
  const { data } = await dryRun({ minQueuedMessages: 1 });
  expect(data.disconnectClients.results).toEqual([{ clientId: 'dev-4' }]);
  for (const [filter, path] of [
    [{}, 'input.filter'],
    [{ value: '' }, 'input.filter'],
    [{ isConnected: false }, 'input.filter.isConnected'],
    [{ address: 'x' }, 'input.filter.address'],
  ] as const) {
    const refused = await dryRun(filter);
    expect([codeOf(refused), issuesOf(refused).map((issue) => issue.path)]).toEqual(['INVALID', [path]]);
  }
});

test('numbers that a broker does not report sort last and cannot be a condition', async () => {
  const mosquitto = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const service = await startTestService();
  const followed = lists(service, await addBroker(service, mosquitto.url));
  await followed.page({});
  await mosquitto.client({ clientId: 'dev-1' });
  await mosquitto.client({ clientId: 'dev-2' });
  const query = { filter: DEVICES, orderBy: { field: 'QUEUED_MESSAGES', order: 'DESC' } };
  await expect.poll(async () => (await followed.page(query)).ids).toEqual(['dev-1', 'dev-2']);
  for (const filter of [{ minQueuedMessages: 0 }, { minDroppedMessages: 0 }]) {
    expect(codeOf(await followed.answer({ filter }))).toBe('NOT_SUPPORTED_BY_BROKER');
  }

  const broker = await startCommercialBroker();
  for (const [index, messagesOut] of [3, undefined, 9].entries()) {
    const clientId = `dev-${index}`;
    broker.clients.set(clientId, { ...meter(clientId), queues: { messagesOut } });
  }
  const commercial = lists(service, await addBroker(service, broker.url));
  expect((await commercial.page(query)).ids).toEqual(['dev-2', 'dev-0', 'dev-1']);
  expect((await commercial.page({ ...query, orderBy: { field: 'QUEUED_MESSAGES' } })).ids).toEqual([
    ...['dev-0', 'dev-2', 'dev-1'],
  ]);
  expect((await commercial.page({ filter: { minQueuedMessages: 4 } })).ids).toEqual(['dev-2']);
  expect(codeOf(await commercial.answer({ filter: { minDroppedMessages: 1 } }))).toBe('NOT_SUPPORTED_BY_BROKER');
});
