import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startScriptedBroker } from '../../../support/aedes-broker.ts';
import { temporaryFolder } from '../../../support/database.ts';
import { FOLLOWED_LOG, heard, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../../support/service.ts';

const addBroker = async ({ rest, projectId, root }: TestService, url: string): Promise<string> =>
  (await rest('POST', `/api/projects/${projectId}/brokers`, root, { name: 'line', url })).body.id;

const CREATE = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { name state } } }';
const STREAM = `query ($id: ID!, $name: String!) { broker(id: $id) {
  stream(name: $name) { name isActive state provider messageCount counters { received } } } }`;

/** Answers the state that it was answered with. */
async function createStream({ graphql }: TestService, brokerId: string, fields: object): Promise<string> {
  const { errors, data } = await graphql(CREATE, { input: { brokerId, ...fields } });
  expect(errors).toBeUndefined();
  return data.createStream.stream.state;
}

const streamOf = async ({ graphql }: TestService, id: string, name: string) =>
  (await graphql(STREAM, { id, name })).data?.broker?.stream;

const fast = { name: 'fast', sourceTopic: 'plant/+', targetTopic: 'fast', persist: true };

test('streams run again after a restart of the service without a request, with the messages of the meantime', async () => {
  const broker = await startMosquitto();
  const dataDir = temporaryFolder();
  const first = await startTestService({ dataDir });
  const id = await addBroker(first, broker.url);
  const client = await broker.client();
  const outputs = await heard(client, 'fast');
  // Though its thread and its connections begin with it: what is published now reaches it.
  expect(await createStream(first, id, fast)).toBe('RUNNING');
  await client.publishAsync('plant/a', '0', { qos: 1 });
  await expect.poll(() => outputs).toEqual(['0']);
  expect(await streamOf(first, id, 'fast')).toMatchObject({ state: 'RUNNING', provider: 'GATEWAY' });
  await first.close();
  for (const n of [1, 2, 3]) await client.publishAsync('plant/a', String(n), { qos: 1 });
  // Of a stream that another process deleted, and of a broker that may be one of another database.
  const [orphan, foreign] = [join(dataDir, 'streams', id, 'str_orphan'), join(dataDir, 'streams', 'brk_foreign')];
  for (const path of [orphan, foreign]) mkdirSync(path);
  const databaseUrl = first.config.databaseUrl;
  const env = databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl };
  const second = await startTestService({ dataDir, env });
  await expect.poll(() => outputs).toEqual(['0', '1', '2', '3']);
  await expect.poll(() => streamOf(second, id, 'fast')).toMatchObject({ messageCount: 4, counters: { received: 3 } });
  expect([existsSync(orphan), existsSync(foreign)]).toEqual([false, true]);

  // New settings: connected again, and put again.
  await second.rest('PUT', `/api/projects/${second.projectId}/brokers/${id}`, second.root, { username: 'someone' });
  await client.publishAsync('plant/a', '4', { qos: 1 });
  await expect.poll(() => outputs).toEqual(['0', '1', '2', '3', '4']);
  await expect.poll(() => streamOf(second, id, 'fast')).toMatchObject({ state: 'RUNNING', messageCount: 5 });

  // Removed: nothing runs, nothing is stored, and the broker keeps no session.
  const folder = join(dataDir, 'streams', id);
  expect(readdirSync(folder)).not.toEqual([]);
  await second.rest('DELETE', `/api/projects/${second.projectId}/brokers/${id}`);
  await expect.poll(() => existsSync(folder)).toBe(false);
  expect(await second.storage.db.stream.count()).toBe(0);
  const session = await broker.client({ clientId: `brokergraph-${id}-streams`, clean: false, protocolVersion: 4 });
  const left: string[] = [];
  session.on('message', (topic) => left.push(topic));
  await client.publishAsync('plant/a', '5', { qos: 1 });
  await session.subscribeAsync('mark', { qos: 1 });
  await client.publishAsync('mark', 'x', { qos: 1 });
  await expect.poll(() => left).toEqual(['mark']);
  expect(outputs).toHaveLength(5);
});

test('a broker without streams gets no connection, and the connections of streams are listed as those of the gateway', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const service = await startTestService();
  const id = await addBroker(service, broker.url);
  const capabilities = `query ($id: ID!) { broker(id: $id) { capabilities { api provider } } }`;
  await expect
    .poll(async () => (await service.graphql(capabilities, { id })).data.broker.capabilities)
    .toContainEqual({ api: 'stream-processing', provider: 'GATEWAY' });
  const own = `brokergraph-${id}-streams`;
  const clients = async () => {
    const query = '{ broker(id: "ID") { connectedClients(first: 50) { nodes { clientId isGateway } } } }';
    const { data } = await service.graphql(query.replace('ID', id));
    return data?.broker?.connectedClients?.nodes as { clientId: string; isGateway: boolean }[];
  };
  expect((await clients()).map(({ clientId }) => clientId)).not.toContain(own);
  expect(existsSync(join(service.config.dataDir, 'streams', id))).toBe(false);
  await createStream(service, id, fast);
  await expect.poll(() => streamOf(service, id, 'fast')).toMatchObject({ state: 'RUNNING' });
  await expect.poll(clients).toContainEqual({ clientId: own, isGateway: true });
  const disconnect = `mutation ($input: DisconnectClientInput!) { disconnectClient(input: $input) { __typename } }`;
  const { errors } = await service.graphql(disconnect, { input: { brokerId: id, clientId: own } });
  expect(errors?.[0]?.extensions.code).toBe('IN_USE');
});

test('stored streams do not run if the broker serves streams itself, and remain stored', async () => {
  let isServing = false;
  const broker = await startScriptedBroker((topic, payload) => {
    if (!isServing || topic !== '$CONTROL/stream-processing/v1') return [];
    const { commands } = JSON.parse(payload) as { commands: { command: string; correlationData: string }[] };
    const data = { streams: [], totalCount: 0 };
    const responses = commands.map(({ command, correlationData }) => ({ command, correlationData, data }));
    return [JSON.stringify({ responses })];
  });
  const dataDir = temporaryFolder();
  const first = await startTestService({ dataDir });
  const id = await addBroker(first, broker.url);
  await createStream(first, id, fast);
  await expect.poll(() => streamOf(first, id, 'fast')).toMatchObject({ state: 'RUNNING' });
  await first.close();
  isServing = true;
  const databaseUrl = first.config.databaseUrl;
  const second = await startTestService({
    dataDir,
    env: databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl },
  });
  const lists = '{ broker(id: "ID") { streams { totalCount } capabilities { api provider } } }'.replace('ID', id);
  await expect
    .poll(async () => (await second.graphql(lists)).data?.broker)
    .toMatchObject({
      streams: { totalCount: 0 },
      capabilities: expect.arrayContaining([{ api: 'stream-processing', provider: 'BROKER' }]),
    });
  expect(broker.filters.filter((filter) => filter === 'plant/+')).toHaveLength(1);
  expect(await second.storage.db.stream.count()).toBe(1);
});
