import { randomInt, randomUUID } from 'node:crypto';
import type { MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../embedded.ts';
import { type NodeCore, settled, startCores, startNodeCore } from './node-core.ts';
import { collectFrom, eventually, useRedis } from './nodes.ts';

const redis = useRedis();

test('after anything that clients do, all nodes have the same, also one that comes late or comes back', async () => {
  const nodes = [...(await startCores(redis(), 3))];
  const ids = ['a', 'b', 'c', 'd', 'e'];
  const filters = ['t/#', 't/1', 't/+', 'x', '#'];
  const topics = ['t/1', 't/2', 't/1/2', 'x'];
  const one = <T>(from: readonly T[]): T => from[randomInt(from.length)] as T;
  const live = async (id: string, steps: number) => {
    for (let step = 0; step < steps; step += 1) {
      const clean = randomInt(4) === 0;
      const isFive = randomInt(2) === 0;
      const { client } = collectFrom(one(nodes).mqttPort, {
        clientId: id,
        clean,
        ...(isFive
          ? { protocolVersion: 5, properties: { sessionExpiryInterval: one([0, 600]), receiveMaximum: one([1, 100]) } }
          : {}),
        ...(randomInt(2) === 0
          ? { will: { topic: one(topics), payload: Buffer.from('will'), qos: 1, retain: randomInt(2) === 0 } }
          : {}),
      } as never);
      const isIn = await new Promise<boolean>((resolve) => {
        client.once('connect', () => resolve(true));
        client.once('close', () => resolve(false));
      });
      if (!isIn) continue;
      const gone = new Promise<void>((resolve) => client.once('close', () => resolve()));
      for (let left = randomInt(8); left > 0; left -= 1) await Promise.race([act(client), gone]);
      if (randomInt(2) === 0) client.stream.destroy();
      else await Promise.race([client.endAsync(), gone]);
    }
  };
  const act = async (client: MqttClient) => {
    const qos = randomInt(3) as 0 | 1 | 2;
    const kind = randomInt(6);
    if (kind === 0) await client.subscribeAsync(one(filters), { qos }).catch(() => {});
    else if (kind === 1) await client.unsubscribeAsync(one(filters)).catch(() => {});
    else {
      const retain = randomInt(4) === 0;
      const payload = randomInt(10) === 0 ? '' : randomUUID();
      await client.publishAsync(one(topics), payload, { qos, retain }).catch(() => {});
    }
  };
  const lives = Promise.all(ids.map((id) => live(id, 10)));
  // In the midst of it one leaves, and comes back with what it had; another one comes that has nothing.
  const [, second] = nodes as [NodeCore, NodeCore, NodeCore];
  const { clusterId } = second.node.cluster;
  await second.stop();
  nodes.splice(1, 1);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const again = { redisUrl: redis().url, clusterId };
  nodes.push(await startNodeCore({ ...again, nodeId: 2, folder: second.folder }));
  nodes.push(await startNodeCore({ ...again, nodeId: 4, folder: temporaryFolder() }));
  await lives;
  await settled(nodes);
  const [first, ...others] = nodes.map(({ state }) => state());
  expect(first?.length).toBeGreaterThan(5);
  for (const other of others) expect(other).toEqual(first);
  for (const { ends } of nodes) expect(ends).toEqual([]);
});

test('a node that reads later that another one was lost has its clients gone, and their wills due, at the same time', async () => {
  const [one, two, three] = (await startCores(redis(), 3)) as [NodeCore, NodeCore, NodeCore];
  const will = {
    topic: 'w',
    payload: Buffer.from('gone'),
    qos: 1,
    retain: false,
    properties: { willDelayInterval: 60 },
  };
  const properties = { sessionExpiryInterval: 600 };
  const { client } = collectFrom(three.mqttPort, { clientId: 'd', protocolVersion: 5, properties, will } as never);
  await new Promise<void>((resolve) => client.once('connect', () => resolve()));
  await settled([one, two, three]);
  await two.stop();
  await three.node.close();
  await eventually(async () => one.store.wills.delayed().size === 1);
  const { clusterId } = two.node.cluster;
  const again = await startNodeCore({ redisUrl: redis().url, clusterId, nodeId: 2, folder: two.folder });
  await settled([one, again]);
  expect(again.state()).toEqual(one.state());
});
