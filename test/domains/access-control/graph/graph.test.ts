import { describe, expect, test } from 'vitest';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';
import { type AccessWorld, accessWorld, addBroker, KINDS } from '../access-service.ts';

const ANY_RULE = { aclType: 'SUBSCRIBE_PATTERN', topic: 'a/#', allow: true };

/** Runs one of the mutations and answers its payload. */
const change = async (
  { graph }: AccessWorld,
  name: string,
  input: Record<string, unknown>,
  selection = 'outcome commands { command state }',
) => (await graph(document(name, selection), { input: await withBroker(graph, input) }))[name];

const document = (name: string, selection = 'outcome') =>
  `mutation ($input: ${name.charAt(0).toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { ${selection} } }`;

const withBroker = async (graph: AccessWorld['graph'], input: Record<string, unknown>) => ({
  brokerId: (await graph('query ($b: ID!) { broker(id: $b) { id } }')).broker.id,
  ...input,
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
              rolename: 'sensor',
              textName: 'Sensors',
              acls: [
                { aclType: 'PUBLISH_CLIENT_SEND', topic: 'plant/+/data', allow: true },
                { aclType: 'SUBSCRIBE_PATTERN', topic: 'plant/#', priority: 5, allow: true },
              ],
            },
          },
          { createAccessGroup: { groupname: 'hall', roles: [{ rolename: 'sensor', priority: 3 }] } },
          {
            createAccessClient: { username: 'meter-1', password: 'one', groups: [{ groupname: 'hall', priority: 2 }] },
          },
          { createAccessClient: { username: 'meter-2', password: 'two', groups: [{ groupname: 'hall' }] } },
          { createAccessClient: { username: 'pump', password: 'three', roles: [{ rolename: 'sensor' }] } },
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
  test('clients, groups and roles are walked, paged and filtered without asking the broker again', async () => {
    const world = await accessWorld(kind);
    await furnish(world);
    const { graph, answered } = world;
    // The first look after a write that the broker counts may still compare numbers.
    await graph('query ($b: ID!) { broker(id: $b) { accessControl { asOf } } }');
    answered();

    const walk = await graph(`query ($b: ID!) { broker(id: $b) {
      accessClients(first: 2, offset: 1, filter: { value: "m", mode: CONTAINS, target: USERNAME }) {
        totalCount
        pageInfo { hasNextPage hasPreviousPage endCursor }
        edges { cursor node {
          username enabled isGateway roles { rolename }
          groups { groupname priority group {
            isAnonymousGroup
            roles { priority role { rolename textName acls { aclType topic priority allow } } }
            members { username priority }
            clients(first: 1) { totalCount edges { priority node { username } } }
          } }
        } }
      }
      accessRole(rolename: "sensor") {
        clients { totalCount edges { priority node { username } } }
        groups { edges { priority node { groupname } } }
      }
      accessGroup(groupname: "none") { groupname }
      defaultAcl { publishClientSend publishClientReceive subscribe unsubscribe }
      accessControl { clientCount groupCount roleCount }
    } }`);

    expect(walk.broker.accessClients.totalCount).toBe(4);
    expect(walk.broker.accessClients.pageInfo).toEqual({
      hasNextPage: true,
      hasPreviousPage: true,
      endCursor: 'meter-2',
    });
    const group = {
      isAnonymousGroup: false,
      roles: [
        {
          priority: 3,
          role: {
            rolename: 'sensor',
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
      clients: { totalCount: 2, edges: [{ priority: 2, node: { username: 'meter-1' } }] },
    };
    expect(walk.broker.accessClients.edges).toEqual(
      [
        { username: 'meter-1', priority: 2 },
        { username: 'meter-2', priority: -1 },
      ].map(({ username, priority }) => ({
        cursor: username,
        node: {
          username,
          enabled: true,
          isGateway: false,
          roles: [],
          groups: [{ groupname: 'hall', priority, group }],
        },
      })),
    );
    expect(walk.broker.accessRole).toEqual({
      clients: { totalCount: 1, edges: [{ priority: -1, node: { username: 'pump' } }] },
      groups: { edges: [{ priority: 3, node: { groupname: 'hall' } }] },
    });
    expect(walk.broker.accessGroup).toBeNull();
    expect(walk.broker.accessControl).toMatchObject({ clientCount: 4, groupCount: expect.any(Number) });

    const byRole = await graph(`query ($b: ID!) { broker(id: $b) {
      accessClients(filter: { value: "sensor", mode: EQUALS, target: ROLENAME }) { nodes { username } }
      accessGroups(filter: { value: "meter-1", mode: EQUALS, target: USERNAME }) { nodes { groupname } }
      accessRoles(filter: { value: "plant/+", mode: STARTS_WITH, target: TOPIC }) { nodes { rolename } }
    } }`);
    expect(byRole.broker).toEqual({
      accessClients: { nodes: [{ username: 'pump' }] },
      accessGroups: { nodes: [{ groupname: 'hall' }] },
      accessRoles: { nodes: [{ rolename: 'sensor' }] },
    });
    // Where the broker counts its changes it may be asked for that number.
    expect(answered().filter((command) => command !== 'getDetails')).toEqual([]);
  });

  test('a connected client leads to its account and what that may, and the account to its connections', async () => {
    const world = await accessWorld(kind);
    await furnish(world);
    await world.client({ clientId: 'm1', username: 'meter-1', password: 'one' });
    const { broker } = await world.graph(`query ($b: ID!) { broker(id: $b) {
      connectedClient(clientId: "m1") { account { username groups { group { roles { rolename } } } connections { clientId } } }
      accessClient(username: "meter-2") { connections { clientId } }
    } }`);
    expect(broker).toEqual({
      connectedClient: {
        account: {
          username: 'meter-1',
          groups: [{ group: { roles: [{ rolename: 'sensor' }] } }],
          connections: [{ clientId: 'm1' }],
        },
      },
      accessClient: { connections: [] },
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

    await applied('createAccessRole', { rolename: 'r', textName: 'R', acls: [] });
    await applied('putAccessRole', { rolename: 'q' });
    await applied('createAccessGroup', { groupname: 'g', textDescription: 'd' });
    const created = await applied(
      'createAccessClient',
      { username: 'u', password: 'p', clientId: 'c', textName: 'U', enabled: false },
      'client { username clientId textName enabled roles { rolename } groups { groupname } } error { code }',
    );
    expect(created.client).toEqual({
      username: 'u',
      clientId: 'c',
      textName: 'U',
      enabled: false,
      roles: [],
      groups: [],
    });
    expect((await ask('getClient', { username: 'u' })).client).toMatchObject({ clientid: 'c', disabled: true });
    await applied('setAccessClientEnabled', { username: 'u', enabled: true });
    await applied('updateAccessClient', { username: 'u', clientId: null, textName: null, textDescription: 'x' });
    const { client } = await ask('getClient', { username: 'u' });
    expect(client.disabled ?? false).toBe(false);
    expect([client.clientid || null, client.textname || null, client.textdescription]).toEqual([null, null, 'x']);
    await applied('setAccessClientPassword', { username: 'u', password: 'other' });
    await (await world.client({ clientId: 'u1', username: 'u', password: 'other' })).endAsync();

    await applied('addAccessClientRole', { username: 'u', rolename: 'r', priority: 4 });
    await applied('addAccessClientGroup', { username: 'u', groupname: 'g', priority: 6 });
    // Without a priority it stays as it is, whichever way it is said.
    await applied('updateAccessClient', { username: 'u', roles: [{ rolename: 'r' }, { rolename: 'q' }] });
    expect((await ask('getClient', { username: 'u' })).client).toMatchObject({
      roles: [{ rolename: 'r', priority: 4 }, { rolename: 'q' }],
      groups: [{ groupname: 'g', priority: 6 }],
    });
    expect((await change(world, 'addAccessClientRole', { username: 'u', rolename: 'r' })).outcome).toBe('UNCHANGED');
    await applied('removeAccessClientRole', { username: 'u', rolename: 'r' });
    await applied('removeAccessClientGroup', { username: 'u', groupname: 'g' });

    await applied('addAccessGroupRole', { groupname: 'g', rolename: 'q' });
    const group = await applied(
      'updateAccessGroup',
      { groupname: 'g', textDescription: null, clients: [{ username: 'u', priority: 9 }] },
      'group { textDescription roles { rolename } members { username priority } }',
    );
    expect(group.group).toEqual({
      textDescription: null,
      roles: [{ rolename: 'q' }],
      members: [{ username: 'u', priority: 9 }],
    });
    await applied('removeAccessGroupRole', { groupname: 'g', rolename: 'q' });
    await applied('putAccessGroup', { groupname: 'g2' });

    await applied('putAclRule', {
      rolename: 'r',
      acl: { aclType: 'SUBSCRIBE_LITERAL', topic: 'a/b', priority: 1, allow: false },
    });
    const role = await applied(
      'putAclRule',
      { rolename: 'r', acl: { aclType: 'SUBSCRIBE_LITERAL', topic: 'a/b', priority: 2, allow: true } },
      'role { acls { aclType topic priority allow } }',
    );
    expect(role.role.acls).toEqual([{ aclType: 'SUBSCRIBE_LITERAL', topic: 'a/b', priority: 2, allow: true }]);
    await applied('removeAclRule', { rolename: 'r', aclType: 'SUBSCRIBE_LITERAL', topic: 'a/b' });
    await applied('updateAccessRole', { rolename: 'r', textDescription: 'what it is for' });
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
      'defaultAcl { subscribe acls { aclType allow } }',
    );
    expect(defaults.defaultAcl.subscribe).toBe(!defaultAcl.subscribe);
    const { acls } = await ask('getDefaultACLAccess');
    expect(acls).toContainEqual({ acltype: 'subscribe', allow: !defaultAcl.subscribe });
    await applied('setAnonymousGroup', { groupname: 'g2' });
    expect((await ask('getAnonymousGroup')).group.groupname).toBe('g2');

    expect((await applied('deleteAccessClient', { username: 'u' }, 'client { username }')).client).toBeNull();
    expect(await ask('getClient', { username: 'u' })).toBe('Client not found');
    expect((await applied('deleteAccessGroup', { groupname: 'g' }, 'group { groupname }')).group).toBeNull();
    expect((await applied('deleteAccessRole', { rolename: 'q' }, 'role { rolename }')).role).toBeNull();
    expect((await applied('putAccessClient', { username: 'w' }, 'client { username }')).client.username).toBe('w');
  });

  test('what cannot be done is an error with its code, and changes nothing', async () => {
    const world = await accessWorld(kind);
    await furnish(world);
    const before = await world.ask('listClients', { verbose: true });
    const codeOf = async (name: string, input: Record<string, unknown>) => {
      const { extensions } = await world.refused(document(name), { input: await withBroker(world.graph, input) });
      return extensions;
    };
    expect(await codeOf('createAccessClient', { username: 'pump' })).toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(await codeOf('updateAccessClient', { username: 'none' })).toMatchObject({ code: 'NOT_FOUND' });
    expect(await codeOf('deleteAccessClient', { username: 'none' })).toMatchObject({ code: 'NOT_FOUND' });
    expect(await codeOf('createAccessClient', { username: 'x', roles: [{ rolename: 'none' }] })).toMatchObject({
      code: 'NOT_FOUND',
    });
    const badRule = { aclType: 'SUBSCRIBE_PATTERN', topic: 'a/#/b', allow: true };
    expect(await codeOf('putAclRule', { rolename: 'sensor', acl: badRule })).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ path: 'input.acl.topic', reason: expect.any(String) }] },
    });
    expect(await codeOf('updateAccessClient', { username: 'pump', password: null })).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ path: 'input.password' }] },
    });
    expect(await world.ask('listClients', { verbose: true })).toEqual(before);
  });

  test('a dry run sends nothing and lists the commands and disconnected clients; the change then matches it', async () => {
    const world = await accessWorld(kind);
    await furnish(world);
    const client = await world.client({ clientId: 'm1', username: 'meter-1', password: 'one' });
    await world.client({ clientId: 'p1', username: 'pump', password: 'three' });
    const input = { username: 'meter-1', textName: 'Meter', password: 'a new secret' };
    const selection =
      'outcome commands { command fields state } blastRadius { clientCount clients { clientId username } usernames gateway anonymous }';

    const planned = await change(world, 'updateAccessClient', { ...input, dryRun: true }, selection);
    expect(planned.outcome).toBe('PLANNED');
    expect(planned.commands.every(({ state }: { state: string }) => state === 'PLANNED')).toBe(true);
    expect(planned.blastRadius).toEqual({
      clientCount: 1,
      clients: [{ clientId: 'm1', username: 'meter-1' }],
      usernames: ['meter-1'],
      gateway: false,
      anonymous: false,
    });
    expect(JSON.stringify(planned)).not.toContain('a new secret');
    expect((await world.ask('getClient', { username: 'meter-1' })).client.textname).toBeUndefined();
    expect(client.connected).toBe(true);

    const gone = new Promise<void>((resolve) => client.once('close', () => resolve()));
    const done = await change(world, 'updateAccessClient', input, selection);
    await gone;
    expect(done.outcome).toBe('APPLIED');
    expect(done.blastRadius.clients).toEqual(planned.blastRadius.clients);
    expect(JSON.stringify(done)).not.toContain('a new secret');
    expect((await world.ask('getClient', { username: 'meter-1' })).client.textname).toBe('Meter');
  });

  test('many changes in one call have each its own result; one that is rejected stops nothing', async () => {
    const world = await accessWorld(kind);
    const { graph, refused, brokerId } = world;
    const MANY = `mutation ($input: ChangeAccessControlInput!) { changeAccessControl(input: $input) {
      outcome changes { outcome error { code } commands { command state } } blastRadius { clientCount }
    } }`;
    const clients = Array.from({ length: 60 }, (_, index) => ({ createAccessClient: { username: `n${index}` } }));
    const changes = [...clients, { deleteAccessRole: { rolename: 'none' } }, { putAccessClient: { username: 'n1' } }];

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

    const two = [{ deleteAccessClient: { username: 'n0' }, deleteAccessRole: { rolename: 'r' } }];
    await refused(MANY, { input: { brokerId, changes: two } });
    await refused(MANY, { input: { brokerId, changes: [{}] } });
    const cleared = { updateAccessClient: { username: 'n0', password: null } };
    const nulled = await refused(MANY, { input: { brokerId, changes: [...clients.slice(0, 1), cleared] } });
    expect(nulled.extensions).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ path: 'input.changes.1.updateAccessClient.password' }] },
    });
    const acls = [{ ...ANY_RULE }, { ...ANY_RULE, topic: 'a#' }];
    const misplaced = [
      { createAccessRole: { rolename: 'misplaced', acls } },
      { putAccessClient: { username: 'n1', textName: 'one' } },
      { updateAccessGroup: { groupname: 'all', clients: [{ username: 'n1', priority: 1 }, { username: '\u0007' }] } },
    ];
    const REASONS = MANY.replace('error { code }', 'error { code message info }');
    const placed = (await graph(REASONS, { input: { brokerId, changes: misplaced } })).changeAccessControl.changes;
    const place = 'input.changes.0.createAccessRole.acls.1.topic';
    expect(placed).toMatchObject([
      { error: { code: 'INVALID', message: expect.stringContaining(place), info: { issues: [{ path: place }] } } },
      { error: null },
      { error: { info: { issues: [{ path: 'input.changes.2.updateAccessGroup.clients.1.username' }] } } },
    ]);
    const tooMany = Array.from({ length: 10_001 }, () => ({ deleteAccessClient: { username: 'n0' } }));
    const { extensions } = await refused(MANY, { input: { brokerId, changes: tooMany } });
    expect(extensions).toMatchObject({ code: 'INVALID', info: { issues: [{ path: 'input.changes' }] } });
    expect((await world.ask('listClients')).clients).toContain('n0');
  });

  test('an explanation names the deciding rule, also for hypothetical roles, and whoCan lists the allowed clients', async () => {
    const world = await accessWorld(kind);
    await furnish(world);
    const EXPLAIN = `query ($b: ID!, $u: String, $a: Boolean, $topic: String!, $with: [HeldRoleInput!], $without: [String!]) {
      explainAccess(brokerId: $b, username: $u, anonymous: $a, action: PUBLISH, topic: $topic, withRoles: $with, withoutRoles: $without) {
        allowed reason defaultAclType defaultAllows lookedAtTotal elsewhere remarks
        decidedBy { rolename groupname priority rule { topic allow } verdict role { textName } group { groupname } }
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
        rolename: 'sensor',
        groupname: 'hall',
        priority: 3,
        rule: { topic: 'plant/+/data', allow: true },
        verdict: 'MATCHED',
        role: { textName: 'Sensors' },
        group: { groupname: 'hall' },
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
      rolename: 'mute',
      acls: [{ aclType: 'PUBLISH_CLIENT_SEND', topic: '#', allow: false }],
    });
    expect(await explain({ u: 'pump', with: [{ rolename: 'mute', priority: 10 }] })).toMatchObject({
      allowed: false,
      decidedBy: { rolename: 'mute', groupname: null },
    });
    expect(await explain({ a: true })).toMatchObject({ reason: kind === 'Mosquitto 2.0' ? 'DEFAULT' : 'UNKNOWN_USER' });
    expect((await world.refused(EXPLAIN, { topic: 'x' })).extensions).toMatchObject({ code: 'INVALID' });
    expect((await world.refused(EXPLAIN, { topic: 'x/#', u: 'pump' })).extensions).toMatchObject({ code: 'INVALID' });

    const { whoCan } = await world.graph(
      `query ($b: ID!) { whoCan(brokerId: $b, action: SUBSCRIBE, topic: "plant/+/data", first: 2) {
        totalCount pageInfo { hasNextPage } nodes { username reason client { enabled } decidedBy { rolename } }
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
    const world = await accessWorld(kind);
    const { service, graph } = world;
    const NAME = 'hall/ü 😀+';
    const FIND = `query ($id: ID!) { node(id: $id) {
      __typename id
      ... on AccessClient { username groups { groupname } }
      ... on AccessGroup { groupname clients { nodes { id } } }
      ... on AccessRole { rolename acls { topic } }
    } }`;
    const node = async (id: string, token?: string) => (await service.graphql(FIND, { id }, token)).data.node;
    const acls = [{ aclType: 'SUBSCRIBE_PATTERN', topic: 'a/#', allow: true }];
    const { role } = await change(world, 'createAccessRole', { rolename: NAME, acls }, 'role { id }');
    const { group } = await change(world, 'createAccessGroup', { groupname: NAME }, 'group { id }');
    const groups = [{ groupname: NAME }];
    const { client } = await change(world, 'createAccessClient', { username: NAME, groups }, 'client { id }');

    expect(await node(client.id)).toEqual({ __typename: 'AccessClient', id: client.id, username: NAME, groups });
    const members = { nodes: [{ id: client.id }] };
    expect(await node(group.id)).toEqual({
      __typename: 'AccessGroup',
      id: group.id,
      groupname: NAME,
      clients: members,
    });
    expect(await node(role.id)).toEqual({
      __typename: 'AccessRole',
      id: role.id,
      rolename: NAME,
      acls: [{ topic: 'a/#' }],
    });
    const { broker } = await graph('query ($b: ID!) { broker(id: $b) { accessRoles { nodes { id rolename } } } }');
    expect(broker.accessRoles.nodes).toContainEqual({ id: role.id, rolename: NAME });

    expect(await node(client.id, (await service.person('VIEWER')).token)).not.toBeNull();
    expect(await node(client.id, (await service.person(null)).token)).toBeNull();
    await change(world, 'deleteAccessClient', { username: NAME });
    expect(await node(client.id)).toBeNull();
    for (const broken of ['acc_', 'acc_brk_x', `${role.id}.x`, `acc_${world.brokerId}.%`, `acc_prj_x.${'QQ'}`]) {
      expect(await node(broken)).toBeNull();
    }
  });

  test('names with slashes, wildcards, percent signs, spaces and other scripts survive the round trip', async () => {
    const world = await accessWorld(kind);
    for (const name of ['a/b', 'x%2Fy', 'ü ñ 字 😀', 'q?&=#+', 'it\'s "quoted"']) {
      await change(world, 'createAccessRole', { rolename: name, textName: name });
      await change(world, 'createAccessGroup', { groupname: name, roles: [{ rolename: name }] });
      const { client } = await change(
        world,
        'createAccessClient',
        { username: name, groups: [{ groupname: name }], textDescription: name },
        'client { username textDescription groups { group { groupname roles { role { rolename textName } } } } }',
      );
      expect(client).toEqual({
        username: name,
        textDescription: name,
        groups: [{ group: { groupname: name, roles: [{ role: { rolename: name, textName: name } }] } }],
      });
      expect((await world.ask('getClient', { username: name })).client.textdescription).toBe(name);
    }
  });
});

test('a broker that is down costs its own fields only', async () => {
  const service = await startTestService();
  const id = await addBroker(service, 'mqtt://127.0.0.1:9');
  const { data, errors } = await service.graphql(
    'query ($b: ID!) { broker(id: $b) { name accessClients { totalCount } defaultAcl { subscribe } } }',
    { b: id },
  );
  expect(data.broker).toEqual({ name: 'm', accessClients: null, defaultAcl: null });
  expect(errors?.map(({ path, extensions }) => [path?.at(-1), extensions.code])).toEqual([
    ['accessClients', 'BROKER_UNREACHABLE'],
    ['defaultAcl', 'BROKER_UNREACHABLE'],
  ]);
});

test('a broker without dynamic security says what would help', async () => {
  const { url } = await startMosquitto({ access: 'passwords' });
  const service = await startTestService();
  const id = await addBroker(service, url);
  const { data, errors } = await service.graphql(
    'query ($b: ID!) { broker(id: $b) { name accessClients { totalCount } } }',
    {
      b: id,
    },
  );
  expect(data.broker).toEqual({ name: 'm', accessClients: null });
  expect(errors?.[0]?.extensions.code).toBe('NOT_SUPPORTED_BY_BROKER');
});

test('a walk from a project to the rules of its accounts is within the cost of a document, one with all members is not', async () => {
  const service = await startTestService();
  const walk = (first: string, entry: string) =>
    service.graphql(
      `{ project(id: "${service.projectId}") { brokers { nodes { ${first} { nodes { ${entry} } } } } } }`,
    );
  const rules = 'username groups { group { groupname roles { role { rolename acls { aclType topic allow } } } } }';
  expect((await walk('accessClients', rules)).errors).toBeUndefined();
  expect((await walk('accessClients(first: 1000)', rules)).errors?.[0]?.extensions.code).toBe('TOO_COMPLEX');
  const members = await walk('accessGroups(first: 500)', 'members { username }');
  expect(members.errors?.[0]?.extensions.code).toBe('TOO_COMPLEX');
});

test('no refusal of a change quotes a password', async () => {
  const service = await startTestService();
  const id = await addBroker(service, 'mqtt://127.0.0.1:9');
  const refuse = async (input: Record<string, unknown>) => {
    const answer = await service.graphql(document('createAccessClient'), { input: { brokerId: id, ...input } });
    expect(answer.errors?.[0]?.extensions.code).toBe('INVALID');
    expect(JSON.stringify(answer)).not.toMatch(/hush|8472/);
    return answer.errors?.[0]?.message;
  };
  expect(await refuse({ password: 'hush; hush' })).toBe(
    'input: Field "username" of required type "String!" was not provided.',
  );
  expect(await refuse({ username: 'u', password: 8472 })).toBe(
    'input.password: String cannot represent a non string value',
  );
  await refuse({ username: 'u', password: 'hush', roles: [{ priority: 1 }] });
  const literal = `mutation { createAccessClient(input: { brokerId: "${id}", username: "u", password: 8472 }) { outcome } }`;
  expect(JSON.stringify(await service.graphql(literal))).not.toContain('8472');
});

test('viewers may change access control as documented, unless the project is strict', async () => {
  const world = await accessWorld('Mosquitto 2.0');
  const { service, brokerId } = world;
  const [viewer, editor] = [await service.person('VIEWER'), await service.person('EDITOR')];
  const create = (username: string, token: string, dryRun = false) =>
    service.graphql(document('createAccessClient'), { input: { brokerId, username, dryRun } }, token);
  expect((await create('one', viewer.token)).data.createAccessClient.outcome).toBe('APPLIED');
  await service.graphql(
    'mutation ($p: ID!) { updateProject(input: { projectId: $p, hasStrictRoles: true }) { project { id } } }',
    { p: service.projectId },
  );
  expect((await create('two', viewer.token)).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  expect((await create('two', viewer.token, true)).data.createAccessClient.outcome).toBe('PLANNED');
  expect(await world.ask('getClient', { username: 'two' })).toBe('Client not found');
  expect((await create('two', editor.token)).data.createAccessClient.outcome).toBe('APPLIED');
});
