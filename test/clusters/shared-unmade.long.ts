import { expect, test } from 'vitest';
import { startRedis } from '../support/redis.ts';
import { sharedWorld } from './shared-world.ts';

const CREATE = 'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id } } }';

test('a node that has joined has its own again where another one does not join in time', async () => {
  const redis = await startRedis();
  const world = await sharedWorld(3, { env: { REDIS_URL: redis.url, BROKER_TIMEOUT_MS: '3000' } });
  const { service, brokerIds, pidOf } = world;
  for (const brokerId of brokerIds) {
    const client = await world.client(brokerId, {
      clientId: 'sleeper',
      clean: false,
      properties: { sessionExpiryInterval: 600 },
    });
    await client.subscribeAsync('q', { qos: 1 });
    await client.endAsync();
    const own = await world.client(brokerId);
    await own.publishAsync('q', brokerId, { qos: 1 });
    await own.publishAsync('kept', brokerId, { qos: 1, retain: true });
    await own.endAsync();
  }
  const nodes = [1, 2, 3].map((nodeId) => world.nodeInput(nodeId));
  const input = { projectId: service.projectId, name: 'plant', mode: 'FULL', nodes };
  const made = service.graphql(CREATE, { input });
  const third = brokerIds[2] ?? '';
  await expect.poll(() => pidOf(third), { interval: 1 }).not.toBeNull();
  process.kill(pidOf(third) ?? 0, 'SIGSTOP');
  const { errors } = await made;
  expect(errors?.[0]).toMatchObject({ extensions: { code: 'BROKER_UNREACHABLE' } });
  expect(errors?.[0]?.message).toMatch(/^Node 3 does not join/);
  await expect.poll(() => brokerIds.map(pidOf)).toEqual([null, null, null]);
  await expect.poll(() => brokerIds.every((id) => service.services.runtimes.isConnected(id))).toBe(true);
  for (const brokerId of brokerIds) {
    const seen: string[] = [];
    const client = await world.client(brokerId, { clientId: 'sleeper', clean: false });
    client.on('message', (_topic, payload) => seen.push(payload.toString()));
    await client.subscribeAsync('kept');
    await expect.poll(() => seen.sort()).toEqual([brokerId, brokerId]);
  }
});
