import { expect, test } from 'vitest';
import type { BrokerRecord } from '../../../src/domains/brokers/broker-cache.ts';
import { BrokerSums, TotalsOfBrokers } from '../../../src/domains/brokers/broker-totals.ts';
import { STREAM_METRICS } from '../../../src/domains/streams/stream-metrics.ts';
import { ROOT } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { subscribe } from '../../support/subscription.ts';
import { streamWorld } from './stream-world.ts';

const world = shared(() => streamWorld('the embedded broker'));

test('totals of the streams of a broker are scraped, and do not decrease when a stream is deleted', async () => {
  const { service, brokerId, change, client } = await world();
  const scraped = async (name: string) => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return new RegExp(`^brokergraph_${name}\\{broker="${brokerId}".*\\} (\\d+)$`, 'm').exec(text)?.[1];
  };
  expect(await scraped('stream_messages_received_total')).toBeUndefined();
  const device = await client();
  // A stream without a query passes what is not JSON.
  const query = { select: [{ source: '[v]', target: '[v]' }] };
  await change('createStream', { name: 'a', sourceTopic: 'in', persist: true, query });
  await change('createStream', { name: 'b', sourceTopic: 'in', targetTopic: 'out', query });
  await device.publishAsync('in', 'no JSON', { qos: 1 });
  await device.publishAsync('in', '{"v":1}', { qos: 1 });
  await expect.poll(() => scraped('stream_messages_received_total')).toBe('4');
  expect([await scraped('stream_messages_failed_total'), await scraped('stream_messages_stored_total')]).toEqual([
    '2',
    '1',
  ]);
  expect([await scraped('stream_messages_not_stored_total'), await scraped('streams')]).toEqual(['0', '2']);
  expect(Number(await scraped('stream_stored_bytes'))).toBeGreaterThan(0);
  await change('deleteStream', { name: 'a' });
  await expect.poll(() => scraped('streams')).toBe('1');
  expect(await scraped('stream_messages_received_total')).toBe('4');
});

test('metrics report brokers, bridges, clusters, sign-ins, the audit and WebSockets', async () => {
  const { service, brokerId } = await world();
  const { projectId } = service;
  const scraped = async () => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return new Map([...text.matchAll(/^brokergraph_(\S+) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]));
  };
  const before = await scraped();
  expect(before.get('cloud_brokers{state="active"}')).toBe(1);
  expect(before.get('cloud_brokers{state="error"}')).toBe(0);
  expect([before.get('audit_entries_waiting'), before.get('audit_write_failures_total')]).toEqual([0, 0]);

  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';
  await service.graphql(login, { input: { email: ROOT.email, password: 'not this one' } });
  await service.graphql(login, { input: ROOT });
  const after = await scraped();
  const more = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  expect(more('sign_ins_total{provider="password"}')).toBe(1);
  expect(more('sign_ins_refused_total{code="UNAUTHORIZED"}')).toBe(1);

  const feed = subscribe(service, service.root, 'subscription ($id: ID!) { brokerStatus(projectId: $id) { kind } }', {
    id: projectId,
  });
  await feed.until(() => true);
  expect((await scraped()).get('websockets')).toBe((before.get('websockets') ?? 0) + 1);

  const config = {
    connections: [{ name: 'x', url: 'mqtt://127.0.0.1:1', topics: [{ pattern: '#', direction: 'out' }] }],
  };
  const update = 'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { bridge { id } } }';
  await service.graphql(update, { input: { brokerId, bridgeKey: 'mqtt-bridge', config } });
  await expect
    .poll(async () => (await scraped()).get(`bridge_connections{broker="${brokerId}",state="unreachable"}`))
    .toBe(1);
  expect((await scraped()).get(`bridge_messages_delivered_total{broker="${brokerId}"}`)).toBe(0);

  const { data } = await service.graphql(
    'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
    { input: { projectId, name: 'Second' } },
  );
  const nodes = [brokerId, data.createCloudBroker.broker.id].map((id, i) => ({
    brokerId: id,
    nodeId: i + 1,
    name: `node ${i + 1}`,
    address: '127.0.0.1',
    port: 1883,
  }));
  await expect
    .poll(async () => {
      const { data } = await service.graphql('query ($id: ID!) { broker(id: $id) { isConnected } }', {
        id: nodes[1]?.brokerId,
      });
      return data.broker.isConnected;
    })
    .toBe(true);
  const cluster = await service.graphql(
    'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id: brokerId } } }',
    { input: { projectId, name: 'plant', mode: 'DYNSEC', nodes } },
  );
  const { id } = cluster.data.createCluster.cluster;
  await expect.poll(async () => (await scraped()).get(`cluster_nodes{cluster="${id}",reachable="true"}`)).toBe(2);
  const clustered = await scraped();
  expect(clustered.get(`cluster_nodes{cluster="${id}",reachable="false"}`)).toBe(0);
  expect(clustered.get('clusters{state="active"}')).toBe(1);
});

test('parts that start again, or are removed, do not decrease the totals', () => {
  const sums = new BrokerSums(STREAM_METRICS);
  const none = { published: 0, stored: 0, filtered: 0, failed: 0, notStored: 0, replayed: 0 };
  const part = (received: number, key: string, storedBytes = 0) => ({
    key,
    state: 'RUNNING',
    counts: { received, ...none },
    sizes: { storedBytes },
  });
  const received = [[part(5, 'a')], [part(9, 'a')], [part(2, 'a')], [part(3, 'a of another run')], []].map(
    (parts) => sums.take(parts).counts.received,
  );
  expect(received).toEqual([5, 9, 11, 14, 14]);
  expect(sums.take([part(4, 'a', 7), part(1, 'b', 8)])).toMatchObject({
    counts: { received: 19 },
    states: new Map([['RUNNING', 2]]),
    sizes: { storedBytes: 15 },
  });
  expect(sums.take([])).toMatchObject({ counts: { received: 19 }, states: new Map(), sizes: { storedBytes: 0 } });
});

test('a broker that does not respond delays no scrape: it has its last totals, and is not read again meanwhile', async () => {
  const totals = new TotalsOfBrokers(STREAM_METRICS);
  const counts = { received: 3, published: 0, stored: 0, filtered: 0, failed: 0, notStored: 0, replayed: 0 };
  const parts = [{ key: 'a', state: 'RUNNING', counts, sizes: { storedBytes: 0 } }];
  const brokers = ['late', 'other'].map((id) => ({ id }) as BrokerRecord);
  await totals.read(brokers, async () => parts);
  let lateReads = 0;
  let respond: () => void = () => undefined;
  const response = new Promise<void>((resolve) => {
    respond = resolve;
  });
  const read = () =>
    totals.read(brokers, async ({ id }) => {
      if (id !== 'late') return parts;
      lateReads += 1;
      await response;
      return parts;
    });
  for (let scrape = 0; scrape < 2; scrape += 1) {
    const scraped = await read();
    expect([...scraped].map(([id, total]) => [id, total.counts.received])).toEqual([
      ['late', 3],
      ['other', 3],
    ]);
  }
  expect(lateReads).toBe(1);
  respond();
  await expect.poll(async () => (await read()).size && lateReads).toBeGreaterThan(1);
});
