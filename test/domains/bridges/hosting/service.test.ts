import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'mqtt';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../support/database.ts';
import { FOLLOWED_LOG, heard, type Mosquitto, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../../support/service.ts';

const UPDATE = 'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }';
const STATUS = 'query ($id: ID!) { broker(id: $id) { bridge(key: "mqtt-bridge") { status } } }';
const CLIENTS = '{ broker(id: "ID") { connectedClients(first: 50) { nodes { clientId isGateway } } } }';

const FOLLOWED = { logTypes: FOLLOWED_LOG };

const statusOf = async ({ graphql }: TestService, id: string) =>
  (await graphql(STATUS, { id })).data?.broker?.bridge?.status;

const bridgeTo = ({ url }: Mosquitto, topics: object[]) => ({
  connections: [{ name: 'centre', url, password: 'a secret', username: 'line', topics }],
});

/** Whether a broker still has a session of a client. */
async function hasSession({ url }: Mosquitto, clientId: string): Promise<boolean> {
  const client = connect(url, { clientId, clean: false, protocolVersion: 4 });
  const present = await new Promise<boolean>((resolve) => {
    client.once('connect', ({ sessionPresent }) => resolve(sessionPresent));
  });
  await client.endAsync();
  return present;
}

test('a bridge runs again after a restart, has its own connection on both sides, and leaves nothing when its broker is removed', async () => {
  const [line, centre] = [await startMosquitto(FOLLOWED), await startMosquitto(FOLLOWED)];
  const dataDir = temporaryFolder();
  const first = await startTestService({ dataDir });
  const addBroker = async (name: string, url: string) =>
    (await first.rest('POST', `/api/projects/${first.projectId}/brokers`, first.root, { name, url })).body.id as string;
  const [id, centreId] = [await addBroker('line', line.url), await addBroker('centre', centre.url)];
  const topics = [{ pattern: 'plant/#', direction: 'out', qos: 1, remotePrefix: 'line/' }];
  const config = bridgeTo(centre, topics);
  const input = { brokerId: id, bridgeKey: 'mqtt-bridge', config };
  expect((await first.graphql(UPDATE, { input })).errors).toBeUndefined();
  await expect.poll(() => statusOf(first, id)).toMatchObject([{ connectionName: 'centre', state: 'CONNECTED' }]);
  const local = await line.client();
  const arrived = await heard(await centre.client(), 'line/plant/a');
  await local.publishAsync('plant/a', '1', { qos: 1 });
  await expect.poll(() => arrived).toEqual(['1']);

  const ownIn = async (brokerId: string, end: string): Promise<string | undefined> => {
    const { data } = await first.graphql(CLIENTS.replace('ID', brokerId));
    const clients: { clientId: string; isGateway: boolean }[] = data?.broker?.connectedClients?.nodes ?? [];
    const isOwn = new RegExp(`^brokergraph-${id}-bridge-[0-9a-f]+${end}$`);
    return clients.find(({ clientId, isGateway }) => isGateway && isOwn.test(clientId))?.clientId;
  };
  await expect.poll(() => ownIn(centreId, '-remote')).toBeDefined();
  await expect.poll(() => ownIn(id, '')).toBeDefined();
  const clientId = await ownIn(id, '');
  await first.close();

  await local.publishAsync('plant/a', '2', { qos: 1 });
  const databaseUrl = first.config.databaseUrl;
  const second = await startTestService({
    dataDir,
    env: databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl },
  });
  await expect.poll(() => arrived).toEqual(['1', '2']);

  await second.rest('DELETE', `/api/projects/${second.projectId}/brokers/${id}`);
  await expect.poll(() => existsSync(join(dataDir, 'bridges', id))).toBe(false);
  expect(await hasSession(line, String(clientId))).toBe(false);
  expect(await hasSession(centre, `${clientId}-remote`)).toBe(false);
});

test('bridges of a broker that is not connected can be listed and configured, and run once it is connected', async () => {
  const [line, centre] = [await startMosquitto(), await startMosquitto()];
  const dataDir = temporaryFolder();
  const first = await startTestService({ dataDir });
  const brokers = `/api/projects/${first.projectId}/brokers`;
  const addBroker = async (name: string) =>
    (await first.rest('POST', brokers, first.root, { name, url: line.url })).body.id as string;
  const [id, bareId] = [await addBroker('line'), await addBroker('bare')];
  const bridges = `${brokers}/${id}/bridges`;
  const topics = [{ pattern: 'plant/#', direction: 'out', qos: 1, remotePrefix: 'line/' }];
  const config = bridgeTo(centre, topics);
  expect((await first.rest('PUT', `${bridges}/mqtt-bridge/config`, first.root, config)).status).toBe(204);
  await first.close();
  await line.stop();

  const databaseUrl = first.config.databaseUrl;
  const second = await startTestService({
    dataDir,
    env: databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl },
  });
  const get = (path: string) => second.rest('GET', path);
  // The first attempt to connect is waited for.
  await expect.poll(async () => (await get(bridges)).body).toEqual([{ id: 'mqtt-bridge', isActive: true }]);
  const masked = { connections: [{ name: 'centre', password: '***', topics: [{ pattern: 'plant/#' }] }] };
  expect((await get(`${bridges}/mqtt-bridge/config`)).body).toMatchObject(masked);
  await expect
    .poll(async () => (await get(`${bridges}/mqtt-bridge/status`)).body)
    .toMatchObject([
      {
        connectionName: 'centre',
        isConnected: false,
        state: 'UNREACHABLE',
        queuedMessages: 0,
        error: expect.any(String),
      },
    ]);
  const put = (body: unknown, path = bridges) => second.rest('PUT', `${path}/mqtt-bridge/config`, second.root, body);
  expect((await put({ connections: [{ name: 'centre' }] })).status).toBe(400);
  const [connection] = config.connections;
  const moved = { ...connection, password: '***', topics: [{ ...topics[0], remotePrefix: 'moved/' }] };
  expect((await put({ connections: [moved] })).status).toBe(204);
  // Where nothing is kept, the broker may have such bridges itself.
  for (const answer of [
    await get(`${bridges}/webhook-bridge/config`),
    await get(`${brokers}/${bareId}/bridges`),
    await put(config, `${brokers}/${bareId}/bridges`),
  ]) {
    expect([answer.status, answer.body.code]).toEqual([503, 'BROKER_UNREACHABLE']);
  }

  const arrived = await heard(await centre.client(), 'moved/plant/a');
  await line.start();
  await expect.poll(() => statusOf(second, id)).toMatchObject([{ connectionName: 'centre', state: 'CONNECTED' }]);
  await (await line.client()).publishAsync('plant/a', '1', { qos: 1 });
  await expect.poll(() => arrived).toEqual(['1']);
  await expect.poll(async () => (await get(bridges)).body).toHaveLength(3);
});
