import { expect, test } from 'vitest';
import { mosquittoBroker } from './observed-broker.ts';
import { dialMqtt, type RawClient } from './raw-client.ts';
import { isGateway } from './truth-check.ts';
import { watchByWebSocket } from './watchers.ts';

/**
 * More than `max_queued_messages` of Mosquitto (1,000). No log line is dropped all the same: Mosquitto 2.0 takes over
 * the Receive Maximum of this service's connection (65,535) as the number of messages in flight.
 */
const CLIENTS = 1_500;
/** Concurrent CONNECT packets. */
const CONCURRENCY = 50;

const LIST = `query ($id: ID!) { broker(id: $id) { connectedClients(first: 1) { totalCount isComplete } } }`;

test(`the list is empty and complete after ${CLIENTS} clients of Mosquitto disconnect in one batch`, async () => {
  const { service, brokerId, port, mosquitto } = await mosquittoBroker();
  const { mirror } = watchByWebSocket(service, brokerId);
  // Clients that connect before the log is followed remain unknown.
  await mirror.until(() => mirror.resumeAt !== null);
  const waiting = Array.from({ length: CLIENTS }, (_, number) => `device-${number}`);
  const clients: RawClient[] = [];
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (let clientId = waiting.pop(); clientId !== undefined; clientId = waiting.pop()) {
        const options = { port, clientId, clean: true, expirySeconds: 0, account: null, keepalive: 0 } as const;
        clients.push(await dialMqtt({ ...options, protocolVersion: 4 }));
      }
    }),
  );
  const listed = () => mirror.held(isGateway).map(({ clientId }) => clientId);
  await mirror.until(() => listed().length === CLIENTS);
  const list = async () => (await service.graphql(LIST, { id: brokerId })).data.broker.connectedClients;
  await expect.poll(list, { message: 'all clients are listed' }).toEqual({ totalCount: CLIENTS + 1, isComplete: true });

  // All connections close before Mosquitto processes the first of them.
  mosquitto.suspend();
  for (const client of clients) client.destroy();
  mosquitto.resume();

  await expect.poll(listed, { message: 'every log line arrives, so no client remains listed' }).toEqual([]);
  const complete = { totalCount: 1, isComplete: true };
  await expect.poll(list, { message: 'the count of the broker confirms the empty list' }).toEqual(complete);
});
