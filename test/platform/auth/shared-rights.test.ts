import { expect, test } from 'vitest';
import { requireSignedIn, rightsKey, sharedViewer, type Viewer } from '../../../src/platform/auth/viewer.ts';
import { PASSWORD, startTestService } from '../../support/service.ts';

const PERSON: Viewer = {
  kind: 'USER',
  id: 'usr_1',
  name: 'ann@example.com',
  credentialId: 'ses_1',
  expiresAt: 1,
  isRootAdmin: false,
  projectRoles: new Map([
    ['prj_1', 'VIEWER'],
    ['prj_2', 'ADMIN'],
  ]),
  brokers: null,
};

test('people with the same roles have the same rights, in whatever order they got them', () => {
  const other: Viewer = {
    ...PERSON,
    id: 'usr_2',
    name: 'bob@example.com',
    credentialId: 'ses_2',
    projectRoles: new Map([...PERSON.projectRoles].reverse()),
  };
  expect(rightsKey(other)).toBe(rightsKey(PERSON));
});

test.each<[string, Partial<Viewer>]>([
  ['a lower role', { projectRoles: new Map([...PERSON.projectRoles, ['prj_2', 'EDITOR']]) }],
  ['one project less', { projectRoles: new Map([['prj_1', 'VIEWER']]) }],
  ['root', { isRootAdmin: true }],
  ['a token', { kind: 'TOKEN' }],
  ['a restriction to brokers', { brokers: new Set(['brk_1']) }],
])('%s makes other rights', (_what, change) => {
  expect(rightsKey({ ...PERSON, ...change })).not.toBe(rightsKey(PERSON));
});

test('tokens restricted to the same brokers have different rights: each sees itself alone among the tokens', () => {
  const token: Viewer = { ...PERSON, kind: 'TOKEN', id: 'tok_1', brokers: new Set(['brk_1', 'brk_2']) };
  expect(rightsKey({ ...token, id: 'tok_2' })).not.toBe(rightsKey(token));
  expect(rightsKey({ ...token, brokers: new Set(['brk_2', 'brk_1']) })).toBe(rightsKey(token));
  expect(sharedViewer(token)).toBe(token);
});

test('a shared viewer has the permissions of its group, no identity, and does not expire with a member', () => {
  const shared = sharedViewer(PERSON);
  expect(rightsKey(shared)).toBe(rightsKey(PERSON));
  expect([shared.id, shared.name, shared.credentialId]).toEqual(['', '', '']);
  expect(requireSignedIn(shared)).toBe(shared);
  expect(sharedViewer(PERSON)).toBe(shared);
});

test('a shared viewer neither reads nor changes data of a single user', async () => {
  const { services, storage, person, root, projectId } = await startTestService();
  const { id, token, email } = await person('ADMIN');
  const viewer = await services.auth.viewerOfSecret(token);
  const organization = await services.organizations.create('plant', await services.auth.viewerOfSecret(root));
  const byRoot = await services.auth.viewerOfSecret(root);
  await services.organizations.setMember(organization.id, email, 'OWNER', byRoot);
  const shared = sharedViewer(viewer);

  const organizations = (who: Viewer) =>
    storage.db.organization.count({ where: services.organizations.visibleWhere(who) });
  expect([await organizations(viewer), await organizations(shared)]).toEqual([1, 0]);
  const remove = services.organizations.remove(organization.id, shared);
  await expect(remove).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(services.projects.create({ name: 'mine' }, shared)).rejects.toThrow();
  expect(await services.auth.passwords.confirm(shared.id, { password: PASSWORD }, 'here')).toBe(false);
  await services.auth.logout(shared);
  expect(await storage.db.session.count({ where: { userId: id } })).toBe(1);
  // A shared viewer has no credential whose permissions could be read again.
  const { signal } = services.auth.guards.guard(shared, () => {});
  if (!signal.aborted) await new Promise((ended) => signal.addEventListener('abort', ended, { once: true }));
  expect(signal.reason).toMatchObject({ code: 'UNAUTHORIZED' });
  expect(services.projects.visible(projectId, shared).id).toBe(projectId);
});
