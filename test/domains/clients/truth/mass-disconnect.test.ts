import { expect, test } from 'vitest';
import { mosquittoBroker } from './observed-broker.ts';
import { dialMqtt, type RawClient } from './raw-client.ts';
import { isGateway } from './truth-check.ts';
import { watchByWebSocket } from './watchers.ts';

const CLIENTS = 1_500;
/** CONNECTs under way at once. */
const CONCURRENCY = 50;

const LIST = `query ($id: ID!) { broker(id: $id) { connectedClients(first: 1) { totalCount isComplete } } }`;

test(`when ${CLIENTS} clients of Mosquitto go at once nobody stays listed, or the list says that it is not complete`, async () => {
  const { service, brokerId, port } = await mosquittoBroker();
  const { mirror } = watchByWebSocket(service, brokerId);
  // Whoever comes before the log is followed stays unknown.
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
  await mirror.until(() => mirror.held(isGateway).length === CLIENTS);
  const list = async () => (await service.graphql(LIST, { id: brokerId })).data.broker.connectedClients;
  await expect.poll(list).toEqual({ totalCount: CLIENTS + 1, isComplete: true });

  for (const client of clients) client.destroy();
  const isOver = await mirror.until(() => mirror.held(isGateway).length === 0, AbortSignal.timeout(20_000));
  // Lines may be lost on the way; then the broker's own count tells.
  const expected = isOver ? { totalCount: 1, isComplete: true } : { totalCount: expect.any(Number), isComplete: false };
  console.log(`${mirror.held(isGateway).length} of ${CLIENTS} are still listed`);
  await expect.poll(list).toEqual(expected);
});
