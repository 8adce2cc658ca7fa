import SqliteDatabase from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { useSqlite } from '../../support/database.ts';
import { startTestService, type TestService } from '../../support/service.ts';

const CREATE =
  'mutation ($input: CreateUserInput!) { createUser(input: $input) { user { id name isVerified ssoType } } }';
const DELETE = 'mutation ($input: DeleteUserInput!) { deleteUser(input: $input) { handedOverProjectIds } }';
const UPDATE =
  'mutation ($input: UpdateUserInput!) { updateUser(input: $input) { user { name isVerified ssoType isRemovable } } }';
const SET_ROOT =
  'mutation ($input: SetRootAdminInput!) { setRootAdmin(input: $input) { user { isRootAdmin isRemovable } } }';
const RESET = 'mutation ($input: ResetUserPasswordInput!) { resetUserPassword(input: $input) { user { id } } }';

/** The data, or the code of the first error with its info. */
const asker =
  ({ graphql }: TestService) =>
  async (document: string, input: object, token?: string) => {
    const { data, errors } = await graphql(document, { input }, token);
    return errors ? errors[0]?.extensions : Object.values(data)[0];
  };

test('an account shows where its user signs in, and an unused password is not stored', async () => {
  const service = await startTestService();
  const ask = asker(service);
  const ada = { email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace', isVerified: true, ssoType: 'LDAP' };
  const { user } = (await ask(CREATE, { ...ada, password: 'long enough' })) as { user: { id: string } };
  expect(user).toMatchObject({ name: 'Ada Lovelace', isVerified: true, ssoType: 'LDAP' });
  const stored = () => service.storage.db.user.findUniqueOrThrow({ where: { id: user.id } });
  expect((await stored()).passwordHash).toBeNull();
  const reset = { email: ada.email, password: 'another long one' };
  expect(await ask(RESET, reset)).toMatchObject({ code: 'INVALID', info: { issues: [{ path: 'input.password' }] } });

  expect(await ask(UPDATE, { userId: user.id, ssoType: null, name: 'Countess' })).toMatchObject({
    user: { name: 'Countess', isVerified: true, ssoType: null },
  });
  await ask(RESET, reset);
  const token = await service.login(ada.email, 'another long one');
  await ask(UPDATE, { userId: user.id, ssoType: 'SSO' });
  expect((await stored()).passwordHash).toBeNull();
  expect((await service.rest('GET', '/api/projects', token)).status).toBe(401);
});

test('the last root administrator who can sign in keeps account and role; others who cannot sign in do not count', async () => {
  const service = await startTestService();
  const ask = asker(service);
  const root = await service.storage.db.user.findFirstOrThrow({ where: { isRoot: true } });
  await ask(CREATE, { email: 'without@example.com', isRootAdmin: true });
  const admins = async () =>
    (await service.graphql('{ users(filter: { isRootAdmin: true }) { totalCount nodes { email isRemovable } } }')).data
      .users;
  expect(await admins()).toEqual({
    totalCount: 2,
    nodes: [
      { email: 'root@example.com', isRemovable: false },
      { email: 'without@example.com', isRemovable: true },
    ],
  });
  const demote = { email: 'root@example.com', isRootAdmin: false };
  expect(await ask(SET_ROOT, demote)).toEqual({ code: 'LAST_ADMINISTRATOR' });
  expect(await ask(DELETE, { userId: root.id })).toEqual({ code: 'LAST_ADMINISTRATOR' });
  // No user can sign in at a provider that is not configured.
  expect(await ask(UPDATE, { userId: root.id, ssoType: 'SSO' })).toEqual({ code: 'LAST_ADMINISTRATOR' });
  await ask(CREATE, { email: 'elsewhere@example.com', isRootAdmin: true, ssoType: 'LDAP' });
  expect(await ask(SET_ROOT, demote)).toEqual({ code: 'LAST_ADMINISTRATOR' });
  await ask(SET_ROOT, { email: 'elsewhere@example.com', isRootAdmin: false });

  const next = await service.person(null);
  expect(await ask(SET_ROOT, { email: next.email, isRootAdmin: true })).toEqual({
    user: { isRootAdmin: true, isRemovable: true },
  });
  expect((await service.rest('GET', '/api/users', next.token)).status).toBe(200);
  await ask(SET_ROOT, demote, next.token);
  expect((await service.rest('GET', '/api/users')).status).toBe(403);
  expect(await ask(SET_ROOT, { email: next.email, isRootAdmin: false }, next.token)).toEqual({
    code: 'LAST_ADMINISTRATOR',
  });
});

test('two who take the role from each other at once do not leave the service without one', async () => {
  const service = await startTestService();
  const next = await service.person(null);
  const ask = asker(service);
  await ask(SET_ROOT, { email: next.email, isRootAdmin: true });
  await Promise.all([
    ask(SET_ROOT, { email: next.email, isRootAdmin: false }),
    ask(SET_ROOT, { email: 'root@example.com', isRootAdmin: false }, next.token),
  ]);
  expect(await service.storage.db.user.count({ where: { isRoot: true } })).toBe(1);
});

test('projects and organizations of a deleted user are handed over, or prevent the deletion', async () => {
  const service = await startTestService();
  const ask = asker(service);
  const [owner, heir] = [await service.person(null), await service.person(null)];
  const { data } = await service.graphql(
    `mutation { createOrganization(input: { name: "Works" }) { organization { id } }
      a: createProject(input: { name: "Hall" }) { project { id } } }`,
    {},
    owner.token,
  );
  const projectId = data.a.project.id;
  expect(await ask(DELETE, { userId: owner.id })).toEqual({
    code: 'IN_USE',
    info: { projects: [{ id: projectId, name: 'Hall' }] },
  });
  const refusal = { code: 'INVALID', info: { issues: [{ path: 'input.handOverTo' }] } };
  expect(await ask(DELETE, { userId: owner.id, handOverTo: owner.id })).toMatchObject(refusal);
  expect(await ask(DELETE, { userId: owner.id, handOverTo: 'usr_nobody' })).toMatchObject(refusal);
  expect((await service.rest('GET', '/api/projects', heir.token)).body).toEqual([]);

  expect(await ask(DELETE, { userId: owner.id, handOverTo: heir.id })).toEqual({ handedOverProjectIds: [projectId] });
  expect((await service.rest('GET', '/api/projects', owner.token)).status).toBe(401);
  expect((await service.rest('GET', '/api/projects', heir.token)).body).toMatchObject([
    { id: projectId, role: 'admin', owner: { userId: heir.id } },
  ]);
  const organizations = '{ organizations { nodes { id members { nodes { role user { id } } } } } }';
  expect((await service.graphql(organizations, {}, heir.token)).data.organizations.nodes).toEqual([
    {
      id: data.createOrganization.organization.id,
      members: { nodes: [{ role: 'OWNER', user: { id: heir.id } }] },
    },
  ]);
});

test('people are sorted, filtered and counted; what a filter may mean to LIKE means nothing', async () => {
  const service = await startTestService();
  for (const email of ['a_b@x.io', 'axb@x.io', 'a%b@x.io'])
    await service.services.users.create({ email, name: `Z ${email}` });
  const list = async (args: string) => {
    const document = `{ users(${args}) { totalCount nodes { email } } }`;
    const { users } = (await service.graphql(document)).data;
    return [users.totalCount, users.nodes.map(({ email }: { email: string }) => email)];
  };
  expect(await list('filter: { text: "A_B" }')).toEqual([1, ['a_b@x.io']]);
  expect(await list('filter: { text: "%" }')).toEqual([1, ['a%b@x.io']]);
  expect(await list('filter: { text: "Z a" }, orderBy: { field: EMAIL, order: DESC }')).toEqual([
    3,
    ['axb@x.io', 'a_b@x.io', 'a%b@x.io'],
  ]);
  expect(await list('filter: { text: "nobody" }')).toEqual([0, []]);
  expect(await list('orderBy: { field: NAME }, first: 1, offset: 1')).toEqual([4, ['a%b@x.io']]);
  const paged: string[] = [];
  for (let after: string | null = null, more = true; more; ) {
    const { data }: Awaited<ReturnType<TestService['graphql']>> = await service.graphql(
      'query ($after: String) { users(first: 2, after: $after, orderBy: { field: EMAIL }) { nodes { email } pageInfo { hasNextPage endCursor } } }',
      { after },
    );
    paged.push(...data.users.nodes.map(({ email }: { email: string }) => email));
    after = data.users.pageInfo.endCursor;
    more = data.users.pageInfo.hasNextPage;
  }
  expect(paged).toEqual(['a%b@x.io', 'a_b@x.io', 'axb@x.io', 'root@example.com']);
});

test('a page of a hundred users with all fields of REST needs as many queries as a page of two', async () => {
  useSqlite();
  const service = await startTestService();
  const { db } = service.storage;
  const people = Array.from({ length: 99 }, (_, index) => ({
    id: `usr_${String(index).padStart(26, '0')}`,
    email: `p${index}@example.com`,
    name: 'p',
  }));
  await db.user.createMany({ data: people });
  for (const { id } of people.slice(0, 20)) {
    await db.project.create({
      data: {
        id: `prj_${id}`,
        name: 'p',
        ownerUserId: id,
        brokers: { create: [1, 2].map((n) => ({ id: `brk_${id}${n}`, type: 'SELF_HOSTED', name: 'b' })) },
      },
    });
  }
  const prepared = vi.spyOn(SqliteDatabase.prototype, 'prepare');
  onTestFinished(() => prepared.mockRestore());
  const asked = async (path: string) => {
    const before = prepared.mock.calls.length;
    const { status, body } = await service.rest('GET', path);
    expect(status).toBe(200);
    return { count: prepared.mock.calls.length - before, body };
  };
  await asked('/api/users?pageSize=2');
  const two = await asked('/api/users?pageSize=2');
  const hundred = await asked('/api/users?pageSize=100');
  expect(hundred.body.data).toHaveLength(100);
  expect(hundred.body.data[0]).toMatchObject({ project_count: 1, broker_count: 2 });
  expect(two.count).toBeGreaterThan(2);
  expect(hundred.count).toBe(two.count);
  await db.user.updateMany({ where: { id: { in: people.map(({ id }) => id) } }, data: { isRoot: true } });
  const admins = await asked('/api/users/admins?pageSize=100');
  expect(admins.body.roots).toHaveLength(100);
  expect(admins.count).toBeLessThanOrEqual(two.count + 1);
});
