import { expect, test } from 'vitest';
import { subscribe } from '../../support/subscription.ts';
import { accessOf, type ClusterWorld, type ClusterWorldNode, clusterWorld, control } from './cluster-world.ts';

const STATUS = `subscription ($p: ID!) { clusterStatus(projectId: $p) { clusters { state nodes {
  nodeId isLeader sync { state differenceCount differences { kind name } }
} } } }`;

const WRITE = `mutation ($c: ID!, $changes: [AccessChangeInput!]!) {
  changeAccessControl(input: { brokerId: $c, changes: $changes }) { outcome nodes { nodeId outcome error { code } } }
}`;

const ROLE = '{ accessRole(roleName: $role) { roleName } }';
const role = (roleName: string, more: object = {}) => ({ createAccessRole: { roleName, ...more } });

const rolesOn = ({ broker }: ClusterWorldNode): string[] =>
  JSON.parse(broker.readAccessFile())
    .roles.map(({ rolename }: { readonly rolename: string }) => rolename)
    .sort();

/** Waits until the nodes have the given states, by number. */
function watched({ service }: ClusterWorld) {
  const events = subscribe(service, service.root, STATUS, { p: service.projectId });
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they asked for.
  return async (fits: (nodes: any[], state: string) => boolean): Promise<any[]> => {
    const { clusterStatus } = await events.until(({ clusterStatus: { clusters } }) =>
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      clusters.some(({ nodes, state }: any) => fits(nodes, state)),
    );
    return clusterStatus.clusters[0].nodes;
  };
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
const isDrifted = (nodeId: number) => (nodes: any[]) => nodes[nodeId - 1].sync.state === 'DRIFTED';
// biome-ignore lint/suspicious/noExplicitAny: as above.
const areEqual = (nodes: any[], state: string) =>
  state === 'ACTIVE' && nodes.every(({ sync }) => sync.state === 'EQUAL' && sync.differenceCount === 0);

test('a change by another client on one node is reported by name, survives writes, and is reverted on request', async () => {
  const world = await clusterWorld();
  const { graph, nodes, clusterId } = world;
  const [first, second, third] = nodes as [ClusterWorldNode, ClusterWorldNode, ClusterWorldNode];
  const until = watched(world);
  await until(areEqual);

  control(second, 'createRole', 'foreign');
  const [, told] = await until(isDrifted(2));
  expect(told.sync.differences).toEqual([{ kind: 'ROLE', name: 'foreign' }]);

  const { changeAccessControl } = await graph(WRITE, { changes: [role('own')] });
  expect(changeAccessControl.nodes.map(({ outcome }: { readonly outcome: string }) => outcome)).toEqual(
    Array(3).fill('APPLIED'),
  );
  expect(nodes.map(rolesOn)).toEqual([
    ['admin', 'own'],
    ['admin', 'foreign', 'own'],
    ['admin', 'own'],
  ]);
  await graph('mutation ($k: ID!) { repairClusterNode(input: { clusterId: $k, nodeId: 2 }) { cluster { state } } }');
  expect(accessOf(second)).toEqual(accessOf(first));
  await until(areEqual);

  // A write that the node cannot repeat synchronizes the whole node.
  control(third, 'createRole', 'same');
  await until(isDrifted(3));
  const acls = [{ aclType: 'PUBLISH_CLIENT_SEND', topic: 'a', allow: true }];
  const report = (await graph(WRITE, { changes: [role('same', { acls })] })).changeAccessControl;
  expect(report.nodes[2]).toEqual({ nodeId: 3, outcome: 'APPLIED', error: null });
  expect(accessOf(third)).toEqual(accessOf(first));
  await until(areEqual);

  // Another node is read once the first has drifted.
  control(first, 'deleteRole', 'same');
  const drifted = await until(isDrifted(1));
  expect(drifted.map(({ isLeader }) => isLeader)).toEqual([false, true, false]);
  expect(drifted[0].sync.differences).toEqual([{ kind: 'ROLE', name: 'same' }]);
  const { broker } = await graph(`query ($c: ID!, $role: String!) { broker(id: $c) ${ROLE} }`, { role: 'same' });
  expect(broker.accessRole).toEqual({ roleName: 'same' });

  await graph(
    'mutation ($k: ID!) { repairClusterNode(input: { clusterId: $k, nodeId: 1, adopt: true }) { cluster { state } } }',
  );
  expect(nodes.map(rolesOn)).toEqual(Array(3).fill(['admin', 'own']));
  await until(areEqual);

  await graph('mutation ($k: ID!) { updateCluster(input: { clusterId: $k, autoRepair: true }) { cluster { id } } }');
  control(third, 'deleteRole', 'own');
  await expect.poll(() => rolesOn(third)).toEqual(['admin', 'own']);
  await until(areEqual);
  expect(clusterId).toBeTruthy();
});

test('callers below ADMIN cannot adopt rights on $CONTROL/ of a drifted node', async () => {
  const world = await clusterWorld();
  const { service, nodes, clusterId } = world;
  const [, second] = nodes as [ClusterWorldNode, ClusterWorldNode];
  const editor = (await service.person('EDITOR')).token;
  const until = watched(world);
  await until(areEqual);
  const ADOPT =
    'mutation ($k: ID!) { repairClusterNode(input: { clusterId: $k, nodeId: 2, adopt: true }) { cluster { state } } }';
  const adopt = async (token: string) =>
    (await service.graphql(ADOPT, { k: clusterId }, token)).errors?.[0]?.extensions.code;

  control(second, 'createRole', 'foreign');
  await until(isDrifted(2));
  expect(await adopt(editor)).toBeUndefined();
  await until(areEqual);

  control(second, 'addRoleACL', 'foreign', 'publishClientSend', '$CONTROL/#', 'allow');
  await until(isDrifted(2));
  expect(await adopt(editor)).toBe('NOT_ALLOWED');
  expect(nodes.map((node) => node.broker.readAccessFile().includes('$CONTROL/#'))).toEqual([false, true, false]);
  expect(await adopt(service.root)).toBeUndefined();
  await until(areEqual);
  expect(nodes.map((node) => node.broker.readAccessFile().includes('$CONTROL/#'))).toEqual([true, true, true]);
});

test('the access control of a node is not changed directly while it is in a cluster', async () => {
  const { graph, nodes, service } = await clusterWorld();
  const [, second, third] = nodes as [ClusterWorldNode, ClusterWorldNode, ClusterWorldNode];
  const write = (brokerId: string) => service.graphql(WRITE, { c: brokerId, changes: [role('own')] });

  const refused = (await write(second.brokerId)).errors?.[0];
  expect(refused?.extensions?.code).toBe('IN_USE');
  // A caller who may change this broker may not see the cluster.
  expect(JSON.stringify(refused)).not.toContain('plant');
  expect(nodes.map(rolesOn)).toEqual(Array(3).fill(['admin']));
  const { broker } = await graph(`query ($id: ID!, $role: String!) { broker(id: $id) ${ROLE} }`, {
    id: second.brokerId,
    role: 'admin',
  });
  expect(broker.accessRole).toEqual({ roleName: 'admin' });
  expect((await graph(WRITE, { changes: [role('own')] })).changeAccessControl.outcome).toBe('APPLIED');

  await graph('mutation ($k: ID!) { leaveCluster(input: { clusterId: $k, nodeId: 3 }) { cluster { id } } }');
  const written = (await service.graphql(WRITE, { c: third.brokerId, changes: [role('alone')] })).data;
  expect(written.changeAccessControl.outcome).toBe('APPLIED');
  expect(nodes.map(rolesOn)).toEqual([
    ['admin', 'own'],
    ['admin', 'own'],
    ['admin', 'alone', 'own'],
  ]);
});

test('a node that restarts with an older file is detected, and repaired with the stored passwords', async () => {
  const world = await clusterWorld();
  const { graph, nodes, service } = world;
  const [first, , third] = nodes as [ClusterWorldNode, ClusterWorldNode, ClusterWorldNode];
  const until = watched(world);
  await service.graphql(
    'mutation ($p: ID!) { updateProject(input: { projectId: $p, storesClusterPasswords: true }) { project { id } } }',
    { p: service.projectId },
  );
  const meter = (password: string) => ({ updateAccount: { username: 'meter', password } });
  await graph(WRITE, { changes: [{ createAccount: { username: 'meter', password: 'old' } }] });
  const older = third.broker.readAccessFile();
  await graph(WRITE, { changes: [meter('new'), role('sensor')] });

  await third.broker.stop();
  third.broker.writeAccessFile(older);
  await third.broker.start();
  const [, , told] = await until(isDrifted(3));
  expect(told.sync.differences).toEqual([{ kind: 'ROLE', name: 'sensor' }]);
  await graph('mutation ($k: ID!) { repairClusterNode(input: { clusterId: $k, nodeId: 3 }) { cluster { state } } }');
  expect(accessOf(third)).toEqual(accessOf(first));
  await third.broker.client({ username: 'meter', password: 'new' });
  await until(areEqual);
});
