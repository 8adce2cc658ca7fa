import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const SESSIONS = '{ viewer { sessions { id provider address isCurrent createdAt lastUsedAt expiresAt } } }';
const END = 'mutation ($id: ID!) { endSession(input: { sessionId: $id }) { endedSessionId } }';
const END_OTHERS = 'mutation { endOtherSessions { count } }';
const END_ALL = 'mutation ($id: ID!) { endUserSessions(input: { userId: $id }) { count } }';

test('a person lists the own sessions, ends one of them, and all others', async () => {
  const { graphql, person, services, storage } = await startTestService();
  const { id, token } = await person(null);
  const { token: phone } = await services.auth.sessions.open(id, { address: '192.0.2.7' });
  const { token: web } = await services.auth.sessions.open(id);
  const listed = async (secret = token) => (await graphql(SESSIONS, {}, secret)).data.viewer.sessions;
  const sessions = await listed();
  expect(sessions).toHaveLength(3);
  const ofPhone = sessions.find(({ address }: { address: string | null }) => address === '192.0.2.7');
  expect(ofPhone).toMatchObject({ provider: null, isCurrent: false, createdAt: expect.any(String) });
  expect(sessions.filter(({ isCurrent }: { isCurrent: boolean }) => isCurrent)).toHaveLength(1);

  const { token: stranger } = await person(null);
  const announced: string[] = [];
  storage.changes.on('session', (changed) => announced.push(changed));
  // '*' would announce that any session may have ended.
  for (const foreign of [ofPhone.id, '*']) {
    expect((await graphql(END, { id: foreign }, stranger)).errors?.[0]?.extensions.code).toBe('NOT_FOUND');
  }
  expect(announced).toEqual([]);
  expect((await graphql(END, { id: ofPhone.id }, token)).data.endSession.endedSessionId).toBe(ofPhone.id);
  expect((await graphql(SESSIONS, {}, phone)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  expect((await graphql(END, { id: ofPhone.id }, token)).errors?.[0]?.extensions.code).toBe('NOT_FOUND');

  expect((await graphql(END_OTHERS, {}, token)).data.endOtherSessions.count).toBe(1);
  expect((await graphql(SESSIONS, {}, web)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  expect(await listed()).toMatchObject([{ isCurrent: true }]);
});

test('root administrators see and end the sessions of any user; other users do not', async () => {
  const { graphql, person } = await startTestService();
  const { id, token } = await person('ADMIN');
  const LIST = 'query ($id: ID!) { userSessions(userId: $id) { id isCurrent } }';
  for (const document of [LIST, END_ALL]) {
    expect((await graphql(document, { id }, token)).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  }
  const [session] = (await graphql(LIST, { id })).data.userSessions;
  expect((await graphql(END, { id: session.id })).data.endSession.endedSessionId).toBe(session.id);
  expect((await graphql(SESSIONS, {}, token)).errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
  expect((await graphql(END_ALL, { id })).data.endUserSessions.count).toBe(0);
  expect((await graphql(END_ALL, { id: 'usr_nobody' })).errors?.[0]?.extensions.code).toBe('NOT_FOUND');
});

test('a project token has no sessions, and nothing of a person', async () => {
  const { graphql, projectId } = await startTestService();
  const CREATE = 'mutation ($i: CreateTokenInput!) { createToken(input: $i) { secret } }';
  const i = { projectId, name: 'ci', role: 'ADMIN' };
  const { secret } = (await graphql(CREATE, { i })).data.createToken;
  expect((await graphql(SESSIONS, {}, secret)).data.viewer.sessions).toEqual([]);
  const BEGIN = 'mutation { beginSecondFactor(input: { currentPassword: "x" }) { secret } }';
  for (const document of [END_OTHERS, BEGIN]) {
    expect((await graphql(document, {}, secret)).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  }
});
