import { expect, test } from 'vitest';
import { requireSignedIn, rightsKey, sharedViewer, type Viewer } from '../../src/auth/viewer.ts';

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

test('whoever stands for many has their rights, is nobody of them, and does not expire with one of them', () => {
  const shared = sharedViewer(PERSON);
  expect(rightsKey(shared)).toBe(rightsKey(PERSON));
  expect([shared.id, shared.name, shared.credentialId]).toEqual(['', '', '']);
  expect(requireSignedIn(shared)).toBe(shared);
  expect(sharedViewer(PERSON)).toBe(shared);
});
