import { TOTP } from 'otpauth';
import { expect, test } from 'vitest';
import { hashSecret } from '../../../src/platform/auth/secrets.ts';
import { PASSWORD, startTestService, type TestService } from '../../support/service.ts';

const INVITE = `mutation ($input: InviteUserInput!) {
  inviteUser(input: $input) { secret expiresAt user { id email name invitedUntil isSecondFactorRequired } }
}`;
const ACCEPT = `mutation ($input: AcceptInvitationInput!) {
  acceptInvitation(input: $input) { token user { email } }
}`;
const JOIN = 'mutation ($input: SetProjectMemberInput!) { setProjectMember(input: $input) { member { role } } }';
const SEEN = '{ viewer { isSecondFactorMissing } projects { totalCount } }';

const codeOf = ({ errors }: { errors?: readonly { extensions: { code: string } }[] }) => errors?.[0]?.extensions.code;

/** Invites ada@example.com. */
async function invite({ graphql }: TestService, more: object = {}) {
  const { data, errors } = await graphql(INVITE, { input: { email: 'Ada@Example.com', ...more } });
  expect(errors).toBeUndefined();
  return data.inviteUser;
}

const acceptAt =
  ({ graphql }: TestService) =>
  (secret: string, password: string = PASSWORD) =>
    graphql(ACCEPT, { input: { secret, password } }, null);

test('an invitation sets the first password once, and its secret is stored as a hash', async () => {
  const service = await startTestService();
  const accept = acceptAt(service);
  const { secret, expiresAt, user } = await invite(service, { name: 'Ada' });
  expect(user).toMatchObject({ email: 'ada@example.com', name: 'Ada', invitedUntil: expiresAt });
  expect(secret).toMatch(/^bgi_\w{49}$/);
  expect(await service.storage.db.user.count({ where: { invitation: hashSecret(secret) } })).toBe(1);
  // It is no credential of requests.
  expect(codeOf(await service.graphql('{ viewer { id } }', {}, secret))).toBe('UNAUTHORIZED');
  expect(codeOf(await accept(secret, 'short'))).toBe('INVALID');
  const { data } = await accept(secret);
  expect(data.acceptInvitation.user.email).toBe('ada@example.com');
  expect((await service.graphql(SEEN, {}, data.acceptInvitation.token)).errors).toBeUndefined();
  expect(await service.login('ada@example.com', PASSWORD)).toMatch(/^bgs_/);
  expect(codeOf(await accept(secret, 'another password'))).toBe('UNAUTHORIZED');
  const again = await service.graphql(INVITE, { input: { email: 'ada@example.com' } });
  expect(codeOf(again)).toBe('ALREADY_EXISTS');

  const { data: audit } = await service.graphql(
    '{ auditEvents(first: 20) { nodes { operation actorName result before after } } }',
  );
  const entries = audit.auditEvents.nodes.filter(({ operation }: { operation: string }) => /nvit/.test(operation));
  expect(entries).toContainEqual(
    expect.objectContaining({ operation: 'acceptInvitation', actorName: 'ada@example.com', result: 'DONE' }),
  );
  expect(entries).toContainEqual(expect.objectContaining({ operation: 'inviteUser', actorName: 'root@example.com' }));
  expect(JSON.stringify(entries)).not.toContain(secret);
});

test('an invitation ends with the next one, with its time, and when an administrator sets a password', async () => {
  const service = await startTestService();
  const { db } = service.storage;
  const accept = acceptAt(service);
  const first = await invite(service);
  const second = await invite(service);
  expect(second.user.id).toBe(first.user.id);
  expect(codeOf(await accept(first.secret))).toBe('UNAUTHORIZED');
  await db.user.update({ where: { id: first.user.id }, data: { invitedUntil: new Date(Date.now() - 1) } });
  expect(codeOf(await accept(second.secret))).toBe('UNAUTHORIZED');
  const third = await invite(service);
  await service.services.users.setPassword(first.user.id, PASSWORD);
  expect(codeOf(await accept(third.secret))).toBe('UNAUTHORIZED');
});

test('only root administrators invite, not without passwords, and guessing is slowed down like a log-in', async () => {
  const service = await startTestService();
  const { token } = await service.person('ADMIN');
  expect(codeOf(await service.graphql(INVITE, { input: { email: 'ada@example.com' } }, token))).toBe('NOT_ALLOWED');
  const { secret } = await invite(service);
  const accept = acceptAt(service);
  for (let guess = 0; guess < 25; guess += 1) expect(codeOf(await accept(`bgi_${guess}`))).toBe('UNAUTHORIZED');
  expect(codeOf(await accept(secret))).toBe('RATE_LIMITED');

  const external = await startTestService({ env: { LOCAL_LOGIN: 'off' } });
  expect(codeOf(await external.graphql(INVITE, { input: { email: 'ada@example.com' } }))).toBe('NOT_ALLOWED');
});

test('who requires a second factor has no role until it is set up, and again after its removal', async () => {
  const service = await startTestService();
  const { graphql, projectId } = service;
  const { secret, user } = await invite(service, { isSecondFactorRequired: true });
  expect(user.isSecondFactorRequired).toBe(true);
  await graphql(JOIN, { input: { projectId, email: 'ada@example.com', role: 'ADMIN' } });
  const { token } = (await acceptAt(service)(secret)).data.acceptInvitation;
  const as = (document: string, variables: object = {}) => graphql(document, { ...variables }, token);
  expect((await as('{ viewer { isSecondFactorMissing user { email } sessions { id } } }')).data.viewer).toMatchObject({
    isSecondFactorMissing: true,
    user: { email: 'ada@example.com' },
  });
  for (const refused of [
    '{ projects { totalCount } }',
    `{ project(id: "${projectId}") { id } }`,
    'mutation { createProject(input: { name: "x" }) { project { id } } }',
    'mutation { createOrganization(input: { name: "x" }) { organization { id } } }',
    'mutation { endOtherSessions { count } }',
    '{ viewer { user { memberships { totalCount } } } }',
  ]) {
    expect([refused, codeOf(await as(refused))]).toEqual([refused, 'NOT_ALLOWED']);
  }
  expect((await service.rest('GET', '/api/projects', token)).status).toBe(403);

  const begun = await as(`mutation { beginSecondFactor(input: { currentPassword: "${PASSWORD}" }) { secret } }`);
  const code = new TOTP({ secret: begun.data.beginSecondFactor.secret }).generate();
  expect((await as(`mutation { confirmSecondFactor(input: { code: "${code}" }) { recoveryCodes } }`)).errors).toBe(
    undefined,
  );
  const seen = { viewer: { isSecondFactorMissing: false }, projects: { totalCount: 1 } };
  await expect.poll(async () => (await as(SEEN)).data).toEqual(seen);

  await service.services.auth.secondFactors.remove(user.id);
  await expect.poll(async () => codeOf(await as('{ projects { totalCount } }'))).toBe('NOT_ALLOWED');
  const lift = 'mutation ($input: UpdateUserInput!) { updateUser(input: $input) { user { id } } }';
  await graphql(lift, { input: { userId: user.id, isSecondFactorRequired: false } });
  await expect.poll(async () => (await as(SEEN)).data).toEqual(seen);
});
