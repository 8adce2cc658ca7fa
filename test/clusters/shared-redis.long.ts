import { expect, test } from 'vitest';
import { startRedis } from '../support/redis.ts';
import { subscribe } from '../support/subscription.ts';
import { sharedWorld } from './shared-world.ts';

const WATCH = `subscription ($p: ID!) { clusterStatus(projectId: $p) { clusters { clusterId state nodes { error { message } } } } }`;

interface Told {
  readonly clusters: readonly {
    readonly clusterId: string;
    readonly state: string;
    readonly nodes: readonly { readonly error: { readonly message: string } | null }[];
  }[];
}

test('a Redis that is full, and one that others write to: clients wait, the status says why, and it goes on', async () => {
  const redis = await startRedis({ durable: true });
  const world = await sharedWorld(2, { env: { REDIS_URL: redis.url } });
  const { service } = world;
  const [one = '', two = ''] = world.brokerIds;
  const clusterId = await world.create({ nodes: [world.nodeInput(1), world.nodeInput(2)] });
  const watch = subscribe(service, service.root, WATCH, { p: service.projectId });
  const isTold = (wanted: (cluster: Told['clusters'][number]) => boolean) =>
    watch.until(({ clusterStatus }) =>
      (clusterStatus as Told).clusters.some((cluster) => cluster.clusterId === clusterId && wanted(cluster)),
    );
  const isActive = () => isTold(({ state }) => state === 'ACTIVE');
  const isCutOff = (why: RegExp) =>
    isTold(({ state, nodes }) => state === 'INACTIVE' && nodes.every(({ error }) => why.test(error?.message ?? '')));
  await isActive();

  // Sessions that outlive what happens to their connections.
  const staying = { reconnectPeriod: 50, clean: false, properties: { sessionExpiryInterval: 600 } } as const;
  const publisher = await world.client(one, { clientId: 'publisher', ...staying });
  const reader = await world.client(two, { clientId: 'reader', ...staying });
  const seen = new Set<string>();
  reader.on('message', (_topic, payload) => seen.add(payload.toString()));
  await reader.subscribeAsync('q', { qos: 1 });
  await publisher.publishAsync('q', 'before', { qos: 1 });

  await redis.command('CONFIG', 'SET', 'maxmemory', '1');
  let isAcknowledged = false;
  const waiting = publisher.publishAsync('q', 'while full', { qos: 1 }).then(() => {
    isAcknowledged = true;
  });
  await isCutOff(/no memory left/);
  expect([isAcknowledged, [...seen]]).toEqual([false, ['before']]);
  await redis.command('CONFIG', 'SET', 'maxmemory', '0');
  await waiting;
  await isActive();
  await expect.poll(() => [...seen]).toEqual(['before', 'while full']);

  // What they share has something that is nothing: they say so, take nothing of it, and go on as soon as Redis has lost it.
  const keys = ['state', 'log'].map((name) => `brokergraph:{${clusterId}}:${name}`);
  const [state = '', log = ''] = keys;
  const [generation, last] = (await redis.command('HMGET', state, 'generation', 'last')) as [string, string];
  await redis.command('XADD', log, `${generation}-${Number(last) + 1}`, 'b', 'garbage', 't', '0');
  await isTold(({ nodes }) =>
    nodes.some(({ error }) => /cannot be read: a batch of version/.test(error?.message ?? '')),
  );
  await redis.command('DEL', ...keys);
  await isActive();
  await publisher.publishAsync('q', 'after', { qos: 1 });
  await expect.poll(() => [...seen]).toEqual(['before', 'while full', 'after']);
});
