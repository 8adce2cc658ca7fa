import { expect, test } from 'vitest';
import { ADMIN, startMosquitto } from '../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { startRelay } from '../../support/relay.ts';
import { bearer, sharedDatabase, startTestService, type TestService } from '../../support/service.ts';
import { startServiceHere, startServiceProcess } from '../../support/service-process.ts';
import { accessOf, type ClusterWorldNode, nodeInput, startNodes } from './cluster-world.ts';
import { hasPassword } from './dynsec-files.ts';

const WRITE = `mutation ($c: ID!, $changes: [AccessChangeInput!]!) {
  changeAccessControl(input: { brokerId: $c, changes: $changes }) { outcome nodes { nodeId outcome error { code message } } }
}`;
const CREATE = 'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id: brokerId } } }';
const STATES = 'query ($c: ID!) { broker(id: $c) { cluster { nodes { sync { state missingPasswords } } } } }';
const EQUAL = { sync: { state: 'EQUAL', missingPasswords: [] } };

const client = (username: string, password: string) => ({ createAccount: { username, password } });

const postgres = usePostgres();

test.skipIf(!postgres.available)(
  `two processes on one database write one after the other (${UNAVAILABLE})`,
  async () => {
    const env = { DATABASE_URL: await sharedDatabase(postgres), SECRET_KEY: '5e'.repeat(32) };
    const one = await startTestService({ env });
    const two = await startTestService({ env });
    const nodes = await startNodes(one, 3);
    const input = { projectId: one.projectId, name: 'plant', mode: 'DYNSEC', nodes: nodes.map(nodeInput) };
    const c = (await one.graphql(CREATE, { input })).data.createCluster.cluster.id;
    const statesAt = async (service: TestService) =>
      (await service.graphql(STATES, { c }, one.root)).data?.broker?.cluster?.nodes;
    await expect.poll(() => statesAt(two)).toEqual([EQUAL, EQUAL, EQUAL]);

    const reports = await Promise.all(
      Array.from({ length: 12 }, async (_, number) => {
        const service = number % 2 === 0 ? one : two;
        const changes = [client(`m${number}`, 'secret')];
        return (await service.graphql(WRITE, { c, changes }, one.root)).data.changeAccessControl;
      }),
    );
    for (const { nodes: outcomes } of reports) {
      expect(outcomes).toMatchObject(Array(3).fill({ outcome: 'APPLIED', error: null }));
    }
    for (const node of nodes) expect(accessOf(node)).toEqual(accessOf(nodes[0] as ClusterWorldNode));
    for (const service of [one, two]) await expect.poll(() => statesAt(service)).toEqual([EQUAL, EQUAL, EQUAL]);
  },
);

test('after a process is killed during a write, the write is rolled back, and passwords that may be lost are listed', async () => {
  const service = await startServiceProcess();
  const brokers = await Promise.all([1, 2, 3].map(() => startMosquitto({ access: 'dynsec' })));
  // The service is killed instead of receiving the first response of the first node after some of the commands.
  let isAwaited = false;
  let killed: Promise<void> | null = null;
  const passes = () => {
    if (isAwaited && brokers[0]?.readAccessFile().includes('m20')) killed ??= service.kill();
    return !isAwaited || killed === null;
  };
  const relay = await startRelay(Number(new URL(brokers[0]?.url ?? '').port), { passes });
  const nodes: ClusterWorldNode[] = [];
  for (const [index, broker] of brokers.entries()) {
    const response = await fetch(`${service.url}/api/projects/${service.projectId}/brokers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(service.root) },
      body: JSON.stringify({ name: `m${index + 1}`, url: index === 0 ? relay.url : broker.url, ...ADMIN }),
    });
    const { id } = (await response.json()) as { readonly id: string };
    nodes.push({ broker, brokerId: id, nodeId: index + 1 });
  }
  const input = { projectId: service.projectId, name: 'plant', mode: 'DYNSEC', nodes: nodes.map(nodeInput) };
  const c = (await service.graphql(CREATE, { input })).createCluster.cluster.id;
  const write = (...changes: object[]) => service.graphql(WRITE, { c, changes });
  await write(client('meter', 'old'));
  const before = nodes.map(accessOf);

  const many = Array.from({ length: 200 }, (_, number) => client(`m${number}`, 'secret'));
  isAwaited = true;
  const result = await write({ setAccountPassword: { username: 'meter', password: 'new' } }, ...many).catch(() => null);
  expect([result, killed]).toEqual([null, expect.any(Promise)]);
  await killed;
  isAwaited = false;

  const again = await startServiceHere({}, service.dataDir);
  const states = async () => (await again.graphql(STATES, { c })).broker.cluster.nodes;
  const lacking = { sync: { state: 'EQUAL', missingPasswords: ['meter'] } };
  await expect.poll(states).toEqual([lacking, EQUAL, EQUAL]);
  expect(nodes.map(accessOf)).toEqual(before);
  expect(nodes.map((node) => hasPassword(node, 'meter', 'new'))).toEqual([true, false, false]);
  await again.graphql(WRITE, { c, changes: [{ setAccountPassword: { username: 'meter', password: 'newer' } }] });
  expect(await states()).toEqual([EQUAL, EQUAL, EQUAL]);
  for (const node of nodes) expect(hasPassword(node, 'meter', 'newer')).toBe(true);
});
