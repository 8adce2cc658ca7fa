import { expect, test } from 'vitest';
import { BridgeSums } from '../../../src/domains/bridges/bridge-totals.ts';
import type { BridgeConnectionStatus } from '../../../src/domains/bridges/model/bridge-status.ts';
import { StreamSums } from '../../../src/domains/streams/stream-totals.ts';
import { ROOT, startTestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';
import { streamWorld } from './stream-world.ts';

test('sums of the streams of a broker are scraped, and do not fall when a stream is deleted', async () => {
  const { service, brokerId, change, client } = await streamWorld('the embedded broker');
  const scraped = async (name: string) => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return new RegExp(`^brokergraph_${name}\\{broker="${brokerId}".*\\} (\\d+)$`, 'm').exec(text)?.[1];
  };
  expect(await scraped('stream_messages_received_total')).toBeUndefined();
  const device = await client();
  await change('createStream', { name: 'a', sourceTopic: 'in', persist: true });
  await change('createStream', { name: 'b', sourceTopic: 'in', targetTopic: 'out' });
  await device.publishAsync('in', 'no JSON', { qos: 1 });
  await device.publishAsync('in', '{}', { qos: 1 });
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

test('operators are told of brokers, bridges, clusters, sign-ins, the audit and WebSockets', async () => {
  const service = await startTestService({ embeddedBroker: true, env: { BROKER_TIMEOUT_MS: '10000' } });
  const { id: brokerId } = await service.storage.db.broker.findFirstOrThrow();
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
  await service.graphql(update, { input: { brokerId, bridgeId: 'mqtt-bridge', config } });
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
    'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id } } }',
    { input: { projectId, name: 'plant', mode: 'DYNSEC', nodes } },
  );
  const { id } = cluster.data.createCluster.cluster;
  await expect.poll(async () => (await scraped()).get(`cluster_nodes{cluster="${id}",reachable="true"}`)).toBe(2);
  const clustered = await scraped();
  expect(clustered.get(`cluster_nodes{cluster="${id}",reachable="false"}`)).toBe(0);
  expect(clustered.get('clusters{state="active"}')).toBe(1);
});

test('connections of bridges that began anew, or are gone, do not make sums fall', () => {
  const sums = new BridgeSums();
  const connection = (received: number, queuedMessages = 0): BridgeConnectionStatus => ({
    connectionName: 'x',
    isConnected: true,
    state: 'CONNECTED',
    since: 1,
    queuedMessages,
    queuedBytes: 0,
    received,
    delivered: 0,
    dropped: 0,
    rejected: 0,
  });
  const looks = [[connection(5)], [connection(9, 3)], [connection(2)], []];
  const totals = looks.map((list) => sums.take(new Map(list.map((one) => ['b/x', one]))));
  expect(totals.map(({ counted }) => counted.received)).toEqual([5, 9, 11, 11]);
  expect(totals.map(({ queuedMessages }) => queuedMessages)).toEqual([0, 3, 0, 0]);
});

test('a run that began anew is counted from its beginning', () => {
  const sums = new StreamSums();
  const entry = (received: number, since: number) => {
    const rest = { published: 0, stored: 0, filtered: 0, failed: 0, notStored: 0, replayed: 0 };
    const storage = { state: 'OFF', messages: 0, bytes: 7, oldest: null, newest: null, problem: null } as const;
    const counters = { since, received, ...rest, lastReceived: null, lastError: null, lastFiltered: null };
    const report = { state: 'RUNNING', problem: null, counters, storage, replay: null } as const;
    const definition = {
      name: 's',
      sourceTopic: 'in',
      targetTopic: null,
      targetQos: -1,
      ttl: 0,
      active: true,
    } as const;
    const settings = { process: true, persist: false, key: null, query: {}, textName: null, textDescription: null };
    return { definition: { ...definition, ...settings }, replaying: false, report };
  };
  const received: number[] = [];
  for (const entries of [[entry(5, 1)], [entry(9, 1)], [entry(3, 2)], [], [entry(4, 2)]]) {
    sums.take(entries);
    received.push(sums.totals.counted.received);
  }
  expect(received).toEqual([5, 9, 12, 12, 16]);
  sums.take([{ ...entry(100, 1), report: null }]);
  expect(sums.totals).toMatchObject({ counted: { received: 16 }, states: new Map(), storedBytes: 0 });
});
