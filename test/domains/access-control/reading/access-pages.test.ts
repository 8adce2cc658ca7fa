import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AccessView } from '../../../../src/domains/access-control/graph/access-view.ts';
import type { AccessSnapshot } from '../../../../src/domains/access-control/reading/access-index.ts';
import {
  AccessLists,
  type AccountFilter,
  type AccountFilterTarget,
  type GroupFilterTarget,
  type RoleFilterTarget,
} from '../../../../src/domains/access-control/reading/access-lists.ts';
import type { BrokerRecord } from '../../../../src/domains/brokers/broker-cache.ts';
import type { FilterMode } from '../../../../src/platform/text/text-filter.ts';
import type { AccessPolicy } from '../../../../src/protocol/apis/access-control/access-model.ts';
import {
  dialectOf,
  parseClient,
  parseGroup,
  parseRole,
} from '../../../../src/protocol/apis/access-control/dynsec-control.ts';
import { keyIn } from '../../../support/cursors.ts';

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
    { username: 'carol', textname: 'Ä (.*', disabled: true },
  ],
  [{ groupname: 'floor', textname: 'Second', roles: ['reader'] }, { groupname: 'empty' }],
  [
    { rolename: 'reader', acls: [{ acltype: 'subscribePattern', topic: 'floor/#' }] },
    { rolename: 'writer', textname: 'W', acls: [] },
  ],
);

const usernames = async (filter: AccountFilter) =>
  (await viewOf(SMALL).accounts({ filter })).edges.map(({ cursor }) => keyIn(cursor));
const names = (value: string, mode: FilterMode, target: AccountFilterTarget) => usernames({ value, mode, target });

test('clients are filtered by each target and mode, in the case that was given', async () => {
  expect(await usernames({})).toEqual(['Alice', 'bob', 'carol']);
  expect(await names('o', 'contains', 'username')).toEqual(['bob', 'carol']);
  expect(await names('alice', 'equals', 'username')).toEqual([]);
  expect(await names('Alice', 'equals', 'username')).toEqual(['Alice']);
  expect(await names('sensor', 'startsWith', 'clientid')).toEqual(['bob']);
  expect(await names('-1', 'endsWith', 'clientid')).toEqual(['bob']);
  expect(await names('Bob', 'equals', 'textname')).toEqual(['bob']);
  expect(await names('floor', 'endsWith', 'textdescription')).toEqual(['Alice']);
  expect(await names('reader', 'equals', 'rolename')).toEqual(['Alice', 'bob']);
  expect(await names('floor', 'equals', 'groupname')).toEqual(['bob']);
  // By name where nothing else is said, and an empty value is no filter.
  expect(await usernames({ value: 'aro' })).toEqual(['carol']);
  expect(await names('', 'equals', 'clientid')).toHaveLength(3);
});

test('accounts are found by all conditions together, and by a part of any text in any case', async () => {
  expect(await usernames({ enabled: false })).toEqual(['carol']);
  expect(await usernames({ enabled: true })).toEqual(['Alice', 'bob']);
  expect(await usernames({ groupName: 'floor' })).toEqual(['bob']);
  expect(await usernames({ roleName: 'reader' })).toEqual(['Alice', 'bob']);
  expect(await usernames({ roleName: 'reader', groupName: 'floor' })).toEqual(['bob']);
  expect(await usernames({ roleName: 'writer', groupName: 'floor' })).toEqual([]);
  expect(await usernames({ roleName: 'read' })).toEqual([]);
  expect(await usernames({ search: 'BO' })).toEqual(['bob']);
  expect(await usernames({ search: 'SENSOR-' })).toEqual(['bob']);
  expect(await usernames({ search: 'Second' })).toEqual(['Alice']);
  expect(await usernames({ search: 'ä (.*' })).toEqual(['carol']);
  expect(await usernames({ search: '.' })).toEqual(['carol']);
  expect(await usernames({ search: '' })).toEqual(['Alice', 'bob', 'carol']);
  expect(await usernames({ search: 'o', value: 'b', enabled: true })).toEqual(['bob']);
  expect(await usernames({ search: null, value: null, enabled: null, groupName: null, roleName: null })).toHaveLength(
    3,
  );
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

test('walking the pages gives each entry of a filtered list once, in either order, and the same total on each', async () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', 'B', '/', 'ü', '😀', '\uffff'), maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(name),
      name,
      fc.constantFrom<FilterMode>('contains', 'equals', 'startsWith', 'endsWith'),
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom<'asc' | 'desc'>('asc', 'desc'),
      async (usernames, value, mode, size, order) => {
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
        if (order === 'desc') expected.reverse();
        const view = viewOf(snapshot);
        const filter = { value, mode };
        const seen: string[] = [];
        let after: string | null = null;
        for (;;) {
          const page = await view.accounts({ first: size, after, filter, orderBy: { order } });
          expect(page.totalCount).toBe(expected.length);
          expect(page.pageInfo.hasPreviousPage).toBe(seen.length > 0);
          seen.push(...page.edges.map(({ cursor }) => keyIn(cursor)));
          if (!page.pageInfo.hasNextPage) break;
          after = page.pageInfo.endCursor;
        }
        expect(seen).toEqual(expected);
        const back: string[] = [];
        let before: string | null = null;
        for (;;) {
          const page = await view.accounts({ last: size, before, filter, orderBy: { order } });
          back.unshift(...page.edges.map(({ cursor }) => keyIn(cursor)));
          if (!page.pageInfo.hasPreviousPage) break;
          before = page.pageInfo.startCursor;
        }
        expect(back).toEqual(expected);
      },
    ),
  );
});

test('a cursor stays true when its entry has gone, and the filtered list is kept for the next page', async () => {
  const before = snapshotOf(['a', 'b', 'c'].map((username) => ({ username })));
  const { endCursor } = (await viewOf(before).accounts({ first: 2 })).pageInfo;
  const after = snapshotOf(['a', 'aa', 'c'].map((username) => ({ username })));
  const next = async (order: 'asc' | 'desc') =>
    (await viewOf(after).accounts({ after: endCursor, orderBy: { order } })).edges.map(({ cursor }) => keyIn(cursor));
  expect(await next('asc')).toEqual(['c']);
  await expect(next('desc')).rejects.toThrow('after');
  const filter = { value: 'a', mode: 'contains', target: 'username' } as const;
  const list = after.lists.accounts(filter);
  expect(after.lists.accounts({ ...filter })).toBe(list);
  for (let n = 0; n < 8; n++) after.lists.accounts({ ...filter, value: `${n}` });
  expect(after.lists.accounts(filter)).not.toBe(list);
  expect(after.lists.accounts(filter)).toEqual(list);
  const found = await after.lists.matchingAccounts({ search: 'A' });
  expect(await after.lists.matchingAccounts({ search: 'A' })).toBe(found);
  await expect(viewOf(after).accounts({ first: -1 })).rejects.toMatchObject({ code: 'INVALID' });
});

test('a search in 100,000 accounts lets other work run, and its further pages are not searched again', async () => {
  const accounts = Array.from({ length: 100_000 }, (_, n) => ({
    username: `device-${String(n).padStart(6, '0')}`,
    textname: `Device ${n} of hall ${n % 50}`,
    textdescription: 'A long note about this device. '.repeat(8),
  }));
  const snapshot = snapshotOf(accounts);
  const view = viewOf(snapshot);
  await view.accounts({ first: 1 });
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  count();
  const filter = { search: 'HALL 42' };
  const { edges, totalCount, pageInfo } = await view.accounts({ first: 50, filter, orderBy: { order: 'desc' } });
  isDone = true;
  expect(turns).toBeGreaterThan(1);
  expect([totalCount, edges.length, keyIn(edges[0]?.cursor)]).toEqual([2_000, 50, 'device-099992']);
  const list = await snapshot.lists.matchingAccounts(filter);
  expect(list).toHaveLength(2_000);
  const second = await view.accounts({ first: 1, after: pageInfo.endCursor, filter, orderBy: { order: 'desc' } });
  expect(keyIn(second.edges[0]?.cursor)).toBe('device-097492');
  expect(await snapshot.lists.matchingAccounts(filter)).toBe(list);
});
