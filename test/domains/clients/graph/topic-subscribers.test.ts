import { describe, expect, test } from 'vitest';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../../support/service.ts';
import { addBroker } from './commercial-broker.ts';
import { embeddedWorld } from './embedded-world.ts';
import { codeOf } from './operations.ts';

const LIST = `query ($id: ID!, $topic: String!, $first: Int) { broker(id: $id) { topicSubscribers(topic: $topic, first: $first) {
  totalCount isComplete nodes { clientId filter qos isConnected isGateway nodeId }
} } }`;
const PERSISTENT = { clean: false, protocolVersion: 5, properties: { sessionExpiryInterval: 600 } } as const;

const listFrom = (service: TestService, id: string) => async (topic: string, first?: number) =>
  (await service.graphql(LIST, { id, topic, first })).data.broker.topicSubscribers;

async function embedded() {
  const { service, brokerId, join } = await embeddedWorld();
  return { service, brokerId, join, list: listFrom(service, brokerId) };
}

const row = (clientId: string, filter: string, qos: number, isConnected = true) => ({
  clientId,
  filter,
  qos,
  isConnected,
  isGateway: false,
  nodeId: null,
});

describe('the embedded broker', () => {
  test('lists all subscriptions that match a topic: wildcards, shared ones, and those of offline sessions', async () => {
    const { join, list } = await embedded();
    const [a, b, c] = [await join('a'), await join('b', PERSISTENT), await join('c')];
    await a.subscribeAsync({ 'plant/+/state': { qos: 1 }, 'plant/#': { qos: 0 }, 'office/#': { qos: 2 } });
    await b.subscribeAsync('plant/line1/state', { qos: 2 });
    await c.subscribeAsync('$share/workers/plant/line1/#', { qos: 1 });
    await c.subscribeAsync('#');
    await b.endAsync();
    await expect
      .poll(() => list('plant/line1/state'))
      .toEqual({
        totalCount: 5,
        isComplete: true,
        nodes: [
          row('a', 'plant/#', 0),
          row('a', 'plant/+/state', 1),
          row('b', 'plant/line1/state', 2, false),
          row('c', '#', 0),
          row('c', '$share/workers/plant/line1/#', 1),
        ],
      });
    // A wildcard at the first level does not match topics that start with $ [MQTT-4.7.2-1].
    expect(await list('$plant/line1/state')).toEqual({ totalCount: 0, isComplete: true, nodes: [] });
    await a.unsubscribeAsync('plant/#');
    expect(await list('plant/line1/state', 1)).toMatchObject({ totalCount: 4, nodes: [row('a', 'plant/+/state', 1)] });
  });

  test('lists the first of many in the order of client ids', async () => {
    const { join, list } = await embedded();
    const ids = Array.from({ length: 60 }, (_, number) => `c${(number * 7) % 60}`);
    for (const id of ids) await (await join(id)).subscribeAsync('all/#');
    const { totalCount, nodes } = await list('all/x', 5);
    expect([totalCount, nodes.map(({ clientId }: { clientId: string }) => clientId)]).toEqual([
      60,
      ids.sort().slice(0, 5),
    ]);
    expect((await list('all/x')).nodes).toHaveLength(50);
    expect((await list('all/x', 1_000)).nodes).toHaveLength(60);
  });

  test('refuses wildcards, and numbers out of bounds, with the path', async () => {
    const { service, brokerId } = await embedded();
    for (const [variables, path] of [
      [{ topic: 'a/#' }, 'topic'],
      [{ topic: '' }, 'topic'],
      [{ topic: 'a', first: 0 }, 'first'],
      [{ topic: 'a', first: 1_001 }, 'first'],
    ] as const) {
      const refused = await service.graphql(LIST, { id: brokerId, ...variables });
      expect(codeOf(refused)).toBe('INVALID');
      expect(JSON.stringify(refused.errors)).toContain(`"path":"${path}"`);
    }
  });
});

async function mosquitto(logTypes: readonly string[]) {
  const broker = await startMosquitto({ access: 'passwords', logTypes });
  const service = await startTestService();
  const brokerId = await addBroker(service, broker.url, ADMIN);
  const [record] = service.services.brokers.visibleIn(service.projectId, null);
  if (!record) throw new Error('There is no broker');
  // Clients that connect before the log is followed are unknown.
  await service.services.runtimes.get(record).controls.capability('cedalo/inspect');
  return { broker, service, brokerId, list: listFrom(service, brokerId) };
}

describe('a plain Mosquitto', () => {
  test('whose log has subscriptions lists them', async () => {
    const { broker, list } = await mosquitto(FOLLOWED_LOG);
    const client = await broker.client({ clientId: 'm1', ...ADMIN });
    await client.subscribeAsync('plant/+', { qos: 1 });
    await client.subscribeAsync('$share/g/plant/line1');
    const both = [row('m1', '$share/g/plant/line1', 0), row('m1', 'plant/+', 1)];
    await expect.poll(async () => (await list('plant/line1')).nodes).toEqual(both);
    await client.unsubscribeAsync('plant/+');
    await expect.poll(async () => (await list('plant/line1')).nodes).toEqual(both.slice(0, 1));
  });

  test('whose log lacks them refuses, and names the settings', async () => {
    const { broker, service, brokerId } = await mosquitto(['notice', 'information']);
    const client = await broker.client({ clientId: 'm1', ...ADMIN });
    await client.subscribeAsync('plant/+');
    const refused = await service.graphql(LIST, { id: brokerId, topic: 'plant/line1' });
    expect(codeOf(refused)).toBe('NOT_SUPPORTED_BY_BROKER');
    expect(JSON.stringify(refused.errors)).toContain('log_type subscribe');
    expect(refused.data.broker.topicSubscribers).toBeNull();
  });
});
