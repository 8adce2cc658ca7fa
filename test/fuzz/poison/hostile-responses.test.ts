import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { expect, test } from 'vitest';
import { apiRoutes } from '../../../src/app/api-routes.ts';
import { connected, startTestService, type TestService } from '../../support/service.ts';
import { onTestFinished } from '../../support/shared.ts';
import { Random } from '../random.ts';
import { graphqlRequest, rootsOf } from '../requests/graphql-requests.ts';
import { errorLog, sendRequest } from '../requests/request-fuzz.ts';
import { sendControlRequests } from './control-requests.ts';
import { PoisonedRelay } from './poisoned-relay.ts';

/** What a broker reports about itself, its clients and its access control, with odd values among it. */

const seed = Number(process.env.FUZZ_SEED ?? 1);
const count = Number(process.env.FUZZ_REQUESTS ?? 150);

const QUERIES = rootsOf('broker', 'node', 'project', 'brokerMetrics', 'connectedClients', 'accessControl', 'streams');
const PATHS = apiRoutes.filter(({ method, path }) => method === 'GET' && path.includes('{brokerId}'));

/** The clients, accounts and refusals of a broker, which the requests are about. */
async function furnish(port: number, password: string): Promise<void> {
  const account = { username: 'admin', password };
  const url = `mqtt://127.0.0.1:${port}`;
  const client = await connectAsync(url, {
    ...account,
    clientId: 'fuzz',
    protocolVersion: 5,
    will: { topic: 'fuzz/will', payload: Buffer.from('x'), qos: 1, retain: true, properties: { willDelayInterval: 5 } },
  });
  onTestFinished(() => void client.end(true));
  await client.subscribeAsync(['fuzz/#', '$share/g/fuzz/+'], { qos: 1 });
  await client.publishAsync('fuzz/a', '{"a":1}', { qos: 1, retain: true });
  for (const username of ['admin', 'unknown']) {
    const wrong = { username, password: 'wrong', reconnectPeriod: 0 };
    await expect(connectAsync(url, wrong)).rejects.toThrow();
  }
}

const READ = `query ($id: ID!) { broker(id: $id) {
  accounts { nodes { username } } connectedClients { nodes { clientId } } refusals { nodes { reason count } }
  clientEvents { nodes { at kind } } } }`;

const cloudBroker = async (service: TestService) => {
  const { graphql, storage } = service;
  const { id } = await storage.db.broker.findFirstOrThrow({ where: { type: 'CLOUD' } });
  await connected(service, id);
  const query = 'query ($id: ID!) { broker(id: $id) { ... on CloudBroker { listeners { protocol port } } } }';
  const { data } = await graphql(query, { id });
  const { port } = data.broker.listeners.find(({ protocol }: { protocol: string }) => protocol === 'MQTT');
  return { id, port: port as number };
};

test('odd values in what a broker responds are no internal errors, and ordinary responses follow', async () => {
  const faults: string[] = [];
  const fault = (text: string) => void faults.push(text);
  const service = await startTestService({
    embeddedBroker: true,
    env: { BROKER_TIMEOUT_MS: '2000' },
    log: errorLog(fault),
  });
  const { id: own, port } = await cloudBroker(service);
  const password = readFileSync(join(service.config.dataDir, 'brokers', own, 'password'), 'utf8').trim();
  const random = new Random(seed);
  const relay = await PoisonedRelay.start(port, random);
  await furnish(port, password);
  await sendControlRequests(`mqtt://127.0.0.1:${port}`, password, random, 2 * count);
  const { projectId, graphql } = service;
  const { data } = await graphql('mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }', {
    input: { projectId, name: 'relay', url: relay.url, username: 'admin', password },
  });
  const id = data.addBroker.broker.id;
  await connected(service, id);
  relay.isPoisoned = true;
  const known = { pick: (_random: Random, name: string) => (/project/i.test(name) ? projectId : id) };
  for (let number = 0; number < count; number += 1) {
    const { method, path } = random.pick(PATHS);
    const request = random.chance(0.3)
      ? {
          method,
          path: path
            .replace('{projectId}', projectId)
            .replace('{brokerId}', id)
            .replaceAll(/\{\w+\}/g, 'fuzz'),
          headers: { accept: '*/*' },
          body: undefined,
        }
      : graphqlRequest(random, known, number, QUERIES);
    const sending = { seed, number, underWay: new Set<string>(), fault, random, caller: 'root' };
    await sendRequest(service, service.root, request, sending);
  }
  expect(relay.json.replaced).toBeGreaterThan(count);
  relay.heal();
  const ordinary = async (brokerId: string) => {
    const { data: read, errors } = await graphql(READ, { id: brokerId });
    return { errors, accounts: read?.broker?.accounts?.nodes };
  };
  const expected = await ordinary(own);
  expect(expected.errors).toBeUndefined();
  await expect.poll(() => ordinary(id)).toEqual(expected);
  expect(faults).toEqual([]);
});
