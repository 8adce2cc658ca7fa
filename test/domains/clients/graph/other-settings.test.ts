import { test } from 'vitest';
import { startTestService } from '../../../support/service.ts';
import { subscribe } from '../../../support/subscription.ts';
import { addBroker, meter, startCommercialBroker } from './commercial-broker.ts';

const WATCH = 'subscription ($id: ID!) { connectedClients(brokerId: $id) { kind removed clients { clientId } } }';

test('a watcher of clients continues when the settings of the broker change, and receives the differences', async () => {
  const [first, second] = [await startCommercialBroker(), await startCommercialBroker()];
  for (const id of ['m1', 'm2']) first.clients.set(id, meter(id));
  for (const id of ['m2', 'm3']) second.clients.set(id, meter(id));
  const service = await startTestService();
  const brokerId = await addBroker(service, first.url);
  const events = subscribe(service, service.root, WATCH, { id: brokerId });
  const held = new Set<string>();
  const until = (...ids: string[]) =>
    events.until(({ connectedClients: { kind, removed, clients } }) => {
      if (kind === 'SNAPSHOT') held.clear();
      for (const id of removed) held.delete(id);
      for (const { clientId } of clients) held.add(clientId);
      return [...held].sort().join() === ids.join();
    });
  await until('m1', 'm2');

  const CHANGE = 'mutation ($input: UpdateBrokerInput!) { updateBroker(input: $input) { broker { url } } }';
  await service.graphql(CHANGE, { input: { brokerId, url: second.url } });
  await until('m2', 'm3');

  const removal = 'mutation ($id: ID!) { deleteBroker(input: { brokerId: $id }) { deletedBrokerId } }';
  await service.graphql(removal, { id: brokerId });
  let end = '';
  while (!end.includes('ended')) end = await until('nobody').then(String, ({ message }: Error) => message);
});
