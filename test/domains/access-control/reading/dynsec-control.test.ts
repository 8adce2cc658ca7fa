import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { AccessIndex } from '../../../../src/domains/access-control/reading/access-index.ts';
import { ACL_TYPES } from '../../../../src/protocol/apis/access-control/access-model.ts';
import {
  dialectOf,
  parseClient,
  parseDefaultAcl,
  parseDetails,
  parseGroup,
  parseRole,
} from '../../../../src/protocol/apis/access-control/dynsec-control.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { parseAnonymousGroup } from '../../../../src/protocol/control/dynamic-security.ts';
import { connectedLink } from '../../../support/link.ts';
import { startDynsec } from './scripted-dynsec.ts';

test('what Mosquitto leaves out and what the commercial plugin always says mean the same', () => {
  const short = {
    username: 'u',
    roles: [{ rolename: 'r' }, { rolename: 'q', priority: 4 }],
    groups: [{ groupname: 'g', priority: 2 }],
  };
  const long = {
    username: 'u',
    clientid: '',
    textname: '',
    textdescription: '',
    disabled: false,
    roles: [
      { rolename: 'q', priority: 4 },
      { rolename: 'r', priority: -1 },
    ],
    groups: [{ groupname: 'g', priority: 2 }],
    connections: [{ address: '127.0.0.1' }],
  };
  const client = {
    username: 'u',
    clientId: null,
    textName: null,
    textDescription: null,
    disabled: false,
    roles: [
      { name: 'q', priority: 4 },
      { name: 'r', priority: -1 },
    ],
    groups: [{ name: 'g', priority: 2 }],
  };
  expect(parseClient(short)).toEqual(client);
  expect(parseClient({ client: long })).toEqual(client);
  expect(parseClient('u')).toMatchObject({ username: 'u', roles: [], groups: [] });
  expect(parseClient({ username: 'u', roles: ['b', 'a'], groups: null })).toMatchObject({
    roles: [
      { name: 'a', priority: -1 },
      { name: 'b', priority: -1 },
    ],
    groups: [],
  });
});

test('a group has its members, and a role has its rules in the order of the broker', () => {
  expect(parseGroup({ group: { groupname: 'g', clients: [{ username: 'u' }, 'v'] } })).toEqual({
    groupname: 'g',
    textName: null,
    textDescription: null,
    roles: [],
    members: ['u', 'v'],
  });
  const acls = [
    { acltype: 'SubscribePattern', topic: 'b', priority: 0, allow: true },
    { acltype: 'subscribePattern', topic: 'a' },
    { acltype: 'unknown', topic: 'c' },
    { acltype: 'subscribePattern' },
    null,
  ];
  expect(parseRole({ role: { rolename: 'r', allowwildcardsubs: false, acls } })).toEqual({
    rolename: 'r',
    textName: null,
    textDescription: null,
    allowWildcardSubs: false,
    acls: [
      { aclType: 'subscribePattern', topic: 'b', priority: 0, allow: true },
      { aclType: 'subscribePattern', topic: 'a', priority: 0, allow: false },
    ],
  });
  expect(parseRole({ rolename: 'r' })).toMatchObject({ allowWildcardSubs: null, acls: [] });
  expect(parseAnonymousGroup({ group: { groupname: '' } })).toBeNull();
  expect(parseAnonymousGroup({ group: { groupname: 'g' } })).toBe('g');
  expect(parseDetails({ changeIndex: 3 })).toEqual({ changeIndex: 3 });
});

test.each([
  [
    null,
    null,
    {
      substitution: false,
      changeIndex: false,
      writesPerPayload: 10,
      isSoleAuthority: false,
      isAssumed: true,
    },
  ],
  [null, 'mosquitto version 2.0.11', { substitution: false, isAssumed: false }],
  [null, 'mosquitto version 2.0.15', { substitution: false, writesPerPayload: 10 }],
  [null, 'mosquitto version 2.1.2', { substitution: true, changeIndex: false, isAssumed: true, writesPerPayload: 200 }],
  [null, 'mosquitto version 3.0', { wildcardFlag: true, disconnectsOnRoleAcls: true, wildcardsExcludeDollar: true }],
  [null, 'another broker 9.9', { substitution: false, isAssumed: true }],
  [{ changeIndex: 7 }, null, { substitution: true, isAssumed: false, changeIndex: true, writesPerPayload: 200 }],
  [{ changeIndex: null }, null, { substitution: true, changeIndex: false }],
  [{ changeIndex: 7 }, 'brokergraph embedded 1.0.0', { invalidRulesDeny: false, isSoleAuthority: true }],
  [{ changeIndex: 7 }, 'mosquitto version 2.1.2', { invalidRulesDeny: true, isSoleAuthority: false }],
])('details %o and version %s are a dialect', (details, version, dialect) => {
  expect(dialectOf(details, version)).toMatchObject(dialect);
});

const anything = fc.anything({ withNullPrototype: true, withDate: true });
const hostile = fc.oneof(
  anything,
  fc.record({
    username: fc.oneof(fc.string(), anything),
    groupname: fc.oneof(fc.string(), anything),
    rolename: fc.oneof(fc.string(), anything),
    roles: fc.oneof(anything, fc.array(anything)),
    groups: fc.oneof(anything, fc.array(fc.record({ groupname: fc.string(), priority: anything }))),
    clients: fc.oneof(anything, fc.array(anything)),
    acls: fc.oneof(
      anything,
      fc.array(fc.record({ acltype: fc.oneof(fc.constantFrom(...ACL_TYPES), anything), topic: anything })),
    ),
    disabled: anything,
    clientid: anything,
    changeIndex: anything,
  }),
);

test('any answer is parsed into what it claims or nothing', () => {
  const isText = (value: unknown) => value === null || typeof value === 'string';
  const areMemberships = (list: readonly { name: unknown; priority: unknown }[] | undefined) =>
    (list ?? []).every(({ name, priority }) => typeof name === 'string' && Number.isInteger(priority));
  fc.assert(
    fc.property(hostile, (data) => {
      for (const value of [data, { client: data, group: data, role: data }]) {
        const client = parseClient(value);
        expect(typeof (client?.username ?? '')).toBe('string');
        expect(isText(client?.clientId ?? null) && typeof (client?.disabled ?? false) === 'boolean').toBe(true);
        expect(areMemberships(client?.roles) && areMemberships(client?.groups)).toBe(true);
        const group = parseGroup(value);
        expect(areMemberships(group?.roles)).toBe(true);
        expect(group?.members.every((name) => typeof name === 'string') ?? true).toBe(true);
        for (const { aclType, topic, priority, allow } of parseRole(value)?.acls ?? []) {
          expect(ACL_TYPES).toContain(aclType);
          expect(typeof topic).toBe('string');
          expect(Number.isInteger(priority)).toBe(true);
          expect(typeof allow).toBe('boolean');
        }
        expect(isText(parseAnonymousGroup(value))).toBe(true);
        expect(Object.values(parseDefaultAcl(value)).every((allow) => typeof allow === 'boolean')).toBe(true);
        expect(Number.isFinite(parseDetails(value).changeIndex ?? 0)).toBe(true);
      }
    }),
  );
});

test('entries that cannot be parsed are counted, and the others are returned', async () => {
  const broker = await startDynsec({ clients: 3 });
  broker.clients.set('garbage', { username: 7 });
  broker.clients.set('null', null);
  broker.clients.set('twice', { username: 'c0001' });
  broker.roles.set('r', ['not a role']);
  const link = await connectedLink({ url: broker.url });
  const controls = new BrokerControls(link, { timeoutMs: 30_000 });
  const index = new AccessIndex({ controls, session: link });
  onTestFinished(async () => {
    index.close();
    await controls.close();
  });
  const snapshot = await index.read();
  expect([...snapshot.policy.clients.keys()]).toEqual(['c0000', 'c0001', 'c0002']);
  expect(snapshot).toMatchObject({ unreadable: 4, isSettled: true });
});
