import { describe, expect, test } from 'vitest';
import type { AccessChange } from '../../../../src/domains/access-control/writing/access-change.ts';
import { ADMIN, startMosquitto } from '../../../support/mosquitto.ts';
import { planChanges } from '../at-once.ts';
import { mosquittoDialect } from '../dialects.ts';
import { DYNSEC_BROKERS } from '../dynsec-brokers.ts';
import { Dice } from '../policy/random-policies.ts';
import { randomChanges } from './random-changes.ts';
import { at, openWriting, plain } from './written-access.ts';

const own = { gatewayUsername: ADMIN.username };
const acl = (topic: string, more = {}) => ({
  aclType: 'subscribePattern' as const,
  topic,
  priority: 0,
  allow: true,
  ...more,
});

/** Each kind of change, in an order in which each finds what it needs. */
const EVERY_KIND: readonly AccessChange[] = [
  { kind: 'PUT_ROLE', roleName: 'r/+ #%', mode: 'CREATE', fields: { textName: 'R', acls: [acl('a/#'), acl('b')] } },
  { kind: 'PUT_ROLE', roleName: 'r2', mode: 'PUT', fields: {} },
  { kind: 'PUT_ROLE', roleName: 'r2', mode: 'UPDATE', fields: { textDescription: 'ü', acls: [acl('b'), acl('c')] } },
  { kind: 'PUT_ROLE_ACL', roleName: 'r2', acl: acl('d', { priority: 5 }) },
  { kind: 'PUT_ROLE_ACL', roleName: 'r2', acl: acl('b', { allow: false }) },
  { kind: 'REMOVE_ROLE_ACL', roleName: 'r2', aclType: 'subscribePattern', topic: 'c' },
  {
    kind: 'PUT_CLIENT',
    username: 'ann',
    mode: 'CREATE',
    fields: { password: 'secret', clientId: 'ann-1', textName: 'Ann', disabled: true, roles: [at('r2', 3)] },
  },
  { kind: 'PUT_CLIENT', username: 'bob/ 🜁', mode: 'CREATE', fields: { roles: [at('r2'), at('r/+ #%', 9)] } },
  {
    kind: 'PUT_GROUP',
    groupName: 'g',
    mode: 'CREATE',
    fields: { textName: 'G', roles: [at('r2', 1)], members: [at('ann'), at('bob/ 🜁', 4)] },
  },
  { kind: 'PUT_GROUP', groupName: 'g2', mode: 'CREATE', fields: {} },
  { kind: 'PUT_CLIENT', username: 'cleo', mode: 'CREATE', fields: { groups: [at('g', 2), at('g2')] } },
  {
    kind: 'PUT_CLIENT',
    username: 'ann',
    mode: 'UPDATE',
    fields: { disabled: false, clientId: null, textName: null, textDescription: 'x', roles: [], groups: [at('g2', 7)] },
  },
  { kind: 'PUT_CLIENT', username: 'ann', mode: 'UPDATE', fields: { password: 'other' } },
  { kind: 'ADD_CLIENT_ROLE', username: 'ann', role: at('r2') },
  { kind: 'ADD_CLIENT_ROLE', username: 'ann', role: at('r2', 6) },
  { kind: 'REMOVE_CLIENT_ROLE', username: 'bob/ 🜁', roleName: 'r2' },
  { kind: 'ADD_CLIENT_GROUP', username: 'bob/ 🜁', group: at('g2') },
  { kind: 'ADD_CLIENT_GROUP', username: 'bob/ 🜁', group: at('g2', 8) },
  { kind: 'REMOVE_CLIENT_GROUP', username: 'cleo', groupName: 'g2' },
  { kind: 'ADD_GROUP_ROLE', groupName: 'g', role: at('r/+ #%') },
  { kind: 'ADD_GROUP_ROLE', groupName: 'g', role: at('r2', 2) },
  { kind: 'REMOVE_GROUP_ROLE', groupName: 'g', roleName: 'r2' },
  {
    kind: 'PUT_GROUP',
    groupName: 'g',
    mode: 'UPDATE',
    fields: { textName: null, members: [at('ann', 1), at('cleo')] },
  },
  { kind: 'PUT_GROUP', groupName: 'g', mode: 'UPDATE', fields: { members: [at('ann', 1)] } },
  { kind: 'SET_DEFAULT_ACL', acl: { subscribe: true, publishClientReceive: false } },
  { kind: 'SET_ANONYMOUS_GROUP', groupName: 'g' },
  { kind: 'DELETE_ROLE', roleName: 'r/+ #%' },
  { kind: 'DELETE_GROUP', groupName: 'g2' },
  { kind: 'DELETE_CLIENT', username: 'ann' },
];

describe.each(DYNSEC_BROKERS)('on $name', ({ start }) => {
  test('each kind of change is applied, and is what was planned', async () => {
    const broker = await start();
    const { apply, index, fresh } = await openWriting(broker.url);
    for (const change of EVERY_KIND) {
      const { policy, dialect } = await index.current();
      const { after } = planChanges(policy, dialect, [change], own);
      const report = await apply(change);
      expect([change, report.outcome, report.changes[0]?.error]).toEqual([change, 'APPLIED', null]);
      expect(plain(await fresh())).toEqual(plain(after));
      expect(plain((await index.read()).policy)).toEqual(plain(after));
    }
  });

  test('one list does what its changes do one after the other', async () => {
    const broker = await start();
    const { apply, index, fresh, payloads } = await openWriting(broker.url);
    const { policy, dialect } = await index.current();
    const { after } = planChanges(policy, dialect, EVERY_KIND, own);
    const report = await apply(...EVERY_KIND);
    expect(report.changes.map(({ outcome }) => outcome)).toEqual(EVERY_KIND.map(() => 'APPLIED'));
    expect(plain(await fresh())).toEqual(plain(after));
    expect(payloads.length).toBeLessThan(EVERY_KIND.length);
  });

  test('existing values are not sent, and no client is disconnected', async () => {
    const broker = await start();
    const { apply, payloads } = await openWriting(broker.url);
    const objects: AccessChange[] = [
      { kind: 'PUT_ROLE', roleName: 'r', mode: 'PUT', fields: { textName: 'R', acls: [acl('a'), acl('b')] } },
      { kind: 'PUT_GROUP', groupName: 'g', mode: 'PUT', fields: { roles: [at('r')], textName: null } },
      {
        kind: 'PUT_CLIENT',
        username: 'ann',
        mode: 'PUT',
        fields: { clientId: null, textName: '', disabled: false, roles: [at('r', 2)], groups: [at('g')] },
      },
    ];
    const same: AccessChange[] = [
      ...objects,
      { kind: 'ADD_CLIENT_ROLE', username: 'ann', role: at('r', 2) },
      { kind: 'ADD_CLIENT_GROUP', username: 'ann', group: at('g') },
      { kind: 'ADD_GROUP_ROLE', groupName: 'g', role: at('r') },
      { kind: 'PUT_GROUP', groupName: 'g', mode: 'UPDATE', fields: { members: [at('ann')] } },
      { kind: 'PUT_ROLE_ACL', roleName: 'r', acl: acl('b') },
      { kind: 'SET_DEFAULT_ACL', acl: { publishClientSend: false } },
      { kind: 'SET_ANONYMOUS_GROUP', groupName: 'g' },
    ];
    await apply(
      ...objects,
      { kind: 'SET_ANONYMOUS_GROUP', groupName: 'g' },
      { kind: 'SET_DEFAULT_ACL', acl: { publishClientSend: false } },
      { kind: 'PUT_CLIENT', username: 'ann', mode: 'UPDATE', fields: { password: 'secret' } },
    );
    const ann = await broker.client({ username: 'ann', password: 'secret' });
    const before = payloads.length;
    const report = await apply(...same);
    expect(report.outcome).toBe('UNCHANGED');
    expect(report.changes.map(({ outcome }) => outcome)).toEqual(same.map(() => 'UNCHANGED'));
    expect(payloads).toHaveLength(before);
    await ann.subscribeAsync('a');
    expect(ann.connected).toBe(true);
  });

  test('a change that fails does not stop the others, only those that need it', async () => {
    const broker = await start();
    const { apply, fresh } = await openWriting(broker.url);
    const report = await apply(
      { kind: 'PUT_ROLE', roleName: 'bad', mode: 'CREATE', fields: { acls: [acl('a/#/b')] } },
      { kind: 'PUT_CLIENT', username: 'ann', mode: 'CREATE', fields: { roles: [at('bad')] } },
      { kind: 'PUT_CLIENT', username: 'bob', mode: 'CREATE', fields: {} },
      { kind: 'PUT_CLIENT', username: 'bob', mode: 'CREATE', fields: {} },
      { kind: 'DELETE_GROUP', groupName: 'none' },
    );
    expect(report.outcome).toBe('PARTLY_APPLIED');
    expect(report.changes.map(({ outcome, error }) => error?.code ?? outcome)).toEqual([
      'INVALID',
      'NOT_FOUND',
      'APPLIED',
      'ALREADY_EXISTS',
      'NOT_FOUND',
    ]);
    const { clients, roles } = await fresh();
    expect([clients.has('ann'), clients.has('bob'), roles.has('bad')]).toEqual([false, true, false]);
  });

  test('a dry run sends nothing and lists the commands without passwords', async () => {
    const broker = await start();
    const { apply, dryRun, payloads } = await openWriting(broker.url, {
      connectedClients: async () => ({ clients: [{ clientId: 'c', username: 'ann' }], isComplete: false }),
    });
    const change: AccessChange = { kind: 'PUT_CLIENT', username: 'ann', mode: 'PUT', fields: { password: 'secret' } };
    const planned = await dryRun(change);
    expect(planned).toMatchObject({
      outcome: 'PLANNED',
      changes: [{ outcome: 'PLANNED', commands: [{ command: 'createClient', state: 'PLANNED' }] }],
      blastRadius: { clients: [], usernames: [], anonymous: false, gateway: false },
    });
    expect(payloads).toEqual([]);
    await apply(change);
    const again = await dryRun(change);
    expect(again.changes[0]?.commands[0]?.fields).toEqual({ username: 'ann', password: '***' });
    expect(again.blastRadius).toEqual({
      clients: [{ clientId: 'c', username: 'ann' }],
      usernames: ['ann'],
      anonymous: false,
      gateway: false,
      isComplete: false,
    });
    expect(JSON.stringify(again)).not.toContain('secret');
  });

  test('random lists of changes: what is reported and what was planned is what the broker has', async () => {
    const broker = await start();
    const { apply, index, fresh } = await openWriting(broker.url);
    for (let seed = 1; seed <= 25; seed += 1) {
      const { policy, dialect } = await index.current();
      const changes = randomChanges(new Dice(seed), policy, 12);
      const plan = planChanges(policy, dialect, changes, own);
      const report = await apply(...changes);
      const expected = plan.changes.map(({ commands, error }) =>
        error ? error.code : commands.length > 0 ? 'APPLIED' : 'UNCHANGED',
      );
      expect([seed, report.changes.map(({ outcome, error }) => error?.code ?? outcome)]).toEqual([seed, expected]);
      expect([seed, plain(await fresh())]).toEqual([seed, plain(plan.after)]);
    }
  });

  test('an edit of its own roles, groups and text is proven although the broker cuts the connection', async () => {
    const broker = await start();
    const { apply, link, fresh } = await openWriting(broker.url);
    let losses = 0;
    link.onStatus(({ state }) => {
      if (state === 'UNREACHABLE') losses += 1;
    });
    const report = await apply(
      { kind: 'PUT_ROLE', roleName: 'r', mode: 'CREATE', fields: {} },
      { kind: 'PUT_GROUP', groupName: 'own', mode: 'CREATE', fields: {} },
      { kind: 'PUT_CLIENT', username: ADMIN.username, mode: 'UPDATE', fields: { textName: 'me' } },
      { kind: 'ADD_CLIENT_ROLE', username: ADMIN.username, role: at('r') },
      { kind: 'ADD_CLIENT_GROUP', username: ADMIN.username, group: at('own') },
      { kind: 'ADD_GROUP_ROLE', groupName: 'own', role: at('r', 4) },
      { kind: 'PUT_ROLE_ACL', roleName: 'r', acl: acl('x') },
      { kind: 'PUT_CLIENT', username: 'after', mode: 'CREATE', fields: {} },
    );
    expect(report.changes.map(({ outcome }) => outcome)).toEqual(report.changes.map(() => 'APPLIED'));
    expect(report.blastRadius).toMatchObject({ gateway: true, usernames: [ADMIN.username] });
    expect(losses).toBeGreaterThan(0);
    const { clients, groups, roles } = await fresh();
    expect(clients.get(ADMIN.username)).toMatchObject({ textName: 'me', groups: [at('own')] });
    expect(groups.get('own')?.roles).toEqual([at('r', 4)]);
    expect(roles.get('r')?.acls).toHaveLength(1);
    expect(clients.has('after')).toBe(true);
  });

  test('what would lock this service out is refused, and it still has its rights', async () => {
    const broker = await start();
    const { apply, fresh, payloads } = await openWriting(broker.url);
    const before = await fresh();
    const [held] = before.clients.get(ADMIN.username)?.roles ?? [];
    const rolename = held?.name ?? '';
    const report = await apply(
      { kind: 'DELETE_CLIENT', username: ADMIN.username },
      { kind: 'PUT_CLIENT', username: ADMIN.username, mode: 'UPDATE', fields: { disabled: true } },
      { kind: 'PUT_CLIENT', username: ADMIN.username, mode: 'UPDATE', fields: { password: 'x' } },
      { kind: 'PUT_CLIENT', username: ADMIN.username, mode: 'UPDATE', fields: { clientId: 'x' } },
      { kind: 'REMOVE_CLIENT_ROLE', username: ADMIN.username, roleName: rolename },
      { kind: 'DELETE_ROLE', roleName: rolename },
      { kind: 'PUT_ROLE', roleName: rolename, mode: 'UPDATE', fields: { acls: [] } },
    );
    expect(report.changes.map(({ error }) => error?.code)).toEqual(report.changes.map(() => 'IN_USE'));
    expect(payloads).toEqual([]);
    expect(plain(await fresh())).toEqual(plain(before));
  });
});

test('a role that a tool gave at creation can be deleted: the broker lives', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { apply, send, fresh } = await openWriting(broker.url);
  const roles = [{ rolename: 'r' }];
  await send(
    { command: 'createRole', fields: { rolename: 'r' } },
    { command: 'createGroup', fields: { groupname: 'g', roles } },
    { command: 'createClient', fields: { username: 'ann', roles } },
    { command: 'createClient', fields: { username: 'bob', groups: [{ groupname: 'g' }] } },
  );
  const report = await apply(
    { kind: 'DELETE_ROLE', roleName: 'r' },
    ...['x', 'y', 'z'].map(
      (rolename): AccessChange => ({ kind: 'PUT_ROLE', roleName: rolename, mode: 'CREATE', fields: {} }),
    ),
  );
  expect(report.outcome).toBe('APPLIED');
  expect(report.changes[0]?.commands.map(({ command }) => command)).toEqual([
    'removeClientRole',
    'removeGroupRole',
    'deleteRole',
  ]);
  const { clients, groups } = await fresh();
  expect([clients.get('ann')?.roles, groups.get('g')?.roles]).toEqual([[], []]);
});

test('the anonymous group is not deleted, another one is', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { apply, fresh } = await openWriting(broker.url);
  const report = await apply(
    { kind: 'PUT_GROUP', groupName: 'g', mode: 'CREATE', fields: {} },
    { kind: 'PUT_GROUP', groupName: 'other', mode: 'CREATE', fields: {} },
    { kind: 'SET_ANONYMOUS_GROUP', groupName: 'g' },
    { kind: 'DELETE_GROUP', groupName: 'g' },
    { kind: 'SET_ANONYMOUS_GROUP', groupName: 'other' },
    { kind: 'DELETE_GROUP', groupName: 'g' },
  );
  expect(report.changes.map(({ outcome, error }) => error?.code ?? outcome)).toEqual([
    'APPLIED',
    'APPLIED',
    'APPLIED',
    'IN_USE',
    'APPLIED',
    'APPLIED',
  ]);
  expect([...(await fresh()).groups.keys()]).toEqual(['other']);
});

test('a role that another client adds at the same time counts as added, a refused rule does not', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const other = await openWriting(broker.url);
  await other.send(
    { command: 'createRole', fields: { rolename: 'r' } },
    { command: 'createClient', fields: { username: 'ann' } },
  );
  const { apply, index } = await (async () => {
    const opened = await openWriting(broker.url);
    // Between what was read and what is sent.
    const current = opened.index.current.bind(opened.index);
    opened.index.current = async () => {
      const snapshot = await current();
      await other.send(
        { command: 'addClientRole', fields: { username: 'ann', rolename: 'r' } },
        { command: 'addRoleACL', fields: { rolename: 'r', acltype: 'subscribePattern', topic: 'a', allow: false } },
      );
      return snapshot;
    };
    return opened;
  })();
  const report = await apply(
    { kind: 'ADD_CLIENT_ROLE', username: 'ann', role: at('r') },
    { kind: 'PUT_ROLE_ACL', roleName: 'r', acl: acl('a') },
  );
  expect(report.changes.map(({ outcome }) => outcome)).toEqual(['APPLIED', 'REJECTED']);
  expect(report.changes[1]?.error).toMatchObject({ code: 'ALREADY_EXISTS' });
  const { clients, roles } = (await index.read()).policy;
  expect(clients.get('ann')?.roles).toEqual([at('r')]);
  expect(roles.get('r')?.acls).toEqual([acl('a', { allow: false })]);
});

test('malformed commands of other clients are not mistaken for responses', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const garbage = ['no json', '{}', '{"commands":[1]}', '{"commands":[{}]}'];
  const opened = await openWriting(broker.url, {
    // The broker sends the error to all clients without correlation data, while the next payload is in transit.
    onPayload: () => {
      for (const text of garbage) void opened.link.publish('$CONTROL/dynamic-security/v1', text);
    },
  });
  const names = Array.from({ length: 30 }, (_, number) => `r${number}`);
  const report = await opened.apply(
    ...names.map((rolename): AccessChange => ({ kind: 'PUT_ROLE', roleName: rolename, mode: 'CREATE', fields: {} })),
  );
  expect(report.changes.map(({ outcome }) => outcome)).toEqual(names.map(() => 'APPLIED'));
  expect([...(await opened.fresh()).roles.keys()]).toEqual(expect.arrayContaining(names));
});

test('a broker that does not come back leaves what was under way unknown and the rest unsent', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const opened = await openWriting(broker.url, {
    readBackMs: 300,
    onPayload: (count) => {
      if (count === 1) void broker.kill();
    },
  });
  const { writesPerPayload } = mosquittoDialect();
  const changes = Array.from(
    { length: 4 * writesPerPayload },
    (_, number): AccessChange => ({ kind: 'PUT_CLIENT', username: `c${number}`, mode: 'CREATE', fields: {} }),
  );
  const report = await opened.apply(...changes);
  const outcomes = report.changes.map(({ outcome }) => outcome);
  expect(report.outcome).toBe('UNKNOWN');
  expect(outcomes.slice(0, writesPerPayload)).toEqual(Array(writesPerPayload).fill('APPLIED'));
  expect(new Set(outcomes.slice(2 * writesPerPayload))).toEqual(new Set(['REJECTED']));
  expect(report.changes.at(-1)).toMatchObject({
    error: { code: 'BROKER_UNREACHABLE' },
    commands: [{ state: 'NOT_SENT' }],
  });
});
