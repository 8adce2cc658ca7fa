import { TOTP } from 'otpauth';
import { expect, test } from 'vitest';
import { AuthService } from '../../../src/platform/auth/auth-service.ts';
import { stepOfCode } from '../../../src/platform/auth/second-factors.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { silentLog } from '../../support/database.ts';
import { PASSWORD, startTestService, type TestService } from '../../support/service.ts';

const LOGIN = 'mutation ($i: LoginInput!) { login(input: $i) { token } }';
const BEGIN = 'mutation ($p: String!) { beginSecondFactor(input: { currentPassword: $p }) { secret url } }';
const CONFIRM = 'mutation ($c: String!) { confirmSecondFactor(input: { code: $c }) { recoveryCodes } }';
const REMOVE =
  'mutation ($p: String!, $c: String!) { removeSecondFactor(input: { currentPassword: $p, code: $c }) { user { hasSecondFactor } } }';
const VIEWER = '{ viewer { email recoveryCodesLeft user { hasSecondFactor } } }';

const STEP_MS = 30_000;

/** What the app shows, so many steps from now. */
const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret }).generate({ timestamp: Date.now() + steps * STEP_MS });

/** Codes are generated when they are used, for this step or the next one, so they stay valid on a slow machine. */
async function somebodyWithSecondFactor({ graphql, person }: TestService) {
  const { email, token, id } = await person(null);
  const { secret, url } = (await graphql(BEGIN, { p: PASSWORD }, token)).data.beginSecondFactor;
  const { data } = await graphql(CONFIRM, { c: codeOf(secret) }, token);
  const recoveryCodes: string[] = data.confirmSecondFactor.recoveryCodes;
  return { email, token, id, secret, url, recoveryCodes };
}

const attemptAt =
  ({ graphql }: TestService, email: string) =>
  async (code?: string, password = PASSWORD) => {
    const { data, errors } = await graphql(LOGIN, { i: { email, password, code } }, null);
    return errors?.[0]?.extensions.code ?? (data.login.token.startsWith('bgs_') ? 'IN' : 'odd');
  };

test('a second factor is begun with the password, counts once the app has shown a code, and ends other sessions', async () => {
  const service = await startTestService();
  const { graphql, person, login } = service;
  const { email, token } = await person(null);
  const other = await login(email, PASSWORD);
  const begin = async (p: string) => graphql(BEGIN, { p }, token);
  expect((await begin('not the password')).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  expect((await graphql(CONFIRM, { c: '123456' }, token)).errors?.[0]?.extensions.code).toBe('NOT_FOUND');
  const { secret, url } = (await begin(PASSWORD)).data.beginSecondFactor;
  expect(secret).toMatch(/^[A-Z2-7]{32}$/);
  expect(url).toMatch(new RegExp(`^otpauth://totp/Brokergraph:.*secret=${secret}`));
  // It was not confirmed: the password alone still signs in.
  expect(await attemptAt(service, email)()).toBe('IN');

  const wrong = codeOf(secret, 100);
  // Not UNAUTHORIZED: programs take that for the end of the session.
  expect((await graphql(CONFIRM, { c: wrong }, token)).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  const shown = codeOf(secret);
  const { recoveryCodes } = (await graphql(CONFIRM, { c: shown }, token)).data.confirmSecondFactor;
  expect(new Set(recoveryCodes).size).toBe(10);
  expect((await graphql(VIEWER, {}, token)).data.viewer).toEqual({
    email,
    recoveryCodesLeft: 10,
    user: { hasSecondFactor: true },
  });
  expect((await graphql(VIEWER, {}, other)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  expect((await begin(PASSWORD)).errors?.[0]?.extensions.code).toBe('ALREADY_EXISTS');
  const attempt = attemptAt(service, email);
  expect(await attempt()).toBe('SECOND_FACTOR_REQUIRED');
  // Taken by the confirmation.
  expect(await attempt(shown)).toBe('UNAUTHORIZED');
  // As apps show it.
  expect(await attempt(codeOf(secret, 1).replace(/^.../, '$& '))).toBe('IN');
});

test('without the right password the response does not reveal the second factor, with any code', async () => {
  const service = await startTestService();
  const { email, secret } = await somebodyWithSecondFactor(service);
  const attempt = attemptAt(service, email);
  expect(await attempt(undefined, 'wrong password')).toBe('UNAUTHORIZED');
  expect(await attempt(codeOf(secret, 1), 'wrong password')).toBe('UNAUTHORIZED');
  // A caller without the password did not use up that code.
  expect(await attempt(codeOf(secret, 1))).toBe('IN');
});

test('each code is taken once, and none that is older than one that was taken, by any process', async () => {
  const service = await startTestService();
  const { email, secret } = await somebodyWithSecondFactor(service);
  const { storage, config } = service;
  const sealer = openSealer({ dataDir: config.dataDir, secretKey: config.secretKey });
  const { db, engine, changes } = storage;
  const neighbour = new AuthService({ db, engine, changes, sealer, log: silentLog });
  const code = codeOf(secret, 1);
  const at = [service.services.auth, neighbour, service.services.auth, neighbour];
  const outcomes = await Promise.allSettled(
    at.map((auth) => auth.passwords.login({ email, password: PASSWORD, code }, '::1')),
  );
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const older = neighbour.passwords.login({ email, password: PASSWORD, code: codeOf(secret) }, '::1');
  await expect(older).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  await neighbour.close();
});

test('codes count from one step before to one after', () => {
  const secret = 'US3WHSG7X5KAPV27VANWKQHF3SH3HULL';
  const now = 1_700_000_015_000;
  const at = (steps: number) =>
    stepOfCode(secret, new TOTP({ secret }).generate({ timestamp: now + steps * STEP_MS }), now);
  const step = Math.floor(now / STEP_MS);
  expect([-2, -1, 0, 1, 2].map(at)).toEqual([null, step - 1, step, step + 1, null]);
  expect(['', '12345', '1234567', 'abcdef', '１２３４５６'].map((code) => stepOfCode(secret, code, now))).toEqual([
    null,
    null,
    null,
    null,
    null,
  ]);
});

test('a recovery code signs in once, however it is typed, and is kept as a hash', async () => {
  const service = await startTestService();
  const { email, id, recoveryCodes } = await somebodyWithSecondFactor(service);
  const [first = '', second = ''] = recoveryCodes;
  const attempt = attemptAt(service, email);
  expect(await Promise.all([attempt(first), attempt(first)])).toEqual(expect.arrayContaining(['IN', 'UNAUTHORIZED']));
  expect(await attempt(` ${second.replaceAll('-', ' ').toUpperCase()}`)).toBe('IN');
  expect(await service.services.auth.secondFactors.recoveryCodesLeft(id)).toBe(8);
  const kept = JSON.stringify(await service.storage.db.recoveryCode.findMany());
  for (const code of recoveryCodes) expect(kept).not.toContain(code);
});

test('codes are guessed as slowly as passwords, and knowing the password forgets no failure', async () => {
  const service = await startTestService();
  const { email, token } = await somebodyWithSecondFactor(service);
  const attempt = attemptAt(service, email);
  const codes: string[] = [];
  for (let i = 0; i < 5; i++) {
    expect(await attempt()).toBe('SECOND_FACTOR_REQUIRED');
    // A found session is no way around it, either.
    expect((await service.graphql(BEGIN, { p: PASSWORD }, token)).errors?.[0]?.extensions.code).toBe('ALREADY_EXISTS');
    codes.push(await attempt('odd'));
  }
  expect(codes).toEqual(Array(5).fill('UNAUTHORIZED'));
  expect(await attempt()).toBe('RATE_LIMITED');

  // Guesses of a signed-in user are limited as well.
  const newcomer = await service.person(null);
  await service.graphql(BEGIN, { p: PASSWORD }, newcomer.token);
  const holder = await somebodyWithSecondFactor(service);
  for (const ask of [
    () => service.graphql(CONFIRM, { c: 'odd' }, newcomer.token),
    () => service.graphql(REMOVE, { p: PASSWORD, c: 'odd' }, holder.token),
  ]) {
    for (let i = 0; i < 5; i++) expect((await ask()).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
    expect((await ask()).errors?.[0]?.extensions.code).toBe('RATE_LIMITED');
  }
});

test('it is removed with the password and a code, and by an administrator, which ends the sessions', async () => {
  const service = await startTestService();
  const { graphql } = service;
  const { email, token, id, secret, recoveryCodes } = await somebodyWithSecondFactor(service);
  const remove = (p: string, c: string) => graphql(REMOVE, { p, c }, token);
  expect((await remove('not the password', codeOf(secret, 1))).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  expect((await remove(PASSWORD, 'not a code')).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  expect((await remove(PASSWORD, codeOf(secret, 1))).data.removeSecondFactor.user.hasSecondFactor).toBe(false);
  expect((await graphql(VIEWER, {}, token)).data.viewer.recoveryCodesLeft).toBe(0);
  const attempt = attemptAt(service, email);
  expect(await attempt()).toBe('IN');
  expect(await attempt(recoveryCodes[0])).toBe('IN');

  const again = (await graphql(BEGIN, { p: PASSWORD }, token)).data.beginSecondFactor.secret;
  await graphql(CONFIRM, { c: codeOf(again) }, token);
  expect(await attempt()).toBe('SECOND_FACTOR_REQUIRED');
  const RESET = 'mutation ($id: ID!) { resetSecondFactor(input: { userId: $id }) { user { hasSecondFactor } } }';
  expect((await graphql(RESET, { id }, token)).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  expect((await graphql(RESET, { id })).data.resetSecondFactor.user.hasSecondFactor).toBe(false);
  expect((await graphql(VIEWER, {}, token)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  expect(await attempt()).toBe('IN');
});

test('a log-in whose second factor was begun meanwhile opens no session', async () => {
  const service = await startTestService();
  const { id } = await service.person(null);
  const { passwordHash, totpSince } = await service.storage.db.user.findUniqueOrThrow({ where: { id } });
  const ground = { passwordHash: passwordHash ?? '', secondFactorSince: totpSince };
  await expect(service.services.auth.sessions.open(id, ground)).resolves.toMatchObject({ userId: id });
  await service.storage.db.user.update({ where: { id }, data: { totpSecret: 'sealed', totpSince: new Date() } });
  await expect(service.services.auth.sessions.open(id, ground)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
});

test('who signs in elsewhere has the second factor there', async () => {
  const { graphql, person, storage } = await startTestService();
  const { id, token } = await person(null);
  await storage.db.user.update({ where: { id }, data: { ssoType: 'ldap' } });
  for (const password of [PASSWORD, 'the one of the directory']) {
    expect((await graphql(BEGIN, { p: password }, token)).errors).toMatchObject([
      {
        message: 'You sign in at an external provider, and have no password here',
        extensions: { code: 'NOT_ALLOWED' },
      },
    ]);
  }
});

test('a user with a second factor changes the password with a code', async () => {
  const service = await startTestService();
  const { graphql } = service;
  const { email, token, recoveryCodes } = await somebodyWithSecondFactor(service);
  const CHANGE = 'mutation ($i: ChangePasswordInput!) { changePassword(input: $i) { user { email } } }';
  const change = async (code?: string, currentPassword = PASSWORD) => {
    const input = { currentPassword, newPassword: 'an even better one', code };
    return (await graphql(CHANGE, { i: input }, token)).errors?.[0]?.extensions.code ?? 'DONE';
  };
  expect(await change()).toBe('SECOND_FACTOR_REQUIRED');
  expect(await change('')).toBe('SECOND_FACTOR_REQUIRED');
  expect(await change('wrong-code')).toBe('NOT_ALLOWED');
  expect(await change(recoveryCodes[0], 'not the password')).toBe('NOT_ALLOWED');
  expect(await attemptAt(service, email)(recoveryCodes[1])).toBe('IN');
  expect(await change(recoveryCodes[0])).toBe('DONE');
  expect(await attemptAt(service, email)(recoveryCodes[2], 'an even better one')).toBe('IN');
});
