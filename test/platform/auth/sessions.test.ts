import { expect, test } from 'vitest';
import { PASSWORD, ROOT, startTestService } from '../../support/service.ts';

const VIEWER = '{ viewer { email isRootAdmin user { email } } }';

test('logging in opens a session that `viewer` shows, and logging out ends it', async () => {
  const { graphql, login } = await startTestService();
  const token = await login(ROOT.email, ROOT.password);
  expect((await graphql(VIEWER, {}, token)).data.viewer).toEqual({
    email: ROOT.email,
    isRootAdmin: true,
    user: { email: ROOT.email },
  });

  expect((await graphql('mutation { logout { isLoggedOut } }', {}, token)).data).toEqual({
    logout: { isLoggedOut: true },
  });

  expect((await graphql(VIEWER, {}, token)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
});

test('the answer to a log-in shows the person what they see of themselves, and of others no more than before', async () => {
  const { graphql, person, projectId } = await startTestService();
  const { email } = await person('VIEWER');
  const LOGIN = 'mutation ($i: LoginInput!) { login(input: $i) { user { ssoType hasSecondFactor } } }';
  const asPerson = await graphql(LOGIN, { i: { email, password: PASSWORD } }, null);
  expect(asPerson).toEqual({ data: { login: { user: { ssoType: null, hasSecondFactor: false } } } });
  const asRoot = await graphql(LOGIN.replace('ssoType', 'ssoType isRemovable projectCount'), { i: ROOT }, null);
  expect(asRoot.data.login.user).toEqual({
    ssoType: null,
    isRemovable: false,
    projectCount: 1,
    hasSecondFactor: false,
  });
  // Whatever credentials the request itself came with.
  const removable = await graphql(LOGIN.replace('ssoType', 'isRemovable'), { i: { email, password: PASSWORD } });
  expect(removable.errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  const members = `query ($p: ID!) { project(id: $p) { members { nodes { user { ssoType } } } } }`;
  const other = await person('VIEWER');
  expect((await graphql(members, { p: projectId }, other.token)).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  expect((await graphql(members, { p: projectId })).errors).toBeUndefined();
});

test('a wrong password and an unknown address are refused alike', async () => {
  const { login } = await startTestService();
  const refusals = await Promise.all(
    [login(ROOT.email, 'wrong password'), login('nobody@example.com', 'wrong password')].map((attempt) =>
      attempt.catch((error: Error) => error.message),
    ),
  );
  expect(refusals[0]).toBe('The e-mail address or the password is wrong');
  expect(refusals[1]).toBe(refusals[0]);
});

test('guessing is slowed down for the account, and the right password has to wait, too', async () => {
  const { graphql } = await startTestService();
  const attempt = (password: string) =>
    graphql('mutation ($i: LoginInput!) { login(input: $i) { token } }', { i: { email: ROOT.email, password } }, null);
  for (let i = 0; i < 5; i++) expect((await attempt('guess')).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  const { errors } = await attempt(ROOT.password);
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED', info: { retryAfterSeconds: 1 } });
});

test('the first root administrator gets a generated password once, when none is set', async () => {
  const service = await startTestService();
  expect(service.report.rootPassword).toBeNull();
  expect(await service.services.users.ensureRootAdmin('other@example.com', undefined)).toBeNull();
});

test.each([false, true])(
  'of two processes that start at the same moment one makes the first root administrator, if its account exists: %s',
  async (exists) => {
    const { services, storage, login } = await startTestService();
    await storage.db.user.updateMany({ data: { isRoot: false } });
    const email = 'first@example.com';
    if (exists) await services.users.create({ email });
    const ensure = () => services.users.ensureRootAdmin(email, undefined);
    const [made, ...others] = (await Promise.all([ensure(), ensure()])).filter((told) => told !== null);
    expect(others).toEqual([]);
    expect(await login(email, made?.generated ?? '')).toMatch(/^bgs_/);
    expect(await storage.db.user.count({ where: { isRoot: true } })).toBe(1);
  },
);

test('another scheme, an unknown secret and garbage are 401 with WWW-Authenticate', async () => {
  const { url } = await startTestService();
  for (const authorization of ['Basic eDp5', 'Bearer bgs_unknown', 'Bearer ', 'Bearer ../../x']) {
    const response = await fetch(`${url}/api/projects`, { headers: { authorization } });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
  }
});

test('changing the password needs the current one and ends the other sessions', async () => {
  const { graphql, person, login } = await startTestService();
  const { email, token } = await person(null);
  const other = await login(email, PASSWORD);
  const change = (currentPassword: string) =>
    graphql(
      'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { user { email } } }',
      {
        input: { currentPassword, newPassword: 'an even better one' },
      },
      token,
    );
  expect((await change('not it')).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  expect((await change(PASSWORD)).data.changePassword.user.email).toBe(email);
  expect((await graphql(VIEWER, {}, token)).data.viewer.email).toBe(email);
  expect((await graphql(VIEWER, {}, other)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
});

test('a caller who is known is read again when rights in a project may have changed, and not for its name or settings', async () => {
  const { graphql, person, projectId, services } = await startTestService();
  const { token } = await person('VIEWER');
  const UPDATE =
    'mutation ($i: UpdateProjectInput!) { updateProject(input: $i) { project { name settings { hasStrictRoles } } } }';
  const viewer = await services.auth.viewerOfSecret(token);
  const { data } = await graphql(UPDATE, { i: { projectId, name: 'Another', hasStrictRoles: true } });
  expect(data.updateProject.project).toEqual({ name: 'Another', settings: { hasStrictRoles: true } });
  expect(services.auth.viewerOfSecret(token)).toBe(viewer);
  await services.projects.remove(projectId);
  const after = await services.auth.viewerOfSecret(token);
  expect([viewer.projectRoles.size, after.projectRoles.size]).toEqual([1, 0]);
});
