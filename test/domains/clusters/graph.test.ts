import { expect, test } from 'vitest';
import { namedNodeId } from '../../../src/gateway/named-node-id.ts';
import type { TestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';
import { eventsOf } from '../audit/audited-service.ts';
import { clusterWorld } from './cluster-world.ts';
import { haNode, haWorld } from './ha-world.ts';

const FOLLOW = `subscription ($p: ID!) { clusterStatus(projectId: $p) { kind clusters {
  clusterId state cluster { id name } nodes { id nodeId isReachable broker { id } url error { code } }
} } }`;

const SEEN = `query ($p: ID!, $b: ID!, $c: ID!, $n: ID!) {
  project(id: $p) {
    clusters { totalCount nodes { id nodes { brokerId broker { id } url } } }
    clusterHealth { clusterId }
    brokers { nodes { id } }
  }
  broker(id: $b) { cluster { id } }
  node(id: $c) { __typename id }
  first: node(id: $n) { __typename id ... on ClusterNode { nodeId isReachable } }
}`;

const CREATE = 'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id } } }';
const JOIN = 'mutation ($input: JoinClusterInput!) { joinCluster(input: $input) { cluster { id } } }';
const LEAVE = 'mutation ($input: LeaveClusterInput!) { leaveCluster(input: $input) { cluster { id } } }';
const UPDATE =
  'mutation ($input: UpdateClusterInput!) { updateCluster(input: $input) { cluster { name autoRepair } } }';
const REPAIR = 'mutation ($input: RepairClusterNodeInput!) { repairClusterNode(input: $input) { cluster { id } } }';
const DELETE = 'mutation ($input: DeleteClusterInput!) { deleteCluster(input: $input) { hasSucceeded } }';
const DELETE_ALL =
  'mutation ($input: DeleteClustersInput!) { deleteClusters(input: $input) { results { hasSucceeded } } }';
const TOKEN = 'mutation ($input: CreateTokenInput!) { createToken(input: $input) { secret } }';

async function tokenFor({ graphql, projectId }: TestService, role: string, brokerIds: readonly string[]) {
  const { data } = await graphql(TOKEN, { input: { projectId, name: `${role} ${brokerIds}`, role, brokerIds } });
  return data.createToken.secret as string;
}

test('the audit names a cluster that was created', async () => {
  const { service, clusterId } = await clusterWorld(2);
  const [created] = await eventsOf(service, { operation: 'createCluster' });
  expect(created).toMatchObject({ targetKind: 'cluster', targetId: clusterId, result: 'DONE', code: null });
});

test('subscribers who may see a cluster receive the connection changes of its nodes', async () => {
  const { service, nodes, clusterId, entryId, graph } = await clusterWorld(2);
  const { projectId: p, graphql } = service;
  const [first, second] = nodes;
  if (!first || !second) throw new Error('two nodes');
  const viewer = await service.person('VIEWER');
  const onNode = await tokenFor(service, 'VIEWER', [first.brokerId]);
  const onCluster = await tokenFor(service, 'VIEWER', [entryId]);

  // A token for a node sees no cluster. A token for the cluster sees no other entry.
  const n = namedNodeId({ kind: 'clusterNode', brokerId: entryId, name: '1' });
  const variables = { p, b: first.brokerId, c: clusterId, n };
  expect((await graphql(SEEN, variables, onNode)).data).toEqual({
    project: {
      clusters: { totalCount: 0, nodes: [] },
      clusterHealth: [],
      brokers: { nodes: [{ id: first.brokerId }] },
    },
    broker: { cluster: null },
    node: null,
    first: null,
  });
  const one = await graphql(
    'query ($p: ID!, $c: ID!) { project(id: $p) { cluster(id: $c) { id } } }',
    variables,
    onNode,
  );
  expect(one.errors?.[0]?.extensions.code).toBe('NOT_FOUND');
  expect((await graphql(SEEN, { ...variables, b: entryId }, onCluster)).data).toEqual({
    project: {
      clusters: {
        totalCount: 1,
        nodes: [{ id: clusterId, nodes: nodes.map(({ brokerId }) => ({ brokerId, broker: null, url: null })) }],
      },
      clusterHealth: [{ clusterId }],
      brokers: { nodes: [{ id: entryId }] },
    },
    broker: { cluster: { id: clusterId } },
    node: { __typename: 'Cluster', id: clusterId },
    first: { __typename: 'ClusterNode', id: n, nodeId: 1, isReachable: true },
  });

  const [whole, also, outside, restricted] = [viewer.token, viewer.token, onNode, onCluster].map((token) =>
    subscribe(service, token, FOLLOW, { p }),
  );
  if (!whole || !also || !outside || !restricted) throw new Error('four subscriptions');
  const isSnapshot = ({ clusterStatus }: { clusterStatus: { kind: string } }) => clusterStatus.kind === 'SNAPSHOT';
  interface Told {
    readonly clusterStatus: { readonly clusters: readonly { readonly state: string }[] };
  }
  const isNow =
    (state: string) =>
    ({ clusterStatus }: Told) =>
      clusterStatus.clusters[0]?.state === state;
  for (const one of [whole, also]) {
    expect((await one.until(isSnapshot)).clusterStatus.clusters).toEqual([
      {
        clusterId,
        state: 'ACTIVE',
        cluster: { id: clusterId, name: 'plant' },
        nodes: nodes.map(({ nodeId, brokerId, broker }) => ({
          id: namedNodeId({ kind: 'clusterNode', brokerId: entryId, name: String(nodeId) }),
          nodeId,
          isReachable: true,
          broker: { id: brokerId },
          url: broker.url,
          error: null,
        })),
      },
    ]);
  }
  expect((await outside.until(isSnapshot)).clusterStatus.clusters).toEqual([]);
  expect((await restricted.until(isSnapshot)).clusterStatus.clusters[0].nodes[0].broker).toBeNull();

  await second.broker.stop();
  for (const one of [whole, restricted]) {
    const { clusterStatus } = await one.until(isNow('DEGRADED'));
    expect(clusterStatus.clusters).toMatchObject([
      { clusterId, state: 'DEGRADED', nodes: [{ error: null }, { error: { code: 'BROKER_UNREACHABLE' } }] },
    ]);
  }
  await second.broker.start();
  await whole.until(isNow('ACTIVE'));
  await graph(UPDATE, { input: { clusterId, name: 'hall', autoRepair: true } });
  await whole.until(({ clusterStatus }) => clusterStatus.clusters[0]?.cluster.name === 'hall');
  // The entry has the name of the cluster, and names the node of its metrics.
  const about = async (b: string) =>
    (await graph('query ($b: ID!) { broker(id: $b) { name clusterNode { nodeId isReachable broker { id } } } }', { b }))
      .broker;
  const reachedBy = await about(entryId);
  expect(reachedBy).toMatchObject({ name: 'hall', clusterNode: { isReachable: true } });
  expect(await about(reachedBy.clusterNode.broker.id)).toMatchObject({ clusterNode: reachedBy.clusterNode });
  await graph(DELETE, { input: { clusterId } });
  for (const one of [whole, also, restricted]) {
    const isGone = ({ clusterStatus }: { clusterStatus: { clusters: { cluster: unknown }[] } }) =>
      clusterStatus.clusters.some(({ cluster }) => cluster === null);
    expect((await one.until(isGone)).clusterStatus).toEqual({
      kind: 'CHANGE',
      clusters: [{ clusterId, state: null, cluster: null, nodes: [] }],
    });
  }
  await service.services.projects.removeMember(p, viewer.email);
  await expect(whole.until(() => false)).rejects.toThrow();
});

test('operations on clusters need their roles, and accept only valid brokers', async () => {
  const world = await haWorld(4);
  const { service, nodes, graph } = world;
  const { projectId } = service;
  const [first, second, third, fourth] = nodes;
  if (!first || !second || !third || !fourth) throw new Error('four nodes');
  const input = { projectId, name: 'plant', mode: 'DYNSEC', nodes: [first, second, third].map(haNode) };
  const code = async (document: string, what: object, token: string) =>
    (await service.graphql(document, { input: what }, token)).errors?.[0]?.extensions.code ?? 'DONE';
  const paths = async (document: string, what: object) => {
    const { errors } = await service.graphql(document, { input: what });
    expect(errors?.[0]?.extensions.code).toBe('INVALID');
    const info = errors?.[0]?.extensions.info as { issues: { path: string; reason: string }[] } | undefined;
    return (info?.issues ?? []).map(({ path, reason }) => `${path} ${reason}`);
  };
  const viewer = (await service.person('VIEWER')).token;
  const editor = (await service.person('EDITOR')).token;
  const admin = (await service.person('ADMIN')).token;

  expect(await code(CREATE, input, editor)).toBe('NOT_ALLOWED');
  expect(await paths(CREATE, { ...input, nodes: [first, second, second].map(haNode) })).toEqual([
    'input.nodes.2.nodeId is already used by entry 1 of the list',
    'input.nodes.2.brokerId is already used by entry 1 of the list',
  ]);
  expect(await paths(CREATE, { ...input, nodes: [first, second].map(haNode) })).toEqual([
    'input.nodes must be 3 to 32',
  ]);
  expect(
    await paths(CREATE, {
      ...input,
      nodes: [
        { ...haNode(first), nodeId: 0, port: 65_536, address: '', name: 'x'.repeat(300) },
        haNode(second),
        haNode(third),
      ],
    }),
  ).toHaveLength(4);
  const other = (await graph('mutation { createProject(input: { name: "Other" }) { project { id } } }')).createProject;
  expect(await paths(CREATE, { ...input, projectId: other.project.id })).toEqual(
    [0, 1, 2].map((index) => `input.nodes.${index}.brokerId is not a broker of the project`),
  );
  expect(nodes.flatMap(({ commands }) => commands)).toEqual([]);

  // Of two concurrent requests only one can use the broker.
  const both = await Promise.all([code(CREATE, input, admin), code(CREATE, { ...input, name: 'hall' }, admin)]);
  expect(both.sort()).toEqual(['DONE', 'IN_USE']);
  expect(first.commands.map(({ command }) => command)).toEqual(['createCluster']);
  const { project } = await graph('query ($p: ID!) { project(id: $p) { clusters { nodes { id brokerId name } } } }', {
    p: projectId,
  });
  expect(project.clusters.nodes).toHaveLength(1);
  const [{ id: clusterId, brokerId: entryId, name }] = project.clusters.nodes;
  expect(
    await paths(CREATE, {
      ...input,
      nodes: [haNode(fourth), haNode(second), { ...haNode(third), brokerId: entryId }],
    }),
  ).toEqual([
    `input.nodes.1.brokerId is a node of the cluster "${name}"`,
    'input.nodes.2.brokerId represents a cluster itself',
  ]);

  const target = { clusterId };
  const restricted = await tokenFor(service, 'EDITOR', [entryId, fourth.brokerId]);
  const join = { ...target, ...haNode(fourth) };
  for (const token of [viewer, restricted]) {
    expect(await code(JOIN, join, token)).toBe('NOT_ALLOWED');
    expect(await code(LEAVE, { ...target, nodeId: 1 }, token)).toBe('NOT_ALLOWED');
    expect(await code(UPDATE, { ...target, autoRepair: true }, token)).toBe('NOT_ALLOWED');
    expect(await code(REPAIR, { ...target, nodeId: 1 }, token)).toBe('NOT_ALLOWED');
  }
  expect(await code(JOIN, { ...join, projectId: other.project.id }, editor)).toBe('NOT_FOUND');
  expect(await code(JOIN, { ...join, clusterId: entryId }, editor)).toBe('NOT_FOUND');
  expect(await paths(JOIN, { ...target })).toEqual([
    'input.brokerId is required, or the url of a broker of the project',
  ]);
  expect(await paths(JOIN, { ...join, nodeId: 3 })).toEqual(['input.nodeId is already the number of another node']);
  expect(await paths(JOIN, { ...target, url: second.url })).toEqual([
    `input.brokerId is a node of the cluster "${name}"`,
  ]);
  expect(await code(JOIN, { ...target, url: `${fourth.url}/` }, editor)).toBe('DONE');
  expect(await code(LEAVE, { ...target, nodeId: 4 }, editor)).toBe('DONE');
  expect(await code(UPDATE, { ...target, autoRepair: true }, editor)).toBe('DONE');
  expect(await paths(UPDATE, { ...target, name: 'other' })).toEqual([
    'input.name cannot be changed: the brokers identify the cluster by its name',
  ]);
  expect(await code(REPAIR, { ...target, nodeId: 1 }, editor)).toBe('NOT_SUPPORTED_BY_BROKER');
  expect(await code(REPAIR, { ...target, nodeId: 7 }, editor)).toBe('NOT_FOUND');

  expect(await code(DELETE, target, editor)).toBe('NOT_ALLOWED');
  expect(await code(DELETE_ALL, { projectId }, editor)).toBe('NOT_ALLOWED');
  expect(await paths(DELETE, { ...target, name: 'other' })).toEqual(['input.name is not the name of the cluster']);
  expect(nodes.map(({ cluster }) => cluster === null)).toEqual([false, false, false, true]);
  expect(await code(DELETE, { ...target, name }, admin)).toBe('DONE');
  expect(await code(DELETE, target, admin)).toBe('NOT_FOUND');
  expect(nodes.map(({ cluster }) => cluster)).toEqual([null, null, null, null]);
});
