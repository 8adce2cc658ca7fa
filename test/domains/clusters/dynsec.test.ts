import { expect, test } from 'vitest';
import { accessOf, clusterWorld } from './cluster-world.ts';

const WRITE = `mutation ($input: ChangeAccessControlInput!) {
  changeAccessControl(input: $input) { outcome changes { outcome error { message } } nodes { nodeId outcome error { code } } }
}`;

const NODES = `query ($c: ID!) { broker(id: $c) { cluster { state nodes {
  nodeId isReachable isLeader lag error { code message } sync { state differenceCount differences { kind name } missingPasswords }
} } } }`;

test('a write to a cluster is applied to every node', async () => {
  const { graph, entryId, nodes } = await clusterWorld();
  const changes = [
    { createAccessRole: { roleName: 'sensor', acls: [{ aclType: 'PUBLISH_CLIENT_SEND', topic: 'a/#', allow: true }] } },
    { createAccount: { username: 'meter', password: 'secret', roles: [{ roleName: 'sensor' }] } },
  ];
  const { changeAccessControl } = await graph(WRITE, { input: { brokerId: entryId, changes } });
  expect(changeAccessControl).toEqual({
    outcome: 'APPLIED',
    changes: [
      { outcome: 'APPLIED', error: null },
      { outcome: 'APPLIED', error: null },
    ],
    nodes: [1, 2, 3].map((nodeId) => ({ nodeId, outcome: 'APPLIED', error: null })),
  });
  const [first, ...others] = nodes.map(accessOf);
  for (const other of others) expect(other).toEqual(first);
  const { broker } = await graph(NODES);
  expect(broker.cluster.state).toBe('ACTIVE');
  for (const { broker: one } of nodes) await one.client({ username: 'meter', password: 'secret' });
});
