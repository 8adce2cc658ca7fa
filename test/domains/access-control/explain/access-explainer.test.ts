import { describe, expect, test } from 'vitest';
import { explainAccess as explainInSlices } from '../../../../src/domains/access-control/explain/access-explainer.ts';
import { runSync } from '../../../../src/platform/scheduling/sliced-task.ts';
import { type AccessQuery, MAX_LOOKED_AT } from '../../../../src/protocol/apis/access-control/access-explanation.ts';
import type {
  AccessGroup,
  AccessPolicy,
  AccessRole,
  Account,
} from '../../../../src/protocol/apis/access-control/access-model.ts';
import { dialectOf } from '../../../../src/protocol/apis/access-control/dynsec-control.ts';
import { busyMs } from '../../../support/busy-time.ts';
import { explainAccess, whoCan } from '../at-once.ts';
import { MOSQUITTO_2_0, MOSQUITTO_2_1 } from '../dialects.ts';
import { policyOf } from '../policy/policy-builder.ts';

const policy = policyOf({
  roles: {
    sensor: ['send data/%u/#', 'no send @1 data/%u/secret'],
    reader: ['subscribe data/#', 'receive data/#'],
    own: ['send clients/%c/#', 'no send @1 clients/blocked/#'],
    guest: ['send guests'],
    denier: ['no send #'],
  },
  groups: { devices: ['sensor'], visitors: ['guest'] },
  clients: {
    ada: { roles: ['reader'], groups: ['devices'] },
    bob: { roles: ['own'] },
    carl: { roles: ['own'], clientId: 'carl-1' },
    dora: { roles: ['sensor'], disabled: true },
    eve: { roles: ['missing'] },
  },
  defaultAcl: { publishClientReceive: true, unsubscribe: true },
  anonymousGroup: 'visitors',
});

const ask = (query: Partial<AccessQuery> & Pick<AccessQuery, 'topic'>, dialect = MOSQUITTO_2_1, on = policy) =>
  explainAccess(on, dialect, { username: 'ada', clientId: null, action: 'PUBLISH', ...query });

test('an explanation has the deciding rule, how the client holds its role, and all rules evaluated before it', () => {
  const answer = ask({ topic: 'data/ada/temperature' });
  const source = { rolename: 'sensor', group: 'devices', priority: -1 };
  expect(answer).toMatchObject({ allowed: true, reason: 'RULE', conditional: false, elsewhere: null, remarks: [] });
  expect(answer.decidedBy).toMatchObject({ ...source, rule: { topic: 'data/%u/#' }, verdict: 'MATCHED' });
  expect(answer.lookedAt.map(({ verdict, rule }) => [verdict, rule?.topic])).toEqual([
    ['NOT_MATCHED', 'data/%u/secret'],
    ['MATCHED', 'data/%u/#'],
  ]);
  expect(answer.lookedAtTotal).toBe(2);
  expect(ask({ topic: 'data/ada/secret' })).toMatchObject({ allowed: false, reason: 'RULE' });
});

/** What brokers of these versions do, for MQTT 3.1.1 and 5, and for SUBSCRIBE and UNSUBSCRIBE. */
const CLOSED_FOR = {
  '2.0.11': ['$share'],
  '2.0.22': ['$share', '$share/', '$share/g', '$share/g/', '$share//', '$share/+', '$share/#', '$share/+/'],
  '2.1.2': ['$share', '$share/', '$share/g', '$share/g/', '$share//', '$share/+', '$share/#', '$share/+/'].concat([
    '$share/+/a',
    '$share/+/#',
  ]),
};
const OPEN_FOR_ALL = ['$share//a', '$share/g/#', '$share/g/a', '$share/g//', '$share/g/+', '$sharex/g', '/$share/g'];

describe.each([
  ['2.0.11', '2.0.11'],
  ['2.0.19', '2.0.11'],
  ['2.0.20', '2.0.22'],
  ['2.0.22', '2.0.22'],
  ['2.1.0', '2.1.2'],
  ['2.1.2', '2.1.2'],
] as const)('Mosquitto %s', (version, like) => {
  test('closes the connection for invalid shared subscriptions, whatever the rules are', () => {
    const all = policyOf({
      roles: { all: ['subscribe #', 'subscribe $share/#'] },
      clients: { ada: { roles: ['all'] } },
    });
    const dialect = dialectOf(null, `mosquitto version ${version}`);
    for (const filter of [...CLOSED_FOR['2.1.2'], ...OPEN_FOR_ALL]) {
      const isClosed = CLOSED_FOR[like].includes(filter);
      for (const action of ['SUBSCRIBE', 'UNSUBSCRIBE'] as const) {
        const { allowed, reason, remarks } = ask({ topic: filter, action }, dialect, all);
        expect([filter, reason === 'BROKER']).toEqual([filter, isClosed]);
        if (isClosed) expect(allowed).toBe(false);
        const warned = remarks.some((remark) => remark.includes('closes the connection'));
        expect([filter, warned]).toEqual([filter, !OPEN_FOR_ALL.includes(filter)]);
      }
      if (isClosed) expect(whoCan(all, dialect, 'SUBSCRIBE', filter)).toEqual([]);
    }
  });
});

test('other plugins that may decide are named, whatever decided', () => {
  const explain = (topic: string, plugins: readonly string[] | null) =>
    runSync(
      explainInSlices(policy, MOSQUITTO_2_1, { username: 'ada', clientId: null, action: 'PUBLISH', topic }, plugins),
    ).elsewhere;
  expect(explain('data/ada/temperature', ['acl-file'])).toContain('"acl-file"');
  expect(explain('other', ['acl-file', 'own'])).toMatch(/Another plugin.*"acl-file", "own"/);
  expect(explain('data/ada/temperature', [])).toBeNull();
});

describe('if no rule matches', () => {
  test('the default ACL decides, and another plugin may still allow the access', () => {
    const denied = ask({ topic: 'other' });
    expect(denied).toMatchObject({ allowed: false, reason: 'DEFAULT', decidedBy: null, defaultAllows: false });
    expect(denied).toMatchObject({
      defaultAclType: 'publishClientSend',
      elsewhere: expect.stringContaining('Another plugin'),
    });
    const allowed = ask({ topic: 'other', action: 'RECEIVE' });
    expect(allowed).toMatchObject({ allowed: true, reason: 'DEFAULT', defaultAllows: true, elsewhere: null });
  });

  test('topics that begin with $CONTROL are denied', () => {
    const answer = ask({ topic: '$CONTROL/x', action: 'RECEIVE' });
    expect(answer).toMatchObject({ allowed: false, reason: 'CONTROL_TOPIC', defaultAllows: true });
    expect(answer.remarks).toEqual([expect.stringContaining('$CONTROL')]);
  });
});

test('the broker refuses messages of clients on $SYS topics', () => {
  const answer = ask(
    { topic: '$SYS/x', withRoles: [] },
    MOSQUITTO_2_1,
    policyOf({
      roles: { all: ['send $SYS/#'] },
      clients: { ada: { roles: ['all'] } },
    }),
  );
  expect(answer).toMatchObject({ allowed: false, reason: 'BROKER' });
  expect(answer.remarks).toEqual([expect.stringContaining('does not accept messages from clients')]);
});

describe('an account that cannot connect is denied', () => {
  test('because it is disabled', () => {
    const answer = ask({ topic: 'data/dora/x', username: 'dora' });
    expect(answer).toMatchObject({ allowed: false, reason: 'DISABLED', decidedBy: { rolename: 'sensor' } });
    expect(answer.elsewhere).toContain('use_identity_as_username');
  });

  test('because the client id is not that of the account', () => {
    expect(ask({ topic: 'clients/carl-1', username: 'carl', clientId: 'x' })).toMatchObject({
      reason: 'CLIENT_ID',
      allowed: false,
    });
    expect(ask({ topic: 'clients/carl-1', username: 'carl', clientId: 'carl-1' })).toMatchObject({
      reason: 'RULE',
      allowed: true,
    });
    // The account is bound to the client id, so the query does not need it.
    expect(ask({ topic: 'clients/carl-1', username: 'carl' })).toMatchObject({ allowed: true, conditional: false });
  });

  test('because dynamic security does not know it', () => {
    const answer = ask({ topic: 'a', username: 'nobody', action: 'RECEIVE' });
    expect(answer).toMatchObject({
      allowed: false,
      reason: 'UNKNOWN_USER',
      elsewhere: expect.stringContaining('Other plugins'),
    });
    expect(answer.remarks[0]).toContain('"nobody" does not exist');
    expect(ask({ topic: 'a' }).remarks).toEqual([]);
  });
});

describe('if dynamic security alone decides', () => {
  const alone = { ...MOSQUITTO_2_1, isSoleAuthority: true };

  test.each([
    ['DEFAULT', { topic: 'other' }],
    ['CONTROL_TOPIC', { topic: '$CONTROL/x', action: 'RECEIVE' }],
    ['DISABLED', { topic: 'data/dora/x', username: 'dora' }],
    ['CLIENT_ID', { topic: 'clients/carl-1', username: 'carl', clientId: 'x' }],
    ['UNKNOWN_USER', { topic: 'a', username: 'nobody' }],
  ] as const)('a denial with the reason %s names no other authority', (reason, query) => {
    expect(ask(query, alone)).toMatchObject({ allowed: false, reason, elsewhere: null });
    expect(ask(query, MOSQUITTO_2_1)).toMatchObject({ allowed: false, reason, elsewhere: expect.any(String) });
  });

  test('clients without a user name are denied without an anonymous group', () => {
    const query = { topic: 'guests', action: 'UNSUBSCRIBE', username: null } as const;
    expect(ask(query, alone)).toMatchObject({ allowed: true, reason: 'DEFAULT', elsewhere: null });
    const without = { ...policy, anonymousGroup: null };
    const denied = ask(query, alone, without);
    expect(denied).toMatchObject({ allowed: false, reason: 'UNKNOWN_USER', elsewhere: null });
    expect(denied.remarks).toEqual([expect.stringContaining('cannot connect without a user name')]);
    const names = (on: typeof policy) => whoCan(on, alone, 'UNSUBSCRIBE', 'guests').map(({ username }) => username);
    expect(names(policy)).toContain(null);
    expect(names(without)).not.toContain(null);
    expect(whoCan(without, MOSQUITTO_2_1, 'UNSUBSCRIBE', 'guests')[0]?.username).toBeNull();
  });
});

test('a connection without a user name has the roles of the anonymous group', () => {
  const answer = ask({ topic: 'guests', username: null });
  expect(answer).toMatchObject({ allowed: true, decidedBy: { rolename: 'guest', group: 'visitors' } });
  expect(answer.elsewhere).toContain('without a user name');
  const without = ask({ topic: 'guests', username: null }, MOSQUITTO_2_1, { ...policy, anonymousGroup: null });
  expect(without).toMatchObject({ allowed: false, reason: 'DEFAULT' });
  expect(without.remarks).toEqual([expect.stringContaining('no anonymous group')]);
});

describe('without a client id', () => {
  test('a rule with %c is undecidable, and a remark names the client id with the opposite result', () => {
    const answer = ask({ topic: 'clients/b1/x', username: 'bob' });
    expect(answer).toMatchObject({ allowed: false, reason: 'DEFAULT', conditional: true });
    expect(answer.lookedAt.map(({ verdict }) => verdict)).toEqual(['NOT_MATCHED', 'UNDECIDABLE']);
    expect(answer.remarks).toEqual([expect.stringContaining('"b1"')]);
    expect(ask({ topic: 'clients/b1/x', username: 'bob', clientId: 'b1' })).toMatchObject({
      allowed: true,
      conditional: false,
    });
    expect(ask({ topic: 'clients/b1/x', username: 'bob', clientId: 'b2' })).toMatchObject({
      allowed: false,
      conditional: false,
    });
  });

  test('the result is not conditional if no client id changes it', () => {
    const blocked = ask({ topic: 'clients/blocked/x', username: 'bob' });
    expect(blocked).toMatchObject({ allowed: false, reason: 'RULE', conditional: false });
    const nobody = ask({ topic: 'clients', username: 'bob' });
    expect(nobody).toMatchObject({ allowed: false, conditional: false });
    expect(nobody.lookedAt.map(({ verdict }) => verdict)).toEqual(['NOT_MATCHED', 'NOT_MATCHED']);
  });
});

describe('a query can evaluate', () => {
  test('an additional role', () => {
    const withRoles = [{ name: 'denier', priority: 5 }];
    expect(ask({ topic: 'data/ada/x', withRoles })).toMatchObject({
      allowed: false,
      decidedBy: { rolename: 'denier', priority: 5 },
    });
    expect(ask({ topic: 'guests', username: null, withRoles })).toMatchObject({
      allowed: false,
      decidedBy: { group: 'visitors' },
    });
  });

  test('another priority of a role', () => {
    const both = policyOf({
      roles: { a: ['send x'], b: ['no send x'] },
      clients: { ada: { roles: ['a', 'b'] } },
    });
    expect(ask({ topic: 'x' }, MOSQUITTO_2_1, both).allowed).toBe(true);
    expect(ask({ topic: 'x', withRoles: [{ name: 'b', priority: 0 }] }, MOSQUITTO_2_1, both).allowed).toBe(false);
  });

  test('the absence of a role that is held directly or through a group', () => {
    expect(ask({ topic: 'data/ada/x', withoutRoles: ['sensor'] })).toMatchObject({ allowed: false, lookedAtTotal: 0 });
  });

  test('existing roles only', () => {
    expect(() => ask({ topic: 'x', withRoles: [{ name: 'no', priority: 0 }] })).toThrow(
      expect.objectContaining({ code: 'NOT_FOUND' }),
    );
    expect(() => ask({ topic: 'x', withoutRoles: ['no'] })).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
    const alone = { ...policy, anonymousGroup: null };
    const withRoles = [{ name: 'guest', priority: 0 }];
    expect(() => ask({ topic: 'x', username: null, withRoles }, MOSQUITTO_2_1, alone)).toThrow(
      expect.objectContaining({ code: 'INVALID' }),
    );
  });
});

test.each([
  ['PUBLISH', ''],
  ['PUBLISH', 'a/+'],
  ['RECEIVE', '#'],
  ['PUBLISH', 'a\0'],
  ['PUBLISH', 'é'.repeat(32_768)],
  ['SUBSCRIBE', ''],
  ['SUBSCRIBE', 'a/#/b'],
  ['UNSUBSCRIBE', 'a+'],
  // 201 levels.
  ['PUBLISH', '/'.repeat(200)],
  ['SUBSCRIBE', `$share/group/${'+/'.repeat(200)}#`],
] as const)('%s of an invalid topic is refused (%#)', (action, topic) => {
  const error = expect.objectContaining({
    code: 'INVALID',
    info: { issues: [expect.objectContaining({ path: 'topic' })] },
  });
  expect(() => ask({ action, topic })).toThrow(error);
  expect(() => whoCan(policy, MOSQUITTO_2_1, action, topic)).toThrow(error);
});

test('topics of 200 levels are evaluated, also of shared subscriptions, and rules with a final # match them', () => {
  const levels = 'x/'.repeat(199);
  const deep = policyOf({
    roles: { deep: [`send ${levels}x/#`, `subscribe $share/group/${levels}x/#`, `receive ${levels}x/x`] },
    clients: { ada: { roles: ['deep'] } },
  });
  for (const dialect of [MOSQUITTO_2_0, MOSQUITTO_2_1]) {
    expect(ask({ topic: `${levels}x` }, dialect, deep).allowed).toBe(true);
    expect(ask({ action: 'SUBSCRIBE', topic: `$share/group/${levels}x` }, dialect, deep).allowed).toBe(true);
    expect(ask({ action: 'RECEIVE', topic: `${levels}x` }, dialect, deep).allowed).toBe(false);
  }
});

test('a long list of evaluated rules is truncated, and lookedAtTotal counts all', () => {
  const many = policyOf({
    roles: { big: [...Array.from({ length: 1_500 }, (_, number) => `send @1 t/${number}`), 'send last'] },
    clients: { ada: { roles: ['big'] } },
  });
  const answer = ask({ topic: 'last' }, MOSQUITTO_2_1, many);
  expect(answer).toMatchObject({ allowed: true, decidedBy: { rule: { topic: 'last' } }, lookedAtTotal: 1_501 });
  expect(answer.lookedAt).toHaveLength(MAX_LOOKED_AT);
});

test('the wildcard flag of a role is reported as the deciding rule', () => {
  const plain = policyOf({
    roles: { plain: ['subscribe #'] },
    withoutWildcards: ['plain'],
    clients: { ada: { roles: ['plain'] } },
  });
  const answer = ask({ topic: 'a/#', action: 'SUBSCRIBE' }, MOSQUITTO_2_1, plain);
  expect(answer).toMatchObject({
    allowed: false,
    reason: 'RULE',
    decidedBy: { rule: null, verdict: 'WILDCARD_DENIED' },
  });
  expect(ask({ topic: 'a', action: 'SUBSCRIBE' }, MOSQUITTO_2_1, plain)).toMatchObject({ allowed: true });
});

describe('remarks name unexpected behaviour of the broker that affects the result', () => {
  const all = policyOf({
    roles: { all: ['subscribe #'], root: ['subscribe /#'], places: ['send %c/#'], odd: ['send a/#/b'] },
    clients: {
      ada: { roles: ['all'] },
      rob: { roles: ['root'] },
      pia: { roles: ['places'] },
      otto: { roles: ['odd'] },
      eve: { roles: ['gone'] },
    },
  });
  const remarks = (query: Partial<AccessQuery> & Pick<AccessQuery, 'topic'>, dialect = MOSQUITTO_2_0) =>
    ask(query, dialect, all).remarks.join('\n');

  test.each([
    ['wildcards match $ topics', { topic: '$SYS/#', action: 'SUBSCRIBE' }, 'wildcards match $SYS'],
    ['a filter that is wider than the rule', { topic: '#', action: 'SUBSCRIBE', username: 'rob' }, 'wider'],
    ['%c is literal', { topic: 'id/a', username: 'pia' }, 'does not replace %c'],
  ] as const)('before 2.1: %s', (_, query, text) => {
    expect(remarks(query)).toContain(text);
    expect(remarks(query, MOSQUITTO_2_1)).not.toContain(text);
  });

  test('on every broker', () => {
    expect(remarks({ topic: '$share/g/a', action: 'SUBSCRIBE' }, MOSQUITTO_2_1)).toContain('full name');
    expect(remarks({ topic: 'a', action: 'SUBSCRIBE' }, MOSQUITTO_2_1)).toBe('');
    expect(remarks({ topic: 'a', username: 'otto' })).toMatch(
      /^The filter of the rule for .* is not a valid topic filter \(.*\)\.$/,
    );
    expect(remarks({ topic: 'a', username: 'otto' }, MOSQUITTO_2_1)).toMatch(/not a valid .*Mosquitto 2\.1 denies/);
    expect(remarks({ topic: 'a', username: 'eve' })).toContain('still hold: "gone"');
    expect(remarks({ topic: 'id/a', username: 'pia', clientId: 'a/b' }, MOSQUITTO_2_1)).toContain(
      'never match for "a/b"',
    );
  });
});

describe('whoCan', () => {
  test('shows the clients that an invalid filter with %c denies on Mosquitto 2.1', () => {
    const on = policyOf({
      roles: { odd: ['no send b/%u/%c/#/b', 'send a/#', 'send b/#'] },
      clients: { ab: { roles: ['odd'] }, a: { roles: ['odd'] }, zoe: { roles: ['odd'] } },
    });
    const may = (topic: string, dialect = MOSQUITTO_2_1) =>
      Object.fromEntries(
        whoCan(on, dialect, 'PUBLISH', topic).map(({ username, conditional }) => [username, conditional]),
      );
    expect(may('a/ab/id')).toEqual({});
    expect(may('b/ab/id')).toEqual({ ab: true, zoe: false });
    expect(may('b/ab/id', { ...MOSQUITTO_2_1, invalidRulesDeny: false })).toEqual({ a: false, ab: false, zoe: false });
    const { conditional, remarks } = ask({ topic: 'b/ab/id', username: 'ab' }, MOSQUITTO_2_1, on);
    expect({ conditional, remarks }).toEqual({
      conditional: true,
      remarks: [expect.stringContaining('client id "i", "id" the access is denied'), expect.any(String)],
    });
  });

  test('returns all allowed clients with the deciding rule, sorted by name', () => {
    expect(whoCan(policy, MOSQUITTO_2_1, 'PUBLISH', 'data/ada/x')).toMatchObject([
      { username: 'ada', reason: 'RULE', decidedBy: { rolename: 'sensor', group: 'devices' }, conditional: false },
    ]);
    expect(whoCan(policy, MOSQUITTO_2_1, 'PUBLISH', 'guests').map(({ username }) => username)).toEqual([null]);
    const byDefault = whoCan(policy, MOSQUITTO_2_1, 'UNSUBSCRIBE', 'a');
    expect(byDefault.map(({ username }) => username)).toEqual([null, 'ada', 'bob', 'carl', 'eve']);
    expect(byDefault.every(({ reason }) => reason === 'DEFAULT')).toBe(true);
    expect(whoCan(policy, MOSQUITTO_2_1, 'PUBLISH', '$SYS/x')).toEqual([]);
  });

  test('marks clients that are allowed only with a certain client id', () => {
    expect(whoCan(policy, MOSQUITTO_2_1, 'PUBLISH', 'clients/carl-1/x')).toMatchObject([
      { username: 'bob', reason: 'RULE', decidedBy: { rule: { topic: 'clients/%c/#' } }, conditional: true },
      { username: 'carl', reason: 'RULE', conditional: false },
    ]);
    expect(whoCan(policy, MOSQUITTO_2_1, 'PUBLISH', 'clients/blocked/x')).toEqual([]);
    const denied = policyOf({
      roles: { r: ['no send %c'] },
      clients: { ada: { roles: ['r'] } },
      defaultAcl: { publishClientSend: true },
    });
    expect(whoCan(denied, MOSQUITTO_2_1, 'PUBLISH', 'x')).toMatchObject([
      { username: null, conditional: false },
      { username: 'ada', reason: 'DEFAULT', conditional: true },
    ]);
  });

  test('agrees with explainAccess, and evaluates 20,000 accounts in 500 groups within 2 s', () => {
    const big = bigPolicy();
    const topic = 'site/7/client-4007/state';
    const started = busyMs();
    const found = whoCan(big, MOSQUITTO_2_1, 'PUBLISH', topic);
    const elapsedMs = busyMs() - started;
    const names = new Set(found.map(({ username }) => username));
    expect(names.size).toBe(found.length);
    expect(names.has('client-4007')).toBe(true);
    for (const username of [...big.clients.keys()].filter((_, index) => index % 199 === 0).concat('client-4007')) {
      const query = { username, clientId: null, action: 'PUBLISH', topic } as const;
      const { allowed, conditional } = explainAccess(big, MOSQUITTO_2_1, query);
      expect(allowed || conditional, username).toBe(names.has(username));
    }
    expect(elapsedMs).toBeLessThan(2_000);
  });
});

/** 20,000 accounts in one to three of 500 groups, 600 roles with ten rules. */
function bigPolicy(): AccessPolicy {
  const texts = { textName: null, textDescription: null };
  const roles: AccessRole[] = Array.from({ length: 600 }, (_, number) => ({
    rolename: `role-${number}`,
    ...texts,
    allowWildcardSubs: true,
    acls: Array.from({ length: 10 }, (_entry, index) => ({
      aclType: 'publishClientSend' as const,
      topic:
        index === 0 ? `site/${number}/%u/#` : index === 1 ? `site/${number}/%c/#` : `site/${number}/plant-${index}/#`,
      priority: index,
      allow: true,
    })),
  }));
  const groups: AccessGroup[] = Array.from({ length: 500 }, (_, number) => ({
    groupname: `group-${number}`,
    ...texts,
    roles: [{ name: `role-${number}`, priority: -1 }],
  }));
  const clients: Account[] = Array.from({ length: 20_000 }, (_, number) => ({
    username: `client-${number}`,
    clientId: null,
    ...texts,
    disabled: false,
    roles: number % 10 === 0 ? [{ name: `role-${number % 600}`, priority: 1 }] : [],
    groups: Array.from({ length: 1 + (number % 3) }, (_entry, index) => ({
      name: `group-${(number + index) % 500}`,
      priority: -1,
    })),
  }));
  return {
    clients: new Map(clients.map((client) => [client.username, client])),
    groups: new Map(groups.map((group) => [group.groupname, group])),
    roles: new Map(roles.map((role) => [role.rolename, role])),
    defaultAcl: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
    anonymousGroup: null,
  };
}
