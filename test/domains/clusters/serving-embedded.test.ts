import { readFileSync } from 'node:fs';
import { connectAsync } from 'mqtt';
import { expect, test } from 'vitest';
import { passwordFile } from '../../../src/engines/cloud-brokers/cloud-brokers.ts';
import { startClient } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { nodeInput } from './cluster-world.ts';

const LIST = `query ($c: ID!) { broker(id: $c) { connectedClients(first: 100, filter: { value: "m", mode: STARTS_WITH }) {
  isComplete nodes { clientId nodeId isConnected source queues { messagesOut } }
} } }`;
const MANY = `mutation ($input: DisconnectClientsInput!) { disconnectClients(input: $input) {
  results { clientId status } disconnectedCount wouldDisconnectCount alsoDisconnected isComplete
} }`;

test('the client list of a cluster has the acknowledged messages and the queues of each node', async () => {
  const service = await startTestService({ embeddedBroker: true });
  const graph = async (document: string, variables: object) => {
    const { data, errors } = await service.graphql(document, { ...variables });
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const { db } = service.storage;
  const first = await db.broker.findFirstOrThrow();
  const made = await graph(
    'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }',
    { input: { projectId: service.projectId, name: 'Second' } },
  );
  const brokerIds: readonly string[] = [first.id, made.createCloudBroker.broker.id];
  await expect.poll(() => brokerIds.every((id) => service.services.runtimes.isConnected(id))).toBe(true);
  const nodes = brokerIds.map((brokerId, index) => ({ brokerId, nodeId: index + 1 }));
  const account = async (node: number) => {
    const brokerId = brokerIds[node - 1] ?? '';
    const { url } = await db.broker.findUniqueOrThrow({ where: { id: brokerId } });
    const password = readFileSync(passwordFile(service.config.dataDir, brokerId), 'utf8').trim();
    return [url ?? '', { username: 'admin', password }] as const;
  };
  const join = async (node: number, clientId: string, clean = true) => {
    const [url, known] = await account(node);
    return startClient(url, { ...known, clientId, clean });
  };
  /** For clients that disconnect or are disconnected. */
  const visit = async (node: number, clientId: string, clean = true) => {
    const [url, known] = await account(node);
    return connectAsync(url, { ...known, clientId, clean, reconnectPeriod: 0 });
  };
  const { createCluster } = await graph(
    'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { brokerId } } }',
    {
      input: {
        projectId: service.projectId,
        name: 'pair',
        mode: 'DYNSEC',
        nodes: nodes.map((node) => nodeInput(node)),
      },
    },
  );
  const entryId = createCluster.cluster.brokerId;
  const listed = async () => (await graph(LIST, { c: entryId })).broker.connectedClients;
  await expect.poll(async () => (await listed()).nodes).toEqual([]);

  for (let round = 0; round < 10; round += 1) {
    const client = await visit((round % 2) + 1, `m${round}`);
    const { nodes: told, isComplete } = await listed();
    expect([
      told.map(({ clientId, nodeId }: { clientId: string; nodeId: number }) => [clientId, nodeId]),
      isComplete,
    ]).toEqual([[[`m${round}`, (round % 2) + 1]], true]);
    await client.endAsync();
    expect((await listed()).nodes).toEqual([]);
  }

  for (const node of [1, 2]) {
    const kept = await visit(node, 'm-kept', false);
    await kept.subscribeAsync('kept', { qos: 1 });
    await kept.endAsync();
    const publisher = await visit(node, 'publisher');
    for (let count = 0; count < node; count += 1) await publisher.publishAsync('kept', 'x', { qos: 1 });
    await publisher.endAsync();
  }
  await visit(2, 'm-here');
  const away = { clientId: 'm-kept', isConnected: false, source: 'BROKER' };
  expect((await listed()).nodes).toEqual([
    { clientId: 'm-here', nodeId: 2, isConnected: true, source: 'BROKER', queues: { messagesOut: 0 } },
    { ...away, nodeId: 1, queues: { messagesOut: 1 } },
    { ...away, nodeId: 2, queues: { messagesOut: 2 } },
  ]);
  const byQueue = await graph(
    `query ($c: ID!) { broker(id: $c) {
      connectedClients(filter: { value: "m-", mode: STARTS_WITH }, orderBy: { field: QUEUED_MESSAGES, order: DESC }) { nodes { clientId nodeId } }
      ofNode: connectedClients(filter: { minQueuedMessages: 1, nodeId: 1 }) { nodes { clientId nodeId } }
    } }`,
    { c: entryId },
  );
  expect(byQueue.broker).toEqual({
    connectedClients: {
      nodes: [
        { clientId: 'm-kept', nodeId: 2 },
        { clientId: 'm-kept', nodeId: 1 },
        { clientId: 'm-here', nodeId: 2 },
      ],
    },
    ofNode: { nodes: [{ clientId: 'm-kept', nodeId: 1 }] },
  });

  const { broker: receiving } = await graph(
    'query ($c: ID!) { broker(id: $c) { topicSubscribers(topic: "kept") { totalCount isComplete nodes { clientId nodeId isConnected } } } }',
    { c: entryId },
  );
  expect(receiving.topicSubscribers).toEqual({
    totalCount: 2,
    isComplete: true,
    nodes: [1, 2].map((nodeId) => ({ clientId: 'm-kept', nodeId, isConnected: false })),
  });

  await visit(1, 'm-kept', false);
  const input = { brokerId: entryId, filter: { value: 'm-', mode: 'STARTS_WITH' }, discardWill: true };
  const { disconnectClients: foreseen } = await graph(MANY, { input: { ...input, dryRun: true } });
  expect(foreseen).toMatchObject({ wouldDisconnectCount: 2, disconnectedCount: 0, isComplete: true });
  const { disconnectClients: done } = await graph(MANY, { input });
  expect(done.results).toEqual([
    { clientId: 'm-here', status: 'DISCONNECTED' },
    { clientId: 'm-kept', status: 'DISCONNECTED' },
  ]);
  expect((await listed()).nodes.map(({ isConnected }: { isConnected: boolean }) => isConnected)).toEqual([
    false,
    false,
  ]);
  // Administrators of these brokers can add a subscription to a client, on the client's node.
  await join(2, 'm-late');
  const subscribed = await graph(
    `mutation ($c: ID!) { subscribeClient(input: { brokerId: $c, clientId: "m-late", topic: "late/#", qos: 1 }) {
      client { nodeId subscriptions }
    } }`,
    { c: entryId },
  );
  expect(subscribed.subscribeClient.client).toEqual({ nodeId: 2, subscriptions: ['late/#'] });
});
