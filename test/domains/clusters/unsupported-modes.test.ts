import { expect, test } from 'vitest';
import { startTestService, type TestService } from '../../support/service.ts';
import { nodeInput, startNodes } from './cluster-world.ts';

const CREATE = 'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id brokerId } } }';
const BROKER = 'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }';

const create = (service: TestService, mode: string, brokerIds: readonly string[]) => {
  const nodes = brokerIds.map((brokerId, index) => nodeInput({ brokerId, nodeId: index + 1 }));
  return service.graphql(CREATE, { input: { projectId: service.projectId, name: 'plant', mode, nodes } });
};

/** Two connected embedded brokers. */
async function embeddedBrokers(service: TestService): Promise<string[]> {
  const { data } = await service.graphql(BROKER, { input: { projectId: service.projectId, name: 'second' } });
  const { id: first } = await service.storage.db.broker.findFirstOrThrow({ where: { name: 'Embedded broker' } });
  const ids: string[] = [first, data.createCloudBroker.broker.id];
  await expect.poll(() => ids.every((id) => service.services.runtimes.isConnected(id))).toBe(true);
  return ids;
}

test('modes that share sessions are refused for brokers without cedalo/ha, with a hint, and DYNSEC is accepted', async () => {
  const service = await startTestService({ embeddedBroker: true });
  const [mosquitto] = await startNodes(service, 1);
  const embedded = await embeddedBrokers(service);
  const ids = [...embedded, mosquitto?.brokerId ?? ''];
  for (const mode of ['FULL', 'HP']) {
    const { errors } = await create(service, mode, ids);
    expect(errors).toMatchObject([
      {
        message: expect.stringMatching(/^"Embedded broker", "second", "m1" cannot share .* cedalo\/ha\. Mode DYNSEC/),
        extensions: { code: 'NOT_SUPPORTED_BY_BROKER' },
      },
    ]);
  }
  const rows = await service.storage.db.broker.findMany({ where: { id: { in: embedded } } });
  const nodes = rows.map(({ id, url }, index) => ({
    broker_id: id,
    url,
    nodeid: index + 1,
    name: `node ${index + 1}`,
    address: '127.0.0.1',
    port: 7_000,
  }));
  const body = { clustername: 'plant', syncmode: 'full', nodes };
  const refused = await service.rest('POST', `/api/projects/${service.projectId}/clusters`, service.root, body);
  expect([refused.status, refused.body.code]).toEqual([405, 'NOT_SUPPORTED_BY_BROKER']);
  expect(await service.storage.db.cluster.count()).toBe(0);
  expect((await create(service, 'DYNSEC', ids)).errors).toBeUndefined();
});
