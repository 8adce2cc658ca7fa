import { describe, expect, test } from 'vitest';
import { shared } from '../../support/shared.ts';
import { isLong } from '../../support/suite.ts';
import { accessOf, clusterWorld } from '../clusters/cluster-world.ts';
import { accessWorld, KINDS } from './access-service.ts';

const numbered = <T>(count: number, make: (number: number) => T): T[] =>
  Array.from({ length: count }, (_, number) => make(number));

const CONNECTIONS = 50;
const WRITES_OF_EACH = isLong ? 20 : 6;

describe.each(KINDS)('on %s', (kind) => {
  const world = shared(() => accessWorld(kind));

  test('1,000 writes from 50 connections are all applied, those of each caller in order', async () => {
    const { rest, graph } = await world();
    await rest('POST', '/roles', { rolename: 'r' });
    const statuses = await Promise.all(
      numbered(CONNECTIONS, async (caller) => {
        const path = '/clients';
        const found = [(await rest('POST', path, { username: `c${caller}` })).status];
        for (let count = 1; count < WRITES_OF_EACH; count += 1) {
          const roles = count % 2 === 0 ? [] : [{ rolename: 'r' }];
          const body = { username: `c${caller}`, textname: `text ${count}`, roles };
          found.push((await rest('PUT', path, body)).status);
        }
        return found;
      }),
    );
    expect(new Set(statuses.flat())).toEqual(new Set([204]));
    expect(statuses.flat()).toHaveLength(CONNECTIONS * WRITES_OF_EACH);
    const { broker } = await graph(
      'query ($b: ID!) { broker(id: $b) { accounts(first: 100) { nodes { username textName roles { roleName } } } } }',
    );
    const written = broker.accounts.nodes.filter(({ username }: { username: string }) => username !== 'admin');
    const expected = numbered(CONNECTIONS, (caller) => ({
      username: `c${caller}`,
      textName: `text ${WRITES_OF_EACH - 1}`,
      roles: [{ roleName: 'r' }],
    }));
    expect(written).toEqual(expected.sort((a, b) => (a.username < b.username ? -1 : 1)));
  });

  test('of writes at the same time only those are refused that are wrong or out of sight', async () => {
    const { service, brokerId, rest } = await world();
    const { token: stranger } = await service.person(null);
    const path = `/api/projects/${service.projectId}/brokers/${brokerId}/roles`;
    const write = async (number: number) => {
      const rolename = `r${number % 5 === 1 ? number - 1 : number}`;
      const token = number % 5 === 2 ? stranger : service.root;
      return (await service.rest('POST', path, token, { rolename })).status;
    };
    const expected = (number: number) => (number % 5 === 2 ? 404 : number % 5 === 1 ? 400 : 204);
    // The first of two writes of the same role is applied.
    const statuses = await Promise.all(numbered(40, write));
    const sorted = (list: readonly number[]) => [...list].sort((a, b) => a - b);
    expect(sorted(statuses)).toEqual(sorted(numbered(40, expected)));
    const { body } = await rest('GET', '/roles');
    const names = body.map(({ rolename }: { rolename: string }) => rolename);
    expect(names.filter((name: string) => /^r\d/.test(name))).toHaveLength(24);
  });
});

test('100 writes to a cluster at the same time reach every node, and a refused one fails alone', async () => {
  const { service, entryId, nodes } = await clusterWorld(2);
  const path = `/api/projects/${service.projectId}/brokers/${entryId}/clients`;
  const write = async (username: string) => (await service.rest('POST', path, service.root, { username })).status;
  const statuses = await Promise.all([...numbered(100, (number) => write(`c${number}`)), write('admin')]);
  expect(statuses).toEqual([...Array(100).fill(204), 400]);
  const [first, second] = nodes.map(accessOf);
  expect(second).toEqual(first);
  expect(first).toMatchObject({ clients: { length: 101 } });
  const report = await service.graphql(
    `mutation ($a: CreateAccessRoleInput!, $b: CreateAccessRoleInput!) {
      a: createAccessRole(input: $a) { outcome nodes { nodeId outcome error { code } } }
      b: createAccessRole(input: $b) { outcome nodes { nodeId outcome error { code } } }
    }`,
    { a: { brokerId: entryId, change: { roleName: 'a' } }, b: { brokerId: entryId, change: { roleName: 'b' } } },
  );
  const applied = { outcome: 'APPLIED', nodes: [1, 2].map((nodeId) => ({ nodeId, outcome: 'APPLIED', error: null })) };
  expect(report.data).toEqual({ a: applied, b: applied });
});
