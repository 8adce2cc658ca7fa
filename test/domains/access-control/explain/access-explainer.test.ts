import { describe, expect, test } from 'vitest';
import {
  type AccessQuestion,
  MAX_LOOKED_AT,
} from '../../../../src/domains/access-control/explain/access-explanation.ts';
import type {
  AccessClient,
  AccessGroup,
  AccessPolicy,
  AccessRole,
} from '../../../../src/domains/access-control/policy/access-model.ts';
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

const ask = (question: Partial<AccessQuestion> & Pick<AccessQuestion, 'topic'>, dialect = MOSQUITTO_2_1, on = policy) =>
  explainAccess(on, dialect, { username: 'ada', clientId: null, action: 'PUBLISH', ...question });

test('the deciding rule is told with the way to it and everything that was looked at before', () => {
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

describe('where no rule decides', () => {
  test('the default does, and other plugins may allow what it does not', () => {
    const denied = ask({ topic: 'other' });
    expect(denied).toMatchObject({ allowed: false, reason: 'DEFAULT', decidedBy: null, defaultAllows: false });
    expect(denied).toMatchObject({
      defaultAclType: 'publishClientSend',
      elsewhere: expect.stringContaining('other plugins'),
    });
    const allowed = ask({ topic: 'other', action: 'RECEIVE' });
    expect(allowed).toMatchObject({ allowed: true, reason: 'DEFAULT', defaultAllows: true, elsewhere: null });
  });

  test('$CONTROL is denied', () => {
    const answer = ask({ topic: '$CONTROL/x', action: 'RECEIVE' });
    expect(answer).toMatchObject({ allowed: false, reason: 'CONTROL_TOPIC', defaultAllows: true });
    expect(answer.remarks).toEqual([expect.stringContaining('$CONTROL')]);
  });
});

test('the broker itself refuses what is below $SYS', () => {
  const answer = ask(
    { topic: '$SYS/x', withRoles: [] },
    MOSQUITTO_2_1,
    policyOf({
      roles: { all: ['send $SYS/#'] },
      clients: { ada: { roles: ['all'] } },
    }),
  );
  expect(answer).toMatchObject({ allowed: false, reason: 'BROKER' });
  expect(answer.remarks).toEqual([expect.stringContaining('lets nobody publish')]);
});

describe('who cannot connect is not allowed', () => {
  test('a disabled account', () => {
    const answer = ask({ topic: 'data/dora/x', username: 'dora' });
    expect(answer).toMatchObject({ allowed: false, reason: 'DISABLED', decidedBy: { rolename: 'sensor' } });
    expect(answer.elsewhere).toContain('use_identity_as_username');
  });

  test('an account with another client id than its own', () => {
    expect(ask({ topic: 'clients/carl-1', username: 'carl', clientId: 'x' })).toMatchObject({
      reason: 'CLIENT_ID',
      allowed: false,
    });
    expect(ask({ topic: 'clients/carl-1', username: 'carl', clientId: 'carl-1' })).toMatchObject({
      reason: 'RULE',
      allowed: true,
    });
    // Bound to it, so it need not be told.
    expect(ask({ topic: 'clients/carl-1', username: 'carl' })).toMatchObject({ allowed: true, conditional: false });
  });

  test('a user whom dynamic security does not know', () => {
    const answer = ask({ topic: 'a', username: 'nobody', action: 'RECEIVE' });
    expect(answer).toMatchObject({
      allowed: false,
      reason: 'UNKNOWN_USER',
      elsewhere: expect.stringContaining('other plugins'),
    });
    expect(answer.remarks[0]).toContain('no account "nobody"');
    expect(ask({ topic: 'a' }).remarks).toEqual([]);
  });
});

describe('a broker on which dynamic security decides alone', () => {
  const alone = { ...MOSQUITTO_2_1, decidesAlone: true };

  test.each([
    ['DEFAULT', { topic: 'other' }],
    ['CONTROL_TOPIC', { topic: '$CONTROL/x', action: 'RECEIVE' }],
    ['DISABLED', { topic: 'data/dora/x', username: 'dora' }],
    ['CLIENT_ID', { topic: 'clients/carl-1', username: 'carl', clientId: 'x' }],
    ['UNKNOWN_USER', { topic: 'a', username: 'nobody' }],
  ] as const)('denies and sends nobody elsewhere: %s', (reason, question) => {
    expect(ask(question, alone)).toMatchObject({ allowed: false, reason, elsewhere: null });
    expect(ask(question, MOSQUITTO_2_1)).toMatchObject({ allowed: false, reason, elsewhere: expect.any(String) });
  });

  test('lets in nobody without user name where there is no anonymous group', () => {
    const question = { topic: 'guests', action: 'UNSUBSCRIBE', username: null } as const;
    expect(ask(question, alone)).toMatchObject({ allowed: true, reason: 'DEFAULT', elsewhere: null });
    const without = { ...policy, anonymousGroup: null };
    const denied = ask(question, alone, without);
    expect(denied).toMatchObject({ allowed: false, reason: 'UNKNOWN_USER', elsewhere: null });
    expect(denied.remarks).toEqual([expect.stringContaining('nobody can connect without user name')]);
    const names = (on: typeof policy) => whoCan(on, alone, 'UNSUBSCRIBE', 'guests').map(({ username }) => username);
    expect(names(policy)).toContain(null);
    expect(names(without)).not.toContain(null);
    expect(whoCan(without, MOSQUITTO_2_1, 'UNSUBSCRIBE', 'guests')[0]?.username).toBeNull();
  });
});

test('anonymous has the roles of the anonymous group', () => {
  const answer = ask({ topic: 'guests', username: null });
  expect(answer).toMatchObject({ allowed: true, decidedBy: { rolename: 'guest', group: 'visitors' } });
  expect(answer.elsewhere).toContain('without user name');
  const without = ask({ topic: 'guests', username: null }, MOSQUITTO_2_1, { ...policy, anonymousGroup: null });
  expect(without).toMatchObject({ allowed: false, reason: 'DEFAULT' });
  expect(without.remarks).toEqual([expect.stringContaining('no anonymous group')]);
});

describe('without a client id', () => {
  test('a rule that depends on it is undecidable, and the answer says with which id it would be the opposite', () => {
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

  test('the answer is certain where no id makes a difference', () => {
    const blocked = ask({ topic: 'clients/blocked/x', username: 'bob' });
    expect(blocked).toMatchObject({ allowed: false, reason: 'RULE', conditional: false });
    const nobody = ask({ topic: 'clients', username: 'bob' });
    expect(nobody).toMatchObject({ allowed: false, conditional: false });
    expect(nobody.lookedAt.map(({ verdict }) => verdict)).toEqual(['NOT_MATCHED', 'NOT_MATCHED']);
  });
});

describe('what if', () => {
  test('it held another role', () => {
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

  test('it held a role with another priority', () => {
    const both = policyOf({
      roles: { a: ['send x'], b: ['no send x'] },
      clients: { ada: { roles: ['a', 'b'] } },
    });
    expect(ask({ topic: 'x' }, MOSQUITTO_2_1, both).allowed).toBe(true);
    expect(ask({ topic: 'x', withRoles: [{ name: 'b', priority: 0 }] }, MOSQUITTO_2_1, both).allowed).toBe(false);
  });

  test('it did not hold a role, by itself or through groups', () => {
    expect(ask({ topic: 'data/ada/x', withoutRoles: ['sensor'] })).toMatchObject({ allowed: false, lookedAtTotal: 0 });
  });

  test('refuses roles that are not there', () => {
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
] as const)('%s of an invalid topic is refused (%#)', (action, topic) => {
  const error = expect.objectContaining({
    code: 'INVALID',
    info: { issues: [expect.objectContaining({ path: 'topic' })] },
  });
  expect(() => ask({ action, topic })).toThrow(error);
  expect(() => whoCan(policy, MOSQUITTO_2_1, action, topic)).toThrow(error);
});

test('the list of what was looked at is cut, and says so', () => {
  const many = policyOf({
    roles: { big: [...Array.from({ length: 1_500 }, (_, number) => `send @1 t/${number}`), 'send last'] },
    clients: { ada: { roles: ['big'] } },
  });
  const answer = ask({ topic: 'last' }, MOSQUITTO_2_1, many);
  expect(answer).toMatchObject({ allowed: true, decidedBy: { rule: { topic: 'last' } }, lookedAtTotal: 1_501 });
  expect(answer.lookedAt).toHaveLength(MAX_LOOKED_AT);
});

test('a role without wildcard subscriptions is told as what decided', () => {
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

describe('remarks name what a broker gets wrong where it matters', () => {
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
  const remarks = (question: Partial<AccessQuestion> & Pick<AccessQuestion, 'topic'>, dialect = MOSQUITTO_2_0) =>
    ask(question, dialect, all).remarks.join('\n');

  test.each([
    ['wildcards below $', { topic: '$SYS/#', action: 'SUBSCRIBE' }, 'wildcards stand for $SYS'],
    ['wider than the rule', { topic: '#', action: 'SUBSCRIBE', username: 'rob' }, 'wider'],
    ['%c is literal', { topic: 'id/a', username: 'pia' }, 'as they stand'],
  ] as const)('before 2.1: %s', (_, question, text) => {
    expect(remarks(question)).toContain(text);
    expect(remarks(question, MOSQUITTO_2_1)).not.toContain(text);
  });

  test('on every broker', () => {
    expect(remarks({ topic: '$share/g/a', action: 'SUBSCRIBE' }, MOSQUITTO_2_1)).toContain('whole name');
    expect(remarks({ topic: 'a', action: 'SUBSCRIBE' }, MOSQUITTO_2_1)).toBe('');
    expect(remarks({ topic: 'a', username: 'otto' })).toContain('no valid topic filter');
    expect(remarks({ topic: 'a', username: 'eve' })).toContain('no role "gone"');
    expect(remarks({ topic: 'id/a', username: 'pia', clientId: 'a/b' }, MOSQUITTO_2_1)).toContain(
      'never match for "a/b"',
    );
  });
});

describe('who can', () => {
  test('tells everybody who is allowed, with the rule, by name', () => {
    expect(whoCan(policy, MOSQUITTO_2_1, 'PUBLISH', 'data/ada/x')).toMatchObject([
      { username: 'ada', reason: 'RULE', decidedBy: { rolename: 'sensor', group: 'devices' }, conditional: false },
    ]);
    expect(whoCan(policy, MOSQUITTO_2_1, 'PUBLISH', 'guests').map(({ username }) => username)).toEqual([null]);
    const byDefault = whoCan(policy, MOSQUITTO_2_1, 'UNSUBSCRIBE', 'a');
    expect(byDefault.map(({ username }) => username)).toEqual([null, 'ada', 'bob', 'carl', 'eve']);
    expect(byDefault.every(({ reason }) => reason === 'DEFAULT')).toBe(true);
    expect(whoCan(policy, MOSQUITTO_2_1, 'PUBLISH', '$SYS/x')).toEqual([]);
  });

  test('tells who is allowed with a certain client id only', () => {
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

  test('agrees with the explanation of each, and takes 20,000 accounts in 500 groups in its stride', () => {
    const big = bigPolicy();
    const topic = 'site/7/client-4007/state';
    const started = busyMs();
    const found = whoCan(big, MOSQUITTO_2_1, 'PUBLISH', topic);
    const elapsedMs = busyMs() - started;
    const names = new Set(found.map(({ username }) => username));
    expect(names.size).toBe(found.length);
    expect(names.has('client-4007')).toBe(true);
    for (const username of [...big.clients.keys()].filter((_, index) => index % 199 === 0).concat('client-4007')) {
      const question = { username, clientId: null, action: 'PUBLISH', topic } as const;
      const { allowed, conditional } = explainAccess(big, MOSQUITTO_2_1, question);
      expect(allowed || conditional, username).toBe(names.has(username));
    }
    console.log(`who can, 20,000 accounts: ${found.length} found in ${Math.round(elapsedMs)} ms`);
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
  const clients: AccessClient[] = Array.from({ length: 20_000 }, (_, number) => ({
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
