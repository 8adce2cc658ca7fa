import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DiffOptions } from '../../../../src/domains/access-control/documents/access-diff.ts';
import type { AccessDocument } from '../../../../src/domains/access-control/documents/access-document.ts';
import { runs } from '../../../support/suite.ts';
import { diffAccess, documentOf, parseDocument, planChanges, policyOf } from '../at-once.ts';
import { MOSQUITTO_2_0, MOSQUITTO_2_1 } from '../dialects.ts';
import { anyDocument } from './random-documents.ts';

const OPTIONS: DiffOptions = {
  deleteOthers: false,
  passwords: new Map(),
  setPasswords: false,
  gatewayUsername: 'gateway',
};
const ADMIN = {
  rolename: 'admin',
  acls: [
    { aclType: 'publishClientSend', topic: '$CONTROL/#', allow: true },
    { aclType: 'publishClientReceive', topic: '$CONTROL/#', allow: true },
    { aclType: 'subscribePattern', topic: '$CONTROL/#', allow: true },
  ],
};
const GATEWAY = { username: 'gateway', roles: [{ name: 'admin' }] };

const document = (parts: object = {}): AccessDocument =>
  parseDocument({
    format: 'brokergraph/access-control',
    version: 1,
    defaultAcl: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
    roles: [ADMIN],
    groups: [],
    clients: [GATEWAY],
    ...parts,
  });

const diff = (from: AccessDocument, to: AccessDocument, options: Partial<DiffOptions> = {}, dialect = MOSQUITTO_2_1) =>
  diffAccess(policyOf(from), dialect, to, { ...OPTIONS, ...options });

test('what is missing is made in the order in which things are named, others are deleted last and in reverse', () => {
  const from = document({
    roles: [ADMIN, { rolename: 'old' }],
    groups: [{ groupname: 'old', roles: [{ name: 'old' }] }],
    clients: [GATEWAY, { username: 'old', groups: [{ name: 'old' }] }],
  });
  const to = document({
    defaultAcl: { publishClientSend: true, publishClientReceive: true, subscribe: false, unsubscribe: true },
    anonymousGroup: 'guests',
    roles: [ADMIN, { rolename: 'reader', acls: [{ aclType: 'subscribePattern', topic: 'a/#', allow: true }] }],
    groups: [{ groupname: 'guests', textName: 'Guests', roles: [{ name: 'reader', priority: 4 }] }],
    clients: [GATEWAY, { username: 'ann', disabled: true, groups: [{ name: 'guests' }] }, { username: 'bob' }],
  });
  const { changes, notes, needPassword } = diff(from, to, { deleteOthers: true, passwords: new Map([['bob', 'pw']]) });
  expect(changes).toEqual([
    {
      kind: 'PUT_ROLE',
      roleName: 'reader',
      mode: 'CREATE',
      fields: { acls: [{ aclType: 'subscribePattern', topic: 'a/#', priority: 0, allow: true }] },
    },
    {
      kind: 'PUT_GROUP',
      groupName: 'guests',
      mode: 'CREATE',
      fields: { textName: 'Guests', roles: [{ name: 'reader', priority: 4 }] },
    },
    {
      kind: 'PUT_CLIENT',
      username: 'ann',
      mode: 'CREATE',
      fields: { disabled: true, groups: [{ name: 'guests', priority: -1 }] },
    },
    { kind: 'PUT_CLIENT', username: 'bob', mode: 'CREATE', fields: { password: 'pw' } },
    { kind: 'SET_DEFAULT_ACL', acl: { publishClientSend: true } },
    { kind: 'SET_ANONYMOUS_GROUP', groupName: 'guests' },
    { kind: 'DELETE_CLIENT', username: 'old' },
    { kind: 'DELETE_GROUP', groupName: 'old' },
    { kind: 'DELETE_ROLE', roleName: 'old' },
  ]);
  expect(notes).toEqual([]);
  expect(needPassword).toEqual(['ann']);
  const kept = diff(from, to).changes.map(({ kind }) => kind);
  expect(kept.filter((kind) => kind.startsWith('DELETE'))).toEqual([]);
});

test('of what is there only the keys that differ are changed, and the order of equal rules is one of them', () => {
  const rules = [
    { aclType: 'publishClientSend', topic: 'a/b', allow: false },
    { aclType: 'publishClientSend', topic: 'a/#', allow: true },
  ];
  const from = document({
    roles: [ADMIN, { rolename: 'r', textName: 'R', acls: rules }],
    clients: [GATEWAY, { username: 'ann', textName: 'Ann', clientId: 'c1' }],
  });
  const to = document({
    roles: [ADMIN, { rolename: 'r', textName: 'R', acls: [...rules].reverse() }],
    clients: [GATEWAY, { username: 'ann', clientId: 'c1', roles: [{ name: 'r' }] }],
  });
  expect(diff(from, to).changes).toEqual([
    {
      kind: 'PUT_ROLE',
      roleName: 'r',
      mode: 'UPDATE',
      fields: { acls: [...rules].reverse().map((rule) => ({ ...rule, priority: 0 })) },
    },
    {
      kind: 'PUT_CLIENT',
      username: 'ann',
      mode: 'UPDATE',
      fields: { textName: null, roles: [{ name: 'r', priority: -1 }] },
    },
  ]);
});

test('the account of this service, and what gives it its rights, is not deleted', () => {
  const from = document({
    roles: [ADMIN, { rolename: 'held' }, { rolename: 'other' }],
    groups: [{ groupname: 'own', roles: [{ name: 'held' }] }],
    clients: [{ ...GATEWAY, groups: [{ name: 'own' }] }],
  });
  const { changes, notes } = diff(from, document({ roles: [], clients: [] }), { deleteOthers: true });
  expect(changes).toEqual([{ kind: 'DELETE_ROLE', roleName: 'other' }]);
  for (const name of ['account "gateway"', 'group "own"', 'role "held"', 'role "admin"']) {
    expect(notes.join()).toContain(name);
  }
});

test('the account of this service is never written, neither to change nor to make it', () => {
  const other = document({ clients: [{ ...GATEWAY, disabled: true }] });
  expect(diff(document(), other)).toMatchObject({ changes: [], notes: [expect.stringContaining('"gateway"')] });
  const absent = diff(document({ clients: [] }), document());
  expect(absent).toMatchObject({ changes: [], needPassword: [], notes: [expect.stringContaining('"gateway"')] });
});

test('what gives this service its rights stays, whether the document would narrow or widen it', () => {
  const narrow = document({ roles: [{ rolename: 'admin' }] });
  const wide = document({ roles: [{ ...ADMIN, acls: ADMIN.acls.map((rule) => ({ ...rule, topic: '#' })) }] });
  const grouped = { roles: [ADMIN, { rolename: 'held' }], clients: [{ ...GATEWAY, groups: [{ name: 'own' }] }] };
  const bare = document({ ...grouped, groups: [{ groupname: 'own' }] });
  const fuller = document({ ...grouped, groups: [{ groupname: 'own', roles: [{ name: 'held' }] }] });
  for (const [from, to, name] of [
    [document(), narrow, 'role "admin"'],
    [document(), wide, 'role "admin"'],
    [bare, fuller, 'group "own"'],
  ] as const) {
    expect(diff(from, to)).toMatchObject({
      changes: [],
      notes: [expect.stringMatching(`has its permissions by.*${name}`)],
    });
  }
});

test('the defaults stay where this service listens to the broker by them', () => {
  const defaults = { publishClientSend: false, publishClientReceive: true, subscribe: true, unsubscribe: true };
  const closed = { ...defaults, subscribe: false };
  const listening = document({ defaultAcl: defaults });
  const refused = diff(listening, document({ defaultAcl: closed }));
  expect(refused).toMatchObject({ changes: [], notes: [expect.stringMatching(/subscribe to \$SYS.*the default ACL/)] });
  const sys = ['publishClientReceive', 'subscribePattern'].map((aclType) => ({
    aclType,
    topic: '$SYS/#',
    allow: true,
  }));
  const roles = [{ ...ADMIN, acls: [...ADMIN.acls, ...sys] }];
  const byRole = diff(document({ defaultAcl: defaults, roles }), document({ defaultAcl: closed, roles }));
  expect(byRole.changes.map(({ kind }) => kind)).toEqual(['SET_DEFAULT_ACL']);
  // It cannot subscribe anyway.
  const deaf = { ...closed, publishClientReceive: false };
  expect(diff(document(), document({ defaultAcl: deaf })).changes).toHaveLength(1);
});

test('connected without user name this service keeps the anonymous group that it has its rights by', () => {
  const groups = [
    { groupname: 'service', roles: [{ name: 'admin' }] },
    { groupname: 'guests' },
    { groupname: 'admins', roles: [{ name: 'admin' }] },
  ];
  const from = document({ anonymousGroup: 'service', groups });
  const anonymous = { gatewayUsername: null };
  const refused = diff(from, document({ anonymousGroup: 'guests', groups }), anonymous);
  expect(refused).toMatchObject({ changes: [], notes: [expect.stringContaining('the anonymous group')] });
  expect(diff(from, document({ anonymousGroup: 'admins', groups }), anonymous).changes).toHaveLength(1);
  expect(diff(from, document({ anonymousGroup: 'guests', groups })).changes).toHaveLength(1);
});

test('passwords are for accounts that are made; those that are there keep theirs', () => {
  const to = document({ clients: [GATEWAY, { username: 'ann' }] });
  const passwords = new Map([
    ['ann', 'pw'],
    ['nobody', 'pw'],
  ]);
  expect(diff(document(), to, { passwords })).toMatchObject({
    changes: [{ kind: 'PUT_CLIENT', fields: { password: 'pw' } }],
    notes: [expect.stringContaining('"nobody"')],
    needPassword: [],
  });
  const again = diff(to, to, { passwords });
  expect(again.changes).toEqual([]);
  expect(again.notes.join()).toMatch(/"ann".*"nobody"/s);
  expect(again.notes.join()).toContain('--set-passwords');
});

test('given passwords are set of accounts that are there too, when that is asked for, but not of our own', () => {
  const passwords = new Map([
    ['ann', 'pw'],
    ['eve', 'pw'],
    ['gateway', 'pw'],
  ]);
  const from = document({ clients: [GATEWAY, { username: 'ann' }, { username: 'bob' }, { username: 'eve' }] });
  const to = document({
    clients: [GATEWAY, { username: 'ann' }, { username: 'bob' }, { username: 'eve', textName: 'Eve' }],
  });
  const { changes, notes, needPassword } = diff(from, to, { passwords, setPasswords: true });
  expect(changes).toEqual([
    { kind: 'PUT_CLIENT', username: 'ann', mode: 'UPDATE', fields: { password: 'pw' } },
    { kind: 'PUT_CLIENT', username: 'eve', mode: 'UPDATE', fields: { textName: 'Eve', password: 'pw' } },
  ]);
  expect(notes).toEqual([expect.stringContaining('"gateway"')]);
  expect(needPassword).toEqual([]);
  // It is not known which password an account has, so they are set each time.
  expect(diff(to, to, { passwords, setPasswords: true }).changes).toHaveLength(2);
});

test('what Mosquitto 2.0 cannot hold is left out and noted, and 2.1 gets it with a note', () => {
  const acls = [
    { aclType: 'publishClientSend', topic: 'a/%c', allow: true },
    { aclType: 'subscribeLiteral', topic: 'a/%c', allow: true },
  ];
  const to = document({ roles: [ADMIN, { rolename: 'r', allowWildcardSubs: false, acls }] });
  const held = (rules: readonly object[]) => rules.map((rule) => ({ ...rule, priority: 0 }));
  const old = diff(document(), to, {}, MOSQUITTO_2_0);
  expect(old.changes).toEqual([
    { kind: 'PUT_ROLE', roleName: 'r', mode: 'CREATE', fields: { acls: held(acls.slice(1)) } },
  ]);
  expect(old.notes).toEqual([
    expect.stringMatching(/grant access.*"r"\.$/),
    expect.stringMatching(/^(?!.*grant access).*"a\/%c" of "r"\.$/),
  ]);
  const denial = { aclType: 'publishClientSend', topic: 'secret/%u/#', allow: false };
  const opening = document({ roles: [ADMIN, { rolename: 'r', acls: [...acls, denial] }] });
  expect(diff(document(), opening, {}, MOSQUITTO_2_0).notes).toEqual([
    expect.stringMatching(/^(?!.*grant access).*"a\/%c" of "r"\.$/),
    expect.stringMatching(/grant access.*"secret\/%u\/#" of "r"\.$/),
  ]);
  const current = diff(document(), to);
  expect(current.changes).toEqual([
    { kind: 'PUT_ROLE', roleName: 'r', mode: 'CREATE', fields: { allowWildcardSubs: false, acls: held(acls) } },
  ]);
  // A source of Mosquitto 2.0 means the rule literally.
  expect(current.notes).toEqual([expect.stringMatching(/replaces %c and %u.*"a\/%c" of "r"\.$/)]);
  // Another client created the rule, so it stays unchanged.
  const there = document({ roles: [ADMIN, { rolename: 'r', acls }] });
  expect(diff(there, to, {}, MOSQUITTO_2_0).changes).toEqual([]);
  // The same for the flag, if another node of the cluster is older.
  const both = diff(to, to, {}, { ...MOSQUITTO_2_1, substitution: false, wildcardFlag: false });
  expect([both.changes, diff(to, to).notes]).toEqual([[], []]);
  expect(diff(to, there, {}, MOSQUITTO_2_1).changes).toEqual([
    { kind: 'PUT_ROLE', roleName: 'r', mode: 'UPDATE', fields: { allowWildcardSubs: true } },
  ]);
});

test('an anonymous group that cannot be unset is emptied when others are deleted, and left alone otherwise', () => {
  const groups = [{ groupname: 'guests', roles: [{ name: 'admin' }] }];
  const from = document({ anonymousGroup: 'guests', groups });
  const left = diff(from, document());
  expect(left).toMatchObject({ changes: [], notes: [expect.stringContaining('"guests"')] });
  const emptied = diff(from, document(), { deleteOthers: true });
  expect(emptied.changes).toEqual([{ kind: 'PUT_GROUP', groupName: 'guests', mode: 'UPDATE', fields: { roles: [] } }]);
  expect(emptied.notes).toMatchObject([expect.stringContaining('"guests"')]);
  const ownWay = diff(from, document(), { deleteOthers: true, gatewayUsername: null });
  expect(ownWay).toMatchObject({ changes: [], notes: [expect.stringContaining('group "guests"')] });
});

test('however many objects a note concerns, it names a few', () => {
  const clients = Array.from({ length: 500 }, (_, i) => ({ username: `c${i}` }));
  const passwords = new Map(clients.map(({ username }) => [username, 'pw']));
  const to = document({ clients: [GATEWAY, ...clients] });
  const { notes } = diff(to, to, { passwords });
  expect(notes).toHaveLength(1);
  expect(notes[0]).toMatch(/and 480 more\.$/);
});

test('from any policy to any document: the changes lead there, and then there are none', () => {
  fc.assert(
    fc.property(anyDocument, anyDocument, fc.constantFrom(MOSQUITTO_2_0, MOSQUITTO_2_1), (one, other, dialect) => {
      const from = policyOf(documentOf(policyOf(holdableBy(dialect, one))));
      const to = parseDocument(holdableBy(dialect, other));
      const options = { ...OPTIONS, deleteOthers: true, gatewayUsername: 'nobody' };
      const { changes } = diffAccess(from, dialect, to, options);
      const plan = planChanges(from, dialect, changes, options);
      expect(plan.changes.filter(({ error }) => error !== null)).toEqual([]);
      const after = documentOf(plan.after);
      // A broker keeps its anonymous group for ever.
      const anonymousGroup = to.anonymousGroup ?? from.anonymousGroup;
      if (anonymousGroup === null || to.anonymousGroup !== undefined) expect(after).toEqual(to);
      else {
        const others = after.groups.filter(({ groupname }) => to.groups.some((group) => group.groupname === groupname));
        expect({ ...after, groups: others }).toEqual({ ...to, anonymousGroup });
      }
      expect(diffAccess(plan.after, dialect, to, options).changes).toEqual([]);
    }),
    { numRuns: runs(500) },
  );
});

function holdableBy(dialect: typeof MOSQUITTO_2_0, of: AccessDocument): AccessDocument {
  if (dialect.substitution) return of;
  const roles = of.roles.map(({ allowWildcardSubs: _, ...role }) => ({
    ...role,
    acls: (role.acls ?? []).filter(({ topic }) => !topic.includes('%c')),
  }));
  return { ...of, roles };
}
