import { describe, expect, test } from 'vitest';
import { namedNodeId } from '../../../../src/gateway/named-node-id.ts';
import { cursorAt } from '../../../support/cursors.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';
import { shared } from '../../../support/shared.ts';
import { type AccessWorld, accessWorld, addBroker, KINDS } from '../access-service.ts';

const ANY_RULE = { aclType: 'SUBSCRIBE_PATTERN', topic: 'a/#', allow: true };

/** Runs one of the mutations and answers its payload. */
const change = async (
  { graph }: AccessWorld,
  name: string,
  fields: Record<string, unknown>,
  selection = 'outcome commands { command state }',
) => (await graph(document(name, selection), { input: await withBroker(graph, fields) }))[name];

const document = (name: string, selection = 'outcome') =>
  `mutation ($input: ${name.charAt(0).toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { ${selection} } }`;

const withBroker = async (graph: AccessWorld['graph'], { dryRun = false, ...fields }: Record<string, unknown>) => ({
  brokerId: (await graph('query ($b: ID!) { broker(id: $b) { id } }')).broker.id,
  dryRun,
  change: fields,
});

/** A role, a group with it, and two accounts in the group. */
async function furnish(world: AccessWorld): Promise<void> {
  const { graph, brokerId } = world;
  const { changeAccessControl } = await graph(
    `mutation ($input: ChangeAccessControlInput!) { changeAccessControl(input: $input) { outcome changes { outcome error { message } } } }`,
    {
      input: {
        brokerId,
        changes: [
          {
            createAccessRole: {
              roleName: 'sensor',
              textName: 'Sensors',
              acls: [
                { aclType: 'PUBLISH_CLIENT_SEND', topic: 'plant/+/data', allow: true },
                { aclType: 'SUBSCRIBE_PATTERN', topic: 'plant/#', priority: 5, allow: true },
              ],
            },
          },
          { createAccessGroup: { groupName: 'hall', roles: [{ roleName: 'sensor', priority: 3 }] } },
          { createAccount: { username: 'meter-1', password: 'one', groups: [{ groupName: 'hall', priority: 2 }] } },
          { createAccount: { username: 'meter-2', password: 'two', groups: [{ groupName: 'hall' }] } },
          { createAccount: { username: 'pump', password: 'three', roles: [{ roleName: 'sensor' }] } },
        ],
      },
    },
  );
  expect(changeAccessControl).toEqual({
    outcome: 'APPLIED',
    changes: Array.from({ length: 5 }, () => ({ outcome: 'APPLIED', error: null })),
  });
}

describe.each(KINDS)('on %s', (kind) => {
  const furnished = shared(async () => {
    const world = await accessWorld(kind);
    await furnish(world);
    return world;
  });

  test('clients, groups and roles are walked, paged and filtered without asking the broker again', async () => {
    const world = await accessWorld(kind);
    await furnish(world);
    const { graph, answered } = world;
    // The first look after a write that the broker counts may still compare numbers.
    await graph('query ($b: ID!) { broker(id: $b) { accessControl { asOf } } }');
    answered();

    const walk = await graph(`query ($b: ID!) { broker(id: $b) {
      accounts(first: 2, offset: 1, filter: { value: "m", mode: CONTAINS, target: USERNAME }) {
        totalCount
        pageInfo { hasNextPage hasPreviousPage endCursor }
        edges { cursor node {
          username enabled isGateway roles { roleName }
          groups { groupName priority group {
            isAnonymousGroup
            roles { priority role { roleName textName acls { aclType topic priority allow } } }
            members { username priority }
            accounts(first: 1) { totalCount edges { priority node { username } } }
          } }
        } }
      }
      accessRole(roleName: "sensor") {
        accounts { totalCount edges { priority node { username } } }
        groups { edges { priority node { groupName } } }
      }
      accessGroup(groupName: "none") { groupName }
      defaultAcl { publishClientSend publishClientReceive subscribe unsubscribe }
      accessControl { accountCount groupCount roleCount }
    } }`);

    expect(walk.broker.accounts.totalCount).toBe(4);
    expect(walk.broker.accounts.pageInfo).toEqual({
      hasNextPage: true,
      hasPreviousPage: true,
      endCursor: cursorAt('Account', 'meter-2'),
    });
    const group = {
      isAnonymousGroup: false,
      roles: [
        {
          priority: 3,
          role: {
            roleName: 'sensor',
            textName: 'Sensors',
            acls: [
              { aclType: 'PUBLISH_CLIENT_SEND', topic: 'plant/+/data', priority: 0, allow: true },
              { aclType: 'SUBSCRIBE_PATTERN', topic: 'plant/#', priority: 5, allow: true },
            ],
          },
        },
      ],
      members: [
        { username: 'meter-1', priority: 2 },
        { username: 'meter-2', priority: -1 },
      ],
      accounts: { totalCount: 2, edges: [{ priority: 2, node: { username: 'meter-1' } }] },
    };
    expect(walk.broker.accounts.edges).toEqual(
      [
        { username: 'meter-1', priority: 2 },
        { username: 'meter-2', priority: -1 },
      ].map(({ username, priority }) => ({
        cursor: cursorAt('Account', username),
        node: {
          username,
          enabled: true,
          isGateway: false,
          roles: [],
          groups: [{ groupName: 'hall', priority, group }],
        },
      })),
    );
    expect(walk.broker.accessRole).toEqual({
      accounts: { totalCount: 1, edges: [{ priority: -1, node: { username: 'pump' } }] },
      groups: { edges: [{ priority: 3, node: { groupName: 'hall' } }] },
    });
    expect(walk.broker.accessGroup).toBeNull();
    expect(walk.broker.accessControl).toMatchObject({ accountCount: 4, groupCount: expect.any(Number) });

    const byRole = await graph(`query ($b: ID!) { broker(id: $b) {
      accounts(filter: { value: "sensor", mode: EQUALS, target: ROLE_NAME }) { nodes { username } }
      accessGroups(filter: { value: "meter-1", mode: EQUALS, target: USERNAME }) { nodes { groupName } }
      accessRoles(filter: { value: "plant/+", mode: STARTS_WITH, target: TOPIC }) { nodes { roleName } }
    } }`);
    expect(byRole.broker).toEqual({
      accounts: { nodes: [{ username: 'pump' }] },
      accessGroups: { nodes: [{ groupName: 'hall' }] },
      accessRoles: { nodes: [{ roleName: 'sensor' }] },
    });
    const sorted = await graph(`query ($b: ID!) { broker(id: $b) {
      first: accounts(first: 2, filter: { enabled: true, search: "ME" }, orderBy: { field: USERNAME, order: DESC }) {
        totalCount nodes { username } pageInfo { endCursor hasNextPage }
      }
      next: accounts(after: "${cursorAt('Account', 'meter-2', 'desc')}", filter: { search: "m" }, orderBy: { field: USERNAME, order: DESC }) {
        nodes { username }
      }
      inGroup: accounts(filter: { groupName: "hall", value: "2", mode: ENDS_WITH }) { nodes { username } }
      withRole: accounts(filter: { roleName: "sensor" }) { nodes { username } }
      disabled: accounts(filter: { enabled: false }) { totalCount }
    } }`);
    expect(sorted.broker).toEqual({
      first: {
        totalCount: 2,
        nodes: [{ username: 'meter-2' }, { username: 'meter-1' }],
        pageInfo: { endCursor: cursorAt('Account', 'meter-1', 'desc'), hasNextPage: false },
      },
      next: { nodes: [{ username: 'meter-1' }, { username: 'admin' }] },
      inGroup: { nodes: [{ username: 'meter-2' }] },
      withRole: { nodes: [{ username: 'pump' }] },
      disabled: { totalCount: 0 },
    });
    // Where the broker counts its changes it may be asked for that number.
    expect(answered().filter((command) => command !== 'getDetails')).toEqual([]);
  });

  test('a connected client leads to its account and what that may, and the account to its connections', async () => {
    const world = await furnished();
    await world.client({ clientId: 'm1', username: 'meter-1', password: 'one' });
    const { broker } = await world.graph(`query ($b: ID!) { broker(id: $b) {
      connectedClient(clientId: "m1") { account { username groups { group { roles { roleName } } } connections { clientId } } }
      account(username: "meter-2") { connections { clientId } }
    } }`);
    expect(broker).toEqual({
      connectedClient: {
        account: {
          username: 'meter-1',
          groups: [{ group: { roles: [{ roleName: 'sensor' }] } }],
          connections: [{ clientId: 'm1' }],
        },
      },
      account: { connections: [] },
    });
  });

  test('every mutation changes what the broker has, and says so', async () => {
    const world = await accessWorld(kind);
    const { ask } = world;
    const applied = async (name: string, input: Record<string, unknown>, selection?: string) => {
      const payload = await change(world, name, input, `outcome ${selection ?? ''}`);
      expect([name, payload.outcome]).toEqual([name, 'APPLIED']);
      return payload;
    };

    await applied('createAccessRole', { roleName: 'r', textName: 'R', acls: [] });
    await applied('putAccessRole', { roleName: 'q' });
    await applied('createAccessGroup', { groupName: 'g', textDescription: 'd' });
    const created = await applied(
      'createAccount',
      { username: 'u', password: 'p', clientId: 'c', textName: 'U', enabled: false },
      'account { username clientId textName enabled roles { roleName } groups { groupName } } error { code }',
    );
    expect(created.account).toEqual({
      username: 'u',
      clientId: 'c',
      textName: 'U',
      enabled: false,
      roles: [],
      groups: [],
    });
    expect((await ask('getClient', { username: 'u' })).client).toMatchObject({ clientid: 'c', disabled: true });
    await applied('setAccountEnabled', { username: 'u', enabled: true });
    await applied('updateAccount', { username: 'u', clientId: null, textName: null, textDescription: 'x' });
    const { client } = await ask('getClient', { username: 'u' });
    expect(client.disabled ?? false).toBe(false);
    expect([client.clientid || null, client.textname || null, client.textdescription]).toEqual([null, null, 'x']);
    await applied('setAccountPassword', { username: 'u', password: 'other' });
    await (await world.client({ clientId: 'u1', username: 'u', password: 'other' })).endAsync();

    expect(
      await applied(
        'addAccountRole',
        { username: 'u', roleName: 'r', priority: 4 },
        'account { username } role { accounts { nodes { username } } }',
      ),
    ).toMatchObject({ account: { username: 'u' }, role: { accounts: { nodes: [{ username: 'u' }] } } });
    expect(
      await applied(
        'addAccountGroup',
        { username: 'u', groupName: 'g', priority: 6 },
        'account { username } group { accounts { nodes { username } } }',
      ),
    ).toMatchObject({ account: { username: 'u' }, group: { accounts: { nodes: [{ username: 'u' }] } } });
    // Without a priority it stays as it is, whichever way it is said.
    await applied('updateAccount', { username: 'u', roles: [{ roleName: 'r' }, { roleName: 'q' }] });
    expect((await ask('getClient', { username: 'u' })).client).toMatchObject({
      roles: [{ rolename: 'r', priority: 4 }, { rolename: 'q' }],
      groups: [{ groupname: 'g', priority: 6 }],
    });
    expect((await change(world, 'addAccountRole', { username: 'u', roleName: 'r' })).outcome).toBe('UNCHANGED');
    await applied('removeAccountRole', { username: 'u', roleName: 'r' });
    await applied('removeAccountGroup', { username: 'u', groupName: 'g' });

    await applied('addAccessGroupRole', { groupName: 'g', roleName: 'q' });
    const group = await applied(
      'updateAccessGroup',
      { groupName: 'g', textDescription: null, members: [{ username: 'u', priority: 9 }] },
      'group { textDescription roles { roleName } members { username priority } }',
    );
    expect(group.group).toEqual({
      textDescription: null,
      roles: [{ roleName: 'q' }],
      members: [{ username: 'u', priority: 9 }],
    });
    await applied('removeAccessGroupRole', { groupName: 'g', roleName: 'q' });
    await applied('putAccessGroup', { groupName: 'g2' });

    await applied('putAclRule', {
      roleName: 'r',
      acl: { aclType: 'SUBSCRIBE_LITERAL', topic: 'a/b', priority: 1, allow: false },
    });
    const role = await applied(
      'putAclRule',
      { roleName: 'r', acl: { aclType: 'SUBSCRIBE_LITERAL', topic: 'a/b', priority: 2, allow: true } },
      'role { acls { aclType topic priority allow } }',
    );
    expect(role.role.acls).toEqual([{ aclType: 'SUBSCRIBE_LITERAL', topic: 'a/b', priority: 2, allow: true }]);
    await applied('removeAclRule', { roleName: 'r', aclType: 'SUBSCRIBE_LITERAL', topic: 'a/b' });
    await applied('updateAccessRole', { roleName: 'r', textDescription: 'what it is for' });
    expect((await ask('getRole', { rolename: 'r' })).role).toMatchObject({
      textname: 'R',
      textdescription: 'what it is for',
      acls: [],
    });

    const { defaultAcl } = (await world.graph('query ($b: ID!) { broker(id: $b) { defaultAcl { subscribe } } }'))
      .broker;
    const defaults = await applied(
      'setDefaultAcl',
      { subscribe: !defaultAcl.subscribe },
      'defaultAcl { subscribe restAcls { aclType allow } }',
    );
    expect(defaults.defaultAcl.subscribe).toBe(!defaultAcl.subscribe);
    const { acls } = await ask('getDefaultACLAccess');
    expect(acls).toContainEqual({ acltype: 'subscribe', allow: !defaultAcl.subscribe });
    await applied('setAnonymousGroup', { groupName: 'g2' });
    expect((await ask('getAnonymousGroup')).group.groupname).toBe('g2');

    const id = namedNodeId({ kind: 'account', brokerId: world.brokerId, name: 'u' });
    const dry = await change(world, 'deleteAccount', { username: 'u', dryRun: true }, 'deletedAccountId');
    expect(dry).toEqual({ deletedAccountId: null });
    expect((await applied('deleteAccount', { username: 'u' }, 'deletedAccountId')).deletedAccountId).toBe(id);
    expect(await ask('getClient', { username: 'u' })).toBe('Client not found');
    expect(await applied('deleteAccessGroup', { groupName: 'g' }, 'deletedAccessGroupId')).toMatchObject({
      deletedAccessGroupId: namedNodeId({ kind: 'accessGroup', brokerId: world.brokerId, name: 'g' }),
    });
    expect(await applied('deleteAccessRole', { roleName: 'q' }, 'deletedAccessRoleId')).toMatchObject({
      deletedAccessRoleId: namedNodeId({ kind: 'accessRole', brokerId: world.brokerId, name: 'q' }),
    });
    expect((await applied('putAccount', { username: 'w' }, 'account { username }')).account.username).toBe('w');
  });

  test('what cannot be done is an error with its code, and changes nothing', async () => {
    const world = await furnished();
    const before = await world.ask('listClients', { verbose: true });
    const codeOf = async (name: string, input: Record<string, unknown>) => {
      const { extensions } = await world.refused(document(name), { input: await withBroker(world.graph, input) });
      return extensions;
    };
    expect(await codeOf('createAccount', { username: 'pump' })).toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(await codeOf('updateAccount', { username: 'none' })).toMatchObject({ code: 'NOT_FOUND' });
    expect(await codeOf('deleteAccount', { username: 'none' })).toMatchObject({ code: 'NOT_FOUND' });
    expect(await codeOf('createAccount', { username: 'x', roles: [{ roleName: 'none' }] })).toMatchObject({
      code: 'NOT_FOUND',
    });
    const badRule = { aclType: 'SUBSCRIBE_PATTERN', topic: 'a/#/b', allow: true };
    expect(await codeOf('putAclRule', { roleName: 'sensor', acl: badRule })).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ path: 'input.change.acl.topic', reason: expect.any(String) }] },
    });
    expect(await codeOf('putAclRule', { roleName: 'sensor', acl: { ...badRule, topic: '' } })).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ path: 'input.change.acl.topic', reason: 'must not be empty' }] },
    });
    expect(await codeOf('updateAccount', { username: 'pump', password: null })).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ path: 'input.change.password' }] },
    });
    expect(await world.ask('listClients', { verbose: true })).toEqual(before);
  });

  test('a dry run sends nothing and lists the commands and disconnected clients; the change then matches it', async () => {
    const world = await furnished();
    const client = await world.client({ clientId: 'm2', username: 'meter-2', password: 'two' });
    await world.client({ clientId: 'p1', username: 'pump', password: 'three' });
    const input = { username: 'meter-2', textName: 'Meter', password: 'a new secret' };
    const selection =
      'outcome commands { command fields state } blastRadius { clientCount clients { clientId username } usernames gateway anonymous }';

    const planned = await change(world, 'updateAccount', { ...input, dryRun: true }, selection);
    expect(planned.outcome).toBe('PLANNED');
    expect(planned.commands.every(({ state }: { state: string }) => state === 'PLANNED')).toBe(true);
    expect(planned.blastRadius).toEqual({
      clientCount: 1,
      clients: [{ clientId: 'm2', username: 'meter-2' }],
      usernames: ['meter-2'],
      gateway: false,
      anonymous: false,
    });
    expect(JSON.stringify(planned)).not.toContain('a new secret');
    expect((await world.ask('getClient', { username: 'meter-2' })).client.textname).toBeUndefined();
    expect(client.connected).toBe(true);

    const gone = new Promise<void>((resolve) => client.once('close', () => resolve()));
    const done = await change(world, 'updateAccount', input, selection);
    await gone;
    expect(done.outcome).toBe('APPLIED');
    expect(done.blastRadius.clients).toEqual(planned.blastRadius.clients);
    expect(JSON.stringify(done)).not.toContain('a new secret');
    expect((await world.ask('getClient', { username: 'meter-2' })).client.textname).toBe('Meter');
  });

  test('many changes in one call have each its own result; one that is rejected stops nothing', async () => {
    const world = await furnished();
    const { graph, refused, brokerId } = world;
    const MANY = `mutation ($input: ChangeAccessControlInput!) { changeAccessControl(input: $input) {
      outcome changes { outcome error { code } commands { command state } } blastRadius { clientCount }
    } }`;
    const clients = Array.from({ length: 60 }, (_, index) => ({ createAccount: { username: `n${index}` } }));
    const changes = [...clients, { deleteAccessRole: { roleName: 'none' } }, { putAccount: { username: 'n1' } }];

    const dry = (await graph(MANY, { input: { brokerId, changes, dryRun: true } })).changeAccessControl;
    expect(dry.changes[0]).toMatchObject({
      outcome: 'PLANNED',
      commands: [{ command: 'createClient', state: 'PLANNED' }],
    });
    expect((await world.ask('listClients')).clients).not.toContain('n0');

    const { outcome, changes: results } = (await graph(MANY, { input: { brokerId, changes } })).changeAccessControl;
    expect(outcome).toBe('PARTLY_APPLIED');
    expect(results.map((result: { outcome: string }) => result.outcome)).toEqual([
      ...clients.map(() => 'APPLIED'),
      'REJECTED',
      'UNCHANGED',
    ]);
    expect(results[60]).toMatchObject({ error: { code: 'NOT_FOUND' }, commands: [] });
    expect((await world.ask('listClients')).clients).toEqual(expect.arrayContaining(['n0', 'n59']));

    const two = [{ deleteAccount: { username: 'n0' }, deleteAccessRole: { roleName: 'r' } }];
    await refused(MANY, { input: { brokerId, changes: two } });
    await refused(MANY, { input: { brokerId, changes: [{}] } });
    const cleared = { updateAccount: { username: 'n0', password: null } };
    const nulled = await refused(MANY, { input: { brokerId, changes: [...clients.slice(0, 1), cleared] } });
    expect(nulled.extensions).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ path: 'input.changes.1.updateAccount.password' }] },
    });
    const acls = [{ ...ANY_RULE }, { ...ANY_RULE, topic: 'a#' }];
    const misplaced = [
      { createAccessRole: { roleName: 'misplaced', acls } },
      { putAccount: { username: 'n1', textName: 'one' } },
      { updateAccessGroup: { groupName: 'all', members: [{ username: 'n1', priority: 1 }, { username: '\u0007' }] } },
    ];
    const REASONS = MANY.replace('error { code }', 'error { code message info }');
    const placed = (await graph(REASONS, { input: { brokerId, changes: misplaced } })).changeAccessControl.changes;
    const place = 'input.changes.0.createAccessRole.acls.1.topic';
    expect(placed).toMatchObject([
      { error: { code: 'INVALID', message: expect.stringContaining(place), info: { issues: [{ path: place }] } } },
      { error: null },
      { error: { info: { issues: [{ path: 'input.changes.2.updateAccessGroup.members.1.username' }] } } },
    ]);
    const tooMany = Array.from({ length: 10_001 }, () => ({ deleteAccount: { username: 'n0' } }));
    const { extensions } = await refused(MANY, { input: { brokerId, changes: tooMany } });
    expect(extensions).toMatchObject({ code: 'INVALID', info: { issues: [{ path: 'input.changes' }] } });
    expect((await world.ask('listClients')).clients).toContain('n0');
  });

  test('an explanation names the deciding rule, also for hypothetical roles, and whoCan lists the allowed clients', async () => {
    const world = await furnished();
    const EXPLAIN = `query ($b: ID!, $u: String, $a: Boolean, $topic: String!, $with: [HeldRoleInput!], $without: [String!]) {
      explainAccess(brokerId: $b, username: $u, anonymous: $a, action: PUBLISH, topic: $topic, withRoles: $with, withoutRoles: $without) {
        allowed reason defaultAclType defaultAllows lookedAtTotal elsewhere remarks
        decidedBy { roleName groupName priority rule { topic allow } verdict role { textName } group { groupName } }
        lookedAt { verdict rule { topic } }
      }
    }`;
    const explain = async (variables: Record<string, unknown>) =>
      (await world.graph(EXPLAIN, { topic: 'plant/7/data', ...variables })).explainAccess;

    expect(await explain({ u: 'meter-1' })).toMatchObject({
      allowed: true,
      reason: 'RULE',
      defaultAclType: 'PUBLISH_CLIENT_SEND',
      decidedBy: {
        roleName: 'sensor',
        groupName: 'hall',
        priority: 3,
        rule: { topic: 'plant/+/data', allow: true },
        verdict: 'MATCHED',
        role: { textName: 'Sensors' },
        group: { groupName: 'hall' },
      },
    });
    // Dynamic security alone decides on the embedded broker.
    const elsewhere = kind === 'Mosquitto 2.0' ? expect.stringMatching(/nother plugin|Other plugins/) : null;
    const denied = await explain({ u: 'meter-1', without: ['sensor'] });
    expect(denied).toMatchObject({ decidedBy: null, reason: 'DEFAULT', elsewhere });
    const unknown = await explain({ u: 'meter-l' });
    expect(unknown).toMatchObject({ allowed: false, reason: 'UNKNOWN_USER', elsewhere });
    expect(unknown.remarks[0]).toContain('"meter-l" does not exist');
    await change(world, 'createAccessRole', {
      roleName: 'mute',
      acls: [{ aclType: 'PUBLISH_CLIENT_SEND', topic: '#', allow: false }],
    });
    expect(await explain({ u: 'pump', with: [{ roleName: 'mute', priority: 10 }] })).toMatchObject({
      allowed: false,
      decidedBy: { roleName: 'mute', groupName: null },
    });
    expect(await explain({ a: true })).toMatchObject({ reason: kind === 'Mosquitto 2.0' ? 'DEFAULT' : 'UNKNOWN_USER' });
    expect((await world.refused(EXPLAIN, { topic: 'x' })).extensions).toMatchObject({ code: 'INVALID' });
    expect((await world.refused(EXPLAIN, { topic: 'x/#', u: 'pump' })).extensions).toMatchObject({ code: 'INVALID' });

    const { whoCan } = await world.graph(
      `query ($b: ID!) { whoCan(brokerId: $b, action: SUBSCRIBE, topic: "plant/+/data", first: 2) {
        totalCount pageInfo { hasNextPage } nodes { username reason account { enabled } decidedBy { roleName } }
      } }`,
    );
    const names = whoCan.nodes.map(({ username }: { username: string }) => username);
    expect(whoCan.totalCount).toBeGreaterThanOrEqual(3);
    expect(whoCan.pageInfo.hasNextPage).toBe(true);
    expect(names).toHaveLength(2);
  });

  test('a document of one broker brings another to the same, and does nothing the second time', async () => {
    const world = await accessWorld(kind);
    await furnish(world);
    const { exportAccessControl: exported } = await world.graph(
      'query ($b: ID!) { exportAccessControl(brokerId: $b) }',
    );
    expect(JSON.stringify(exported)).not.toMatch(/"(one|two|three)"/);
    const other = await startMosquitto({ access: 'dynsec' });
    const otherId = await addBroker(world.service, other.url);
    const RESULT =
      '{ outcome notes needPassword changes { outcome commands { command } error { message } } blastRadius { clientCount } }';
    const PLAN = `query ($input: AccessControlImportInput!) { planAccessControl(input: $input) ${RESULT} }`;
    const APPLY = `mutation ($input: AccessControlImportInput!) { applyAccessControl(input: $input) ${RESULT} }`;
    const input = { brokerId: otherId, document: exported, passwords: [{ username: 'pump', password: 'three' }] };

    const plan = (await world.graph(PLAN, { input })).planAccessControl;
    expect(plan.outcome).toBe('PLANNED');
    expect(plan.needPassword).toEqual(expect.arrayContaining(['meter-1', 'meter-2']));
    expect(plan.needPassword).not.toContain('pump');
    const applied = (await world.graph(APPLY, { input })).applyAccessControl;
    expect(applied.outcome, JSON.stringify(applied)).toBe('APPLIED');
    await (await other.client({ username: 'pump', password: 'three' })).endAsync();

    const passwords = [...input.passwords, { username: 'meter-1', password: '' }];
    const { extensions } = await world.refused(APPLY, { input: { ...input, passwords } });
    expect(extensions).toMatchObject({ code: 'INVALID', info: { issues: [{ path: 'input.passwords.1.password' }] } });

    const again = (await world.graph(APPLY, { input })).applyAccessControl;
    expect(again).toMatchObject({ outcome: 'UNCHANGED' });
    expect(again.changes.flatMap(({ commands }: { commands: unknown[] }) => commands)).toEqual([]);
    expect(again.notes.join()).toContain('"pump"');

    // A second thought: an account that was made without password, or with another one, gets it when that is asked for.
    const later = ['pump', 'meter-1'].map((username) => ({ username, password: 'later' }));
    const setting = { ...input, passwords: later, setPasswords: true };
    const set = (await world.graph(APPLY, { input: setting })).applyAccessControl;
    expect(set).toMatchObject({
      outcome: 'APPLIED',
      changes: [{ commands: [{ command: 'setClientPassword' }] }, { commands: [{ command: 'setClientPassword' }] }],
    });
    await (await other.client({ username: 'pump', password: 'later' })).endAsync();
    const neither = await world.refused(PLAN, { input: { brokerId: otherId } });
    expect(neither.extensions.code).toBe('INVALID');
    const wrong = await world.refused(PLAN, { input: { brokerId: otherId, document: { format: 'other' } } });
    expect(wrong.extensions.code).toBe('INVALID');
  });

  test('what a broker names has an id, which finds it for those who may see the broker, as long as it is there', async () => {
    const world = await furnished();
    const { service, graph } = world;
    const NAME = 'hall/ü 😀+';
    const FIND = `query ($id: ID!) { node(id: $id) {
      __typename id
      ... on Account { username groups { groupName } }
      ... on AccessGroup { groupName accounts { nodes { id } } }
      ... on AccessRole { roleName acls { topic } }
    } }`;
    const node = async (id: string, token?: string) => (await service.graphql(FIND, { id }, token)).data.node;
    const acls = [{ aclType: 'SUBSCRIBE_PATTERN', topic: 'a/#', allow: true }];
    const { role } = await change(world, 'createAccessRole', { roleName: NAME, acls }, 'role { id }');
    const { group } = await change(world, 'createAccessGroup', { groupName: NAME }, 'group { id }');
    const groups = [{ groupName: NAME }];
    const { account } = await change(world, 'createAccount', { username: NAME, groups }, 'account { id }');

    expect(await node(account.id)).toEqual({ __typename: 'Account', id: account.id, username: NAME, groups });
    const members = { nodes: [{ id: account.id }] };
    expect(await node(group.id)).toEqual({
      __typename: 'AccessGroup',
      id: group.id,
      groupName: NAME,
      accounts: members,
    });
    expect(await node(role.id)).toEqual({
      __typename: 'AccessRole',
      id: role.id,
      roleName: NAME,
      acls: [{ topic: 'a/#' }],
    });
    const { broker } = await graph('query ($b: ID!) { broker(id: $b) { accessRoles { nodes { id roleName } } } }');
    expect(broker.accessRoles.nodes).toContainEqual({ id: role.id, roleName: NAME });

    expect(await node(account.id, (await service.person('VIEWER')).token)).not.toBeNull();
    expect(await node(account.id, (await service.person(null)).token)).toBeNull();
    await change(world, 'deleteAccount', { username: NAME });
    expect(await node(account.id)).toBeNull();
    for (const broken of ['acc_', 'acc_brk_x', `${role.id}.x`, `acc_${world.brokerId}.%`, `acc_prj_x.${'QQ'}`]) {
      expect(await node(broken)).toBeNull();
    }
  });

  test('names with slashes, wildcards, percent signs, spaces and other scripts survive the round trip', async () => {
    const world = await furnished();
    for (const name of ['a/b', 'x%2Fy', 'ü ñ 字 😀', 'q?&=#+', 'it\'s "quoted"']) {
      await change(world, 'createAccessRole', { roleName: name, textName: name });
      await change(world, 'createAccessGroup', { groupName: name, roles: [{ roleName: name }] });
      const { account } = await change(
        world,
        'createAccount',
        { username: name, groups: [{ groupName: name }], textDescription: name },
        'account { username textDescription groups { group { groupName roles { role { roleName textName } } } } }',
      );
      expect(account).toEqual({
        username: name,
        textDescription: name,
        groups: [{ group: { groupName: name, roles: [{ role: { roleName: name, textName: name } }] } }],
      });
      expect((await world.ask('getClient', { username: name })).client.textdescription).toBe(name);
    }
  });
});

test('a broker that is down costs its own fields only', async () => {
  const service = await startTestService();
  const id = await addBroker(service, 'mqtt://127.0.0.1:9');
  const { data, errors } = await service.graphql(
    'query ($b: ID!) { broker(id: $b) { name accounts { totalCount } defaultAcl { subscribe } } }',
    { b: id },
  );
  expect(data.broker).toEqual({ name: 'm', accounts: null, defaultAcl: null });
  expect(errors?.map(({ path, extensions }) => [path?.at(-1), extensions.code])).toEqual([
    ['accounts', 'BROKER_UNREACHABLE'],
    ['defaultAcl', 'BROKER_UNREACHABLE'],
  ]);
});

test('a broker without dynamic security says what would help', async () => {
  const { url } = await startMosquitto({ access: 'passwords' });
  const service = await startTestService();
  const id = await addBroker(service, url);
  const { data, errors } = await service.graphql(
    'query ($b: ID!) { broker(id: $b) { name accounts { totalCount } } }',
    { b: id },
  );
  expect(data.broker).toEqual({ name: 'm', accounts: null });
  expect(errors?.[0]?.extensions.code).toBe('NOT_SUPPORTED_BY_BROKER');
});

test('a walk from a project to the rules of its accounts is within the cost of a document, one with all members is not', async () => {
  const service = await startTestService();
  const walk = (first: string, entry: string) =>
    service.graphql(
      `{ project(id: "${service.projectId}") { brokers { nodes { ${first} { nodes { ${entry} } } } } } }`,
    );
  const rules = 'username groups { group { groupName roles { role { roleName acls { aclType topic allow } } } } }';
  expect((await walk('accounts', rules)).errors).toBeUndefined();
  expect((await walk('accounts(first: 1000)', rules)).errors?.[0]?.extensions.code).toBe('TOO_COMPLEX');
  const members = await walk('accessGroups(first: 500)', 'members { username }');
  expect(members.errors?.[0]?.extensions.code).toBe('TOO_COMPLEX');
});

test('no refusal of a change quotes a password', async () => {
  const service = await startTestService();
  const id = await addBroker(service, 'mqtt://127.0.0.1:9');
  const refuse = async (input: Record<string, unknown>) => {
    const answer = await service.graphql(document('createAccount'), { input: { brokerId: id, change: input } });
    expect(answer.errors?.[0]?.extensions.code).toBe('INVALID');
    expect(JSON.stringify(answer)).not.toMatch(/hush|8472/);
    return answer.errors?.[0]?.message;
  };
  expect(await refuse({ password: 'hush; hush' })).toBe(
    'input.change: Field "username" of required type "String!" was not provided.',
  );
  expect(await refuse({ username: 'u', password: 8472 })).toBe(
    'input.change.password: String cannot represent a non string value',
  );
  await refuse({ username: 'u', password: 'hush', roles: [{ priority: 1 }] });
  const literal = `mutation { createAccount(input: { brokerId: "${id}", change: { username: "u", password: 8472 } }) { outcome } }`;
  expect(JSON.stringify(await service.graphql(literal))).not.toContain('8472');
});

test('viewers may change access control as documented, unless the project is strict', async () => {
  const world = await accessWorld('Mosquitto 2.0');
  const { service, brokerId } = world;
  const [viewer, editor] = [await service.person('VIEWER'), await service.person('EDITOR')];
  const create = (username: string, token: string, dryRun = false) =>
    service.graphql(document('createAccount'), { input: { brokerId, change: { username }, dryRun } }, token);
  expect((await create('one', viewer.token)).data.createAccount.outcome).toBe('APPLIED');
  await service.graphql(
    'mutation ($p: ID!) { updateProject(input: { projectId: $p, hasStrictRoles: true }) { project { id } } }',
    { p: service.projectId },
  );
  expect((await create('two', viewer.token)).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  expect((await create('two', viewer.token, true)).data.createAccount.outcome).toBe('PLANNED');
  expect(await world.ask('getClient', { username: 'two' })).toBe('Client not found');
  expect((await create('two', editor.token)).data.createAccount.outcome).toBe('APPLIED');
});
