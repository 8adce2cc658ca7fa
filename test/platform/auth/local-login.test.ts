import { afterEach, expect, test } from 'vitest';
import { startMessage } from '../../../src/app/cli/serve.ts';
import { AuthService } from '../../../src/platform/auth/auth-service.ts';
import type { PasswordDirectory } from '../../../src/platform/auth/password-directory.ts';
import { ServiceError } from '../../../src/platform/errors.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { silentLog } from '../../support/database.ts';
import { PASSWORD, ROOT, startTestService, type TestService } from '../../support/service.ts';

const LOGIN = 'mutation ($i: LoginInput!) { login(input: $i) { token } }';

const attemptAt =
  ({ graphql }: TestService) =>
  async (email: string, password: string) => {
    const { data, errors } = await graphql(LOGIN, { i: { email, password } }, null);
    return errors?.[0] ?? { message: 'in', extensions: { code: data.login.token.slice(0, 4) } };
  };

test('with passwords switched off only the root administrator ROOT_EMAIL signs in, and all others are refused alike', async () => {
  const oidc = { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'nobody is asked' };
  const service = await startTestService({ env: { LOCAL_LOGIN: 'off', ROOT_EMAIL: 'Root@Example.com', ...oidc } });
  const { person, services, report } = service;
  const attempt = attemptAt(service);
  const { email } = await person('ADMIN');
  const second = await services.users.create({ email: 'second@example.com', password: PASSWORD, isRootAdmin: true });
  const refused = [
    await attempt(email, PASSWORD),
    await attempt(second.email, PASSWORD),
    await attempt('nobody@example.com', PASSWORD),
    await attempt(ROOT.email, 'not the password'),
  ];
  expect(refused[0]).toMatchObject({
    extensions: { code: 'UNAUTHORIZED' },
    message: expect.stringContaining('switched off'),
  });
  for (const refusal of refused) expect(refusal).toEqual(refused[0]);
  expect((await attempt(ROOT.email, ROOT.password)).message).toBe('in');
  await service.graphql('mutation ($i: ResetUserPasswordInput!) { resetUserPassword(input: $i) { user { id } } }', {
    i: { email: ROOT.email, password: 'another good password' },
  });
  expect((await attempt(ROOT.email, 'another good password')).message).toBe('in');
  await services.users.create({ email: 'elsewhere@example.com', isRootAdmin: true, ssoType: 'sso' });
  // Other root administrators can neither remove nor demote the emergency account, nor remove its password.
  const { token } = await services.auth.sessions.open(second.id);
  const emergency = await services.users.byEmail(ROOT.email);
  const codeOf = async (mutation: string) =>
    (await service.graphql(`mutation { ${mutation} }`, {}, token)).errors?.[0]?.extensions.code ?? 'DONE';
  const taken = (id: string, of: string) => [
    `updateUser(input: { userId: "${id}", ssoType: SSO }) { user { id } }`,
    `setRootAdmin(input: { email: "${of}", isRootAdmin: false }) { user { id } }`,
    `deleteUser(input: { userId: "${id}", handOverTo: "${second.id}" }) { deletedUserId }`,
  ];
  for (const mutation of taken(emergency.id, ROOT.email)) expect(await codeOf(mutation)).toBe('LAST_ADMINISTRATOR');
  expect(await codeOf(`updateUser(input: { userId: "${emergency.id}", name: "Root" }) { user { id } }`)).toBe('DONE');
  const third = await services.users.create({ email: 'third@example.com', password: PASSWORD, isRootAdmin: true });
  for (const mutation of taken(third.id, third.email)) expect(await codeOf(mutation)).toBe('DONE');
  const admins = '{ users(filter: { isRootAdmin: true }) { nodes { email isRemovable } } }';
  expect((await service.graphql(admins, {}, token)).data.users.nodes).toEqual([
    { email: ROOT.email, isRemovable: false },
    { email: second.email, isRemovable: true },
    { email: 'elsewhere@example.com', isRemovable: true },
  ]);
  expect((await attempt(ROOT.email, 'another good password')).message).toBe('in');
  expect(report.passwordsOnlyFor).toEqual({ email: 'Root@Example.com', canSignIn: true });
  expect(startMessage(report)).toContain('only Root@Example.com can sign in');
  expect(startMessage(report)).not.toContain('No root administrator');
});

test('who was signed in by a password when they are switched off is signed out at the start', async () => {
  const first = await startTestService();
  const { config, person, root, services, storage } = first;
  const { token } = await person(null);
  const { id: userId } = await person(null);
  await storage.db.user.update({ where: { id: userId }, data: { ssoType: 'sso' } });
  await storage.db.identity.create({ data: { provider: 'sso', subject: 'p', userId } });
  const elsewhere = (await services.auth.sessions.open(userId, { provider: 'sso' })).token;
  await first.close();
  const env = { LOCAL_LOGIN: 'off', DATABASE_URL: config.databaseUrl ?? '' };
  const second = await startTestService({ dataDir: config.dataDir, env });
  const codeFor = async (secret: string) =>
    (await second.graphql('{ viewer { name } }', {}, secret)).errors?.[0]?.extensions.code ?? 'IN';
  expect([await codeFor(token), await codeFor(elsewhere), await codeFor(root)]).toEqual(['UNAUTHORIZED', 'IN', 'IN']);
});

test('the start message reports that no user can sign in', async () => {
  const first = await startTestService();
  await first.close();
  const env = { LOCAL_LOGIN: 'off', ROOT_EMAIL: 'typo@example.com', DATABASE_URL: first.config.databaseUrl ?? '' };
  const { report } = await startTestService({ dataDir: first.config.dataDir, env });
  expect(report.passwordsOnlyFor).toEqual({ email: 'typo@example.com', canSignIn: false });
  expect(startMessage(report)).toContain('No root administrator has that address and a password');
});

const opened: AuthService[] = [];
afterEach(async () => {
  for (const auth of opened.splice(0)) await auth.close();
});

/** An AuthService over the service's own database that asks a directory. */
function withDirectory(
  { storage, config }: TestService,
  directory: PasswordDirectory,
  onlyEmail: string | null = null,
) {
  const sealer = openSealer({ dataDir: config.dataDir, secretKey: config.secretKey });
  const auth = new AuthService({
    db: storage.db,
    engine: storage.engine,
    changes: storage.changes,
    sealer,
    log: silentLog,
    directory,
    onlyEmail,
  });
  opened.push(auth);
  return auth;
}

test('a directory is asked for its own people and unknown ones, never with the password of a local account', async () => {
  const service = await startTestService();
  const { id, email } = await service.person(null);
  const { id: theirs, email: theirEmail } = await service.person(null);
  await service.storage.db.user.update({ where: { id: theirs }, data: { ssoType: 'ldap' } });
  const asked: string[] = [];
  const auth = withDirectory(service, {
    provider: 'ldap',
    signIn: async (login, password) => {
      asked.push(`${login} ${password}`);
      if (login === 'Uid7') return 'UNKNOWN';
      return password === 'theirs' ? { userId: theirs } : 'WRONG';
    },
  });
  const login = (name: string, password: string) => auth.passwords.login({ email: name, password }, '127.0.0.1');
  expect(await login(email, PASSWORD)).toMatchObject({ userId: id });
  expect(await login(` ${theirEmail} `, 'theirs')).toMatchObject({ userId: theirs });
  // The password that the account has here, from before, is no way in.
  await expect(login(theirEmail, PASSWORD)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  await expect(login('Uid7', 'x')).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  expect(asked).toEqual([`${theirEmail} theirs`, `${theirEmail} ${PASSWORD}`, 'Uid7 x']);
  const [session] = await auth.sessions.of(theirs);
  expect(session).toMatchObject({ provider: 'ldap', address: '127.0.0.1' });
});

test('a directory that cannot be asked counts as no guess, and the one password that is left works without it', async () => {
  const service = await startTestService();
  const down = new ServiceError('INTERNAL_ERROR', 'The directory cannot be reached');
  const directory = { provider: 'ldap', signIn: () => Promise.reject(down) };
  const auth = withDirectory(service, directory, ROOT.email);
  const login = (email: string, password: string) => auth.passwords.login({ email, password }, '127.0.0.1');
  for (let i = 0; i < 7; i++) await expect(login('ann@example.com', 'x')).rejects.toBe(down);
  expect(await login(ROOT.email, ROOT.password)).toMatchObject({ token: expect.any(String) });
});

test('each log-in costs the comparison of one password, also for unknown accounts', async () => {
  const service = await startTestService();
  const { email } = await service.person(null);
  const { email: without } = await service.services.users.create({ email: 'no-password@example.com' });
  const { id: elsewhere, email: theirs } = await service.person(null);
  await service.storage.db.user.update({ where: { id: elsewhere }, data: { ssoType: 'ldap' } });
  const directory = { provider: 'ldap', signIn: async () => 'UNKNOWN' as const };
  const open = withDirectory(service, directory);
  const closed = withDirectory(service, directory, ROOT.email);
  const plain = service.services.auth;
  for (const auth of [plain, open, closed]) {
    for (const name of [email, without, theirs, 'nobody@example.com', ROOT.email]) {
      const before = auth.passwords.work;
      await expect(auth.passwords.login({ email: name, password: 'a guess' }, '::1')).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
      });
      // OWASP's first recommendation for argon2id: 19 MiB, two passes.
      expect([name, auth.passwords.work - before]).toEqual([name, 19 * 1_024 * 2]);
    }
  }
});
