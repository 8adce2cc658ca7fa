import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const CREATE =
  'mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id email name isRootAdmin } } }';

test('a root administrator adds people, who sign in with what was set', async () => {
  const { graphql, login } = await startTestService();
  const { data } = await graphql(CREATE, { input: { email: ' Ann@Example.com ', password: 'long enough' } });
  expect(data.createUser.user).toMatchObject({ email: 'ann@example.com', name: 'ann', isRootAdmin: false });
  expect(await login('ANN@example.com', 'long enough')).toMatch(/^bgs_/);
});

test('a taken address, a bad one and a short password are refused, each with its code', async () => {
  const { graphql } = await startTestService();
  await graphql(CREATE, { input: { email: 'ann@example.com' } });
  const refusal = async (input: object) => (await graphql(CREATE, { input })).errors?.[0]?.extensions;
  expect(await refusal({ email: 'ann@example.com' })).toMatchObject({ code: 'ALREADY_EXISTS' });
  expect(await refusal({ email: 'ann' })).toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: 'input.email' }] },
  });
  expect(await refusal({ email: 'bob@example.com', password: 'short' })).toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: 'input.password' }] },
  });
});

test('the last root administrator and owners of projects stay', async () => {
  const { graphql, person, storage } = await startTestService();
  const root = await storage.db.user.findFirstOrThrow({ where: { isRoot: true } });
  const remove = async (userId: string) =>
    (await graphql('mutation ($userId: ID!) { deleteUser(input: { userId: $userId }) { deletedUserId } }', { userId }))
      .errors?.[0]?.extensions.code;
  expect(await remove(root.id)).toBe('LAST_ADMINISTRATOR');
  const owner = await person(null);
  await graphql('mutation { createProject(input: { name: "Mine" }) { project { id } } }', {}, owner.token);
  expect(await remove(owner.id)).toBe('IN_USE');
  const other = await person('VIEWER');
  expect(await remove(other.id)).toBeUndefined();
  expect((await graphql('{ viewer { name } }', {}, other.token)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
});

test('people are listed page by page, and node finds one by id', async () => {
  const { graphql, person } = await startTestService();
  const ids = [];
  for (let i = 0; i < 5; i++) ids.push((await person(null)).id);
  const first = await graphql('{ users(first: 3) { totalCount nodes { id } pageInfo { hasNextPage endCursor } } }');
  expect(first.data.users).toMatchObject({ totalCount: 6, pageInfo: { hasNextPage: true } });
  const rest = await graphql('query ($after: String) { users(first: 10, after: $after) { nodes { id } } }', {
    after: first.data.users.pageInfo.endCursor,
  });
  expect(rest.data.users.nodes.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2));
  const node = await graphql('query ($id: ID!) { node(id: $id) { __typename id } }', { id: ids[0] });
  expect(node.data.node).toEqual({ __typename: 'User', id: ids[0] });
});

test('the last owner of an organization stays until there is another', async () => {
  const { graphql, person, services } = await startTestService();
  const owner = await person(null);
  const next = await person(null);
  const { data } = await graphql(
    'mutation { createOrganization(input: { name: "Works" }) { organization { id } } }',
    {},
    owner.token,
  );
  await expect(services.users.remove(owner.id)).rejects.toMatchObject({
    code: 'IN_USE',
    info: { organizations: [{ name: 'Works' }] },
  });
  await graphql(
    'mutation ($input: SetOrganizationMemberInput!) { setOrganizationMember(input: $input) { organization { id } } }',
    { input: { organizationId: data.createOrganization.organization.id, email: next.email, role: 'OWNER' } },
  );
  await services.users.remove(owner.id);
});

test('root administrators see the roles of a user in projects; others do not, also not those of other members', async () => {
  const { graphql, person, projectId } = await startTestService();
  const editor = await person('EDITOR');
  const viewer = await person('VIEWER');
  const { data: found } = await graphql(
    'query ($id: ID!) { user(id: $id) { memberships { totalCount nodes { role project { id } } } } }',
    { id: editor.id },
  );
  expect(found.user.memberships).toEqual({ totalCount: 1, nodes: [{ role: 'EDITOR', project: { id: projectId } }] });
  const { data, errors } = await graphql(
    'query ($id: ID!) { project(id: $id) { members { nodes { user { id memberships { totalCount } } } } } }',
    { id: projectId },
    viewer.token,
  );
  const users: { id: string; memberships: unknown }[] = data.project.members.nodes.map(
    ({ user }: { user: unknown }) => user,
  );
  expect(users).toContainEqual({ id: editor.id, memberships: null });
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(users.map(() => 'NOT_ALLOWED'));
});
