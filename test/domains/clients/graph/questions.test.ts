import { expect, test } from 'vitest';
import { startTestService } from '../../../support/service.ts';
import { subscribe } from '../../../support/subscription.ts';
import { addBroker, meter, startCommercialBroker } from './commercial-broker.ts';

async function start(count: number) {
  const broker = await startCommercialBroker();
  for (let index = 0; index < count; index++) broker.clients.set(`m${index}`, meter(`m${index}`));
  const service = await startTestService();
  const brokerId = await addBroker(service, broker.url);
  const questions = () => broker.requests.flatMap((text) => text.match(/"getClient"/g) ?? []).length;
  return { service, brokerId, questions };
}

const WATCH = (fields: string) =>
  `subscription ($id: ID!) { connectedClients(brokerId: $id) { kind partsLeft clients { clientId ${fields} } } }`;

test('a live list may ask the broker about each client of a small one, once for all fields', async () => {
  const { service, brokerId, questions } = await start(300);
  const events = subscribe(service, service.root, WATCH('numPublished keepalive unknownFields { field }'), {
    id: brokerId,
  });
  const { connectedClients } = await events.until(() => true);
  expect(connectedClients.clients[0]).toEqual({ clientId: 'm0', numPublished: 11, keepalive: 60, unknownFields: [] });
  expect(questions()).toBe(300);
});

test('about a list too long for one event the broker is asked at most for the last part, and the subscription says so at once', async () => {
  const { service, brokerId, questions } = await start(2_500);
  const asking = subscribe(service, service.root, WATCH('numPublished'), { id: brokerId });
  await expect(asking.until(() => true)).rejects.toThrow('RATE_LIMITED');
  expect(questions()).toBe(0);
  asking.end();

  const events = subscribe(service, service.root, WATCH('username connected address queues { messagesOut }'), {
    id: brokerId,
  });
  const ids = new Set<string>();
  await events.until(({ connectedClients: { partsLeft, clients } }) => {
    for (const { clientId } of clients) ids.add(clientId);
    return partsLeft === 0;
  });
  expect(ids.size).toBe(2_500);
  expect(questions()).toBeLessThanOrEqual(500);
});

test('a page is asked about as far as a document may cost, and never in part', async () => {
  const { service, brokerId, questions } = await start(1_200);
  const page = (first: number) =>
    service.graphql(
      'query ($id: ID!, $first: Int!) { broker(id: $id) { connectedClients(first: $first) { nodes { numPublished } } } }',
      { id: brokerId, first },
    );
  const { data } = await page(1_000);
  expect(data.broker.connectedClients.nodes).toHaveLength(1_000);
  expect(questions()).toBe(1_000);
  expect((await page(6_000)).errors?.[0]?.extensions.code).toBe('RATE_LIMITED');
  expect(questions()).toBe(1_000);
});
