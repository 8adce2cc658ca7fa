import mqtt, { type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { startRedis } from '../support/redis.ts';
import { subscribe } from '../support/subscription.ts';
import { type SharedWorld, sharedWorld } from './shared-world.ts';

const STATUS = `query ($c: ID!) { broker(id: $c) { cluster {
  state nodes { nodeId isReachable isLeader lag sync { state } error { code message } }
} } }`;

const WATCH = `subscription ($p: ID!) { clusterStatus(projectId: $p) { clusters {
  id state nodes { nodeId isReachable error { message } }
} } }`;

const ACCOUNT = { username: 'device', password: 'a long secret' } as const;

interface Numbers {
  readonly client: MqttClient;
  /** That it was given, in the order of its arrival. */
  readonly seen: number[];
  until(condition: (seen: readonly number[]) => boolean): Promise<void>;
}

/** A client with a persistent session that goes on at the next of the nodes when it loses one. */
async function device(world: SharedWorld, brokerIds: readonly string[], clientId: string): Promise<Numbers> {
  const urls = await Promise.all(brokerIds.map(world.urlOf));
  const servers = urls.map((url) => {
    const { hostname, port } = new URL(url);
    return { host: hostname, port: Number(port), protocol: 'mqtt' as const };
  });
  const client = mqtt.connect({
    ...ACCOUNT,
    servers,
    clientId,
    protocolVersion: 5,
    clean: false,
    properties: { sessionExpiryInterval: 3_600 },
    resubscribe: false,
    reconnectPeriod: 50,
  });
  onTestFinished(() => client.endAsync(true).then(() => undefined));
  client.on('error', () => undefined);
  const seen: number[] = [];
  let check = () => {};
  client.on('message', (_topic, payload) => {
    seen.push(Number(payload.toString()));
    check();
  });
  await new Promise<void>((resolve) => client.once('connect', () => resolve()));
  return {
    client,
    seen,
    until: (condition) =>
      new Promise((resolve) => {
        check = () => {
          if (condition(seen)) resolve();
        };
        check();
      }),
  };
}

/** In the order in which each came first: what is sent again because nobody knows whether it arrived is there twice. */
const once = (seen: readonly number[]) => [...new Set(seen)];
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

const status = async ({ graph }: SharedWorld, c: string) => (await graph(STATUS, { c })).broker.cluster;

const rest = async ({ service }: SharedWorld, method: string, path: string, body?: unknown) => {
  const answer = await service.rest(method, `/api/projects/${service.projectId}${path}`, service.root, body);
  return { status: answer.status, body: answer.body };
};

test('brokers of this service are one over Redis: made, killed, left, joined, restarted and deleted, with no message lost', async () => {
  const redis = await startRedis({ durable: true });
  const world = await sharedWorld(3, { env: { REDIS_URL: redis.url } });
  const { service, brokerIds, graph } = world;
  const [one = '', two = '', three = ''] = brokerIds;
  const before = await world.client(one);
  await before.publishAsync('kept', 'of the first', { qos: 1, retain: true });
  await before.endAsync();
  const watch = subscribe(service, service.root, WATCH, { p: service.projectId });
  const clusterId = await world.create({ nodes: [1, 2, 3].map((nodeId) => world.nodeInput(nodeId)) });

  const pids = () => brokerIds.map(world.pidOf);
  expect(new Set([...pids(), process.pid, null]).size).toBe(5);
  const node = (nodeId: number) => ({
    nodeId,
    isReachable: true,
    isLeader: nodeId === 1,
    lag: 0,
    sync: { state: 'EQUAL' },
    error: null,
  });
  await expect.poll(() => status(world, clusterId)).toEqual({ state: 'ACTIVE', nodes: [1, 2, 3].map(node) });

  // An account of the cluster is one at each node.
  const access = `/brokers/${clusterId}/roles`;
  const role = { rolename: 'all', acls: [] };
  expect((await rest(world, 'POST', access, role)).status).toBe(204);
  expect(before.connected).toBe(false);
}, 120_000);
