import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { decodeJwt, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { hashSecret } from '../../../src/platform/auth/secrets.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { freePort } from '../../support/free-port.ts';
import { hasNginx, NGINX_MISSING, startNginx } from '../../support/nginx.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { startTestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';
import { beginAddress, complete, fragmentOf, refusalOf, signIn, startSignInWorld } from './oidc-world.ts';
import { addRule, checkNow, roleOf } from './sign-in-steps.ts';
import { WebVisitor } from './web-visitor.ts';

const STATUS = 'subscription ($p: ID!) { brokerStatus(projectId: $p) { kind } }';
const HOUR_MS = 3_600_000;

const postgres = usePostgres();

describe('a person who signs in', () => {
  test('gets an account and a session, and the same account the next time', async () => {
    const { service } = await startSignInWorld();
    const { data } = await service.graphql('{ signInOffers { hasLocal hasLdap hasOpenIdConnect } }', {}, null);
    expect(data.signInOffers).toEqual({ hasLocal: true, hasLdap: false, hasOpenIdConnect: true });
    const first = await signIn(service, 'ada');
    expect(first.user).toMatchObject({
      email: 'ada@example.com',
      name: 'Ada Lovelace',
      isVerified: true,
      ssoType: 'SSO',
    });
    expect((await service.graphql('{ viewer { email isRootAdmin } }', {}, first.token)).data.viewer).toEqual({
      email: 'ada@example.com',
      isRootAdmin: false,
    });
    expect((await signIn(service, 'ada')).user.id).toBe(first.user.id);
    const { db } = service.storage;
    const row = await db.user.findUniqueOrThrow({ where: { id: first.user.id }, include: { sessions: true } });
    expect([row.ssoType, row.passwordHash]).toEqual(['sso', null]);
    expect(row.sessions.map(({ provider }) => provider)).toEqual(['sso', 'sso']);
    const { sealedRefresh, claims } = await db.identity.findFirstOrThrow();
    expect(sealedRefresh).toMatch(/^v1\./);
    expect(JSON.parse(claims)).toMatchObject({ sub: 'ada', groups: ['plant-ops', 'staff'] });
    expect(await db.signInAttempt.count()).toBe(0);
  });

  test('is the same person with another address, and has that one here, too', async () => {
    const { service, oidc } = await startSignInWorld();
    const { user } = await signIn(service, 'ada');
    oidc.people.set('ada', { email: 'Countess@example.com', email_verified: true });
    expect((await signIn(service, 'ada')).user).toMatchObject({ id: user.id, email: 'countess@example.com' });
    // Another user has the address now.
    oidc.people.set('new', { email: 'ada@example.com', email_verified: true });
    expect((await signIn(service, 'new')).user.id).not.toBe(user.id);
  });

  test('does not get an account that has a password here, nor that of another person, nor one without a verified address', async () => {
    const { service, oidc } = await startSignInWorld();
    const { db } = service.storage;
    const local = await service.person('ADMIN');
    oidc.people.set('thief', { email: local.email, email_verified: true });
    expect(await refusalOf(service, 'thief')).toBe('account_signs_in_otherwise');
    oidc.people.set('root', { email: service.config.rootEmail, email_verified: true });
    expect(await refusalOf(service, 'root')).toBe('account_signs_in_otherwise');
    await signIn(service, 'ada');
    oidc.people.set('second', { email: 'ADA@example.com', email_verified: true });
    expect(await refusalOf(service, 'second')).toBe('account_of_another_person');
    // Their letters are Cyrillic, Greek, Armenian and Latin ones. Words of two scripts are refused.
    const alike = ['АDA@example.com', 'adα@example.com', 'ada@ехample.com', 'ádа@example.com', 'ɑda@example.com'];
    const mixed = ['miкe@example.com', 'gold.ѳ1a@example.com', 'x@exꭰmple.com', 'sigma.aω@example.com'];
    for (const email of [...alike, ...mixed]) {
      oidc.people.set('second', { email, email_verified: true });
      expect(await refusalOf(service, 'second')).toBe('account_of_another_person');
    }
    await service.services.users.create({ email: 'admin@localhost' });
    oidc.people.set('second', { email: 'admın@localhost', email_verified: true });
    expect(await refusalOf(service, 'second')).toBe('account_of_another_person');
    // Each word has one script.
    oidc.people.set('ivan', { email: 'иван.ivanov@example.com', email_verified: true });
    expect((await signIn(service, 'ivan')).user).toMatchObject({ email: 'иван.ivanov@example.com' });
    for (const email_verified of [false, undefined]) {
      oidc.people.set('vague', {
        email: 'vague@example.com',
        ...(email_verified === undefined ? {} : { email_verified }),
      });
      expect(await refusalOf(service, 'vague')).toBe('email_not_verified');
    }
    expect(await db.identity.count()).toBe(2);
    expect(await db.user.count({ where: { email: { startsWith: 'vague' } } })).toBe(0);
    await expect.poll(() => db.auditEntry.count({ where: { operation: 'signIn', result: 'REFUSED' } })).toBe(15);
    const entry = await db.auditEntry.findFirstOrThrow({ where: { operation: 'signIn' } });
    expect([entry.actorKind, entry.code, entry.address]).toEqual(['NOBODY', 'NOT_ALLOWED', '127.0.0.1']);
    await expect.poll(() => db.auditEntry.count({ where: { operation: 'signInFirst' } })).toBe(2);
  });

  test('is refused with the reason when the provider sends no e-mail address, which may be in another claim', async () => {
    const { service, oidc, lines } = await startSignInWorld();
    for (const email of [undefined, '', 'not an address', ['a@example.com', 'b@example.com'], 7]) {
      oidc.people.set('eve', { email, email_verified: true, upn: 'eve@example.com' });
      expect(await refusalOf(service, 'eve')).toBe('email_missing');
    }
    // PostgreSQL could not index it.
    const longSubject = Array.from({ length: 1_000 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('');
    oidc.people.set(longSubject, { email: 'eve@example.com', email_verified: true });
    expect(await refusalOf(service, longSubject)).toBe('sign_in_failed');
    expect(lines.at(-1)?.reason).toBe('the subject has more than 2000 bytes');
    const upn = { OIDC_EMAIL_CLAIM: 'upn' };
    for (const [env, expected] of [
      [upn, 'email_not_verified'],
      [{ ...upn, OIDC_TRUST_EMAIL: 'on' }, null],
    ] as const) {
      const other = await startSignInWorld(env);
      // The claim email_verified is about another address.
      other.oidc.people.set('eve', { email: 'eve@old.example', email_verified: true, upn: 'eve@example.com' });
      if (expected === null) expect((await signIn(other.service, 'eve')).user.email).toBe('eve@example.com');
      else expect(await refusalOf(other.service, 'eve')).toBe(expected);
    }
  });

  test('gets the account that an administrator made for it', async () => {
    const { service, oidc } = await startSignInWorld({ SIGN_IN_CREATE_USERS: 'off', OIDC_TRUST_EMAIL: 'on' });
    expect(await refusalOf(service, 'ada')).toBe('no_account');
    const made = async (email: string) => {
      const { id } = await service.services.users.create({ email });
      await service.storage.db.user.update({ where: { id }, data: { ssoType: 'sso' } });
      return id;
    };
    const id = await made('ada@example.com');
    expect((await signIn(service, 'ada')).user).toMatchObject({ id, name: 'ada' });
    // With OIDC_TRUST_EMAIL an address of which nothing is said counts; one that is said not to be verified does not.
    await made('vague@example.com');
    oidc.people.set('vague', { email: 'vague@example.com', email_verified: false });
    expect(await refusalOf(service, 'vague')).toBe('email_not_verified');
    oidc.people.set('vague', { email: 'vague@example.com' });
    expect((await signIn(service, 'vague')).user.email).toBe('vague@example.com');
  });
});

test('a user of another issuer is another user with any sub, until an administrator moves the account', async () => {
  const { service, oidc } = await startSignInWorld();
  const { db } = service.storage;
  const { user, token } = await signIn(service, 'ada');
  const { provider, subject } = await db.identity.findFirstOrThrow();
  expect(subject).toBe(`${oidc.issuer} ada`);
  // As if the service had asked another provider when ada signed in.
  await db.identity.update({
    where: { provider_subject: { provider, subject } },
    data: { subject: 'https://before.invalid ada' },
  });
  expect(await refusalOf(service, 'ada')).toBe('account_of_another_person');
  const UPDATE = 'mutation ($input: UpdateUserInput!) { updateUser(input: $input) { user { id } } }';
  for (const ssoType of [null, 'SSO']) {
    expect((await service.graphql(UPDATE, { input: { userId: user.id, ssoType } })).errors).toBeUndefined();
  }
  expect((await service.graphql('{ viewer { name } }', {}, token)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  expect((await signIn(service, 'ada')).user.id).toBe(user.id);
  // Characters that differ in lower case: the mailbox with the Kelvin sign is not the one of mike.
  oidc.people.set('other', { email: 'mi\u212ae@example.com', email_verified: true });
  expect(await refusalOf(service, 'other')).toBe('email_not_normalized');
});

describe('roles', () => {
  test('come from rules, at once, and go with them, together with what was followed', async () => {
    const { service } = await startSignInWorld();
    const { token } = await signIn(service, 'ada');
    expect(await roleOf(service, token)).toBeNull();
    await addRule(service, { pattern: 'staff', role: 'VIEWER' });
    expect(await roleOf(service, token)).toBe('VIEWER');
    const ruleId = await addRule(service, { pattern: 'plant-.*' });
    expect(await roleOf(service, token)).toBe('EDITOR');
    await addRule(service, { pattern: 'plant', role: 'ADMIN' });
    expect(await roleOf(service, token)).toBe('EDITOR');
    // A person with a password has no claims.
    expect(await roleOf(service, (await service.person(null)).token)).toBeNull();

    const stream = subscribe(service, token, STATUS, { p: service.projectId });
    await stream.until(() => true);
    const update = 'mutation ($i: UpdateSignInRuleInput!) { updateSignInRule(input: $i) { rule { pattern role } } }';
    const { data } = await service.graphql(update, { i: { ruleId, pattern: 'plant-x' } });
    expect(data.updateSignInRule.rule).toEqual({ pattern: 'plant-x', role: 'EDITOR' });
    expect(await roleOf(service, token)).toBe('VIEWER');
    const rules = '{ project(id: $p) { signInRules { id role } } }'.replace('$p', `"${service.projectId}"`);
    const remove = 'mutation ($i: DeleteSignInRuleInput!) { deleteSignInRule(input: $i) { deletedRuleId } }';
    for (const { id } of (await service.graphql(rules)).data.project.signInRules) {
      expect((await service.graphql(remove, { i: { ruleId: id } })).errors).toBeUndefined();
    }
    expect(await stream.closed).toBe(4403);
    expect(await roleOf(service, token)).toBeNull();
    expect(await service.storage.db.projectMember.count()).toBe(0);
  });

  test('change at the next check, and what was followed with one that is gone ends', async () => {
    const { service, oidc } = await startSignInWorld();
    await addRule(service, { pattern: 'plant-ops' });
    const { token } = await signIn(service, 'ada');
    const stream = subscribe(service, token, STATUS, { p: service.projectId });
    await stream.until(() => true);
    await checkNow(service);
    expect(await roleOf(service, token)).toBe('EDITOR');
    oidc.people.set('ada', { email: 'ada@example.com', groups: ['staff'] });
    expect(await roleOf(service, token)).toBe('EDITOR');
    await checkNow(service);
    expect(await stream.closed).toBe(4403);
    expect(await roleOf(service, token)).toBeNull();
    // The claim itself may go with the last group, and the refresh token changes each time.
    await addRule(service, { pattern: 'staff', role: 'VIEWER' });
    expect(await roleOf(service, token)).toBe('VIEWER');
    oidc.people.set('ada', { email: 'ada@example.com' });
    await checkNow(service);
    expect(await roleOf(service, token)).toBeNull();
    const again = await signIn(service, 'ada');
    const { data } = await service.graphql(
      `{ project(id: "${service.projectId}") { auditEvents(filter: { targetId: "${again.user.id}" }) { nodes { operation actorKind before after } } }
        auditEvents(filter: { operation: "completeSignIn" }, first: 1) { nodes { actorId actorName } } }`,
    );
    const change = (before: string | null, after: string | null) => ({
      operation: 'changeRoleBySignIn',
      actorKind: 'SERVICE',
      before: { role: before },
      after: { role: after, provider: 'sso' },
    });
    expect(data.project.auditEvents.nodes).toEqual([
      change('VIEWER', null),
      change('EDITOR', null),
      change(null, 'EDITOR'),
    ]);
    expect(data.auditEvents.nodes).toEqual([{ actorId: again.user.id, actorName: 'ada@example.com' }]);
  });

  test('come from no address that the provider does not vouch for', async () => {
    const { service, oidc } = await startSignInWorld();
    await addRule(service, { claimPath: 'email', pattern: '.*@plant[.]example', role: 'ADMIN' });
    const { token } = await signIn(service, 'ada');
    for (const [email_verified, role] of [
      [false, null],
      [true, 'ADMIN'],
      [false, null],
    ] as const) {
      oidc.people.set('ada', { email: 'boss@plant.example', email_verified });
      await checkNow(service);
      expect(await roleOf(service, token)).toBe(role);
      expect(await roleOf(service, (await signIn(service, 'ada')).token)).toBe(role);
    }
  });

  test('are kept at a check while the provider hides the groups, because there are too many, and log and audit state it', async () => {
    const { service, oidc, lines } = await startSignInWorld();
    await addRule(service, { pattern: 'plant-ops' });
    const { token } = await signIn(service, 'ada');
    for (const hidden of [{ hasgroups: true }, { _claim_names: { groups: 'src1' } }]) {
      oidc.people.set('ada', { email: 'ada@example.com', email_verified: true, ...hidden });
      await checkNow(service);
      expect(await roleOf(service, token)).toBe('EDITOR');
      expect(lines.filter(({ msg }) => msg.includes('there are too many')).length).toBeGreaterThan(0);
      lines.length = 0;
    }
    expect(await roleOf(service, (await signIn(service, 'ada')).token)).toBeNull();
    expect(lines.some(({ msg }) => msg.includes('there are too many'))).toBe(true);
    oidc.people.set('bob', { email: 'bob@example.com', email_verified: true, hasgroups: true });
    await signIn(service, 'bob');
    // Also in the audit: of a role that is lost by it, and of an account that never had one.
    const { db } = service.storage;
    for (const operation of ['changeRoleBySignIn', 'signInFirst']) {
      const last = () => db.auditEntry.findFirst({ where: { operation }, orderBy: { sequence: 'desc' } });
      await expect.poll(async () => (await last())?.after).toContain('because there are too many');
    }
  });

  test('are kept from people of another provider', async () => {
    const { service } = await startSignInWorld();
    await addRule(service, { provider: 'LDAP', pattern: '.*' });
    expect(await roleOf(service, (await signIn(service, 'ada')).token)).toBeNull();
  });
});

describe('sessions', () => {
  test('end when the provider does not know the person any more', async () => {
    const { service, oidc } = await startSignInWorld();
    oidc.people.set('bob', { email: 'bob@example.com', email_verified: true, groups: ['staff'] });
    await addRule(service, { pattern: 'staff' });
    const [ada, bob] = [await signIn(service, 'ada'), await signIn(service, 'bob')];
    const stream = subscribe(service, ada.token, STATUS, { p: service.projectId });
    await stream.until(() => true);
    oidc.people.delete('ada');
    await checkNow(service);
    expect(await stream.closed).toBe(4403);
    expect(await roleOf(service, ada.token)).toBe('UNAUTHORIZED');
    expect(await roleOf(service, bob.token)).toBe('EDITOR');
    const { db } = service.storage;
    await expect
      .poll(() => db.auditEntry.findFirst({ where: { operation: 'endSignIns' } }))
      .toMatchObject({
        actorKind: 'SERVICE',
        targetId: ada.user.id,
        result: 'DONE',
      });
    // Once back, the person signs in again.
    oidc.people.set('ada', { email: 'ada@example.com', email_verified: true, groups: ['staff'] });
    expect(await roleOf(service, (await signIn(service, 'ada')).token)).toBe('EDITOR');
  });

  test('end when the service asks another provider from then on, which does not see what the other one gave', async () => {
    const { service } = await startSignInWorld();
    const { token } = await signIn(service, 'ada');
    const { db } = service.storage;
    const { provider, subject, sealedRefresh } = await db.identity.findFirstOrThrow();
    const { dataDir, secretKey } = service.config;
    const sealer = openSealer({ dataDir, secretKey });
    const context = `identity ${provider} ${subject}`;
    const handle = JSON.parse(sealer.open(sealedRefresh ?? '', context));
    const before = sealer.seal(JSON.stringify({ ...handle, issuer: 'https://before.invalid' }), context);
    await db.identity.updateMany({ data: { sealedRefresh: before } });
    await checkNow(service);
    expect((await service.graphql('{ viewer { name } }', {}, token)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  });

  test('go on while the provider does not answer, with a line in the log, and not for ever', async () => {
    const { service, oidc, lines } = await startSignInWorld();
    const { db, changes } = service.storage;
    await addRule(service, { pattern: 'staff' });
    const { token, user } = await signIn(service, 'ada');
    const visitor = new WebVisitor();
    const callback = await visitor.signInAt(beginAddress(service), 'ada');
    await oidc.stop();
    await checkNow(service);
    await checkNow(service);
    expect(await roleOf(service, token)).toBe('EDITOR');
    expect(lines.filter(({ msg }) => msg.includes('cannot be checked'))).toHaveLength(1);
    expect((await visitor.visit(callback)).headers.get('location')).toMatch(/#error=sign_in_unavailable$/);
    await oidc.startAgain();
    await checkNow(service);
    expect(lines.filter(({ msg }) => msg.includes('are checked again'))).toHaveLength(1);
    await oidc.stop();
    await db.identity.updateMany({ data: { checkedAt: new Date(Date.now() - 25 * HOUR_MS) } });
    await changes.announce('user', user.id);
    expect(await roleOf(service, token)).toBe('UNAUTHORIZED');
    expect(await db.session.count({ where: { userId: user.id } })).toBe(1);
    await checkNow(service);
    expect(await db.session.count({ where: { userId: user.id } })).toBe(0);
    expect(lines.some(({ msg }) => msg.includes('for too long'))).toBe(true);
  });

  test('of a provider without refresh tokens count for a day', async () => {
    const { service, oidc, lines } = await startSignInWorld();
    oidc.serve(service.url, { issueRefreshToken: () => false } as object);
    const { token } = await signIn(service, 'ada');
    oidc.people.delete('ada');
    await checkNow(service);
    expect(await roleOf(service, token)).toBeNull();
    expect(lines.filter(({ msg }) => msg.includes('no refresh token'))).toHaveLength(1);
    const { expiresAt } = (await service.graphql('{ viewer { expiresAt } }', {}, token)).data.viewer;
    expect(new Date(expiresAt).getTime()).toBeLessThanOrEqual(Date.now() + 24 * HOUR_MS);
  });

  test('are not opened with a password, whatever the account has', async () => {
    const { service } = await startSignInWorld();
    const { user } = await signIn(service, 'ada');
    const other = await service.storage.db.user.findUniqueOrThrow({ where: { email: service.config.rootEmail } });
    const { passwordHash } = other;
    await service.storage.db.user.update({ where: { id: user.id }, data: { passwordHash } });
    await expect(service.login(user.email, service.config.rootPassword ?? '')).rejects.toThrow();
  });
});

/** Where a browser is sent that begins; the provider's form is not looked at. */
async function begunAt(url: string): Promise<string | null> {
  return (await fetch(`${url}/auth/oidc`, { redirect: 'manual' })).headers.get('location');
}

describe('attacks', () => {
  test('a callback that comes again, or in a browser that did not begin, ends nothing', async () => {
    const { service } = await startSignInWorld();
    const visitor = new WebVisitor();
    const callback = await visitor.signInAt(beginAddress(service), 'ada');
    // An attacker makes the victim visit the callback, to sign the victim in as the attacker.
    const victim = await new WebVisitor().visit(callback);
    expect([victim.status, victim.headers.get('location')]).toEqual([400, null]);
    expect(await victim.text()).not.toContain('state');
    const cookie = (await fetch(callback, { redirect: 'manual', headers: { cookie: 'brokergraph_sign_in_=x' } }))
      .status;
    expect(cookie).toBe(400);
    const state = new URL(callback).searchParams.get('state') ?? '';
    const name = `brokergraph_sign_in_${hashSecret(state).slice(0, 12)}`;
    const other = await fetch(callback, { redirect: 'manual', headers: { cookie: `${name}=another browser's` } });
    expect(other.status).toBe(400);
    // The browser that began the sign-in can still complete it, once.
    const answer = await visitor.visit(callback);
    expect(answer.headers.get('location')).toContain('#code=');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect((await visitor.visit(callback)).status).toBe(400);
  });

  test('a code of another sign-in, a changed state and another issuer are refused', async () => {
    const { service } = await startSignInWorld();
    const theirs = new URL(await new WebVisitor().signInAt(beginAddress(service), 'ada'));
    const visitor = new WebVisitor();
    const own = new URL(await visitor.signInAt(beginAddress(service), 'ada'));
    own.searchParams.set('code', theirs.searchParams.get('code') ?? '');
    const mixed = await visitor.visit(own.href);
    expect(mixed.headers.get('location')).toMatch(/#error=sign_in_failed$/);

    const other = new URL(await visitor.signInAt(beginAddress(service), 'ada'));
    other.searchParams.set('iss', 'https://provider.example.com');
    expect((await visitor.visit(other.href)).headers.get('location')).toMatch(/#error=sign_in_failed$/);

    const foreign = new URL(await visitor.signInAt(beginAddress(service), 'ada'));
    foreign.searchParams.set('state', randomBytes(32).toString('base64url'));
    expect((await visitor.visit(foreign.href)).status).toBe(400);
    expect(await service.storage.db.session.count({ where: { provider: 'sso' } })).toBe(0);
  });

  test('an expired ID token, or one of another key, client, issuer, sign-in or user, is refused', async () => {
    const { service, oidc, lines } = await startSignInWorld();
    const keys = () => generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const [{ privateKey }, other] = [keys(), keys()];
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'own', use: 'sig', alg: 'RS256' };
    const signed =
      (change: object, key = privateKey) =>
      (given: string) =>
        new SignJWT({ ...decodeJwt(given), ...change }).setProtectedHeader({ alg: 'RS256', kid: 'own' }).sign(key);
    const unsigned = async (given: string) => new UnsecuredJWT(decodeJwt(given)).encode();
    const now = Math.floor(Date.now() / 1_000);
    for (const [what, idToken, refusal] of [
      ['as it was given', signed({}), null],
      ['another key', signed({}, other.privateKey), 'sign_in_failed'],
      ['no key', unsigned, 'sign_in_failed'],
      ['another client', signed({ aud: 'another client' }), 'sign_in_failed'],
      ['another issuer', signed({ iss: 'https://provider.example.com' }), 'sign_in_failed'],
      ['another sign-in', signed({ nonce: 'of another sign-in' }), 'sign_in_failed'],
      ['another person', signed({ sub: 'boss' }), 'sign_in_failed'],
      ['a number', signed({ sub: 7 }), 'sign_in_failed'],
      ['over', signed({ iat: now - 7_200, exp: now - 3_600 }), 'sign_in_failed'],
      ['too large', signed({ much: 'x'.repeat(1_000_000) }), 'sign_in_unavailable'],
    ] as const) {
      oidc.serve(service.url, { jwks: { keys: [jwk] } } as object, idToken);
      expect([what, await refusalOf(service, 'ada')]).toEqual([what, refusal]);
    }
    // The log names the claim that is wrong.
    expect(JSON.stringify(lines.map(({ error }) => error))).toContain('(subject) claim type');
  });

  test('a person who says no comes back with that', async () => {
    const { service } = await startSignInWorld();
    const visitor = new WebVisitor();
    const begun = await visitor.visit(beginAddress(service));
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? '';
    const parameters = { error: 'access_denied', state, iss: service.config.oidcIssuer ?? '' };
    const back = await visitor.visit(`${service.url}/auth/oidc/callback?${new URLSearchParams(parameters)}`);
    expect(back.headers.get('location')).toBe(`${service.url}/#error=access_denied`);
  });

  test('a code opens one session, and only with its verifier where a challenge was sent', async () => {
    const { service } = await startSignInWorld();
    const verifier = randomBytes(32).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const visitor = new WebVisitor();
    const codes: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const address = await visitor.signIn(beginAddress(service, { challenge }), 'ada');
      codes.push(fragmentOf(address).code ?? '');
    }
    const [one = '', two = '', three = ''] = codes;
    expect((await complete(service, { code: one, verifier })).errors).toBeUndefined();
    for (const input of [
      { code: one, verifier },
      { code: two },
      { code: three, verifier: 'other' },
      { code: 'none' },
    ]) {
      expect((await complete(service, input)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
    }
    // An attacker gives the page a code of another sign-in, which had no challenge.
    const slipped = fragmentOf(await visitor.signIn(beginAddress(service), 'ada')).code ?? '';
    expect((await complete(service, { code: slipped, verifier })).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
    expect((await fetch(beginAddress(service, { challenge: 'short' }), { redirect: 'manual' })).status).toBe(400);
    // An administrator lets the person sign in otherwise while the code waits.
    const { code } = fragmentOf(await visitor.signIn(beginAddress(service), 'ada'));
    const { id } = await service.services.users.byEmail('ada@example.com');
    await service.services.users.update(id, { ssoType: null });
    expect((await complete(service, { code: code ?? '' })).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  });

  test('browsers are sent back to allowed addresses alone', async () => {
    const { service } = await startSignInWorld({
      SIGN_IN_RETURN_TO: 'https://app.example.com/fleet, http://localhost:5173',
    });
    const visitor = new WebVisitor();
    const status = async (returnTo: string) => (await visitor.visit(beginAddress(service, { returnTo }))).status;
    const own = service.url;
    for (const allowed of [
      'https://app.example.com/fleet',
      'https://app.example.com/fleet/brokers?tab=1',
      'http://localhost:5173/any',
      `${own}/graphql`,
      '/graphql',
      '',
    ]) {
      expect([allowed, await status(allowed)]).toEqual([allowed, 302]);
    }
    for (const refused of [
      'https://evil.example.com/',
      'https://app.example.com/',
      'https://app.example.com/fleets',
      'https://app.example.com/fleet/../admin',
      'https://app.example.com/fleet/%2e%2e/admin',
      'http://app.example.com/fleet',
      'https://app.example.com:8443/fleet',
      'https://app.example.com.evil.example.com/fleet',
      'https://app.example.com@evil.example.com/fleet',
      'https://me:secret@app.example.com/fleet',
      'https://app.example.com/fleet#code=mine',
      '//evil.example.com/graphql',
      '\\\\evil.example.com\\graphql',
      '/\\evil.example.com',
      'javascript:alert(1)',
      'data:text/html,x',
    ]) {
      expect([refused, await status(refused)]).toEqual([refused, 400]);
    }
    const page = await visitor.visit(beginAddress(service, { returnTo: 'https://<script>.example.com' }));
    expect(await page.text()).not.toContain('<script>');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const address = await visitor.signIn(
      beginAddress(service, { returnTo: 'https://app.example.com/fleet?tab=1' }),
      'ada',
    );
    expect(address.href).toMatch(/^https:\/\/app\.example\.com\/fleet\?tab=1#code=[\w-]{43}$/);
  });

  test('a network that begins too many sign-ins is rate limited', async () => {
    const { service } = await startSignInWorld();
    const statuses: number[] = [];
    const asked = new Set<string | null>();
    for (let n = 0; n < 61; n += 1) {
      const { status, headers } = await fetch(beginAddress(service), { redirect: 'manual' });
      statuses.push(status);
      const parameters = new URL(headers.get('location') ?? 'no:where').searchParams;
      for (const name of ['state', 'nonce', 'code_challenge']) asked.add(parameters.get(name));
    }
    expect(statuses).toEqual([...Array(60).fill(302), 429]);
    // Of each of them its own, and nothing of the one that was refused.
    expect([asked.size, asked.has(null)]).toEqual([3 * 60 + 1, true]);
    for (const [method, path, expected] of [
      ['POST', '/auth/oidc', 405],
      ['GET', '/auth/other', 404],
      ['GET', '/auth/oidc/callback', 400],
    ] as const) {
      expect((await fetch(`${service.url}${path}`, { method })).status).toBe(expected);
    }
  });
});

describe('where it runs', () => {
  test('without a provider there is no such way', async () => {
    const service = await startTestService();
    expect((await fetch(`${service.url}/auth/oidc`)).status).toBe(404);
    expect((await service.graphql('{ signInOffers { hasOpenIdConnect } }', {}, null)).data.signInOffers).toEqual({
      hasOpenIdConnect: false,
    });
    expect((await complete(service, { code: 'x' })).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  });

  test('a provider that is down when the service starts is asked again', async () => {
    const { service, oidc } = await startSignInWorld();
    await oidc.stop();
    const response = await fetch(beginAddress(service), { redirect: 'manual' });
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    await oidc.startAgain();
    await expect.poll(() => begunAt(service.url)).toContain(oidc.issuer);
  });

  test.skipIf(!hasNginx)(hasNginx ? 'behind a proxy, below a path of its address' : NGINX_MISSING, async () => {
    const port = await freePort();
    const proxy = await startNginx(
      `http://127.0.0.1:${port}`,
      (listen, upstream) => `server { listen ${listen}; location /brokers/ { proxy_pass ${upstream}/; } }`,
    );
    const publicUrl = `${proxy}/brokers/`;
    const { service } = await startSignInWorld({ PORT: String(port), PUBLIC_URL: publicUrl });
    const address = await new WebVisitor().signIn(`${publicUrl}auth/oidc`, 'ada');
    expect(address.href.split('#')[0]).toBe(publicUrl);
    expect((await complete(service, { code: fragmentOf(address).code ?? '' })).errors).toBeUndefined();
  });

  describe.skipIf(!postgres.available)(postgres.available ? 'two services on one database' : UNAVAILABLE, () => {
    test('begin at one, come back to the other, and have the session at both; one of them checks', async () => {
      const port = await freePort();
      const env = {
        DATABASE_URL: await postgres.createDatabase(),
        SECRET_KEY: '5e'.repeat(32),
        PUBLIC_URL: `http://127.0.0.1:${port}`,
      };
      const { service: one, oidc } = await startSignInWorld({ ...env, PORT: String(port) });
      const two = await startTestService({ env: { ...env, ...oidc.env } });
      const visitor = new WebVisitor();
      const callback = await visitor.signInAt(beginAddress(one), 'ada');
      const answer = await visitor.visit(callback.replace(one.url, two.url));
      const { code } = fragmentOf(new URL(answer.headers.get('location') ?? ''));
      const { data } = await complete(one, { code: code ?? '' });
      const { token } = data.completeSignIn;
      await addRule(one, { pattern: 'plant-ops' });
      await expect.poll(() => roleOf(two, token)).toBe('EDITOR');
      const stream = subscribe(two, token, STATUS, { p: one.projectId });
      await stream.until(() => true);
      oidc.people.set('ada', { email: 'ada@example.com', groups: [] });
      await checkNow(one);
      expect(await stream.closed).toBe(4403);
      expect(await roleOf(two, token)).toBeNull();
    });
  });
});
