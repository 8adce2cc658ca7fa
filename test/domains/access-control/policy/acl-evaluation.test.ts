import { describe, expect, test } from 'vitest';
import type { AccessAction } from '../../../../src/protocol/apis/access-control/access-explanation.ts';
import type { AccessDialect, AccessRole } from '../../../../src/protocol/apis/access-control/access-model.ts';
import { compareNames, rolesInOrder } from '../../../../src/protocol/apis/access-control/access-order.ts';
import {
  bindRole,
  brokerRefuses,
  compileRole,
  decide,
  defaultAllows,
} from '../../../../src/protocol/apis/access-control/acl-evaluation.ts';
import { compareInvalid, resultFor } from '../../../../src/protocol/apis/access-control/invalid-filter.ts';
import { MOSQUITTO_2_0, MOSQUITTO_2_1 } from '../dialects.ts';
import { NOTHING, rule } from './policy-builder.ts';

const role = (rules: readonly string[], allowWildcardSubs = true): AccessRole => ({
  rolename: 'role',
  textName: null,
  textDescription: null,
  allowWildcardSubs,
  acls: rules.map(rule),
});

function ask(
  rules: readonly string[],
  action: AccessAction,
  topic: string,
  dialect: AccessDialect = MOSQUITTO_2_1,
  identity = { username: 'user' as string | null, clientId: 'id' },
) {
  return decide([bindRole(compileRole(role(rules), dialect), identity)], action, topic);
}

describe('rules of a role', () => {
  test('go by priority, and equals by their place', () => {
    expect(ask(['send a', 'no send @1 a/#'], 'PUBLISH', 'a')).toBe(false);
    expect(ask(['send a', 'no send a/#'], 'PUBLISH', 'a')).toBe(true);
    expect(ask(['no send a/#', 'send a'], 'PUBLISH', 'a')).toBe(false);
    expect(ask(['send b'], 'PUBLISH', 'a')).toBeNull();
  });

  test('only speak of their own action', () => {
    const everything = ['send #', 'no receive #', 'subscribe #', 'no unsubscribe #'];
    expect(ask(everything, 'PUBLISH', 'a')).toBe(true);
    expect(ask(everything, 'RECEIVE', 'a')).toBe(false);
    expect(ask(everything, 'SUBSCRIBE', 'a')).toBe(true);
    expect(ask(everything, 'UNSUBSCRIBE', 'a')).toBe(false);
  });

  test('for exactly one filter come before patterns of any priority, in their own role', () => {
    const rules = [
      'no subscribe @9 a/#',
      'subscribe-literal @-5 a/+',
      'no unsubscribe @9 #',
      'unsubscribe-literal a/#',
    ];
    expect(ask(rules, 'SUBSCRIBE', 'a/+')).toBe(true);
    expect(ask(rules, 'SUBSCRIBE', 'a/b')).toBe(false);
    expect(ask(rules, 'UNSUBSCRIBE', 'a/#')).toBe(true);
    expect(ask(rules, 'UNSUBSCRIBE', 'a')).toBe(false);
    const roles = [role(['no subscribe #']), role(['subscribe-literal a'])].map((one) =>
      compileRole(one, MOSQUITTO_2_1),
    );
    expect(decide(roles, 'SUBSCRIBE', 'a')).toBe(false);
  });
});

test.each([
  ['#', 'a/b', true],
  ['#', '$SYS/a', false],
  ['+/a', '$SYS/a', false],
  ['$SYS/#', '$SYS/a', true],
  ['$SYS/+', '$SYS/a', true],
  ['a/#', 'a', true],
  ['a/#', 'ab', false],
  ['a/+', 'a/', true],
  ['a/+', 'a', false],
  ['+/+', '/', true],
  ['+', '/a', false],
  ['a//#', 'a/', true],
])('a rule for messages on %j says of %j: %j', (filter, topic, matches) => {
  for (const dialect of [MOSQUITTO_2_0, MOSQUITTO_2_1]) {
    expect(ask([`send ${filter}`], 'PUBLISH', topic, dialect)).toBe(matches || null);
    expect(ask([`receive ${filter}`], 'RECEIVE', topic, dialect)).toBe(matches || null);
  }
});

test.each([
  // No filters, but brokers take them with createRole; before 2.1 one of them matches something.
  ['a/#/b', 'a/x/b', null, false],
  ['a+', 'ab', null, false],
  ['a/+/#x', 'a/b', true, true],
  ['a/+/#x', 'a/b/c', null, false],
  ['', 'a', null, false],
  ['%c/#/b', 'id/x/b', null, false],
  ['%c/#/b', 'identity/x/b', null, false],
  ['%c/#/b', 'x/id/b', null, null],
])('an invalid rule for messages on %j says of %j: %j before 2.1, then %j', (filter, topic, old, current) => {
  for (const [dialect, decision] of [[MOSQUITTO_2_0, old] as const, [MOSQUITTO_2_1, current] as const]) {
    expect(ask([`send ${filter}`], 'PUBLISH', topic, dialect)).toBe(decision);
    expect(ask([`receive ${filter}`], 'RECEIVE', topic, dialect)).toBe(decision);
  }
});

test.each([
  // filter of the rule, subscription, 2.0, 2.1
  ['#', '#', true, true],
  ['#', '+/a', true, true],
  ['#', '$SYS/#', true, false],
  ['#', '$share/g/a', true, false],
  ['+/#', '$SYS/#', true, false],
  ['+/#', '#', true, false],
  ['/#', '#', true, false],
  ['/#', '/a/#', true, true],
  ['a/#', 'a', true, true],
  ['a/#', 'a/+/#', true, true],
  ['a/#', '#', false, false],
  ['a/+', 'a/+', true, true],
  ['a/+', 'a/b', true, true],
  ['a/+', 'a/#', false, false],
  ['a/+/#', 'a/#', false, false],
  ['a/+/#', 'a/b/#', true, true],
  ['+', '#', false, false],
  ['a/b', 'a/+', false, false],
  ['$share/+/a/#', '$share/g/a/b', true, true],
  ['a/#', '$share/g/a/b', false, false],
])('a rule for subscriptions on %j says of %j: %j before 2.1, then %j', (filter, subscription, old, current) => {
  expect(ask([`subscribe ${filter}`], 'SUBSCRIBE', subscription, MOSQUITTO_2_0)).toBe(old || null);
  expect(ask([`unsubscribe ${filter}`], 'UNSUBSCRIBE', subscription, MOSQUITTO_2_0)).toBe(old || null);
  expect(ask([`subscribe ${filter}`], 'SUBSCRIBE', subscription, MOSQUITTO_2_1)).toBe(current || null);
});

test.each([
  // Results of mosquitto_topic_matches_sub and mosquitto_sub_matches_acl of Mosquitto 2.1.2.
  ['a/#/b', 'other', false, null],
  ['a/#/b', '$SYS/x', false, false],
  ['a/#/b', 'a', false, null],
  ['a/#/b', 'a/#', true, false],
  ['a#', 'a', false, null],
  ['a#', 'ab', false, null],
  ['a#', 'b', false, false],
  ['a+', 'a', false, null],
  ['a+', 'ab', false, null],
  ['a+', 'b', false, false],
  ['+a', 'a', false, null],
  ['+a', '/a', false, null],
  ['#/a', 'b', false, null],
  ['+/#x', 'b', false, true],
  ['+/#x', 'b/c', false, null],
  ['+/#/#', 'a', false, true],
  ['a/+/#x', 'a/b', false, true],
  ['x/+#', 'x/y', false, null],
  ['a/+b', 'a/#', true, false],
  ['a/+b/c', 'a/+b/c', true, true],
  ['a/b#', 'a/b', true, null],
  ['a/#x', 'b/#', true, null],
  ['a/x+', 'a/#', true, false],
  ['%c/#/b', 'dev1/a', false, null],
  ['%c/#/b', 'dev12/a', false, null],
  ['%c/#/b', 'dev2/a', false, false],
  ['%c/#/b', 'dev', false, false],
  ['a#/%c', 'a/x', false, null],
  ['%u/%c#', 'user/dev1', false, false],
  ['%u/%c/+a', 'user/dev12/b', false, false],
  ['%u/%c/+a', 'user/dev1/b', false, null],
  ['%c/+/#x', 'dev1/a', false, true],
  ['%c/+/#x', 'dev12/a', true, null],
])('Mosquitto 2.1 compares the invalid rule %j with %j (a filter: %j): %j', (filter, topic, isFilter, result) => {
  expect(resultFor(compareInvalid(filter, topic, isFilter), { username: 'user', clientId: 'dev1' })).toBe(result);
});

describe('%c and %u', () => {
  const as = (clientId: string, username: string | null = 'user') => ({ clientId, username });

  test('stand for the whole identity, as whole levels', () => {
    expect(ask(['send d/%c/%u'], 'PUBLISH', 'd/id/user')).toBe(true);
    expect(ask(['send d/%c/%u'], 'PUBLISH', 'd/id/other')).toBeNull();
    expect(ask(['send d/%c'], 'PUBLISH', 'd/i')).toBeNull();
    expect(ask(['send d/%c'], 'PUBLISH', 'd/%c')).toBeNull();
    expect(ask(['send d/x%c'], 'PUBLISH', 'd/xid')).toBeNull();
    expect(ask(['send d/x%c'], 'PUBLISH', 'd/x%c')).toBe(true);
    expect(ask(['subscribe %c/#'], 'SUBSCRIBE', 'id/+')).toBe(true);
    expect(ask(['subscribe %c/#'], 'SUBSCRIBE', '+/a')).toBeNull();
  });

  test('are literal before 2.1 and in literal rules', () => {
    expect(ask(['send %c'], 'PUBLISH', 'id', MOSQUITTO_2_0)).toBeNull();
    expect(ask(['send %c'], 'PUBLISH', '%c', MOSQUITTO_2_0)).toBe(true);
    expect(ask(['subscribe-literal %c'], 'SUBSCRIBE', 'id')).toBeNull();
    expect(ask(['subscribe-literal %c'], 'SUBSCRIBE', '%c')).toBe(true);
  });

  test.each(['', 'a/b', '+', 'a+', '#'])('never match for an identity %j', (identity) => {
    expect(
      ask(['send d/%c/#'], 'PUBLISH', `d/${identity.replaceAll(/[+#]/g, 'x')}`, undefined, as(identity)),
    ).toBeNull();
    expect(ask(['subscribe d/%c'], 'SUBSCRIBE', `d/${identity}`, undefined, as(identity))).toBeNull();
    expect(ask(['subscribe d/%u'], 'SUBSCRIBE', `d/${identity}`, undefined, as('id', identity))).toBeNull();
  });

  test('do not lead below $ by what they stand for, and %u does not match where there is no user', () => {
    expect(ask(['send %c/a'], 'PUBLISH', '$x/a', undefined, as('$x'))).toBeNull();
    expect(ask(['send a/%c'], 'PUBLISH', 'a/$x', undefined, as('$x'))).toBe(true);
    expect(ask(['send %u'], 'PUBLISH', 'user', undefined, as('id', null))).toBeNull();
  });

  test('match nothing where their values are longer than any topic, and use no memory', () => {
    const [three, many] = ['%c/%c/%c', `%u/${'%c/'.repeat(21_840)}%c`];
    const own = 'x'.repeat(21_000);
    expect(ask([`send ${three}`], 'PUBLISH', `${own}/${own}/${own}`, undefined, as(own))).toBe(true);
    const bound = bindRole(compileRole(role([`send ${three}`, `send ${many}`]), MOSQUITTO_2_1), as('x'.repeat(30_000)));
    expect(bound.rules.PUBLISH.patterns.map(({ filter }) => filter)).toEqual([null, null]);
    expect(decide([bound], 'PUBLISH', 'a')).toBeNull();
  });

  test('leave a role as it is that has none of them', () => {
    const compiled = compileRole(role(['send a', 'subscribe-literal %c']), MOSQUITTO_2_1);
    expect(bindRole(compiled, as('id'))).toBe(compiled);
  });
});

test('a role without wildcard subscriptions denies them as soon as it is looked at, and nothing else', () => {
  const plain = role(['subscribe-literal a/#', 'subscribe #', 'unsubscribe #'], false);
  const compiled = [compileRole(plain, MOSQUITTO_2_1)];
  expect(decide(compiled, 'SUBSCRIBE', 'a/#')).toBe(false);
  expect(decide(compiled, 'SUBSCRIBE', 'a/+/b')).toBe(false);
  expect(decide(compiled, 'SUBSCRIBE', 'a')).toBe(true);
  expect(decide(compiled, 'UNSUBSCRIBE', 'a/#')).toBe(true);
  expect(decide([compileRole(plain, MOSQUITTO_2_0)], 'SUBSCRIBE', 'a/#')).toBe(true);
});

test('roles are looked at by priority and then by the bytes of their names, those of groups last', () => {
  const groups: Record<string, { name: string; priority: number }[]> = {
    late: [{ name: 'x', priority: 5 }],
    early: [
      { name: 'y', priority: 0 },
      { name: 'z', priority: 9 },
    ],
  };
  const sources = rolesInOrder(
    ['\u{1f600}', '\u{ff5a}', 'b', 'B'].map((name) => ({ name, priority: name === 'b' ? 1 : -1 })),
    [
      { name: 'late', priority: -1 },
      { name: 'early', priority: -1 },
    ],
    (name) => groups[name] ?? [],
  );
  expect(sources.map(({ rolename }) => rolename)).toEqual(['b', 'B', '\u{ff5a}', '\u{1f600}', 'z', 'y', 'x']);
  expect(sources.map(({ group }) => group).slice(4)).toEqual(['early', 'early', 'late']);
});

test('names are compared as their UTF-8 bytes are', () => {
  const names = [
    '',
    'a',
    'aa',
    'Z',
    'é',
    'z\u{ff5a}',
    'z\u{1f600}',
    'z\u{1f601}',
    '\u{ff5a}',
    '\u{1f600}a',
    '\u{1f600}',
  ];
  const byBytes = [...names].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  expect([...names].sort(compareNames)).toEqual(byBytes);
});

test('the default never allows what begins with $CONTROL', () => {
  const all = { publishClientSend: true, publishClientReceive: true, subscribe: true, unsubscribe: true };
  for (const action of ['PUBLISH', 'RECEIVE', 'SUBSCRIBE', 'UNSUBSCRIBE'] as const) {
    expect(defaultAllows(all, action, '$CONTROL/x')).toBe(false);
    expect(defaultAllows(all, action, '$CONTROLLED')).toBe(false);
    expect(defaultAllows(all, action, '$x')).toBe(true);
    expect(defaultAllows(NOTHING, action, '$x')).toBe(false);
  }
});

test('the broker refuses messages on $SYS and $share topics', () => {
  expect(brokerRefuses('PUBLISH', '$SYS/a')).toBe(true);
  expect(brokerRefuses('PUBLISH', '$SYS/broker/connection/b/state')).toBe(false);
  expect(brokerRefuses('RECEIVE', '$SYS/a')).toBe(false);
  expect(brokerRefuses('PUBLISH', '$share/g/a')).toBe(true);
  expect(brokerRefuses('RECEIVE', '$share/g/a')).toBe(true);
  expect(brokerRefuses('SUBSCRIBE', '$share/g/a')).toBe(false);
  expect(brokerRefuses('PUBLISH', '$x')).toBe(false);
});
