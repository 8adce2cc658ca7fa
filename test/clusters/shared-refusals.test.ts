import { expect, test } from 'vitest';
import { freePort } from '../support/mosquitto.ts';
import { startRedis } from '../support/redis.ts';
import { nodeInput, startNodes } from './cluster-world.ts';
import { failing } from './failing.ts';
import { type SharedWorld, sharedWorld } from './shared-world.ts';

const CREATE = 'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id } } }';

const refusal = async ({ service }: SharedWorld, input: object) => {
  const wanted = { projectId: service.projectId, name: 'plant', mode: 'FULL', ...input };
  const { errors } = await service.graphql(CREATE, { input: wanted });
  return { code: errors?.[0]?.extensions.code, message: errors?.[0]?.message ?? '' };
};

/** Nothing is left of a cluster that could not be made: its brokers run by themselves, and are in none. */
const untouched = async ({ service, brokerIds, pidOf }: SharedWorld) => {
  const { db } = service.storage;
  expect([
    await db.cluster.count(),
    await db.clusterNode.count(),
    await db.broker.count({ where: { ha: true } }),
  ]).toEqual([0, 0, 0]);
  expect(brokerIds.map(pidOf)).toEqual(brokerIds.map(() => null));
  expect(brokerIds.every((id) => service.services.runtimes.isConnected(id))).toBe(true);
};

test('without Redis, or with one that is no use, nothing is done, and it is said what is wrong', async () => {
  const without = await sharedWorld(2);
  const nodes = [without.nodeInput(1), without.nodeInput(2)];
  for (const mode of ['FULL', 'HP']) {
    expect(await refusal(without, { mode, nodes })).toMatchObject({
      code: 'NOT_SUPPORTED_BY_BROKER',
      message: expect.stringMatching(/REDIS_URL/),
    });
  }
  expect(await refusal(without, { nodes: nodes.slice(1) })).toMatchObject({ code: 'INVALID' });
  await untouched(without);
  await without.service.close();

  const dead = await sharedWorld(2, { env: { REDIS_URL: `redis://:hidden-word@127.0.0.1:${await freePort()}` } });
  const unreached = await refusal(dead, { nodes: [dead.nodeInput(1), dead.nodeInput(2)] });
  expect(unreached).toMatchObject({
    code: 'BROKER_UNREACHABLE',
    message: expect.stringMatching(/Redis.*ECONNREFUSED/),
  });
  expect(unreached.message).not.toContain('hidden-word');
  await untouched(dead);
  await dead.service.close();

  const { url } = await startRedis({ settings: [['maxmemory-policy', 'allkeys-lru']] });
  const forgetful = await sharedWorld(2, { env: { REDIS_URL: url } });
  expect(await refusal(forgetful, { nodes: [forgetful.nodeInput(1), forgetful.nodeInput(2)] })).toMatchObject({
    code: 'BROKER_UNREACHABLE',
    message: expect.stringMatching(/maxmemory-policy/),
  });
  await untouched(forgetful);
});

test('brokers that cannot share are refused by name: plain Mosquitto, and Mosquittos of this service', async () => {
  const { url } = await startRedis();
  const world = await sharedWorld(2, { env: { REDIS_URL: url } });
  const { service } = world;
  const [plain] = await startNodes(service, 1);
  if (!plain) throw new Error('a Mosquitto');
  await expect.poll(() => service.services.runtimes.isConnected(plain.brokerId)).toBe(true);
  const own = await world.broker('Own Mosquitto', 'MOSQUITTO');
  for (const mode of ['FULL', 'HP']) {
    const { code, message } = await refusal(world, {
      mode,
      nodes: [world.nodeInput(1), nodeInput({ ...plain, nodeId: 2 }), world.nodeInput(3, own)],
    });
    expect(code).toBe('NOT_SUPPORTED_BY_BROKER');
    expect(message).toMatch(/^"m1", "Own Mosquitto" cannot/);
    expect(message).toContain('DYNSEC');
  }
  const { status, body } = await service.rest('POST', `/api/projects/${service.projectId}/clusters`, service.root, {
    clustername: 'plant',
    syncmode: 'hp',
    nodes: [
      { broker_id: plain.brokerId, url: plain.broker.url, nodeid: 1, name: 'a', address: '127.0.0.1', port: 1 },
      {
        broker_id: world.brokerIds[0],
        url: await world.urlOf(world.brokerIds[0] ?? ''),
        nodeid: 2,
        name: 'b',
        address: '127.0.0.1',
        port: 1,
      },
    ],
  });
  expect([status, body.code]).toEqual([405, 'NOT_SUPPORTED_BY_BROKER']);
  await untouched(world);
});

/** A broker by itself with an account and a retained message that no other one has. */
async function ownOf(world: SharedWorld, brokerId: string, name: string) {
  const at = `/api/projects/${world.service.projectId}/brokers/${brokerId}`;
  const { status } = await world.service.rest('POST', `${at}/clients`, world.service.root, {
    username: name,
    password: name,
  });
  expect(status).toBe(204);
  const client = await world.client(brokerId);
  await client.publishAsync('kept', name, { qos: 1, retain: true });
  await client.endAsync();
}

/** They are as `ownOf` left them. */
async function expectOwn(world: SharedWorld, brokerId: string, name: string) {
  await expect.poll(() => world.client(brokerId, { username: name, password: name }).catch(() => null)).not.toBeNull();
  const client = await world.client(brokerId);
  const kept = new Promise((resolve) => client.once('message', (_topic, payload) => resolve(payload.toString())));
  await client.subscribeAsync('kept');
  expect(await kept).toBe(name);
}

test('brokers have what they had where a cluster or a join fails after they were changed; one that was left is removed', async () => {
  const redis = await startRedis();
  const world = await sharedWorld(2, { env: { REDIS_URL: redis.url } });
  const { service, brokerIds } = world;
  const [one = '', two = ''] = brokerIds;
  await ownOf(world, one, 'first');
  await ownOf(world, two, 'second');
  const nodes = [world.nodeInput(1), world.nodeInput(2)];
  // When the first node runs as one, and the second one has the access control of the first.
  const canGoOn = failing(service, 'UPDATE OF "seed" ON "Cluster" WHEN NEW."seed" IS NULL AND OLD."seed" = 1');
  expect(await refusal(world, { nodes })).toMatchObject({ code: 'INTERNAL_ERROR' });
  canGoOn();
  await expect.poll(() => brokerIds.map(world.pidOf)).toEqual([null, null]);
  await expect.poll(() => brokerIds.every((id) => service.services.runtimes.isConnected(id))).toBe(true);
  await expectOwn(world, one, 'first');
  await expectOwn(world, two, 'second');
  await untouched(world);
  await expect(world.client(two, { username: 'first', password: 'first' })).rejects.toThrow();

  // As a service leaves it that ends when it has reserved a cluster, and not read its first node yet.
  const reserved = failing(service, 'UPDATE OF "document" ON "Cluster"');
  const cannotRemove = failing(service, 'DELETE ON "Broker"', 'failing_removal');
  await refusal(world, { nodes });
  const { db } = service.storage;
  expect(await db.cluster.count()).toBe(1);
  reserved();
  cannotRemove();
  await service.services.clusterChanges.removeUnmade();
  await untouched(world);
});
