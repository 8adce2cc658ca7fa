import { expect, test } from 'vitest';
import { startScriptedBroker } from '../../../support/aedes-broker.ts';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../../support/service.ts';
import { addBroker } from '../graph/commercial-broker.ts';

const CAPABILITIES = 'query ($id: ID!) { broker(id: $id) { capabilities { api provider reasonCode reason } } }';
const CLIENTS = `query ($id: ID!) { broker(id: $id) { connectedClients(filter: { value: "dev" }) {
  totalCount isComplete incompleteReason nodes { clientId isConnected } } } }`;

const inspectOf = async (service: TestService, id: string) => {
  const { data } = await service.graphql(CAPABILITIES, { id });
  return data.broker.capabilities.find(({ api }: { api: string }) => api === 'cedalo/inspect');
};

const countOf = async (service: TestService, id: string): Promise<number> => {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const line = new RegExp(`^brokergraph_log_lines_not_understood_total\\{broker="${id}"\\} (\\d+)$`, 'm').exec(text);
  return Number(line?.[1] ?? 0);
};

test('a version that logs other lines is reported with examples, in the capabilities and in the metrics', async () => {
  const broker = await startScriptedBroker(() => []);
  const service = await startTestService();
  const id = await addBroker(service, broker.url);
  await expect.poll(() => broker.filters).toContain('$SYS/broker/log/#');
  const reported = async () => {
    await broker.publish('$SYS/broker/version', 'mosquitto version 2.2.0');
    await broker.publish('$SYS/broker/log/N', '1700000000: Session\u0007 "dev-1" opened (10.0.0.1:1) pw=secret');
    return inspectOf(service, id);
  };
  await expect.poll(reported).toMatchObject({
    provider: 'NONE',
    reasonCode: 'LOG_NOT_UNDERSTOOD',
    reason: expect.stringContaining('“Session\\u0007 "dev-1" opened (10.0.0.1:1) pw=***”'),
  });
  expect(await countOf(service, id)).toBeGreaterThan(0);
});

test('a complete list of Mosquitto has no reason, and an incomplete one has', async () => {
  const broker = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG });
  await broker.client({ clientId: 'dev-earlier' });
  const service = await startTestService();
  const id = await addBroker(service, broker.url, ADMIN);
  const list = async () => (await service.graphql(CLIENTS, { id })).data.broker.connectedClients;
  await expect
    .poll(list)
    .toMatchObject({ isComplete: false, incompleteReason: expect.stringMatching(/before .*: 1$/) });
  expect(await inspectOf(service, id)).toMatchObject({ provider: 'GATEWAY', reason: null });
  expect(await countOf(service, id)).toBe(0);
});
