import { expect, test } from 'vitest';
import { accessWorld } from '../access-service.ts';

const CHANGE =
  'mutation ($input: ChangeAccessControlInput!) { changeAccessControl(input: $input) { outcome changes { outcome } } }';
const walk = (first: number) => `query ($b: ID!) { broker(id: $b) { account(username: "u0") {
  roles { role { accounts(first: ${first}) { nodes {
    roles { role { accounts(first: ${first}) { nodes {
      roles { role { roleName } }
    } } } }
  } } } }
} } }`;

test('a short query with a cycle of accounts and roles is refused; the same lists without the cycle are returned', async () => {
  const { service, brokerId, graph, rest } = await accessWorld('the embedded broker');
  const all = Array.from({ length: 20 }, (_, n) => n);
  const holding = all.map((n) => ({ roleName: `r${n}` }));
  const changes = [
    ...holding.map(({ roleName }) => ({ createAccessRole: { roleName } })),
    ...all.map((n) => ({ createAccount: { username: `u${n}`, roles: holding } })),
  ];
  const { changeAccessControl } = await graph(CHANGE, { input: { brokerId, changes } });
  expect(changeAccessControl.outcome).toBe('APPLIED');

  const viewer = await service.person('VIEWER');
  const refused = { message: expect.stringContaining('select fewer'), extensions: { code: 'TOO_COMPLEX' } };
  // First by graphql-js, then compiled: both stop, and the answer is the refusal alone.
  for (const _ of ['interpreted', 'compiled']) {
    const { errors, data } = await service.graphql(walk(18), { b: brokerId }, viewer.token);
    expect(errors).toMatchObject([refused]);
    expect(data).toBeUndefined();
    expect(errors?.[0]?.extensions.info).toMatchObject({ limit: 100_000 });
  }
  const { errors, data } = await service.graphql(walk(1), { b: brokerId }, viewer.token);
  expect(errors).toBeUndefined();
  expect(data.broker.account.roles).toHaveLength(20);

  const { body } = await rest('GET', '/clients');
  expect(body.find(({ username }: { username: string }) => username === 'u19').roles).toHaveLength(20);
});
