import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AccessView } from '../../../../src/domains/access-control/graph/access-view.ts';
import type { AccessPolicy } from '../../../../src/domains/access-control/policy/access-model.ts';
import type { AccessSnapshot } from '../../../../src/domains/access-control/reading/access-index.ts';
import {
  AccessLists,
  type AccountFilterTarget,
  type GroupFilterTarget,
  type RoleFilterTarget,
} from '../../../../src/domains/access-control/reading/access-lists.ts';
import {
  dialectOf,
  parseClient,
  parseGroup,
  parseRole,
} from '../../../../src/domains/access-control/reading/dynsec-control.ts';
import type { BrokerRecord } from '../../../../src/domains/brokers/broker-cache.ts';
import type { FilterMode } from '../../../../src/platform/text/text-filter.ts';

function snapshotOf(
  clients: readonly unknown[],
  groups: readonly unknown[] = [],
  roles: readonly unknown[] = [],
): AccessSnapshot {
  const policy: AccessPolicy = {
    clients: new Map(clients.flatMap((item) => parseClient(item) ?? []).map((client) => [client.username, client])),
    groups: new Map(groups.flatMap((item) => parseGroup(item) ?? []).map((group) => [group.groupname, group])),
    roles: new Map(roles.flatMap((item) => parseRole(item) ?? []).map((role) => [role.rolename, role])),
    defaultAcl: { publishClientSend: false, publishClientReceive: false, subscribe: false, unsubscribe: false },
    anonymousGroup: null,
  };
  const lists = new AccessLists(policy);
  return {
    policy,
    lists,
    dialect: dialectOf(null, null),
    asOf: 0,
    changeIndex: null,
    brokerVersion: null,
    isSettled: true,
    unreadable: 0,
  };
}

const viewOf = (snapshot: AccessSnapshot) =>
  new AccessView({ id: 'brk_1' } as BrokerRecord, snapshot, () => Promise.reject(new Error('not connected')));

const SMALL = snapshotOf(
  [
    { username: 'bob', clientid: 'sensor-1', textname: 'Bob', roles: ['reader'], groups: [{ groupname: 'floor' }] },
    { username: 'Alice', textdescription: 'on the second floor', roles: ['writer', 'reader'] },
    { username: 'carol' },
  ],
  [{ groupname: 'floor', textname: 'Second', roles: ['reader'] }, { groupname: 'empty' }],
  [
    { rolename: 'reader', acls: [{ acltype: 'subscribePattern', topic: 'floor/#' }] },
    { rolename: 'writer', textname: 'W', acls: [] },
  ],
);

const names = (value: string, mode: FilterMode, target: AccountFilterTarget) =>
  viewOf(SMALL)
    .accounts({ filter: { value, mode, target } })
    .edges.map(({ node }) => node.object.username);

test('clients are filtered by each target and mode, in the case that was given', () => {
  expect(
    viewOf(SMALL)
      .accounts({})
      .edges.map(({ cursor }) => cursor),
  ).toEqual(['Alice', 'bob', 'carol']);
  expect(names('o', 'contains', 'username')).toEqual(['bob', 'carol']);
  expect(names('alice', 'equals', 'username')).toEqual([]);
  expect(names('Alice', 'equals', 'username')).toEqual(['Alice']);
  expect(names('sensor', 'startsWith', 'clientid')).toEqual(['bob']);
  expect(names('-1', 'endsWith', 'clientid')).toEqual(['bob']);
  expect(names('Bob', 'equals', 'textname')).toEqual(['bob']);
  expect(names('floor', 'endsWith', 'textdescription')).toEqual(['Alice']);
  expect(names('reader', 'equals', 'rolename')).toEqual(['Alice', 'bob']);
  expect(names('floor', 'equals', 'groupname')).toEqual(['bob']);
  // By name where nothing else is said, and an empty value is no filter.
  expect(viewOf(SMALL).accounts({ filter: { value: 'aro' } }).totalCount).toBe(1);
  expect(names('', 'equals', 'clientid')).toHaveLength(3);
});

test('groups are filtered by members too, roles by the topics of their rules', () => {
  const groups = (value: string, target: GroupFilterTarget) =>
    viewOf(SMALL)
      .groups({ filter: { value, target } })
      .edges.map(({ node }) => node.object.groupname);
  expect(viewOf(SMALL).groups({}).totalCount).toBe(2);
  expect(groups('bob', 'username')).toEqual(['floor']);
  expect(groups('reader', 'rolename')).toEqual(['floor']);
  expect(groups('Sec', 'textname')).toEqual(['floor']);
  expect(groups('x', 'textdescription')).toEqual([]);
  const roles = (value: string, target: RoleFilterTarget) =>
    viewOf(SMALL)
      .roles({ filter: { value, target } })
      .edges.map(({ node }) => node.object.rolename);
  expect(roles('floor/', 'topic')).toEqual(['reader']);
  expect(roles('W', 'textname')).toEqual(['writer']);
  expect(roles('er', 'rolename')).toEqual(['reader', 'writer']);
});

test('walking the pages gives each entry of a plainly filtered list once, in order, and the same total on each', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', 'B', '/', 'ü', '😀', '\uffff'), maxLength: 4 });
  fc.assert(
    fc.property(
      fc.uniqueArray(name),
      name,
      fc.constantFrom<FilterMode>('contains', 'equals', 'startsWith', 'endsWith'),
      fc.integer({ min: 1, max: 4 }),
      (usernames, value, mode, first) => {
        const snapshot = snapshotOf(usernames.map((username) => ({ username })));
        const fits = (text: string) =>
          value === '' ||
          {
            contains: text.includes(value),
            equals: text === value,
            startsWith: text.startsWith(value),
            endsWith: text.endsWith(value),
          }[mode];
        const expected = usernames.filter(fits).sort();
        const seen: string[] = [];
        let after: string | null = null;
        for (;;) {
          const page = viewOf(snapshot).accounts({ first, after, filter: { value, mode } });
          expect(page.totalCount).toBe(expected.length);
          seen.push(...page.edges.map(({ cursor }) => cursor));
          if (!page.pageInfo.hasNextPage) break;
          after = page.pageInfo.endCursor;
        }
        expect(seen).toEqual(expected);
      },
    ),
  );
});

test('a cursor stays true when its entry has gone, and the filtered list is kept for the next page', () => {
  const before = snapshotOf(['a', 'b', 'c'].map((username) => ({ username })));
  const { endCursor } = viewOf(before).accounts({ first: 2 }).pageInfo;
  const after = snapshotOf(['a', 'aa', 'c'].map((username) => ({ username })));
  expect(
    viewOf(after)
      .accounts({ after: endCursor })
      .edges.map(({ cursor }) => cursor),
  ).toEqual(['c']);
  const filter = { value: 'a', mode: 'contains', target: 'username' } as const;
  const list = after.lists.accounts(filter);
  expect(after.lists.accounts({ ...filter })).toBe(list);
  for (let n = 0; n < 8; n++) after.lists.accounts({ ...filter, value: `${n}` });
  expect(after.lists.accounts(filter)).not.toBe(list);
  expect(after.lists.accounts(filter)).toEqual(list);
  expect(() => viewOf(after).accounts({ first: -1 })).toThrow(expect.objectContaining({ code: 'INVALID' }));
});
