import { expect, test } from 'vitest';
import { ADMIN, startMosquitto } from '../../support/mosquitto.ts';
import { startRelay } from '../../support/relay.ts';
import { startTestService } from '../../support/service.ts';
import { mosquittoDialect } from '../access-control/dialects.ts';
import { accessOf, type ClusterWorldNode, nodeInput } from './cluster-world.ts';

const WRITE = `mutation ($c: ID!, $changes: [AccessChangeInput!]!) {
  changeAccessControl(input: { brokerId: $c, changes: $changes }) {
    outcome changes { outcome } nodes { nodeId outcome error { code } }
  }
}`;
const CREATE = 'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id: brokerId } } }';
const STATES =
  'query ($c: ID!) { broker(id: $c) { cluster { nodes { error { message } sync { state missingPasswords } } } } }';

test('when the first node is lost during a write, all nodes have what it confirmed, and its other changes are reverted', async () => {
  const service = await startTestService();
  const brokers = await Promise.all([1, 2].map(() => startMosquitto({ access: 'dynsec' })));
  const [near] = brokers as [(typeof brokers)[number]];
  const relay = await startRelay(near.port);
  const path = `/api/projects/${service.projectId}/brokers`;
  const nodes: ClusterWorldNode[] = [];
  for (const [index, broker] of brokers.entries()) {
    const connection = { name: `m${index + 1}`, url: index === 0 ? relay.url : broker.url, ...ADMIN };
    const { body } = await service.rest('POST', path, service.root, connection);
    nodes.push({ broker, brokerId: body.id, nodeId: index + 1 });
  }
  const [first, second] = nodes as [ClusterWorldNode, ClusterWorldNode];
  const input = { projectId: service.projectId, name: 'plant', mode: 'DYNSEC', nodes: nodes.map(nodeInput) };
  const c = (await service.graphql(CREATE, { input })).data.createCluster.cluster.id;

  const names = Array.from({ length: 20 * mosquittoDialect().writesPerPayload }, (_, number) => `m${number}`);
  const changes = names.map((username) => ({ createAccount: { username, password: 'secret' } }));
  const answer = service.graphql(WRITE, { c, changes });
  // The only sign that the broker executed the command.
  await expect.poll(() => near.readAccessFile().includes('"m20"'), { interval: 1 }).toBe(true);
  relay.stop();
  const report = (await answer).data.changeAccessControl;

  // No command may be under way at that moment.
  const outcome = expect.stringMatching(/^(UNKNOWN|PARTLY_APPLIED)$/);
  expect(report.outcome).toEqual(outcome);
  expect(report.nodes).toMatchObject([
    { nodeId: 1, outcome, error: { code: expect.stringMatching(/^BROKER_/) } },
    { nodeId: 2, outcome: 'APPLIED', error: null },
  ]);
  const applied = names.filter((_name, index) => report.changes[index].outcome === 'APPLIED');
  expect(applied.length).toBeGreaterThan(0);
  expect(applied.length).toBeLessThan(names.length);
  const usersOn = ({ broker }: ClusterWorldNode) =>
    JSON.parse(broker.readAccessFile()).clients.map(({ username }: { readonly username: string }) => username);
  expect(usersOn(second).sort()).toEqual([ADMIN.username, ...applied].sort());

  const moved = await service.rest('PUT', `${path}/${first.brokerId}`, service.root, { url: near.url, ...ADMIN });
  expect(moved.status).toBe(204);
  const states = async () => (await service.graphql(STATES, { c })).data.broker.cluster.nodes;
  await expect.poll(states).toEqual(nodes.map(() => ({ error: null, sync: { state: 'EQUAL', missingPasswords: [] } })));
  expect(accessOf(first)).toEqual(accessOf(second));
});
