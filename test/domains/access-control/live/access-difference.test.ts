import { expect, test } from 'vitest';
import {
  accessDifference,
  differenceParts,
  NO_DIFFERENCE,
} from '../../../../src/domains/access-control/live/access-difference.ts';
import { runSync } from '../../../../src/platform/scheduling/sliced-task.ts';
import type { AccessPolicy } from '../../../../src/protocol/apis/access-control/access-model.ts';

const texts = { textName: null, textDescription: null };
const account = (username: string, disabled = false) =>
  [username, { ...texts, username, clientId: null, disabled, roles: [], groups: [] }] as const;
const group = (groupname: string) => [groupname, { ...texts, groupname, roles: [] }] as const;
const ACL = { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true };
const policy = (more: Partial<AccessPolicy> = {}): AccessPolicy => ({
  clients: new Map(),
  groups: new Map(),
  roles: new Map(),
  defaultAcl: ACL,
  anonymousGroup: null,
  ...more,
});

test('equal policies differ in nothing, and names like those of properties are names', () => {
  const clients = () => new Map([account('a'), account('__proto__'), account('constructor')]);
  expect(runSync(accessDifference(policy({ clients: clients() }), policy({ clients: clients() })))).toEqual(
    NO_DIFFERENCE,
  );
  const { changed, removed } = runSync(accessDifference(policy(), policy({ clients: clients() })));
  expect([changed.clients, removed.clients]).toEqual([['a', '__proto__', 'constructor'], []]);
});

test('the former and the new anonymous group are changed groups', () => {
  const groups = new Map([group('a'), group('b')]);
  const before = policy({ groups, anonymousGroup: 'a' });
  const { changed } = runSync(accessDifference(before, policy({ groups, anonymousGroup: 'b' })));
  expect(changed.groups).toEqual(['a', 'b']);
});

test('a difference of many objects is split into parts of at most 500 names, without losing one', () => {
  const many = (from: number, to: number) =>
    new Map(Array.from({ length: to - from }, (_, n) => account(`c${from + n}`)));
  const before = policy({ clients: many(0, 1_200) });
  const now = policy({ clients: many(700, 2_000), defaultAcl: { ...ACL, subscribe: true } });
  const parts = differenceParts(runSync(accessDifference(before, now)));
  const all = (list: 'changed' | 'removed') => parts.flatMap((part) => part[list].clients);
  expect(all('changed')).toEqual([...many(1_200, 2_000).keys()]);
  expect(all('removed')).toEqual([...many(0, 700).keys()]);
  expect(parts.filter(({ isDefaultAclChanged }) => isDefaultAclChanged)).toHaveLength(1);
  expect(Math.max(...parts.map(({ changed, removed }) => changed.clients.length + removed.clients.length))).toBe(500);
});
