import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BridgeQueue } from '../../../../src/data-plane/bridges/queue/bridge-queue.ts';
import type { QueueLog } from '../../../../src/data-plane/bridges/queue/queue-log.ts';
import { QueueStorage } from '../../../../src/data-plane/bridges/queue/queue-storage.ts';
import { groupOf } from '../../../../src/data-plane/bridges/queue/queue-store.ts';
import { sqliteQueues } from '../../../../src/data-plane/bridges/queue/sqlite-queues.ts';
import { message } from '../../../data-plane/bridges/queue/queue-world.ts';
import { temporaryFolder } from '../../../support/database.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';

const MIB = 1_048_576;

test('queues of one broker have a quarter, those of all the whole, and what is full has room again once it is empty', async () => {
  const storage = new QueueStorage(16 * MIB);
  const folder = temporaryFolder();
  const problems: (string | null)[] = [];
  const stores = new Map(
    ['a', 'b', 'c', 'd', 'e'].map((id) => [
      id,
      sqliteQueues(groupOf(id, 'webhook-bridge'), join(folder, id), storage.of(id)),
    ]),
  );
  const open = async (name: string, brokerId: string) =>
    new BridgeQueue({
      log: (await stores.get(brokerId)?.open(name)) as QueueLog,
      bounds: { maxMessages: 1_000_000, maxBytes: 2 ** 40 },
      onProblem: (reason) => problems.push(reason),
    });
  const fill = (queue: BridgeQueue) => {
    queue.setDelivering(false);
    const before = queue.dropped;
    while (queue.dropped === before) queue.push(message('x'.repeat(100_000)), () => undefined);
    return queue.bytes;
  };
  const [one, two] = [await open('one', 'a'), await open('two', 'a')];
  const first = fill(one);
  expect(first).toBeGreaterThan(3.8 * MIB);
  expect(first).toBeLessThanOrEqual(4 * MIB);
  expect(problems).toEqual([expect.stringContaining('BRIDGE_STORAGE_MAX_MB')]);
  // Its own queue is as good as full, too.
  fill(two);
  expect(two.length).toBeLessThan(2);
  const others = await Promise.all(['b', 'c', 'd', 'e'].map((id) => open(id, id)));
  for (const queue of others) fill(queue);
  expect(storage.bytes).toBeLessThanOrEqual(16 * MIB);
  expect(others.at(-1)?.length).toBeLessThan(6);
  one.setDelivering(true);
  for (let some = one.take(100, LARGE); some.length > 0; some = one.take(100, LARGE)) {
    for (const entry of some) one.settle(entry);
  }
  await expect.poll(() => storage.bytes).toBeLessThan(13 * MIB);
  const room = two.length;
  two.push(message('x'.repeat(100_000)), () => undefined);
  expect(two.length).toBe(room + 1);
  expect(problems.at(-1)).toBeNull();
  // Each has two seconds to write what is left.
  for (const queue of [one, two, ...others]) await queue.close({ discard: false });
  expect(storage.bytes).toBe(0);
  // What an earlier process left counts.
  const again = await open('b', 'b');
  expect(storage.bytes).toBeGreaterThan(3.8 * MIB);
  again.push(message('x'.repeat(400_000)), () => undefined);
  expect(again.dropped).toBe(1);
  await again.close({ discard: true });
  await Promise.all([...stores.values()].map((store) => store.close({ discard: true })));
});

const LARGE = 2 ** 30;

test('a bridge to an endpoint that is away takes no more of the disk than is allowed, whatever its configuration says', async () => {
  const dataDir = temporaryFolder();
  const service = await startTestService({ dataDir, env: { BRIDGE_STORAGE_MAX_MB: '16' } });
  const { graphql, projectId } = service;
  const mosquitto = await startMosquitto({ lines: ['max_queued_messages 0'] });
  const added = await graphql('mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }', {
    input: { projectId, name: 'line', url: mosquitto.url },
  });
  const id = added.data.addBroker.broker.id as string;
  await expect.poll(() => service.services.runtimes.status(id).state).toBe('CONNECTED');
  const away = createServer().listen(0, '127.0.0.1');
  await once(away, 'listening');
  const { port } = away.address() as { port: number };
  away.close();
  const viewer = await service.person('VIEWER');
  const config = {
    connections: [
      {
        name: 'hook',
        url: `http://127.0.0.1:${port}/`,
        secret: `whsec_${Buffer.alloc(24, 'a secret').toString('base64')}`,
        topics: ['in/#'],
        queue: { maxMessages: 100_000_000, maxBytes: 1_099_511_627_776 },
      },
    ],
  };
  const { errors } = await graphql(
    'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }',
    { input: { brokerId: id, bridgeKey: 'webhook-bridge', config } },
    viewer.token,
  );
  expect(errors).toBeUndefined();
  const statusOf = async () => {
    const query = `query ($id: ID!) { broker(id: $id) { bridge(key: "webhook-bridge") {
      connections { state error queuedBytes received dropped } } } }`;
    return (await graphql(query, { id })).data.broker.bridge.connections[0];
  };
  await expect.poll(async () => (await statusOf())?.state).toBe('CONNECTED');
  const client = await mosquitto.client();
  await client.publishAsync('in/first', 'x', { qos: 1 });
  await expect.poll(async () => (await statusOf()).state).toBe('UNREACHABLE');
  const payload = Buffer.alloc(100_000, 'x');
  for (let count = 0; count < 100; count += 1) await client.publishAsync('in/a', payload, { qos: 1 });
  await expect.poll(async () => (await statusOf()).received).toBeGreaterThan(100);
  const status = await statusOf();
  expect(status.dropped).toBeGreaterThan(50);
  expect(status.queuedBytes).toBeLessThanOrEqual(4 * MIB);
  expect(status.error).toContain('BRIDGE_STORAGE_MAX_MB');
  const folder = join(dataDir, 'bridges', id, 'webhook-bridge');
  const onDisk = () => readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
  // Its log comes on top.
  expect(onDisk()).toBeLessThan(10 * MIB);
});
