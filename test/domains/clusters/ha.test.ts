import { expect, test } from 'vitest';
import { swapClusterId } from '../../../src/gateway/cluster-id.ts';
import { haNode, haWorld } from './ha-world.ts';

const DELETE = `mutation ($input: DeleteClusterInput!) {
  deleteCluster(input: $input) { deletedClusterId hasSucceeded nodes { nodeId error { code } } }
}`;

const STATUS = `query ($c: ID!) { node(id: $c) { ... on Cluster { name keeper state nodes {
  nodeId isReachable isLeader lag raft { state role term commitIndex lastApplied lastStored } error { code message }
} } } }`;

test('brokers that synchronize themselves form a cluster: the first creates it, the others join', async () => {
  const { nodes, create, graph } = await haWorld();
  const c = await create();
  const members = nodes.map(({ nodeId }) => ({ address: `10.0.0.${nodeId}`, port: 7000, nodeid: nodeId }));
  for (const { nodeId, commands } of nodes) {
    expect(commands).toEqual([
      {
        command: nodeId === 1 ? 'createCluster' : 'joinCluster',
        clustername: 'plant',
        syncmode: 'full',
        nodes: members.map((member) => (member.nodeid === nodeId ? { ...member, mynode: true } : member)),
      },
    ]);
  }
  const { node: cluster } = await graph(STATUS, { c });
  expect(cluster).toEqual({
    name: 'plant',
    keeper: 'BROKER',
    state: 'ACTIVE',
    nodes: [1, 2, 3].map((nodeId) => ({
      nodeId,
      isReachable: true,
      isLeader: nodeId === 1,
      lag: nodeId === 1 ? 0 : nodeId,
      raft: {
        state: nodeId === 1 ? 'LEADER' : 'FOLLOWER',
        role: 'VOTER',
        term: 4,
        commitIndex: 96,
        lastApplied: nodeId === 1 ? 96 : 96 - nodeId,
        lastStored: nodeId === 1 ? 96 : 96 - nodeId,
      },
      error: null,
    })),
  });
});

test('when a node refuses, the change is rolled back on earlier nodes, and failed rollbacks are reported', async () => {
  const { nodes, create, graph, service } = await haWorld();
  const [first, second, third] = nodes;
  if (!first || !second || !third) throw new Error('three nodes');
  const other = { name: 'other', nodeId: 3, members: [] };
  third.cluster = other;
  await expect(create()).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
    message: expect.stringContaining('Node 3 ("b3"): This broker is already part of a cluster'),
    info: { nodeId: 3, brokerId: third.brokerId },
  });
  expect(nodes.map(({ cluster }) => cluster)).toEqual([null, null, other]);
  const empty = 'query ($p: ID!) { project(id: $p) { clusters { totalCount } brokers { totalCount } } }';
  const p = service.projectId;
  expect((await graph(empty, { p })).project).toEqual({ clusters: { totalCount: 0 }, brokers: { totalCount: 3 } });

  second.answers.set('deleteCluster', { error: 'Disk full' });
  await expect(create()).rejects.toMatchObject({
    message: expect.stringContaining('could not be rolled back on node 2'),
    info: { nodes: [{ nodeId: 2, code: 'BROKER_REJECTED', error: expect.stringContaining('Disk full') }] },
  });
  expect(nodes.map(({ cluster }) => cluster?.name)).toEqual([undefined, 'plant', 'other']);
  expect((await graph(empty, { p })).project.clusters.totalCount).toBe(0);
});

test('a node that did not respond may have joined, and is removed only from this cluster', async () => {
  const { nodes, create } = await haWorld(3, { BROKER_TIMEOUT_MS: '1000' });
  const [first, second, third] = nodes;
  if (!first || !second || !third) throw new Error('three nodes');
  third.answers.set('joinCluster', null);
  third.onCommand = (command) => {
    if (command === 'joinCluster') third.cluster = { name: 'plant', nodeId: 3, members: [] };
  };
  await expect(create()).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
  expect(nodes.map(({ cluster }) => cluster)).toEqual([null, null, null]);
  third.onCommand = (command) => {
    if (command === 'joinCluster') third.cluster = { name: 'other', nodeId: 3, members: [] };
  };
  await expect(create()).rejects.toMatchObject({
    code: 'BROKER_TIMEOUT',
    info: expect.not.objectContaining({ nodes: [] }),
  });
  expect(nodes.map(({ cluster }) => cluster?.name)).toEqual([undefined, undefined, 'other']);
});

test('a cluster with an unreachable node is not deleted and no node is changed, unless `purge` is set', async () => {
  const { nodes, create, graph, service } = await haWorld();
  const clusterId = await create();
  const entryId = swapClusterId(clusterId);
  const [, second] = nodes;
  await second?.stop();
  const commands = nodes.map((node) => node.commands.length);
  await expect(graph(DELETE, { input: { clusterId } })).rejects.toMatchObject({
    code: 'BROKER_UNREACHABLE',
    message: expect.stringContaining('"plant" is unchanged, because node 2 failed'),
    info: { nodes: [{ nodeId: 2, brokerId: second?.brokerId, code: 'BROKER_UNREACHABLE' }] },
  });
  const path = `/api/projects/${service.projectId}/clusters`;
  const refused = await service.rest('DELETE', `${path}/${entryId}?clustername=plant`);
  expect([refused.status, refused.body.code]).toEqual([503, 'BROKER_UNREACHABLE']);
  const all = await service.rest('DELETE', path);
  expect([all.status, all.body]).toEqual([
    207,
    [
      {
        id: entryId,
        clustername: 'plant',
        status: 503,
        success: false,
        error: { code: 'BROKER_UNREACHABLE', message: expect.stringContaining('node 2 failed') },
        nodes: [
          { broker_id: nodes[0]?.brokerId, nodeid: 1, done: false },
          {
            broker_id: second?.brokerId,
            nodeid: 2,
            done: false,
            error: { code: 'BROKER_UNREACHABLE', message: expect.any(String) },
          },
          { broker_id: nodes[2]?.brokerId, nodeid: 3, done: false },
        ],
      },
    ],
  ]);
  expect(nodes.map((node) => node.commands.length)).toEqual(commands);
  expect(nodes.map(({ cluster }) => cluster?.name)).toEqual(['plant', 'plant', 'plant']);
  expect((await graph(STATUS, { c: clusterId })).node.state).toBe('DEGRADED');

  const { deleteCluster } = await graph(DELETE, { input: { clusterId, purge: true } });
  expect(deleteCluster).toEqual({
    deletedClusterId: clusterId,
    hasSucceeded: false,
    nodes: [
      { nodeId: 1, error: null },
      { nodeId: 2, error: { code: 'BROKER_UNREACHABLE' } },
      { nodeId: 3, error: null },
    ],
  });
  expect(nodes.map(({ cluster }) => cluster?.name)).toEqual([undefined, 'plant', undefined]);
  expect((await service.rest('GET', path)).body).toEqual([]);
  expect((await service.rest('GET', `/api/projects/${service.projectId}/brokers/${entryId}`)).status).toBe(404);
});

test('a partial deletion lists its nodes, and the next deletion completes it', async () => {
  const { nodes, create, graph } = await haWorld();
  const clusterId = await create();
  nodes[1]?.answers.set('deleteCluster', { error: 'Busy' });
  await expect(graph(DELETE, { input: { clusterId } })).rejects.toMatchObject({
    code: 'BROKER_REJECTED',
    message: expect.stringContaining('was dissolved on node 1, 3 only'),
  });
  expect((await graph(STATUS, { c: clusterId })).node).toMatchObject({ name: 'plant' });
  nodes[1]?.answers.clear();
  const { deleteCluster } = await graph(DELETE, { input: { clusterId } });
  expect(deleteCluster).toMatchObject({ hasSucceeded: true });
  expect(nodes.map(({ cluster }) => cluster)).toEqual([null, null, null]);
});

test('a node joins and leaves through the leader', async () => {
  const { nodes, create, graph } = await haWorld(4);
  const clusterId = await create(3);
  const [first, , third, fourth] = nodes;
  if (!first || !third || !fourth) throw new Error('four nodes');
  const JOIN = `mutation ($input: JoinClusterInput!) { joinCluster(input: $input) { cluster { nodes { nodeId raft { state } } } } }`;
  const LEAVE = `mutation ($input: LeaveClusterInput!) { leaveCluster(input: $input) { cluster { nodes { nodeId } } } }`;

  fourth.answers.set('joinCluster', { error: 'No licence' });
  const input = { clusterId, ...haNode(fourth) };
  await expect(graph(JOIN, { input })).rejects.toMatchObject({ code: 'BROKER_REJECTED', info: { nodeId: 4 } });
  expect(first.cluster?.members).toHaveLength(3);
  expect(first.commands.slice(-2)).toEqual([
    { command: 'addNode', clustername: 'plant', address: '10.0.0.4', port: 7000, nodeid: 4 },
    { command: 'removeNode', clustername: 'plant', address: '10.0.0.4', port: 7000, nodeid: 4 },
  ]);
  expect((await graph(STATUS, { c: clusterId })).node.nodes).toHaveLength(3);

  fourth.answers.clear();
  const { joinCluster } = await graph(JOIN, { input });
  expect(joinCluster.cluster.nodes.at(-1)).toEqual({ nodeId: 4, raft: { state: 'FOLLOWER' } });
  expect(fourth.commands.at(-1)).toMatchObject({
    command: 'joinCluster',
    nodes: expect.arrayContaining([expect.objectContaining({ nodeid: 4, mynode: true })]),
  });

  const left = await graph(LEAVE, { input: { clusterId, brokerId: third.brokerId } });
  expect(left.leaveCluster.cluster.nodes).toEqual([1, 2, 4].map((nodeId) => ({ nodeId })));
  expect(first.commands.at(-1)).toMatchObject({ command: 'removeNode', nodeid: 3 });
  expect(third.cluster).toBeNull();
  await expect(graph(LEAVE, { input: { clusterId, nodeId: 4 } })).rejects.toMatchObject({ code: 'IN_USE' });
});

test('the broker that leaves is the one with the given node number, in whatever order the brokers joined', async () => {
  const { nodes, create, graph } = await haWorld(5);
  const clusterId = await create(3);
  const [, , , fourth, fifth] = nodes;
  if (!fourth || !fifth) throw new Error('five nodes');
  const JOIN = 'mutation ($input: JoinClusterInput!) { joinCluster(input: $input) { cluster { id } } }';
  const LEAVE = 'mutation ($input: LeaveClusterInput!) { leaveCluster(input: $input) { cluster { id } } }';
  for (const [index, node] of [fifth, fourth].entries()) {
    await graph(JOIN, { input: { clusterId, ...haNode(node), nodeId: 4 + index } });
  }
  await graph(LEAVE, { input: { clusterId, nodeId: 5 } });
  expect([fourth.cluster, fifth.cluster?.members.length]).toEqual([null, 4]);
  await graph(DELETE, { input: { clusterId } });
  expect(nodes.map(({ cluster }) => cluster)).toEqual([null, null, null, null, null]);
});

test('operations on a cluster go to the leader, also after an election or after the leader is lost', async () => {
  const world = await haWorld(3, { BROKER_TIMEOUT_MS: '1000' });
  const { nodes, create, graph } = world;
  const c = await create();
  const asked = async () => {
    const { node } = await world.service
      .graphql('query ($c: ID!) { node(id: $c) { ... on Cluster { state broker { license { issuedTo } } } } }', { c })
      .then(({ data }) => data);
    return node.broker.license?.issuedTo;
  };
  const untilAsked = async (nodeId: number) => {
    while ((await asked()) !== `node ${nodeId}`) await new Promise(setImmediate);
  };
  await untilAsked(1);
  world.leader = 3;
  world.term = 5;
  // The node does not know about the election.
  nodes[0]?.answers.set('getRaftStatus', { data: { state: '3', current_term: '4', nodes: 'none' } });
  nodes[0]?.answers.set('isLeader', { error: 'Unknown command' });
  await untilAsked(3);
  const { node: cluster } = await graph(STATUS, { c });
  expect(cluster.nodes.map(({ isLeader }: { isLeader: boolean }) => isLeader)).toEqual([false, false, true]);
  expect(cluster.nodes[0]).toMatchObject({
    raft: { state: 'LEADER', role: null, term: 4, commitIndex: null },
    lag: null,
  });
  world.leader = 2;
  world.term = 6;
  await nodes[2]?.stop();
  await untilAsked(2);
  world.leader = null;
  await nodes[1]?.stop();
  await untilAsked(1);
});

test('a cluster is reached through the address in the entry of its node, also after a change of the address', async () => {
  const { service, nodes, create, graph } = await haWorld(4);
  const c = await create(3);
  const [first, , , fourth] = nodes;
  const path = `/api/projects/${service.projectId}/brokers/${first?.brokerId}`;
  expect((await service.rest('PUT', path, service.root, { url: fourth?.url })).status).toBe(204);
  const asked = () =>
    graph('query ($c: ID!) { node(id: $c) { ... on Cluster { broker { license { issuedTo } } } } }', { c }).then(
      ({ node }) => node.broker.license.issuedTo,
      () => null,
    );
  while ((await asked()) !== 'node 4') await new Promise(setImmediate);
});

test('a node without a response or with an invalid response does not affect the status of other nodes', async () => {
  const { nodes, create, graph } = await haWorld(3, { BROKER_TIMEOUT_MS: '1000' });
  const c = await create();
  nodes[1]?.answers.set('getRaftStatus', null);
  nodes[1]?.answers.set('isLeader', null);
  nodes[2]?.answers.set('getRaftStatus', { data: [1, 'two', null] });
  const seen = async () => (await graph(STATUS, { c })).node;
  let cluster = await seen();
  while (cluster.state !== 'DEGRADED' || cluster.nodes[1].isReachable) cluster = await seen();
  expect(cluster.nodes).toMatchObject([
    { isReachable: true, isLeader: true, error: null },
    {
      isReachable: false,
      isLeader: false,
      raft: null,
      error: { code: 'BROKER_TIMEOUT', message: expect.stringContaining('Node 2') },
    },
    {
      isReachable: true,
      isLeader: false,
      raft: { state: 'UNAVAILABLE', term: null },
      error: { code: 'BROKER_REJECTED' },
    },
  ]);
});
