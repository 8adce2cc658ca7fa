import { expect, test } from 'vitest';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { sharedDatabase, startTestService, type TestService } from '../../support/service.ts';
import { type HaBroker, haNode, haWorld } from './ha-world.ts';

const JOIN =
  'mutation ($input: JoinClusterInput!) { joinCluster(input: $input) { cluster { nodes { nodeId brokerId: broker { id } } } } }';
const LEAVE = 'mutation ($input: LeaveClusterInput!) { leaveCluster(input: $input) { cluster { nodes { nodeId } } } }';
const DELETE = 'mutation ($input: DeleteClusterInput!) { deleteCluster(input: $input) { hasSucceeded } }';
const NODES = 'query ($c: ID!) { node(id: $c) { ... on Cluster { nodes { nodeId } } } }';

const postgres = usePostgres();

test.skipIf(!postgres.available)(
  `two processes change the nodes of one cluster one after the other (${UNAVAILABLE})`,
  async () => {
    const env = { DATABASE_URL: await sharedDatabase(postgres), SECRET_KEY: '5e'.repeat(32) };
    const { service: one, nodes, create } = await haWorld(5, env);
    const two = await startTestService({ env });
    const c = await create(3);
    const at = (service: TestService, document: string, variables: object) =>
      service.graphql(document, variables as Record<string, unknown>, one.root);
    const numbersAt = async (service: TestService) =>
      (await at(service, NODES, { c })).data?.node?.nodes.map(({ nodeId }: { nodeId: number }) => nodeId);
    await expect.poll(() => numbersAt(two)).toEqual([1, 2, 3]);
    const isReached = async ({ brokerId: b }: HaBroker) =>
      (await at(two, 'query ($b: ID!) { broker(id: $b) { license { issuedTo } } }', { b })).data?.broker?.license ??
      null;
    for (const node of nodes) await expect.poll(() => isReached(node)).not.toBeNull();

    // Either broker may become node 4: each process allocates the number while it holds the lease.
    const joining = [3, 4].map((index) => {
      const { nodeId: _, ...node } = haNode(nodes[index] as HaBroker);
      return { clusterId: c, ...node };
    });
    const joined = await Promise.all([at(one, JOIN, { input: joining[0] }), at(two, JOIN, { input: joining[1] })]);
    expect(joined.map(({ errors }) => errors)).toEqual([undefined, undefined]);
    for (const service of [one, two]) await expect.poll(() => numbersAt(service)).toEqual([1, 2, 3, 4, 5]);
    expect(nodes.map(({ cluster }) => cluster?.members.length)).toEqual([5, 5, 5, 5, 5]);

    // Only two of the five nodes may leave, because three must remain.
    const left = await Promise.all(
      [5, 4, 3].map((nodeId, index) => at(index === 1 ? two : one, LEAVE, { input: { clusterId: c, nodeId } })),
    );
    const codes = left.map(({ errors }) => errors?.[0]?.extensions?.code ?? null);
    expect(codes.toSorted()).toEqual(['IN_USE', null, null].toSorted());
    await expect.poll(async () => (await numbersAt(one))?.length).toBe(3);
    await expect.poll(() => numbersAt(two)).toEqual(await numbersAt(one));
    expect(nodes.filter(({ cluster }) => cluster !== null)).toHaveLength(3);

    // The second deletion finds no cluster.
    const deleted = await Promise.all([one, two].map((service) => at(service, DELETE, { input: { clusterId: c } })));
    expect(deleted.map(({ errors }) => errors?.[0]?.extensions?.code ?? null).toSorted()).toEqual(
      ['NOT_FOUND', null].toSorted(),
    );
    expect(nodes.filter(({ cluster }) => cluster !== null)).toEqual([]);
  },
);
