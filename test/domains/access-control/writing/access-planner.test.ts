import { describe, expect, test } from 'vitest';
import type { AccessChange, ClientFields } from '../../../../src/domains/access-control/writing/access-change.ts';
import type {
  AccessDialect,
  AccessPolicy,
  AclRule,
} from '../../../../src/protocol/apis/access-control/access-model.ts';
import { busyMs } from '../../../support/busy-time.ts';
import { planChanges } from '../at-once.ts';
import { MOSQUITTO_2_0, MOSQUITTO_2_1 } from '../dialects.ts';
import { policyOf, rule } from '../policy/policy-builder.ts';
import { at, plain } from './written-access.ts';

const NOBODY = { gatewayUsername: 'gateway' };

/** Each planned command with its fields, or the error's code. */
function planned(policy: AccessPolicy, changes: readonly AccessChange[], dialect: AccessDialect = MOSQUITTO_2_1) {
  return planChanges(policy, dialect, changes, NOBODY).changes.map(
    ({ commands, error }) => error?.code ?? commands.map(({ command, fields }) => [command, fields]),
  );
}

const WORLD = policyOf({
  roles: { r: ['send a/#', 'send b', 'subscribe a/#'], other: [] },
  groups: { g: [at('r', 2)], anonymous: ['other'], empty: [] },
  clients: { ann: { roles: [at('r', 1)], groups: ['g'] }, bob: { groups: [at('g', 5)] }, cleo: { disabled: true } },
  anonymousGroup: 'anonymous',
});

const put = (username: string, fields: ClientFields): AccessChange => ({
  kind: 'PUT_CLIENT',
  username,
  mode: 'PUT',
  fields,
});

describe('the fewest commands', () => {
  test('a client is made bare, disabled before it has roles, and has its roles by one command', () => {
    expect(
      planned(WORLD, [
        put('new', {
          password: 'p',
          clientId: 'c',
          disabled: true,
          roles: [at('r'), at('other', 3)],
          groups: [at('g')],
        }),
        put('one', { roles: [at('r', 4)] }),
      ]),
    ).toEqual([
      [
        ['createClient', { username: 'new', password: 'p', clientid: 'c', groups: [{ groupname: 'g', priority: -1 }] }],
        ['disableClient', { username: 'new' }],
        [
          'modifyClient',
          {
            username: 'new',
            roles: [
              { rolename: 'r', priority: -1 },
              { rolename: 'other', priority: 3 },
            ],
          },
        ],
      ],
      [
        ['createClient', { username: 'one' }],
        ['addClientRole', { username: 'one', rolename: 'r', priority: 4 }],
      ],
    ]);
  });

  test('a client is changed by one command with what differs, and nothing else', () => {
    expect(
      planned(WORLD, [
        put('ann', { textName: 'Ann', password: 'p', roles: [at('r', 1)], groups: [] }),
        put('ann', { textName: null, clientId: null }),
        put('ann', { password: 'p' }),
        put('cleo', { disabled: false, textName: 'C' }),
        put('bob', { disabled: true, textName: 'B' }),
        put('bob', { disabled: true, textName: 'B', groups: [at('g', 5)] }),
      ]),
    ).toEqual([
      [['modifyClient', { username: 'ann', textname: 'Ann', password: 'p', groups: [] }]],
      [['modifyClient', { username: 'ann', textname: '' }]],
      [['setClientPassword', { username: 'ann', password: 'p' }]],
      [
        ['modifyClient', { username: 'cleo', textname: 'C' }],
        ['enableClient', { username: 'cleo' }],
      ],
      [
        ['disableClient', { username: 'bob' }],
        ['modifyClient', { username: 'bob', textname: 'B' }],
      ],
      [],
    ]);
  });

  test('members come and go one by one, so that the others stay connected; all at once where all are disconnected', () => {
    const group = (fields: object): AccessChange => ({ kind: 'PUT_GROUP', groupName: 'g', mode: 'UPDATE', fields });
    expect(planned(WORLD, [group({ members: [at('ann'), at('cleo', 3)] })])).toEqual([
      [
        ['removeGroupClient', { groupname: 'g', username: 'bob' }],
        ['addGroupClient', { groupname: 'g', username: 'cleo', priority: 3 }],
      ],
    ]);
    expect(planned(WORLD, [group({ textName: 'G', members: [at('cleo', 3), at('ann', 1)] })])).toEqual([
      [
        ['removeGroupClient', { groupname: 'g', username: 'bob' }],
        [
          'modifyGroup',
          {
            groupname: 'g',
            textname: 'G',
            clients: [
              { username: 'cleo', priority: 3 },
              { username: 'ann', priority: 1 },
            ],
          },
        ],
      ],
    ]);
    expect(planned(WORLD, [group({ roles: [at('other')] })])).toEqual([
      [
        ['removeGroupRole', { groupname: 'g', rolename: 'r' }],
        ['addGroupRole', { groupname: 'g', rolename: 'other', priority: -1 }],
      ],
    ]);
  });

  test('no command that makes or changes a group or makes a client has roles', () => {
    const changes: AccessChange[] = [
      put('new', { roles: [at('r'), at('other')] }),
      { kind: 'PUT_GROUP', groupName: 'new', mode: 'PUT', fields: { roles: [at('r'), at('other')] } },
      { kind: 'PUT_GROUP', groupName: 'g', mode: 'PUT', fields: { roles: [at('other')], textName: 'G' } },
    ];
    for (const { commands } of planChanges(WORLD, MOSQUITTO_2_0, changes, NOBODY).changes) {
      expect(commands.length).toBeGreaterThan(1);
      for (const { command, fields } of commands)
        if (command !== 'modifyClient') expect(fields).not.toHaveProperty('roles');
    }
  });

  test('a rule that is there is replaced where it stands, by one command that always says allow and priority', () => {
    const acl = (text: string): AccessChange => ({ kind: 'PUT_ROLE_ACL', roleName: 'r', acl: rule(text) });
    const entry = (acltype: string, topic: string, allow: boolean) => ({ acltype, topic, priority: 0, allow });
    expect(planned(WORLD, [acl('no send a/#'), acl('send c'), acl('send c')])).toEqual([
      [
        [
          'modifyRole',
          {
            rolename: 'r',
            acls: [
              entry('publishClientSend', 'a/#', false),
              entry('publishClientSend', 'b', true),
              entry('subscribePattern', 'a/#', true),
            ],
          },
        ],
      ],
      [['addRoleACL', { rolename: 'r', ...entry('publishClientSend', 'c', true) }]],
      [],
    ]);
  });

  test('only the order of equal rules is a difference too', () => {
    const acls = ['send b', 'send a/#', 'subscribe a/#'].map(rule);
    const change: AccessChange = { kind: 'PUT_ROLE', roleName: 'r', mode: 'UPDATE', fields: { acls } };
    const [first, second] = planned(WORLD, [change, change]);
    expect([first?.length, second]).toEqual([1, []]);
  });

  test('a role is taken from all who hold it before it is deleted', () => {
    expect(planned(WORLD, [{ kind: 'DELETE_ROLE', roleName: 'r' }])).toEqual([
      [
        ['removeClientRole', { username: 'ann', rolename: 'r' }],
        ['removeGroupRole', { groupname: 'g', rolename: 'r' }],
        ['deleteRole', { rolename: 'r' }],
      ],
    ]);
  });
});

describe('what is refused', () => {
  const issuesOf = (change: AccessChange, dialect: AccessDialect = MOSQUITTO_2_1) => {
    const [only] = planChanges(WORLD, dialect, [change], NOBODY).changes;
    expect(only?.commands).toEqual(only?.error ? [] : only?.commands);
    const issues = only?.error?.info?.issues as readonly { readonly path: string }[] | undefined;
    return issues?.map(({ path }) => path) ?? only?.error?.code ?? null;
  };

  test.each([
    ['', ['username']],
    ['a\u0000b', ['username']],
    ['a\ud800', ['username']],
    ['a\u0007', ['username']],
    ['x'.repeat(65_536), ['username']],
    ['x'.repeat(65_535), null],
    ['a/b + # % ü 🜁', null],
  ])('the name %j', (username, expected) => {
    expect(issuesOf(put(username, {}))).toEqual(expected);
  });

  test.each<[ClientFields, readonly string[] | null]>([
    [{ roles: [at('r', 100_001)] }, ['roles.0.priority']],
    [{ roles: [at('r', 1.5)] }, ['roles.0.priority']],
    [{ roles: [at('r', -100_000)] }, null],
    [{ roles: [at('r'), at('r', 2)] }, ['roles.1.roleName']],
    [{ groups: [at('')] }, ['groups.0.groupName']],
    [{ password: '' }, ['password']],
    [{ password: 'a\u0000' }, ['password']],
    [{ password: 'ä\u0007' }, null],
    [{ textName: 'a\u0000' }, ['textName']],
    [{ textName: 'line\nline', clientId: '' }, null],
    [{ clientId: 'a\u0000' }, ['clientId']],
  ])('the fields %j', (fields, expected) => {
    expect(issuesOf(put('ann', fields))).toEqual(expected);
  });

  test.each([
    ['send a/#/b', ['acl.topic']],
    ['send a#', ['acl.topic']],
    ['send +a', ['acl.topic']],
    ['send ', ['acl.topic']],
    ['send @100001 a', ['acl.priority']],
    ['send $share/+/a/#', null],
  ])('the rule %j', (text, expected) => {
    expect(issuesOf({ kind: 'PUT_ROLE_ACL', roleName: 'r', acl: rule(text) })).toEqual(expected);
  });

  test.each<[AccessChange, readonly string[]]>([
    [{ kind: 'ADD_CLIENT_ROLE', username: '', role: at('', 0.5) }, ['username', 'roleName', 'priority']],
    [{ kind: 'ADD_CLIENT_GROUP', username: 'ann', group: at('') }, ['groupName']],
    [{ kind: 'ADD_GROUP_ROLE', groupName: 'g', role: at('') }, ['roleName']],
    [{ kind: 'PUT_GROUP', groupName: 'g', mode: 'PUT', fields: { members: [at('')] } }, ['members.0.username']],
  ])('members %j, named as callers do', (change, expected) => {
    expect(issuesOf(change)).toEqual(expected);
  });

  test('placeholders where the broker puts nothing in, unless they are there already', () => {
    const acl: AccessChange = { kind: 'PUT_ROLE_ACL', roleName: 'r', acl: rule('send a/%c') };
    expect([issuesOf(acl), issuesOf(acl, MOSQUITTO_2_0)]).toEqual([null, ['acl.topic']]);
    const part: AccessChange = { kind: 'PUT_ROLE_ACL', roleName: 'r', acl: rule('send a/%c1') };
    expect(issuesOf(part, MOSQUITTO_2_0)).toBe(null);
    const world = policyOf({ roles: { r: ['send a/%c'] } });
    const whole: AccessChange = {
      kind: 'PUT_ROLE',
      roleName: 'r',
      mode: 'UPDATE',
      fields: { acls: [rule('send a/%c'), rule('send b')] },
    };
    expect(planned(world, [whole], MOSQUITTO_2_0)[0]).toHaveLength(1);
    expect(issuesOf(whole, MOSQUITTO_2_0)).toEqual(['acls.0.topic']);
  });

  test('the flag for wildcards where the broker has none', () => {
    const change: AccessChange = { kind: 'PUT_ROLE', roleName: 'r', mode: 'PUT', fields: { allowWildcardSubs: false } };
    expect(issuesOf(change, MOSQUITTO_2_0)).toBe('NOT_SUPPORTED_BY_BROKER');
    expect(planned(WORLD, [change])).toEqual([[['modifyRole', { rolename: 'r', allowwildcardsubs: false }]]]);
  });

  test('the anonymous group is not deleted, whatever the broker would do', () => {
    for (const dialect of [MOSQUITTO_2_0, MOSQUITTO_2_1]) {
      expect(issuesOf({ kind: 'DELETE_GROUP', groupName: 'anonymous' }, dialect)).toBe('IN_USE');
      expect(issuesOf({ kind: 'DELETE_GROUP', groupName: 'g' }, dialect)).toBe(null);
    }
  });

  test('what is not there', () => {
    const changes: AccessChange[] = [
      put('new', { roles: [at('none')] }),
      put('ann', { groups: [at('none')] }),
      { kind: 'PUT_GROUP', groupName: 'g', mode: 'PUT', fields: { members: [at('none')] } },
      { kind: 'ADD_GROUP_ROLE', groupName: 'g', role: at('none') },
      { kind: 'REMOVE_CLIENT_ROLE', username: 'ann', roleName: 'none' },
      { kind: 'REMOVE_ROLE_ACL', roleName: 'r', aclType: 'publishClientSend', topic: 'none' },
      { kind: 'SET_ANONYMOUS_GROUP', groupName: 'none' },
      { kind: 'PUT_ROLE', roleName: 'none', mode: 'UPDATE', fields: {} },
    ];
    expect(planned(WORLD, changes)).toEqual(changes.map(() => 'NOT_FOUND'));
  });

  test('a change that is refused leaves nothing behind for those after it', () => {
    const gateway = policyOf({
      roles: { control: ['send $CONTROL/#', 'receive $CONTROL/#', 'subscribe $CONTROL/#'], other: [] },
      clients: { gateway: { roles: ['control'] } },
    });
    const { changes, after } = planChanges(
      gateway,
      MOSQUITTO_2_1,
      [
        { kind: 'DELETE_ROLE', roleName: 'control' },
        { kind: 'ADD_CLIENT_ROLE', username: 'gateway', role: at('other') },
      ],
      NOBODY,
    );
    expect(changes.map(({ error }) => error?.code)).toEqual(['IN_USE', undefined]);
    expect(changes[1]?.commands[0]?.kicks).toEqual({ usernames: ['gateway'], anonymous: false, gateway: true });
    expect(after.clients.get('gateway')?.roles).toEqual([at('control'), at('other')]);
    expect(after.roles.size).toBe(2);
  });
});

test("this service's rights: what takes one away is refused, what leaves them is not, and what it has not it cannot lose", () => {
  const world = policyOf({
    roles: {
      control: ['send $CONTROL/#', 'receive $CONTROL/#', 'subscribe $CONTROL/#'],
      deny: ['no send $CONTROL/#'],
      same: ['send $CONTROL/dynamic-security/#'],
    },
    groups: { admins: ['control'] },
    clients: { gateway: { groups: ['admins'] }, weak: {} },
  });
  const codes = (gatewayUsername: string, change: AccessChange) =>
    planChanges(world, MOSQUITTO_2_1, [change], { gatewayUsername }).changes[0]?.error?.code ?? null;
  const taking: AccessChange[] = [
    { kind: 'REMOVE_CLIENT_GROUP', username: 'gateway', groupName: 'admins' },
    { kind: 'PUT_GROUP', groupName: 'admins', mode: 'UPDATE', fields: { members: [] } },
    { kind: 'DELETE_GROUP', groupName: 'admins' },
    { kind: 'REMOVE_GROUP_ROLE', groupName: 'admins', roleName: 'control' },
    { kind: 'ADD_CLIENT_ROLE', username: 'gateway', role: at('deny') },
    { kind: 'ADD_GROUP_ROLE', groupName: 'admins', role: at('deny', 5) },
    { kind: 'PUT_ROLE_ACL', roleName: 'control', acl: rule('no receive @1 $CONTROL/+/v1/response') },
    { kind: 'REMOVE_ROLE_ACL', roleName: 'control', aclType: 'subscribePattern', topic: '$CONTROL/#' },
  ];
  expect(taking.map((change) => codes('gateway', change))).toEqual(taking.map(() => 'IN_USE'));
  expect(taking.map((change) => codes('weak', change))).toEqual(taking.map(() => null));
  const leaving: AccessChange[] = [
    { kind: 'ADD_CLIENT_ROLE', username: 'gateway', role: at('same') },
    { kind: 'ADD_GROUP_ROLE', groupName: 'admins', role: at('deny', -5) },
    { kind: 'PUT_CLIENT', username: 'gateway', mode: 'UPDATE', fields: { textName: 'me', roles: [at('control')] } },
    { kind: 'SET_DEFAULT_ACL', acl: { publishClientSend: false } },
  ];
  expect(leaving.map((change) => codes('gateway', change))).toEqual(leaving.map(() => null));
});

test('all features that this service uses are protected and named: the other control APIs, and $SYS', () => {
  const world = policyOf({
    roles: {
      control: ['send $CONTROL/#', 'receive $CONTROL/#', 'subscribe $CONTROL/#'],
      sys: ['subscribe $SYS/#'],
      quiet: ['no receive $CONTROL/cedalo/inspect/#'],
    },
    clients: { gateway: { roles: ['control', 'sys'] } },
    defaultAcl: { publishClientReceive: true },
  });
  const errorOf = (change: AccessChange) =>
    planChanges(world, MOSQUITTO_2_1, [change], NOBODY).changes[0]?.error ?? null;
  const only = (api: string) => ['send', 'receive', 'subscribe'].map((verb) => rule(`${verb} $CONTROL/${api}/#`));
  const withAcls = (acls: readonly AclRule[]): AccessChange => ({
    kind: 'PUT_ROLE',
    roleName: 'control',
    mode: 'UPDATE',
    fields: { acls },
  });
  const refused: [change: AccessChange, right: string][] = [
    [withAcls(only('dynamic-security')), 'publish to $CONTROL/broker/v1'],
    [withAcls(only('cedalo')), 'publish to $CONTROL/dynamic-security/v1'],
    [
      { kind: 'ADD_CLIENT_ROLE', username: 'gateway', role: at('quiet', 5) },
      'receive $CONTROL/cedalo/inspect/v1/response',
    ],
    [{ kind: 'REMOVE_CLIENT_ROLE', username: 'gateway', roleName: 'sys' }, 'subscribe to $SYS/broker/log/#'],
    [
      { kind: 'PUT_ROLE_ACL', roleName: 'sys', acl: rule('no subscribe @1 $SYS/broker/clients/#') },
      'subscribe to $SYS/broker/clients/connected',
    ],
    [
      { kind: 'PUT_ROLE_ACL', roleName: 'sys', acl: rule('no receive $SYS/broker/load/#') },
      'receive $SYS/broker/load/any',
    ],
    [{ kind: 'SET_DEFAULT_ACL', acl: { publishClientReceive: false } }, 'receive $SYS/broker/log/any'],
  ];
  for (const [change, right] of refused) {
    expect(errorOf(change)).toMatchObject({ code: 'IN_USE', info: { name: 'gateway' } });
    expect(errorOf(change)?.message).toContain(`its permission to ${right}, and with it`);
    expect(errorOf(change)?.info?.lost).toContain(right);
  }
  const allowed: AccessChange[] = [
    withAcls(['broker', 'dynamic-security', 'cedalo', '+'].flatMap(only)),
    { kind: 'ADD_CLIENT_ROLE', username: 'gateway', role: at('quiet', -5) },
    { kind: 'PUT_ROLE_ACL', roleName: 'sys', acl: rule('no receive a/#') },
    { kind: 'SET_DEFAULT_ACL', acl: { publishClientSend: true, subscribe: true } },
  ];
  for (const change of allowed) expect(errorOf(change)).toBeNull();
});

test('the policy that was planned on stays as it is', () => {
  const before = structuredClone(plain(WORLD));
  planned(WORLD, [
    { kind: 'DELETE_ROLE', roleName: 'r' },
    { kind: 'DELETE_CLIENT', username: 'ann' },
    { kind: 'SET_DEFAULT_ACL', acl: { subscribe: true } },
  ]);
  expect(plain(WORLD)).toEqual(before);
});

test('ten thousand changes of a broker with twenty thousand clients are planned in a few seconds', () => {
  const names = Array.from({ length: 20_000 }, (_, number) => `c${number}`);
  const world = policyOf({
    roles: { r: ['send a/#'] },
    groups: { g: ['r'] },
    clients: Object.fromEntries(names.map((name) => [name, { groups: ['g'] }])),
  });
  const changes = names.slice(0, 10_000).map((name) => put(name, { textName: 'x', roles: [at('r')] }));
  const started = busyMs();
  const plan = planChanges(world, MOSQUITTO_2_1, changes, NOBODY);
  expect(plan.changes.every(({ commands }) => commands.length === 1)).toBe(true);
  expect(busyMs() - started).toBeLessThan(5_000);
});
