import { Writable } from 'node:stream';
import pino from 'pino';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../data-plane/broker/embedded.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { nodeInput, startNodes } from './cluster-world.ts';

const CREATE = 'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id brokerId } } }';
const BROKER = 'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }';
const ENTRIES = `query ($p: ID!) {
  project(id: $p) { brokers { nodes { id isConnected cluster { id } } } clusters { totalCount } }
}`;
const AUDIT = `{ auditEvents(filter: { operation: "deleteCluster" }, first: 10) { nodes { actorKind projectId targetId before } } }`;

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

test('a cluster of embedded brokers that shared sessions is removed at the next start, with log and audit entries', async () => {
  const dataDir = temporaryFolder();
  const first = await startTestService({ dataDir, embeddedBroker: true });
  const { url: DATABASE_URL = undefined } = { url: first.config.databaseUrl };
  const ids = await embeddedBrokers(first);
  const { data } = await create(first, 'DYNSEC', ids);
  const { id: clusterId, brokerId: id } = data.createCluster.cluster;
  // As stored by version 0.1.
  await first.storage.db.cluster.update({ where: { id }, data: { mode: 'FULL' } });
  const { projectId } = first;
  await first.close();

  const lines: { readonly msg: string; readonly clusterId?: string }[] = [];
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  const env = DATABASE_URL === undefined ? {} : { DATABASE_URL };
  const service = await startTestService({ dataDir, embeddedBroker: true, env, log: pino({ level: 'warn' }, sink) });
  const seen = async () => (await service.graphql(ENTRIES, { p: projectId })).data.project;
  await expect
    .poll(async () => (await seen()).brokers.nodes.map((node: { isConnected: boolean }) => node.isConnected))
    .toEqual([true, true]);
  expect(await seen()).toMatchObject({
    brokers: { nodes: expect.arrayContaining(ids.map((broker) => ({ id: broker, isConnected: true, cluster: null }))) },
    clusters: { totalCount: 0 },
  });
  expect(lines.filter((line) => line.clusterId === id)).toMatchObject([
    { msg: 'removed a cluster of embedded brokers; its nodes run alone now', name: 'plant', brokers: ids },
  ]);
  const { auditEvents } = (await service.graphql(AUDIT)).data;
  expect(auditEvents.nodes).toMatchObject([
    { actorKind: 'SERVICE', projectId, targetId: clusterId, before: { mode: 'FULL' } },
  ]);
});
