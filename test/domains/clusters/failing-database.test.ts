import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { swapClusterId } from '../../../src/gateway/cluster-id.ts';
import { findPostgresPrograms, startCluster } from '../../support/postgres.ts';
import { clusterWorld } from './cluster-world.ts';
import { databaseOf, failing } from './failing.ts';
import { type HaBroker, haNode, haWorld } from './ha-world.ts';

const JOIN = 'mutation ($input: JoinClusterInput!) { joinCluster(input: $input) { cluster { nodes { nodeId } } } }';
const LEAVE = 'mutation ($input: LeaveClusterInput!) { leaveCluster(input: $input) { cluster { nodes { nodeId } } } }';
const DELETE = 'mutation ($input: DeleteClusterInput!) { deleteCluster(input: $input) { hasSucceeded } }';
const NODES = 'query ($c: ID!) { node(id: $c) { ... on Cluster { state nodes { nodeId error { code } } } } }';
const CLUSTERS = 'query ($p: ID!) { project(id: $p) { clusters { nodes { id } } brokers { totalCount } } }';

const ofNodes = ({ node }: { node: { nodes: { nodeId: number }[] } }) => node.nodes.map(({ nodeId }) => nodeId);

test('a cluster that cannot be stored is not created, and one that cannot be rolled back is listed and can be deleted', async () => {
  const { nodes, create, graph, service } = await haWorld();
  const listed = async () => (await graph(CLUSTERS, { p: service.projectId })).project;
  const works = failing(service, 'INSERT ON "ClusterNode" WHEN NEW."nodeId" = 3');
  await expect(create()).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  expect(nodes.flatMap(({ commands }) => commands)).toEqual([]);
  expect(await listed()).toEqual({ clusters: { nodes: [] }, brokers: { totalCount: nodes.length } });
  works();

  const worksAgain = failing(service, 'DELETE ON "Broker"');
  nodes[1]?.answers.set('joinCluster', { error: 'no' });
  await expect(create()).rejects.toMatchObject({
    code: 'BROKER_REJECTED',
    message: expect.stringContaining('"plant" is listed until it is deleted'),
    info: { nodeId: 2 },
  });
  expect(nodes.map(({ cluster }) => cluster)).toEqual([null, null, null]);
  const [{ id }] = (await listed()).clusters.nodes;
  expect((await graph(NODES, { c: id })).node.state).toBe('INACTIVE');
  await expect(graph(DELETE, { input: { clusterId: id } })).rejects.toMatchObject({
    code: 'INTERNAL_ERROR',
    message: expect.stringContaining('repeat deleteCluster'),
  });
  worksAgain();
  nodes[1]?.answers.clear();
  expect((await graph(DELETE, { input: { clusterId: id } })).deleteCluster.hasSucceeded).toBe(true);
  expect(await create()).toBeTypeOf('string');
});

test('a change of a node that could not be stored is reported, and completed by the same request', async () => {
  const { nodes, create, graph, service } = await haWorld(4);
  const fourth = nodes[3] as HaBroker;
  const c = await create(3);
  const path = `/api/projects/${service.projectId}/brokers/${fourth.brokerId}`;
  // As if another process had changed it and its notification were still missing.
  const database = databaseOf(service);
  const columns = '("clusterId", "nodeId", "brokerId", "name", "address", "port")';
  database.exec(
    `INSERT INTO "ClusterNode" ${columns} VALUES ('${swapClusterId(c)}', 4, '${fourth.brokerId}', 'n', 'a', 1)`,
  );
  expect((await service.rest('DELETE', path)).body).toMatchObject({ code: 'IN_USE' });
  database.exec('DELETE FROM "ClusterNode" WHERE "nodeId" = 4');
  const join = () => graph(JOIN, { input: { clusterId: c, ...haNode(fourth) } });
  const leave = () => graph(LEAVE, { input: { clusterId: c, nodeId: 4 } });

  const canStore = failing(service, 'INSERT ON "ClusterNode"');
  await expect(join()).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  expect(fourth.commands).toEqual([]);
  canStore();
  const canForget = failing(service, 'DELETE ON "ClusterNode"');
  fourth.answers.set('joinCluster', { error: 'no' });
  await expect(join()).rejects.toMatchObject({
    code: 'BROKER_REJECTED',
    message: expect.stringContaining('node 4 is listed until `leaveCluster` removes it'),
  });
  expect(nodes[0]?.cluster?.members).toHaveLength(3);
  expect(ofNodes(await graph(NODES, { c }))).toEqual([1, 2, 3, 4]);
  expect((await graph(NODES, { c })).node).toMatchObject({ state: 'DEGRADED' });
  canForget();
  expect((await leave()).leaveCluster.cluster.nodes).toHaveLength(3);

  fourth.answers.clear();
  expect((await join()).joinCluster.cluster.nodes).toHaveLength(4);
  const canForgetAgain = failing(service, 'DELETE ON "ClusterNode"');
  await expect(leave()).rejects.toMatchObject({
    code: 'INTERNAL_ERROR',
    message: expect.stringContaining('repeat leaveCluster'),
  });
  expect(fourth.cluster).toBeNull();
  expect((await graph(NODES, { c })).node.nodes[3].error).toMatchObject({ code: 'BROKER_REJECTED' });
  canForgetAgain();
  expect((await leave()).leaveCluster.cluster.nodes).toHaveLength(3);
});

test('a write that cannot be stored is reported and rolled back on the first node, and on another node its result is reported', async () => {
  const { graph, service, nodes } = await clusterWorld(2);
  const write = (username: string) =>
    graph(
      `mutation ($c: ID!, $changes: [AccessChangeInput!]!) { changeAccessControl(input: { brokerId: $c, changes: $changes }) {
        outcome nodes { nodeId outcome error { code } }
      } }`,
      { changes: [{ createAccount: { username, password: 'secret' } }] },
    );
  const usersAt = (index: number) =>
    JSON.parse(nodes[index]?.broker.readAccessFile() ?? '').clients.map((one: { username: string }) => one.username);
  const states = async () =>
    (
      await graph('query ($c: ID!) { broker(id: $c) { cluster { nodes { sync { state } } } } }')
    ).broker.cluster.nodes.map((node: { sync: { state: string } }) => node.sync.state);

  const canBegin = failing(service, 'UPDATE OF "writing" ON "Cluster"');
  await expect(write('never')).rejects.toThrow('INTERNAL_ERROR');
  canBegin();
  const canKeep = failing(service, 'UPDATE OF "document" ON "Cluster"');
  await expect(write('taken-back')).rejects.toThrow('the change is rolled back as soon as possible');
  expect(usersAt(0)).toContain('taken-back');
  expect(await states()).not.toEqual(['EQUAL', 'EQUAL']);
  canKeep();
  expect((await write('a')).changeAccessControl.nodes).toEqual([
    { nodeId: 1, outcome: 'APPLIED', error: null },
    { nodeId: 2, outcome: 'APPLIED', error: null },
  ]);
  for (const index of [0, 1]) expect(usersAt(index).sort()).toEqual(['a', 'admin']);

  const canTell = failing(
    service,
    'UPDATE ON "ClusterNode" WHEN NEW."nodeId" = 2 AND NEW."revision" <> OLD."revision"',
  );
  expect((await write('b')).changeAccessControl).toEqual({
    outcome: 'APPLIED',
    nodes: [
      { nodeId: 1, outcome: 'APPLIED', error: null },
      { nodeId: 2, outcome: 'UNKNOWN', error: { code: 'INTERNAL_ERROR' } },
    ],
  });
  expect(await states()).toEqual(['EQUAL', 'BEHIND']);
  canTell();
  await write('c');
  expect(await states()).toEqual(['EQUAL', 'EQUAL']);
  for (const index of [0, 1]) expect(usersAt(index).sort()).toEqual(['a', 'admin', 'b', 'c']);
});

test.skipIf(findPostgresPrograms() === null)(
  'a write during which PostgreSQL is killed is reported, and rolled back when the database is available',
  async () => {
    const postgres = await startCluster({ durable: true });
    onTestFinished(() => postgres.stop());
    // A write waits for the database for a part of the timeout.
    const world = await clusterWorld(2, {}, { DATABASE_URL: postgres.url, BROKER_TIMEOUT_MS: '5000' });
    const { service, entryId, nodes } = world;
    const write = async (username: string) => {
      const { data, errors } = await service.graphql(
        'mutation ($input: ChangeAccessControlInput!) { changeAccessControl(input: $input) { outcome nodes { outcome } } }',
        { input: { brokerId: entryId, changes: [{ createAccount: { username, password: 'secret' } }] } },
      );
      return errors?.[0]?.message ?? data.changeAccessControl;
    };
    const usersAt = (index: number) =>
      JSON.parse(nodes[index]?.broker.readAccessFile() ?? '')
        .clients.map((one: { username: string }) => one.username)
        .sort();

    // The change of the first node cannot be stored while another transaction locks the rows.
    const holder = new pg.Client(postgres.url);
    holder.on('error', () => undefined);
    await holder.connect();
    await holder.query('BEGIN; SELECT * FROM "ClusterNode" FOR UPDATE');
    const written = write('half');
    await expect.poll(() => usersAt(0)).toEqual(['admin', 'half']);
    await postgres.kill();
    expect(await written).toContain('the change is rolled back as soon as possible');
    expect(usersAt(1)).toEqual(['admin']);
    expect(await write('without')).not.toMatchObject({ outcome: 'APPLIED' });

    await postgres.startAgain();
    const applied = { outcome: 'APPLIED', nodes: [{ outcome: 'APPLIED' }, { outcome: 'APPLIED' }] };
    await expect.poll(() => write('after')).toEqual(applied);
    for (const index of [0, 1]) expect(usersAt(index)).toEqual(['admin', 'after']);
  },
);
