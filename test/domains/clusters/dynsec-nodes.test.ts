import { expect, test } from 'vitest';
import { ADMIN } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { accessOf, type ClusterWorldNode, clusterWorld, nodeInput, startNodes } from './cluster-world.ts';
import { hasPassword } from './dynsec-files.ts';

const WRITE = `mutation ($c: ID!, $changes: [AccessChangeInput!]!) {
  changeAccessControl(input: { brokerId: $c, changes: $changes }) { outcome nodes { nodeId outcome error { code } } }
}`;
const CREATE = 'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id: brokerId } } }';
const NODES = `query ($c: ID!) { broker(id: $c) { cluster { state nodes {
  nodeId lag sync { state missingPasswords }
} } } }`;

const client = (username: string, password?: string) => ({ createAccount: { username, password } });
const setPassword = (username: string, password: string) => ({ setAccountPassword: { username, password } });
const usersOn = ({ broker }: ClusterWorldNode): string[] =>
  JSON.parse(broker.readAccessFile())
    .clients.map(({ username }: { readonly username: string }) => username)
    .sort();

test('a new cluster has the access control of its first node, and nothing is changed if a node is unreachable', async () => {
  const service = await startTestService();
  const nodes = await startNodes(service, 3);
  const [first, second, third] = nodes as [ClusterWorldNode, ClusterWorldNode, ClusterWorldNode];
  const write = (id: string, ...changes: object[]) => service.graphql(WRITE, { c: id, changes });
  await write(first.brokerId, client('meter', 'secret'), { createAccessRole: { roleName: 'sensor' } });
  await write(second.brokerId, client('other', 'secret'), { createAccessRole: { roleName: 'pump' } });
  const before = nodes.map(accessOf);
  const input = { projectId: service.projectId, name: 'plant', mode: 'DYNSEC', nodes: nodes.map(nodeInput) };

  await third.broker.stop();
  const refused = await service.graphql(CREATE, { input });
  expect(refused.errors?.[0]?.extensions.code).toMatch(/^BROKER_/);
  expect(nodes.map(accessOf)).toEqual(before);
  await third.broker.start();
  const isBack = async () =>
    (await service.graphql('query ($id: ID!) { broker(id: $id) { isConnected } }', { id: third.brokerId })).data.broker;
  await expect.poll(isBack).toEqual({ isConnected: true });

  const { data, errors } = await service.graphql(CREATE, { input });
  expect(errors).toBeUndefined();
  const c = data.createCluster.cluster.id;
  for (const node of nodes) {
    expect(accessOf(node)).toEqual(accessOf(first));
    expect(usersOn(node)).toEqual(['admin', 'meter']);
    // The service's own account stays unchanged.
    expect(hasPassword(node, ADMIN.username, ADMIN.password)).toBe(true);
  }
  const missing = async () =>
    (await service.graphql(NODES, { c })).data.broker.cluster.nodes.map(
      ({ sync }: { readonly sync: { readonly missingPasswords: readonly string[] } }) => sync.missingPasswords,
    );
  expect(await missing()).toEqual([[], ['meter'], ['meter']]);

  await write(c, setPassword('meter', 'new'));
  expect(await missing()).toEqual([[], [], []]);
  for (const node of nodes) await node.broker.client({ username: 'meter', password: 'new' });
});

test('a node that was away receives its missing changes, and lists passwords that it cannot receive', async () => {
  const { graph, nodes } = await clusterWorld();
  const [first, second, third] = nodes as [ClusterWorldNode, ClusterWorldNode, ClusterWorldNode];
  const write = async (...changes: object[]) => (await graph(WRITE, { changes })).changeAccessControl;
  await write(client('changed', 'old'), client('made anew', 'old'), client('same', 'old'));

  await third.broker.stop();
  const report = await write(
    setPassword('changed', 'new'),
    { deleteAccount: { username: 'made anew' } },
    client('made anew'),
    client('added', 'new'),
  );
  expect(report).toMatchObject({
    outcome: 'APPLIED',
    nodes: [
      { nodeId: 1, outcome: 'APPLIED', error: null },
      { nodeId: 2, outcome: 'APPLIED', error: null },
      { nodeId: 3, outcome: 'REJECTED', error: { code: 'BROKER_UNREACHABLE' } },
    ],
  });
  const third3 = async () => (await graph(NODES)).broker.cluster.nodes[2];
  expect(await third3()).toMatchObject({ lag: 1, sync: { state: 'BEHIND' } });

  await third.broker.start();
  await expect.poll(third3).toEqual({
    nodeId: 3,
    lag: 0,
    sync: { state: 'EQUAL', missingPasswords: ['added', 'changed'] },
  });
  expect(accessOf(third)).toEqual(accessOf(first));
  expect(hasPassword(third, 'changed', 'old')).toBe(true);
  for (const node of nodes) {
    expect(hasPassword(node, 'same', 'old')).toBe(true);
    expect(hasPassword(node, 'made anew', null)).toBe(true);
  }

  // While the first node is away, the next one by number is written first.
  await first.broker.stop();
  const next = await write(setPassword('added', 'newer'), client('later', 'new'));
  expect(next.nodes.map(({ outcome }: { readonly outcome: string }) => outcome)).toEqual([
    'REJECTED',
    'APPLIED',
    'APPLIED',
  ]);
  await first.broker.start();
  const missing = async () =>
    (await graph(NODES)).broker.cluster.nodes.map(
      ({ sync }: { readonly sync: { readonly state: string; readonly missingPasswords: readonly string[] } }) =>
        `${sync.state} ${sync.missingPasswords}`,
    );
  await expect.poll(missing).toEqual(['EQUAL added,later', 'EQUAL ', 'EQUAL changed']);
  expect(accessOf(first)).toEqual(accessOf(second));
});

test('concurrent writes run one after the other, and disconnect no other client', async () => {
  const { graph, nodes } = await clusterWorld();
  const write = async (...changes: object[]) => (await graph(WRITE, { changes })).changeAccessControl;
  await write(client('bystander', 'secret'));
  const bystanders = await Promise.all(
    nodes.map(({ broker }) => broker.client({ username: 'bystander', password: 'secret' })),
  );
  const ended = bystanders.map((one) => new Promise<void>((resolve) => one.once('close', () => resolve())));
  const names = Array.from({ length: 12 }, (_, number) => `m${number}`);
  const reports = await Promise.all(names.map((name) => write(client(name, 'secret'))));
  expect(reports.map(({ outcome }) => outcome)).toEqual(names.map(() => 'APPLIED'));
  for (const { nodes: outcomes } of reports) expect(outcomes).toMatchObject(Array(3).fill({ outcome: 'APPLIED' }));
  for (const nodeId of [1, 2, 3]) {
    await graph(
      'mutation ($k: ID!, $n: Int!) { repairClusterNode(input: { clusterId: $k, nodeId: $n }) { cluster { state } } }',
      { n: nodeId },
    );
  }
  expect(bystanders.map(({ connected }) => connected)).toEqual([true, true, true]);
  expect(new Set(nodes.map((node) => JSON.stringify(accessOf(node)))).size).toBe(1);
  // The same change to these clients closes their connections.
  await write(setPassword('bystander', 'new'));
  await Promise.all(ended);
});
