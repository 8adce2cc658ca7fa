import { expect, test } from 'vitest';
import { useSqlite } from '../../support/database.ts';
import { freePort } from '../../support/free-port.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startServiceHere, startServiceProcess } from '../../support/service-process.ts';
import { twoServices } from '../jobs/job-world.ts';
import { type Receiver, startReceiver } from './notification-world.ts';

const CREATE = `mutation ($input: CreateNotificationChannelInput!) {
  createNotificationChannel(input: $input) { notificationChannel { id } } }`;
const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';

interface Service {
  readonly url: string;
  readonly root: string;
  readonly projectId: string;
  // biome-ignore lint/suspicious/noExplicitAny: as selected.
  graphql(query: string, variables?: object): Promise<any>;
}

async function channelTo({ graphql, projectId }: Service, { url }: Receiver): Promise<void> {
  const rules = { kinds: ['BROKER_UNREACHABLE'] };
  await graphql(CREATE, { input: { projectId, name: 'c', rules, target: { webhook: { url } } } });
}

/** Each once, in the order of the first arrival. */
const changesIn = ({ requests }: Receiver) => [...new Set(requests.map(({ body }) => body.data.change))];

test('a real problem is notified although the service is killed while it sends', async () => {
  useSqlite();
  const [receiver, mosquitto] = await Promise.all([startReceiver(), startMosquitto()]);
  await mosquitto.stop();
  const service = await startServiceProcess({ BROKER_ALLOWED_HOSTS: '*,127.0.0.0/8' });
  await channelTo(service, receiver);
  // Each response is lost with the process.
  receiver.respond = () => undefined;
  await service.graphql(ADD, { input: { projectId: service.projectId, name: 'b', url: mosquitto.url } });
  for (const attempts of [1, 2]) {
    await expect.poll(() => receiver.requests.length, { timeout: 60_000 }).toBe(attempts);
    await service.kill();
    await service.start();
  }
  receiver.respond = (response) => void response.writeHead(204).end();
  await expect.poll(() => receiver.requests.length, { timeout: 60_000 }).toBeGreaterThan(2);
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  await mosquitto.start();
  await expect.poll(() => changesIn(receiver), { timeout: 90_000 }).toEqual(['OPENED', 'CLOSED']);
});

test.skipIf(process.env.TEST_ENGINE !== 'postgresql')('another process delivers what a process leaves', async () => {
  const receiver = await startReceiver();
  const { one, two } = await twoServices([startServiceHere, startServiceHere]);
  await channelTo(one, receiver);
  receiver.respond = (response) => void response.writeHead(503).end();
  await two.graphql(ADD, {
    input: { projectId: one.projectId, name: 'b', url: `mqtt://127.0.0.1:${await freePort()}` },
  });
  await expect.poll(() => receiver.requests.length, { timeout: 60_000 }).toBeGreaterThan(0);
  await one.stop();
  receiver.respond = (response) => void response.writeHead(204).end();
  const waiting = async () => {
    const query = `query ($id: ID!) { notificationChannels(projectId: $id) {
      deliveries(state: DELIVERED) { totalCount } } }`;
    return (await two.graphql(query, { id: one.projectId })).notificationChannels[0].deliveries.totalCount;
  };
  await expect.poll(waiting, { timeout: 60_000 }).toBe(1);
  expect(changesIn(receiver)).toEqual(['OPENED']);
});
