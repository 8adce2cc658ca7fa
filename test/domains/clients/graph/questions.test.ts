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

test('a small live list sends the broker one request per client for all fields', async () => {
  const { service, brokerId, questions } = await start(300);
  const events = subscribe(service, service.root, WATCH('numPublished keepalive unknownFields { field }'), {
    id: brokerId,
  });
  const { connectedClients } = await events.until(() => true);
  expect(connectedClients.clients[0]).toEqual({ clientId: 'm0', numPublished: 11, keepalive: 60, unknownFields: [] });
  expect(questions()).toBe(300);
});

test('for a list with several events the broker is asked at most about the last part, and the subscription fails immediately otherwise', async () => {
  const { service, brokerId, questions } = await start(2_500);
  const asking = subscribe(service, service.root, WATCH('numPublished'), { id: brokerId });
  await expect(asking.until(() => true)).rejects.toThrow('TOO_COMPLEX');
  expect(questions()).toBe(0);
  asking.end();

  const events = subscribe(service, service.root, WATCH('username isConnected address queues { messagesOut }'), {
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

test('requests for the clients of a page are limited by the cost of a document, and a page is never read in part', async () => {
  const { service, brokerId, questions } = await start(1_200);
  const page = (first: number) =>
    service.graphql(
      'query ($id: ID!, $first: Int!) { broker(id: $id) { connectedClients(first: $first) { nodes { numPublished } } } }',
      { id: brokerId, first },
    );
  const { data } = await page(1_000);
  expect(data.broker.connectedClients.nodes).toHaveLength(1_000);
  expect(questions()).toBe(1_000);
  expect((await page(6_000)).errors?.[0]?.extensions.code).toBe('TOO_COMPLEX');
  expect(questions()).toBe(1_000);
});
