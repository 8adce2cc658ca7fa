import { expect, test } from 'vitest';
import { openStream, TRANSPORTS } from '../../../support/event-stream.ts';
import { startTestService, type TestService } from '../../../support/service.ts';
import { embeddedBroker } from './observed-broker.ts';
import { startScriptedInspect } from './scripted-inspect.ts';

const SUBSCRIBERS = 200;

/**
 * Half of them send the same document, the others different ones, over both transports. Resolves when all have started.
 */
async function join({ url, root }: Pick<TestService, 'url' | 'root'>, brokerId: string, count: number) {
  const streams = Array.from({ length: count }, (_, number) => {
    const own = number % 2 === 0 ? '' : `own${number}: removed`;
    const query = `subscription ($id: ID!) { connectedClients(brokerId: $id) { kind partsLeft removed ${own} clients { clientId } } }`;
    const transport = TRANSPORTS[(number >> 1) % 2] ?? 'SSE';
    return openStream(transport, `${url}/graphql`, root, { query, variables: { id: brokerId } });
  });
  for (const stream of streams) await stream.until(({ connectedClients }) => connectedClients.partsLeft === 0);
  return streams;
}

test(`${SUBSCRIBERS} subscribers cost a broker the requests and subscriptions of one`, async () => {
  const inspect = await startScriptedInspect(50);
  const service = await startTestService();
  const { body } = await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, {
    name: 'scripted',
    url: inspect.broker.url,
  });
  const connected = async () =>
    (await service.graphql('query ($id: ID!) { broker(id: $id) { isConnected } }', { id: body.id })).data.broker;
  await expect.poll(connected).toEqual({ isConnected: true });
  const upstream = () => ({
    requests: inspect.broker.requests.filter((request) => request.includes('listClients')).length,
    filters: [...inspect.broker.filters],
  });
  await join(service, body.id, 1);
  // Refusals are followed from their own start.
  await expect.poll(() => inspect.broker.filters).toContain('$SYS/broker/version');
  const ofOne = upstream();
  expect(ofOne.requests).toBeGreaterThan(0);
  expect(ofOne.filters).toContain('$CONTROL/cedalo/inspect/v1/response');

  const streams = await join(service, body.id, SUBSCRIBERS - 1);
  const end = inspect.change(20);
  for (const stream of streams) await stream.until(({ connectedClients }) => connectedClients.kind === 'CHANGE');
  await end();
  expect(upstream()).toEqual(ofOne);
});

const GATEWAY = `query ($id: ID!) { broker(id: $id) { connectedClients(first: 500) {
  nodes { clientId isGateway } } } }`;
const DETAIL = `query ($id: ID!, $clientId: String!) { broker(id: $id) { connectedClient(clientId: $clientId) {
  numPublished subscriptions } } }`;

test(`the embedded broker reports the same of this service with ${SUBSCRIBERS} subscribers as with one`, async () => {
  const { service, brokerId } = await embeddedBroker();
  await join(service, brokerId, 1);
  const { data } = await service.graphql(GATEWAY, { id: brokerId });
  type Node = { readonly clientId: string; readonly isGateway: boolean };
  const [gateway, ...others] = data.broker.connectedClients.nodes.filter(({ isGateway }: Node) => isGateway);
  expect(others).toEqual([]);
  const detail = async () => {
    const { data: told } = await service.graphql(DETAIL, { id: brokerId, clientId: gateway.clientId });
    const { numPublished, subscriptions } = told.broker.connectedClient;
    return { numPublished, subscriptions: [...subscriptions].sort() };
  };
  // Problems of streams are looked for a few seconds after the start.
  const responses = async () => (await detail()).subscriptions;
  await expect.poll(responses).toContain('$CONTROL/stream-processing/v1/response');
  const ofOne = await detail();
  await join(service, brokerId, SUBSCRIBERS - 1);
  const { numPublished: counted, ...same } = await detail();
  expect({ ...same, numPublished: ofOne.numPublished }).toEqual(ofOne);
  // This very question comes on top, and the record of events, which reads again every ten seconds.
  expect(counted - ofOne.numPublished).toBeLessThan(SUBSCRIBERS / 10);
});
