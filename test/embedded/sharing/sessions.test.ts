import { expect, test } from 'vitest';
import { DEFAULT_STORE_LIMITS } from '../../../src/embedded/limits.ts';
import { beAlone } from '../../../src/embedded/sharing/cluster-place.ts';
import { BrokerStore } from '../../../src/embedded/store/broker-store.ts';
import { collect, connect, packetsOf, temporaryFolder } from '../embedded.ts';
import { type NodeCore, settled, startCores, startNodeCore } from './node-core.ts';
import { collectFrom, eventually, useRedis } from './nodes.ts';

const redis = useRedis();

test('a client that connects to another node takes its session with it, and the old connection ends', async () => {
  const [one, two] = (await startCores(redis(), 2)) as [NodeCore, NodeCore];
  const options = {
    clientId: 'mover',
    protocolVersion: 5,
    clean: false,
    properties: { sessionExpiryInterval: 60 },
  } as const;
  const old = await connect(one.mqttPort, options);
  const reason = new Promise((resolve) => old.once('disconnect', ({ reasonCode }) => resolve(reasonCode)));
  await old.subscribeAsync('a', { qos: 1 });
  expect(one.registry.sortedIds()).toEqual(['mover']);
  const moved = await connect(two.mqttPort, options);
  // Session taken over.
  expect(await reason).toBe(0x8e);
  await settled([one, two]);
  expect(one.registry.sortedIds()).toEqual([]);
  expect(two.registry.sortedIds()).toEqual(['mover']);
  const { until } = collect(moved);
  await (await connect(one.mqttPort)).publishAsync('a', 'x', { qos: 1 });
  expect(await until((all) => all.length === 1)).toMatchObject([{ text: 'x', qos: 1 }]);
  expect(moved.disconnecting).toBe(false);
  await moved.endAsync();
  await settled([one, two]);
  // Away, it is a session of both.
  expect([one, two].map(({ registry }) => registry.offlineCount)).toEqual([1, 1]);
});

test('a clean start ends the session on all nodes, and the answer says that none is present', async () => {
  const [one, two] = (await startCores(redis(), 2)) as [NodeCore, NodeCore];
  const first = await connect(one.mqttPort, { clientId: 'c', clean: false });
  await first.subscribeAsync('a', { qos: 1 });
  await first.endAsync();
  const present = (port: number, clean: boolean) =>
    new Promise<boolean>((resolve) => {
      const { client } = collectFrom(port, { clientId: 'c', clean });
      client.once('connect', async ({ sessionPresent }) => {
        await client.endAsync();
        resolve(sessionPresent);
      });
    });
  expect(await present(two.mqttPort, false)).toBe(true);
  expect(await present(two.mqttPort, true)).toBe(false);
  await settled([one, two]);
  expect([one, two].map(({ store }) => store.sessions.count)).toEqual([0, 0]);
  expect(await present(one.mqttPort, false)).toBe(false);
});

test('what a client that moves has not acknowledged comes again under the same packet ids, what it has does not', async () => {
  const [one, two] = (await startCores(redis(), 2)) as [NodeCore, NodeCore];
  const { client: first } = collectFrom(one.mqttPort, { clientId: 'm', clean: false, manualConnect: true });
  const sent: { messageId: number; text: string; dup: boolean; qos: number }[] = [];
  const note = (packet: object) => {
    const { cmd, messageId, payload, dup, qos } = packet as {
      cmd: string;
      messageId: number;
      payload: Buffer;
      dup: boolean;
      qos: number;
    };
    if (cmd === 'publish') sent.push({ messageId, text: payload.toString(), dup, qos });
  };
  first.on('packetreceive', note);
  // Never answers from here on.
  first.handleMessage = () => {};
  first.connect();
  await new Promise<void>((resolve) => first.once('connect', () => resolve()));
  await first.subscribeAsync('a/#', { qos: 2 });
  const publisher = await connect(two.mqttPort);
  await publisher.publishAsync('a/1', 'one', { qos: 1 });
  await publisher.publishAsync('a/2', 'two', { qos: 2 });
  await eventually(async () => sent.length >= 1);
  first.stream.destroy();
  const before = [...sent];
  sent.length = 0;
  const { client: second } = collectFrom(two.mqttPort, { clientId: 'm', clean: false, manualConnect: true });
  second.on('packetreceive', note);
  second.connect();
  await eventually(async () => sent.length >= 2);
  for (const { text, messageId } of before)
    expect(sent).toContainEqual(expect.objectContaining({ text, messageId, dup: true }));
  await eventually(async () => two.store.sessions.get('m')?.queue.size === 0);
  await settled([one, two]);
  expect([one, two].map(({ store }) => store.queues.count)).toEqual([0, 0]);
});

test('a will comes once, to streams too, from a node that is left, and not after DISCONNECT; one that is put off waits', async () => {
  const [one, two, three] = (await startCores(redis(), 3)) as [NodeCore, NodeCore, NodeCore];
  // What streams hear.
  const heard: string[] = [];
  for (const { core } of [one, two, three]) core.tap.listen('will/#', ({ topic }) => heard.push(topic));
  const watcher = await connect(two.mqttPort);
  const { messages, until } = collect(watcher);
  await watcher.subscribeAsync('will/#', { qos: 1 });
  const withWill = (name: string, port: number, more = {}) =>
    connect(port, {
      clientId: name,
      will: { topic: `will/${name}`, payload: Buffer.from(name), qos: 1, retain: false },
      ...more,
    } as never);
  await (await withWill('polite', one.mqttPort)).endAsync();
  (await withWill('cut', one.mqttPort)).stream.destroy();
  await until((all) => all.some(({ text }) => text === 'cut'));
  // Taken over: its network connection was ended by the server.
  await withWill('taken', one.mqttPort);
  await (await connect(two.mqttPort, { clientId: 'taken' })).endAsync();
  await until((all) => all.some(({ text }) => text === 'taken'));
  const late = {
    protocolVersion: 5,
    clean: false,
    properties: { sessionExpiryInterval: 60 },
    will: {
      topic: 'will/late',
      payload: Buffer.from('late'),
      qos: 1,
      retain: false,
      properties: { willDelayInterval: 2 },
    },
  };
  (await withWill('late', one.mqttPort, late)).stream.destroy();
  (await withWill('back', one.mqttPort, { ...late, will: { ...late.will, topic: 'will/back' } })).stream.destroy();
  await (await connect(two.mqttPort, { clientId: 'back', clean: false })).endAsync();
  await withWill('dead', one.mqttPort);
  // As a crash: nobody is told.
  one.node.log.close();
  await until((all) => all.some(({ text }) => text === 'dead') && all.some(({ text }) => text === 'late'));
  expect(messages.map(({ topic }) => topic).sort()).toEqual(['will/cut', 'will/dead', 'will/late', 'will/taken']);
  await settled([two, three]);
  expect(heard.sort()).toEqual(['will/cut', 'will/dead', 'will/late', 'will/taken']);
});

test('retained messages that are written everywhere at once are the same everywhere', async () => {
  const nodes = await startCores(redis(), 3);
  const writers = await Promise.all(nodes.map(({ mqttPort }) => connect(mqttPort, { protocolVersion: 5 })));
  await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      writers[index % 3]?.publishAsync(`r/${index % 4}`, `${index}`, {
        qos: (index % 3) as 0 | 1 | 2,
        retain: true,
        properties: { contentType: `${index}` },
      }),
    ),
  );
  await settled(nodes);
  const seen = await Promise.all(
    nodes.map(async ({ mqttPort }) => {
      const client = await connect(mqttPort, { protocolVersion: 5 });
      const { until } = packetsOf(client);
      await client.subscribeAsync('r/#');
      const packets = await until((all) => all.length === 4);
      return packets.map(({ topic, text, properties }) => `${topic} ${text} ${properties?.contentType}`).sort();
    }),
  );
  expect(seen[1]).toEqual(seen[0]);
  expect(seen[2]).toEqual(seen[0]);
});

test('a message that is to be retained does not overtake, nor is overtaken by, what its client sends with it', async () => {
  const [one, two] = (await startCores(redis(), 2)) as [NodeCore, NodeCore];
  const subscribers = await Promise.all([one, two].map(({ mqttPort }) => connect(mqttPort)));
  const collected = subscribers.map((client) => collect(client));
  for (const client of subscribers) await client.subscribeAsync('o');
  const publisher = await connect(one.mqttPort);
  for (let index = 0; index < 40; index += 1) publisher.publish('o', `${index}`, { qos: 0, retain: index % 3 === 0 });
  const here = await collected[0]?.until((all) => all.length === 40);
  expect(here?.map(({ text }) => Number(text))).toEqual(Array.from({ length: 40 }, (_, index) => index));
  const there = await collected[1]?.until((all) => all.length === 40);
  expect(there?.map(({ text }) => Number(text))).toEqual(Array.from({ length: 40 }, (_, index) => index));
});

test('sessions end on all nodes when their time is over, unless the client came back to any of them', async () => {
  const [one, two] = (await startCores(redis(), 2)) as [NodeCore, NodeCore];
  const brief = { protocolVersion: 5, clean: false, properties: { sessionExpiryInterval: 1 } } as const;
  for (const clientId of ['gone', 'back']) {
    const client = await connect(one.mqttPort, { ...brief, clientId });
    await client.subscribeAsync('a', { qos: 1 });
    await client.endAsync();
  }
  await connect(two.mqttPort, { ...brief, clientId: 'back' });
  await eventually(async () => [one, two].every(({ store }) => !store.sessions.get('gone')));
  await settled([one, two]);
  expect([one, two].map(({ store }) => store.sessions.get('back')?.subscriptions.size)).toEqual([1, 1]);
});

test('there are as many sessions in all as one broker has at most', async () => {
  const [one, two] = (await startCores(redis(), 2, { limits: { maxSessions: 2 } })) as [NodeCore, NodeCore];
  for (const [index, { mqttPort }] of [one, two].entries())
    await connect(mqttPort, { clientId: `c${index}`, clean: false });
  await expect(connect(one.mqttPort, { clientId: 'c2', clean: false })).rejects.toThrow('Server unavailable');
  await connect(two.mqttPort, { clientId: 'c0', clean: false });
  await connect(two.mqttPort, { clientId: 'clean' });
});

test('an administrator gives a session that is away a subscription on all nodes; of a client elsewhere nothing is known', async () => {
  const [one, two] = (await startCores(redis(), 2)) as [NodeCore, NodeCore];
  const given = {
    filter: 'r/#',
    qos: 1,
    noLocal: false,
    retainAsPublished: false,
    retainHandling: 0,
    identifier: undefined,
  } as const;
  const publisher = await connect(one.mqttPort);
  await publisher.publishAsync('r/1', 'kept', { qos: 1, retain: true });
  await (await connect(one.mqttPort, { clientId: 'away', clean: false })).endAsync();
  await settled([one, two]);
  expect(await two.core.clients.subscribe('away', given)).toBe('DONE');
  await settled([one, two]);
  expect([one, two].map(({ store }) => store.sessions.get('away')?.queue.size)).toEqual([1, 1]);
  expect(one.state()).toEqual(two.state());
  const { until } = collectFrom(one.mqttPort, { clientId: 'away', clean: false });
  expect(await until((all) => all.length === 1)).toMatchObject([{ text: 'kept', retain: true }]);
  expect(await two.core.clients.subscribe('away', given)).toBe('NOT_FOUND');
  expect(await two.core.clients.unsubscribe('away', 'r/#')).toBe(false);
  expect(await one.core.clients.unsubscribe('away', 'r/#')).toBe(true);
  await settled([one, two]);
  expect([one, two].map(({ store }) => store.sessions.get('away')?.subscriptions.size)).toEqual([0, 0]);
});

test('a broker that has sessions begins a cluster with them; by itself again it keeps those that were last with it', async () => {
  const [alone] = (await startCores(redis(), 1)) as [NodeCore];
  const { clusterId } = alone.node.cluster;
  for (const clientId of ['stays', 'moves']) {
    const client = await connect(alone.mqttPort, { clientId, clean: false });
    await client.subscribeAsync('a', { qos: 1 });
    await client.endAsync();
  }
  const late = await startNodeCore({ redisUrl: redis().url, clusterId, nodeId: 2, folder: temporaryFolder() });
  expect(late.state()).toEqual(alone.state());
  await (await connect(late.mqttPort, { clientId: 'moves', clean: false })).endAsync();
  await settled([alone, late]);
  await alone.stop();
  await beAlone(alone.folder);
  const store = new BrokerStore({ folder: alone.folder, limits: DEFAULT_STORE_LIMITS, onBroken: () => {} });
  store.load(() => ({ brokerId: 'b', counter: 1 }));
  expect(Array.from(store.sessions.all(), ({ id }) => id)).toEqual(['stays']);
  store.close();
});

test('a client that does not read is not waited for by publishers at other nodes, and keeps its session', async () => {
  const [one, two] = (await startCores(redis(), 2)) as [NodeCore, NodeCore];
  const slow = await connect(two.mqttPort, { clientId: 'slow', clean: false });
  await slow.subscribeAsync('big', { qos: 1 });
  slow.stream.pause();
  const publisher = await connect(one.mqttPort, { clientId: 'p' });
  const payload = Buffer.alloc(2 * 1_048_576);
  // The last ones are more than its queue holds: 32 MiB with their topics and entries.
  for (let index = 0; index < 24; index += 1) await publisher.publishAsync('big', payload, { qos: 1 });
  await eventually(async () => !two.registry.connection('slow'));
  await settled([one, two]);
  expect([one, two].map(({ store }) => store.sessions.get('slow')?.queue.size)).toEqual([15, 15]);
});
