import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../support/database.ts';
import { FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';
import {
  addBroker,
  askTopics,
  brokersOf,
  keepPayloads,
  namesOf,
  recordersAt,
  statusOf,
  topicsOf,
} from './topic-world.ts';

const FOLLOWED = { logTypes: FOLLOWED_LOG };

const CLIENTS = `query ($id: ID!) {
  broker(id: $id) { connectedClients(first: 20) { nodes { clientId isGateway } } }
}`;

test('topics are recorded from the first request on, and without payloads as soon as the project disables them', async () => {
  const broker = await startMosquitto(FOLLOWED);
  const recorders = await recordersAt(broker);
  const client = await broker.client();
  await client.publishAsync('plant/a', '17', { qos: 1, retain: true });
  const service = await startTestService();
  const id = await addBroker(service, broker);
  // Settings are read and changed without a recording.
  await askTopics(service, id, 'setRecording', { ttl: 600 });
  expect(await askTopics(service, id, 'getTtl')).toEqual({ ttl: 600 });
  expect(recorders.open.size).toBe(0);

  const payload = { data: Buffer.from('17').toString('base64'), bytes: 2 };
  expect(await topicsOf(service, id)).toMatchObject([{ topic: 'plant/a', payload }]);
  await expect.poll(() => recorders.open.size).toBe(1);
  const clientsOf = async () => (await service.graphql(CLIENTS, { id })).data?.broker?.connectedClients?.nodes;
  await expect.poll(clientsOf).toContainEqual({ clientId: [...recorders.open][0], isGateway: true });

  await keepPayloads(service, false);
  expect(await topicsOf(service, id)).toMatchObject([{ topic: 'plant/a', payload: null }]);
  // A change of the settings brings none back.
  await askTopics(service, id, 'setRecording', { payloadLimit: 1 });
  await client.publishAsync('plant/a', '18', { qos: 1 });
  await expect.poll(() => topicsOf(service, id)).toMatchObject([{ topic: 'plant/a', messages: 2, payload: null }]);
  await keepPayloads(service, true);
  await client.publishAsync('plant/a', '29', { qos: 1 });
  const cut = { data: Buffer.from('2').toString('base64'), bytes: 2 };
  await expect.poll(() => topicsOf(service, id)).toMatchObject([{ topic: 'plant/a', messages: 3, payload: cut }]);
});

test('topics with isAlwaysOn are recorded after a restart without a request, until the broker is removed', async () => {
  const [before, after] = [await startMosquitto(FOLLOWED), await startMosquitto(FOLLOWED)];
  const [atBefore, atAfter] = [await recordersAt(before), await recordersAt(after)];
  const dataDir = temporaryFolder();
  const first = await startTestService({ dataDir });
  const id = await addBroker(first, before);
  await askTopics(first, id, 'setRecording', { always: true, ttl: 900 });
  await expect.poll(() => atBefore.open.size).toBe(1);
  await first.close();
  await expect.poll(() => atBefore.open.size).toBe(0);

  const { databaseUrl } = first.config;
  const second = await startTestService({
    dataDir,
    env: databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl },
  });
  await expect.poll(() => atBefore.open.size).toBe(1);
  // Kept, since it may come before the subscription.
  await (await before.client()).publishAsync('plant/old', '1', { qos: 1, retain: true });
  await expect.poll(() => namesOf(second, id)).toEqual(['plant/old']);
  expect(await askTopics(second, id, 'getTtl')).toEqual({ ttl: 900 });

  const moved = { name: 'line', url: after.url };
  expect((await second.rest('PUT', `${brokersOf(second)}/${id}`, second.root, moved)).status).toBe(204);
  await expect.poll(() => atAfter.open.size).toBe(1);
  await expect.poll(() => atBefore.open.size).toBe(0);
  await (await after.client()).publishAsync('plant/new', '1', { qos: 1, retain: true });
  await expect.poll(() => namesOf(second, id)).toEqual(['plant/new']);
  expect((await statusOf(second, id)).state).toBe('RECORDING');

  expect((await second.rest('DELETE', `${brokersOf(second)}/${id}`)).status).toBe(204);
  await expect.poll(() => atAfter.open.size).toBe(0);
  expect(await second.storage.db.topicTreeSettings.count()).toBe(0);
});
