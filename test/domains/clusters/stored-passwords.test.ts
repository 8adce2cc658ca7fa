import { expect, test } from 'vitest';
import { clusterWorld, nodeInput, startNodes } from './cluster-world.ts';

const JOIN = 'mutation ($input: JoinClusterInput!) { joinCluster(input: $input) { cluster { nodes { nodeId } } } }';
const UPDATE = 'mutation ($input: UpdateBrokerInput!) { updateBroker(input: $input) { broker { name } } }';
const KEEP =
  'mutation ($p: ID!, $keep: Boolean!) { updateProject(input: { projectId: $p, storesClusterPasswords: $keep }) { project { id } } }';

async function world() {
  const { service, nodes, clusterId, entryId } = await clusterWorld(2);
  const [third] = await startNodes(service, 1);
  const { token: editor } = await service.person('EDITOR');
  const keep = (isKept: boolean) => service.graphql(KEEP, { p: service.projectId, keep: isKept });
  const input = { clusterId, ...nodeInput({ brokerId: third?.brokerId ?? '', nodeId: 3 }) };
  const join = (token: string) => service.graphql(JOIN, { input }, token);
  const update = (token: string, change: object) =>
    service.graphql(UPDATE, { input: { brokerId: nodes[0]?.brokerId, ...change } }, token);
  return { service, editor, keep, join, update, third, entryId };
}

test('in projects with stored cluster passwords only administrators add a broker to a cluster', async () => {
  const { service, editor, keep, join, third, entryId } = await world();
  await keep(true);
  expect((await join(editor)).errors).toMatchObject([{ path: ['joinCluster'], extensions: { code: 'NOT_ALLOWED' } }]);
  const path = `/api/projects/${service.projectId}/clusters/${entryId}/join`;
  const { status } = await service.rest('PUT', path, editor, { url: third?.broker.url });
  expect(status).toBe(403);
  const joined = [{ nodeId: 1 }, { nodeId: 2 }, { nodeId: 3 }];
  expect((await join(service.root)).data.joinCluster.cluster.nodes).toEqual(joined);
});

test('in projects without stored cluster passwords an editor adds a broker to a cluster', async () => {
  const { editor, join } = await world();
  expect((await join(editor)).errors).toBeUndefined();
});

test('in projects with stored cluster passwords only administrators change the address of a node', async () => {
  const { service, editor, keep, update, third } = await world();
  const other = { url: third?.broker.url, password: null };
  await keep(true);
  expect((await update(editor, other)).errors).toMatchObject([
    { path: ['updateBroker'], extensions: { code: 'NOT_ALLOWED' } },
  ]);
  expect((await update(editor, { name: 'renamed' })).data.updateBroker.broker.name).toBe('renamed');
  expect((await update(service.root, other)).errors).toBeUndefined();
  await keep(false);
  expect((await update(editor, { ...other, url: 'mqtt://127.0.0.1:9' })).errors).toBeUndefined();
});
