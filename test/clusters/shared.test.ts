import mqtt, { type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { nodeOf } from '../embedded/sharing/nodes.ts';
import { temporaryFolder } from '../support/database.ts';
import { startRedis } from '../support/redis.ts';
import { subscribe } from '../support/subscription.ts';
import { type SharedWorld, sharedWorld } from './shared-world.ts';

const STATUS = `query ($c: ID!) { broker(id: $c) { cluster {
  state nodes { nodeId isReachable isLeader lag sync { state } error { code message } }
} } }`;

const WATCH = `subscription ($p: ID!) { clusterStatus(projectId: $p) { clusters {
  clusterId state nodes { nodeId isReachable error { message } }
} } }`;

const LIST = `query ($c: ID!) { broker(id: $c) { connectedClients(first: 100, filter: { value: "s", mode: STARTS_WITH }) {
  nodes { clientId nodeId connected }
} } }`;

const ACCOUNT = { username: 'device', password: 'a long secret' } as const;
const SESSION = {
  ...ACCOUNT,
  clientId: 'session',
  clean: false,
  properties: { sessionExpiryInterval: 3_600 },
} as const;

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

const next = (client: MqttClient) =>
  new Promise<string>((resolve) => client.once('message', (_topic, payload) => resolve(payload.toString())));

interface Told {
  readonly clusters: readonly {
    readonly clusterId: string;
    readonly state: string;
    readonly nodes: readonly {
      readonly nodeId: number;
      readonly isReachable: boolean;
      readonly error: { readonly message: string } | null;
    }[];
  }[];
}

const isDegraded = ({ clusters }: Told, id: string, nodeId: number) =>
  clusters.some(
    (cluster) =>
      cluster.clusterId === id &&
      cluster.state === 'DEGRADED' &&
      cluster.nodes.some((node) => node.nodeId === nodeId && !node.isReachable && node.error !== null),
  );

const isCutOff = ({ clusters }: Told, id: string) =>
  clusters.some(
    ({ clusterId, state, nodes }) =>
      clusterId === id && state === 'INACTIVE' && nodes.every(({ error }) => /Redis/.test(error?.message ?? '')),
  );

const isActive = ({ clusters }: Told, id: string) =>
  clusters.some((cluster) => cluster.clusterId === id && cluster.state === 'ACTIVE');

const status = async ({ graph }: SharedWorld, c: string) => (await graph(STATUS, { c })).broker.cluster;

const rest = async ({ service }: SharedWorld, method: string, path: string, body?: unknown) => {
  const answer = await service.rest(method, `/api/projects/${service.projectId}${path}`, service.root, body);
  return { status: answer.status, body: answer.body };
};

const keepsCopy = async ({ client }: SharedWorld, brokerId: string) =>
  (await nodeOf(await client(brokerId))).isCopyKept;

/** The same persistent session each time, wherever it is connected. */
async function session(world: SharedWorld, brokerId: string) {
  const seen: string[] = [];
  const client = mqtt.connect(await world.urlOf(brokerId), { ...SESSION, protocolVersion: 5, reconnectPeriod: 0 });
  onTestFinished(() => client.endAsync(true).then(() => undefined));
  client.on('error', () => undefined);
  client.on('message', (_topic, payload) => seen.push(payload.toString()));
  return { client, until: (expected: readonly string[]) => expect.poll(() => seen).toEqual(expected) };
}

/** An account of the cluster that may do everything. */
async function account(world: SharedWorld, clusterId: string): Promise<void> {
  const at = `/brokers/${clusterId}`;
  const types = ['publishClientSend', 'publishClientReceive', 'subscribePattern', 'unsubscribePattern'];
  const acls = types.map((acltype) => ({ acltype, topic: '#', priority: 0, allow: true }));
  const done = [
    await rest(world, 'POST', `${at}/roles`, { rolename: 'all' }),
    await rest(world, 'PUT', `${at}/roles`, { rolename: 'all', acls }),
    await rest(world, 'POST', `${at}/clients`, { ...ACCOUNT, roles: [{ rolename: 'all' }] }),
  ];
  expect(done.map(({ status: told }) => told)).toEqual([204, 204, 204]);
}

test('brokers of this service are one over Redis: two are killed, and no message is lost', async () => {
  const redis = await startRedis({ durable: true });
  const world = await sharedWorld(3, { env: { REDIS_URL: redis.url } });
  const { service, brokerIds, graph } = world;
  const [one = '', two = '', three = ''] = brokerIds;
  const before = await world.client(one);
  await before.publishAsync('kept', 'of the first', { qos: 1, retain: true });
  await before.endAsync();
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
  // What each had before is not kept any more.
  expect(await Promise.all(brokerIds.map((id) => keepsCopy(world, id)))).toEqual([false, false, false]);

  // An account of the cluster is one at each node.
  await account(world, clusterId);
  const everywhere = await Promise.all(brokerIds.map((id) => world.client(id, ACCOUNT)));
  for (const [index, publisher] of everywhere.entries()) {
    const heard = everywhere.map((client) => next(client));
    await Promise.all(everywhere.map((client) => client.subscribeAsync('all/#', { qos: 1 })));
    await publisher.publishAsync('all/from', String(index), { qos: index as 0 | 1 | 2 });
    expect(await Promise.all(heard)).toEqual(everywhere.map(() => String(index)));
  }
  const [, elsewhere] = everywhere;
  const retained = next(elsewhere as MqttClient);
  await elsewhere?.subscribeAsync('kept');
  expect(await retained).toBe('of the first');
  await Promise.all(everywhere.map((client) => client.endAsync()));

  const watch = subscribe(service, service.root, WATCH, { p: service.projectId });
  await watch.until(({ clusterStatus }) => isActive(clusterStatus, clusterId));
  // The processes of two nodes are killed, one after the other, while numbers are published and two devices listen: one wherever it gets, one now and then.
  const steady = await device(world, [one, two, three], 'steady');
  await steady.client.subscribeAsync('numbers', { qos: 1 });
  const sleeper = await device(world, [three, one, two], 'sleeper');
  await sleeper.client.subscribeAsync('numbers', { qos: 1 });
  const source = await device(world, [two, three, one], 'source');
  let published = 0;
  const publish = async (count: number) => {
    const all = Array.from({ length: count }, () =>
      source.client.publishAsync('numbers', String(published++), { qos: 1 }),
    );
    await Promise.all(all);
  };
  for (const [index, brokerId] of [one, two].entries()) {
    const pid = world.pidOf(brokerId) ?? 0;
    await publish(50);
    if (index === 1) await sleeper.client.endAsync();
    const under = publish(200);
    process.kill(pid, 'SIGKILL');
    await watch.until(({ clusterStatus }) => isDegraded(clusterStatus, clusterId, index + 1));
    await under;
    await publish(50);
    await watch.until(({ clusterStatus }) => isActive(clusterStatus, clusterId));
    expect(world.pidOf(brokerId)).not.toBe(pid);
  }
  await steady.until((seen) => once(seen).length === published);
  expect(once(steady.seen)).toEqual(numbers(published));
  const awake = await device(world, [one], 'sleeper');
  await awake.until((seen) => once([...sleeper.seen, ...seen]).length === published);
  expect(once([...sleeper.seen, ...awake.seen])).toEqual(numbers(published));

  // Its clients and sessions are one list, each where it is.
  const listed = (await graph(LIST, { c: clusterId })).broker.connectedClients.nodes;
  expect(listed.map(({ clientId }: { clientId: string }) => clientId)).toEqual(['sleeper', 'source', 'steady']);

  // Without Redis nothing runs, and all say so; when it is back all does.
  const input = { brokerId: clusterId, name: 'copies', sourceTopic: 'in', targetTopic: 'out' };
  await graph('mutation ($input: CreateStreamInput!) { createStream(input: $input) { broker { id } } }', { input });
  const stream = async () =>
    (await graph('query ($c: ID!) { broker(id: $c) { stream(name: "copies") { state problem } } }', { c: clusterId }))
      .broker.stream;
  await expect.poll(stream).toEqual({ state: 'RUNNING', problem: null });
  await redis.kill();
  await watch.until(({ clusterStatus }) => isCutOff(clusterStatus, clusterId));
  expect(await stream()).toEqual({
    state: 'WAITING',
    problem: expect.stringMatching(/Node 1: Redis .*Node 2: Redis /),
  });
  await redis.start();
  await watch.until(({ clusterStatus }) => isActive(clusterStatus, clusterId));
  await expect.poll(stream).toEqual({ state: 'RUNNING', problem: null });
});

test('a cluster in which each node records its own topics: left, joined, restarted with the service, and deleted', async () => {
  const redis = await startRedis({ durable: true });
  const dataDir = temporaryFolder();
  const options = { dataDir, env: { REDIS_URL: redis.url } };
  let world = await sharedWorld(3, options);
  const [one = '', two = '', three = ''] = world.brokerIds;
  const nodes = [one, two].map(async (brokerId, index) => ({
    broker_id: brokerId,
    url: await world.urlOf(brokerId),
    nodeid: index + 1,
    name: `node ${index + 1}`,
    address: '127.0.0.1',
    port: 7001 + index,
  }));
  const wanted = { clustername: 'plant', syncmode: 'hp', nodes: await Promise.all(nodes) };
  const made = await rest(world, 'POST', '/clusters', wanted);
  expect(made).toMatchObject({ status: 200, body: { id: expect.stringMatching(/^brk_/) } });
  const clusterId: string = made.body.id;
  expect((await rest(world, 'GET', `/clusters/${clusterId}`)).body).toMatchObject({ syncmode: 'hp', nodes: [{}, {}] });
  await account(world, clusterId);
  const away = await world.client(two, SESSION);
  await away.subscribeAsync('kept/#', { qos: 1 });
  await away.endAsync();
  const first = await world.client(one, ACCOUNT);
  const second = await world.client(two, ACCOUNT);
  const topics = async () => (await rest(world, 'GET', `/brokers/${clusterId}/topictree`)).body;
  // From the first question on they are recorded.
  await topics();
  await first.publishAsync('kept/first', 'x', { qos: 1 });
  await second.publishAsync('kept/second', 'y', { qos: 1 });
  const tree = (nodeid: number, topic: string) => ({ nodeid, publishTopics: { count: 1, topics: [topic] } });
  await expect.poll(topics).toMatchObject([tree(1, 'kept/first'), tree(2, 'kept/second')]);
  expect(await topics()).toHaveLength(2);

  // A node that joins has what the others have.
  const join = { clusterId, brokerId: three, nodeId: 3, name: 'third', address: '127.0.0.1', port: 7003 };
  await world.graph('mutation ($input: JoinClusterInput!) { joinCluster(input: $input) { cluster { id } } }', {
    input: join,
  });
  const missing = 'query ($c: ID!) { broker(id: $c) { cluster { state nodes { sync { missingPasswords } } } } }';
  const { nodes: lacking } = (await world.graph(missing, { c: clusterId })).broker.cluster;
  expect(lacking).toEqual(Array(3).fill({ sync: { missingPasswords: [] } }));
  const third = await session(world, three);
  await third.until(['x', 'y']);
  await third.client.endAsync();
  await first.publishAsync('kept/late', 'z', { qos: 1 });

  // All of it is there again when the service is, and nothing of it without Redis.
  await world.service.close();
  expect(world.brokerIds.map(world.pidOf)).toEqual([null, null, null]);
  const without = await sharedWorld(0, { dataDir });
  const problems = async () =>
    (await without.graph('query ($id: ID!) { broker(id: $id) { ... on CloudBroker { state problem } } }', { id: two }))
      .broker;
  expect(await problems()).toEqual({ state: 'ERROR', problem: expect.stringContaining('REDIS_URL') });
  // As a service leaves it that ends while it makes a cluster: only the node that it begins with is one. The others follow.
  await without.service.storage.db.cluster.update({ where: { id: clusterId }, data: { seed: 1 } });
  // And one that was reserved only.
  const { db } = without.service.storage;
  const entry = await db.broker.findUniqueOrThrow({ where: { id: clusterId } });
  await db.broker.create({ data: { ...entry, id: 'brk_unmade', name: 'unmade' } });
  await db.cluster.create({ data: { id: 'brk_unmade', name: 'unmade', mode: 'DYNSEC', keeper: 'GATEWAY' } });
  await without.service.close();
  world = await sharedWorld(3, options);
  await expect.poll(() => world.service.storage.db.broker.count({ where: { id: 'brk_unmade' } })).toBe(0);
  await expect.poll(() => status(world, clusterId)).toMatchObject({ state: 'ACTIVE', nodes: [{}, {}, {}] });
  const back = await session(world, two);
  await back.until(['z']);

  // Who leaves goes on by itself: in no process of its own, with the accounts, and hears nothing of the others.
  const leave = 'mutation ($input: LeaveClusterInput!) { leaveCluster(input: $input) { cluster { id } } }';
  await world.graph(leave, { input: { clusterId, nodeId: 3 } });
  await expect.poll(() => world.pidOf(three)).toBeNull();
  await expect.poll(() => world.service.services.runtimes.isConnected(three)).toBe(true);
  const alone = await world.client(three, ACCOUNT);
  const heard: string[] = [];
  alone.on('message', (topic) => heard.push(topic));
  await alone.subscribeAsync('#', { qos: 1 });
  const other = await world.client(two, ACCOUNT);
  await other.publishAsync('kept/there', 'w', { qos: 1 });
  await back.until(['z', 'w']);
  await alone.publishAsync('here', 'v', { qos: 1 });
  await expect.poll(() => heard).toEqual(['here']);

  // A cluster is not deleted behind the back of a node, unless it is to be.
  const [, pid] = world.brokerIds.map(world.pidOf);
  const keys = async () => ((await redis.command('KEYS', `*${clusterId}*`)) as readonly string[]).length;
  expect(await keys()).toBeGreaterThan(0);
  process.kill(pid ?? 0, 'SIGKILL');
  await expect.poll(() => world.service.services.runtimes.isConnected(two)).toBe(false);
  const refused = await rest(world, 'DELETE', `/clusters/${clusterId}`);
  expect([refused.status, refused.body.code]).toEqual([503, 'BROKER_UNREACHABLE']);
  await expect.poll(() => status(world, clusterId)).toMatchObject({ state: 'ACTIVE' });
  expect((await rest(world, 'DELETE', `/clusters/${clusterId}`)).status).toBe(200);
  await expect.poll(() => world.brokerIds.map(world.pidOf)).toEqual([null, null, null]);
  await expect.poll(keys).toBe(0);
  await expect.poll(() => world.service.services.runtimes.isConnected(one)).toBe(true);
  await world.client(one, ACCOUNT);
});
