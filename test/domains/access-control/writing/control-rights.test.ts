import type { MqttClient } from 'mqtt';
import { describe, expect, test } from 'vitest';
import type { TestService } from '../../../support/service.ts';
import { shared } from '../../../support/shared.ts';
import { type AccessWorld, accessWorld, KINDS } from '../access-service.ts';

const API = '$CONTROL/dynamic-security/v1';

const CHANGE = `mutation ($b: ID!, $changes: [AccessChangeInput!]!, $dryRun: Boolean) {
  changeAccessControl(input: { brokerId: $b, changes: $changes, dryRun: $dryRun }) {
    changes { outcome error { code message info } }
  }
}`;

type Change = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const allow = (aclType: string, topic: string) => ({ aclType, topic, allow: true });
const deny = (aclType: string, topic: string) => ({ aclType, topic, allow: false });
const roles = (...names: string[]) => names.map((roleName) => ({ roleName }));
const groups = (...names: string[]) => names.map((groupName) => ({ groupName }));

/** The outcome of each change, or the code that it is refused with. */
async function changed(
  { service, brokerId }: AccessWorld,
  token: string,
  changes: readonly Change[],
  dryRun = false,
): Promise<string[]> {
  const { data, errors } = await service.graphql(CHANGE, { b: brokerId, changes, dryRun }, token);
  expect(errors).toBeUndefined();
  return data.changeAccessControl.changes.map(
    ({ outcome, error }: { outcome: string; error: { code: string } | null }) => error?.code ?? outcome,
  );
}

const FURNITURE: readonly Change[] = [
  { createAccessRole: { roleName: 'operators', acls: [allow('PUBLISH_CLIENT_SEND', API)] } },
  { createAccessRole: { roleName: 'guard', acls: [deny('PUBLISH_CLIENT_SEND', '$CONTROL/#')] } },
  { createAccessRole: { roleName: 'plain', acls: [allow('SUBSCRIBE_PATTERN', 'plant/#')] } },
  { createAccessGroup: { groupName: 'ops', roles: roles('operators') } },
  { createAccessGroup: { groupName: 'hall', roles: roles('plain') } },
  { createAccount: { username: 'chief', password: 'c', roles: roles('guard', 'operators') } },
  { createAccount: { username: 'deputy', password: 'd', groups: groups('ops') } },
  { createAccount: { username: 'meter', password: 'm', roles: roles('plain'), groups: groups('hall') } },
  { setAnonymousGroup: { groupName: 'hall' } },
];

/** Grants, takes over or changes rights on `$CONTROL/`. */
const REFUSED: readonly Change[] = [
  ...['$CONTROL/#', '$CONTROL/+/v1', API, '$CONTROL', '$CONTROL/%u/#'].map((topic, index) => ({
    createAccessRole: { roleName: `mine-${index}`, acls: [allow('SUBSCRIBE_LITERAL', topic)] },
  })),
  ...['PUBLISH_CLIENT_SEND', 'PUBLISH_CLIENT_RECEIVE', 'SUBSCRIBE_LITERAL', 'SUBSCRIBE_PATTERN'].map((aclType) => ({
    putAclRule: { roleName: 'plain', acl: allow(aclType, '$CONTROL/#') },
  })),
  { updateAccessRole: { roleName: 'plain', acls: [allow('PUBLISH_CLIENT_SEND', '$CONTROL/#')] } },
  { putAccessRole: { roleName: 'mine', acls: [allow('PUBLISH_CLIENT_SEND', '$CONTROL/#')] } },
  { createAccount: { username: 'mine', password: 'x', roles: roles('operators') } },
  { createAccount: { username: 'mine', password: 'x', groups: groups('ops') } },
  { putAccount: { username: 'meter', roles: roles('plain', 'operators') } },
  { addAccountRole: { username: 'meter', roleName: 'operators' } },
  { addAccountGroup: { username: 'meter', groupName: 'ops' } },
  { addAccessGroupRole: { groupName: 'hall', roleName: 'operators' } },
  { createAccessGroup: { groupName: 'mine', roles: roles('operators') } },
  { updateAccessGroup: { groupName: 'ops', members: [{ username: 'deputy' }, { username: 'meter' }] } },
  { updateAccessGroup: { groupName: 'hall', members: [{ username: 'meter' }, { username: 'chief' }] } },
  { setAnonymousGroup: { groupName: 'ops' } },
  { setAccountPassword: { username: 'chief', password: 'mine' } },
  { setAccountPassword: { username: 'deputy', password: 'mine' } },
  { updateAccount: { username: 'chief', clientId: 'mine' } },
  { updateAccount: { username: 'deputy', textName: 'mine' } },
  { setAccountEnabled: { username: 'deputy', enabled: false } },
  { deleteAccount: { username: 'chief' } },
  { removeAccountRole: { username: 'chief', roleName: 'operators' } },
  { removeAccountRole: { username: 'chief', roleName: 'guard' } },
  { removeAccountGroup: { username: 'deputy', groupName: 'ops' } },
  { removeAccessGroupRole: { groupName: 'ops', roleName: 'operators' } },
  { updateAccessGroup: { groupName: 'ops', textName: 'mine' } },
  { deleteAccessGroup: { groupName: 'ops' } },
  { updateAccessRole: { roleName: 'operators', textName: 'mine' } },
  { putAclRule: { roleName: 'operators', acl: allow('PUBLISH_CLIENT_SEND', 'plant/#') } },
  { removeAclRule: { roleName: 'operators', aclType: 'PUBLISH_CLIENT_SEND', topic: API } },
  { deleteAccessRole: { roleName: 'operators' } },
  // A denial that takes rights from an account which has them, or gives them back.
  { removeAclRule: { roleName: 'guard', aclType: 'PUBLISH_CLIENT_SEND', topic: '$CONTROL/#' } },
  { putAclRule: { roleName: 'guard', acl: deny('PUBLISH_CLIENT_RECEIVE', '$CONTROL/#') } },
  { deleteAccessRole: { roleName: 'guard' } },
];

/** Of the account that this service connects with. */
const OWN_ACCOUNT: readonly Change[] = [
  { setAccountPassword: { username: 'admin', password: 'mine' } },
  { deleteAccount: { username: 'admin' } },
  { setAccountEnabled: { username: 'admin', enabled: false } },
  { updateAccount: { username: 'admin', clientId: 'mine' } },
  { updateAccount: { username: 'admin', textName: 'mine' } },
  { removeAccountRole: { username: 'admin', roleName: 'admin' } },
  { addAccountGroup: { username: 'admin', groupName: 'hall' } },
  { deleteAccessRole: { roleName: 'admin' } },
  { updateAccessRole: { roleName: 'admin', textName: 'mine' } },
];

/** What leaves rights on `$CONTROL/` as they are, in the order in which it is done. */
const ALLOWED: readonly Change[] = [
  {
    createAccessRole: {
      roleName: 'reader',
      acls: [allow('SUBSCRIBE_PATTERN', '#'), allow('PUBLISH_CLIENT_SEND', '#')],
    },
  },
  { putAclRule: { roleName: 'reader', acl: allow('PUBLISH_CLIENT_RECEIVE', '+/#') } },
  { putAclRule: { roleName: 'reader', acl: deny('PUBLISH_CLIENT_SEND', '$CONTROL/#') } },
  { putAclRule: { roleName: 'reader', acl: allow('UNSUBSCRIBE_PATTERN', '$CONTROL/#') } },
  { putAclRule: { roleName: 'reader', acl: allow('SUBSCRIBE_LITERAL', '$CONTROLS/a') } },
  { createAccount: { username: 'pump', password: 'x', roles: roles('reader'), groups: groups('hall') } },
  { addAccountRole: { username: 'meter', roleName: 'reader' } },
  { setAccountPassword: { username: 'meter', password: 'another' } },
  { updateAccount: { username: 'meter', clientId: 'meter-1' } },
  { updateAccessRole: { roleName: 'guard', textName: 'Guard' } },
  { updateAccessGroup: { groupName: 'hall', members: [{ username: 'meter' }], textName: 'Hall' } },
  { addAccessGroupRole: { groupName: 'hall', roleName: 'reader' } },
  { removeAclRule: { roleName: 'reader', aclType: 'PUBLISH_CLIENT_SEND', topic: '$CONTROL/#' } },
  { setDefaultAcl: { publishClientSend: true, publishClientReceive: true, subscribe: true, unsubscribe: true } },
  { createAccessGroup: { groupName: 'guests', roles: roles('reader') } },
  { setAnonymousGroup: { groupName: 'guests' } },
  { deleteAccount: { username: 'pump' } },
];

/** Tokens of those who may write access control in a project that is not strict, and are no administrators. */
async function callersBelowAdmin({ service, brokerId }: AccessWorld): Promise<ReadonlyMap<string, string>> {
  const issued = await service.services.tokens.issue(
    { projectId: service.projectId, name: 'restricted', role: 'VIEWER', brokerIds: [brokerId] },
    'a test',
  );
  return new Map([
    ['a viewer', (await service.person('VIEWER')).token],
    ['an editor', (await service.person('EDITOR')).token],
    ['a restricted token', issued.secret],
  ]);
}

async function furnished(kind: (typeof KINDS)[number]): Promise<AccessWorld> {
  const world = await accessWorld(kind);
  expect(await changed(world, world.service.root, FURNITURE)).toEqual(FURNITURE.map(() => 'APPLIED'));
  return world;
}

const exported = async ({ service, brokerId }: AccessWorld) =>
  (await service.graphql('query ($b: ID!) { exportAccessControl(brokerId: $b) }', { b: brokerId })).data
    .exportAccessControl;

const withPrefix = (changes: readonly Change[], codes: readonly string[]) =>
  changes.map((change, index) => [JSON.stringify(change), codes[index]]);

describe.each(KINDS)('on %s', (kind) => {
  const sharedWorld = shared(() => furnished(kind));

  test('below ADMIN no verb grants, takes over or changes rights on $CONTROL/, and what has none is changed as before', async () => {
    const world = await furnished(kind);
    const before = await exported(world);
    for (const [caller, token] of await callersBelowAdmin(world)) {
      for (const dryRun of [true, false]) {
        const codes = await changed(world, token, REFUSED, dryRun);
        expect([caller, withPrefix(REFUSED, codes)]).toEqual([
          caller,
          withPrefix(
            REFUSED,
            REFUSED.map((_) => 'NOT_ALLOWED'),
          ),
        ]);
        const own = await changed(world, token, OWN_ACCOUNT, dryRun);
        for (const code of own) expect(['NOT_ALLOWED', 'IN_USE']).toContain(code);
      }
    }
    expect(await exported(world)).toEqual(before);

    const viewer = (await world.service.person('VIEWER')).token;
    const done = await changed(world, viewer, ALLOWED);
    expect(withPrefix(ALLOWED, done)).toEqual(
      withPrefix(
        ALLOWED,
        ALLOWED.map(() => 'APPLIED'),
      ),
    );
  });

  test('administrators of the project grant and change rights on $CONTROL/', async () => {
    const world = await sharedWorld();
    const { service } = world;
    const person = (await service.person('ADMIN')).token;
    const { projectId } = service;
    const token = await service.services.tokens.issue({ projectId, name: 'a', role: 'ADMIN' }, 'a test');
    for (const [index, credential] of [person, token.secret].entries()) {
      const username = `mine-${index}`;
      const changes = [
        { createAccount: { username, password: 'x', roles: roles('operators') } },
        { setAccountPassword: { username: 'chief', password: `new-${index}` } },
        { putAclRule: { roleName: 'plain', acl: allow('PUBLISH_CLIENT_SEND', `$CONTROL/${index}`) } },
      ];
      expect(await changed(world, credential, changes)).toEqual(['APPLIED', 'APPLIED', 'APPLIED']);
    }
  });

  test('the steps of one batch are judged on the result of those before them', async () => {
    const world = await sharedWorld();
    const viewer = (await world.service.person('VIEWER')).token;
    const steps: Change[] = [
      { createAccessRole: { roleName: 'step' } },
      { createAccount: { username: 'mine', password: 'x', roles: roles('step') } },
      { putAclRule: { roleName: 'step', acl: allow('PUBLISH_CLIENT_SEND', API) } },
      { addAccountRole: { username: 'mine', roleName: 'operators' } },
      { putAclRule: { roleName: 'step', acl: allow('PUBLISH_CLIENT_SEND', 'plant/#') } },
    ];
    expect(await changed(world, viewer, steps)).toEqual([
      'APPLIED',
      'APPLIED',
      'NOT_ALLOWED',
      'NOT_ALLOWED',
      'APPLIED',
    ]);
    const mine = await world.client({ clientId: 'mine', username: 'mine', password: 'x' });
    await mine.publishAsync(API, JSON.stringify({ commands: [{ command: 'createRole', rolename: 'stolen' }] }));
    expect(await world.ask('getRole', { rolename: 'stolen' })).toBe('Role not found');
  });

  test('the refusal names the rule and the role that is needed, by REST too', async () => {
    const world = await furnished(kind);
    const { service, brokerId } = world;
    const viewer = (await service.person('VIEWER')).token;
    const { errors } = await service.graphql(
      'mutation ($b: ID!) { setAccountPassword(input: { brokerId: $b, change: { username: "deputy", password: "x" } }) { outcome } }',
      { b: brokerId },
      viewer,
    );
    expect(errors).toMatchObject([
      {
        message: `The account "deputy" has access to $CONTROL/ by the rule for publishing to "${API}" of the role "operators": this change requires the ADMIN role in the project`,
        extensions: {
          code: 'NOT_ALLOWED',
          info: { role: 'operators', aclType: 'publishClientSend', topic: API, requires: 'ADMIN' },
        },
      },
    ]);
    const path = `/api/projects/${service.projectId}/brokers/${brokerId}`;
    const acl = { acltype: 'publishClientSend', topic: '$CONTROL/#', allow: true, priority: 0 };
    const body = { rolename: 'plain', acls: [acl] };
    const refused = await service.rest('PUT', `${path}/roles`, viewer, body);
    expect([refused.status, refused.body.code]).toEqual([403, 'NOT_ALLOWED']);
    const harmless = { ...body, acls: [{ ...acl, topic: 'plant/#' }] };
    expect((await service.rest('PUT', `${path}/roles`, viewer, harmless)).status).toBe(204);
    expect((await service.rest('DELETE', `${path}/clients?username=deputy`, viewer)).status).toBe(403);
    expect((await service.rest('DELETE', `${path}/clients?username=meter`, viewer)).status).toBe(204);
  });

  test('a document is applied by a viewer as far as it leaves rights on $CONTROL/ alone', async () => {
    const world = await furnished(kind);
    const { service, brokerId } = world;
    const viewer = (await service.person('VIEWER')).token;
    const apply = async (document: unknown, token: string, more = '') => {
      const { data, errors } = await service.graphql(
        `mutation ($b: ID!, $d: JSON) { applyAccessControl(input: { brokerId: $b, document: $d, deleteOthers: true ${more} }) {
          changes { outcome error { code } } } }`,
        { b: brokerId, d: document },
        token,
      );
      expect(errors).toBeUndefined();
      return data.applyAccessControl.changes.map(
        ({ outcome, error }: { outcome: string; error: { code: string } | null }) => error?.code ?? outcome,
      );
    };
    const before = await exported(world);
    expect(await apply(before, viewer)).toEqual([]);
    const setChief = 'setPasswords: true, passwords: [{ username: "chief", password: "mine" }]';
    expect(await apply(before, viewer, setChief)).toEqual(['NOT_ALLOWED']);
    const client = before.clients.find(({ username }: { username: string }) => username === 'meter');
    const mine = (name: string) => ({ ...client, username: name, groups: [], roles: [{ name, priority: 0 }] });
    const role = (name: string, topic: string) => ({
      ...before.roles.find(({ rolename }: { rolename: string }) => rolename === 'operators'),
      rolename: name,
      acls: [{ aclType: 'publishClientSend', topic, priority: 0, allow: true }],
    });
    const granting = {
      ...before,
      clients: [...before.clients, mine('harmless'), mine('mine')],
      roles: [...before.roles, role('harmless', 'plant/#'), role('mine', '$CONTROL/#')],
    };
    // The account needs a role that was refused.
    expect((await apply(granting, viewer)).sort()).toEqual(['APPLIED', 'APPLIED', 'NOT_ALLOWED', 'NOT_FOUND']);
    const names = ({ clients }: { clients: { username: string }[] }) => clients.map(({ username }) => username);
    expect(names(await exported(world))).toEqual([...names(before), 'harmless'].sort());
    // What a document leaves out is deleted, but for accounts with rights on `$CONTROL/`.
    const without = {
      ...before,
      clients: before.clients.filter(({ username }: { username: string }) => username === 'admin'),
    };
    const outcomes: string[] = await apply(without, viewer);
    expect(outcomes.filter((outcome) => outcome === 'NOT_ALLOWED')).toHaveLength(2);
    expect(names(await exported(world))).toEqual(['admin', 'chief', 'deputy']);
    expect(await apply(without, service.root)).toEqual(
      outcomes.filter((one) => one === 'NOT_ALLOWED').map(() => 'APPLIED'),
    );
  });

  test('rules without $CONTROL in their first level, and the default access, give no rights on $CONTROL/', async () => {
    const world = await accessWorld(kind);
    const { service, client, ask } = world;
    const topics = ['#', '+/#', '+/+/v1', '+/dynamic-security/v1', '+/dynamic-security/v1/response'];
    const wildcards = ['PUBLISH_CLIENT_SEND', 'PUBLISH_CLIENT_RECEIVE', 'SUBSCRIBE_PATTERN'].flatMap((aclType) =>
      topics.map((topic) => allow(aclType, topic)),
    );
    const shared = `$share/g/${API}/response`;
    const viewer = (await service.person('VIEWER')).token;
    const setup: Change[] = [
      { setDefaultAcl: { publishClientSend: true, publishClientReceive: true, subscribe: true, unsubscribe: true } },
      { createAccessRole: { roleName: 'all', acls: [...wildcards, allow('SUBSCRIBE_LITERAL', shared)] } },
      { createAccount: { username: 'mine', password: 'x', roles: roles('all') } },
    ];
    expect(await changed(world, viewer, setup)).toEqual(['APPLIED', 'APPLIED', 'APPLIED']);
    const mine = await client({ clientId: 'mine', username: 'mine', password: 'x' });
    const received: string[] = [];
    mine.on('message', (topic) => received.push(topic));
    // Mosquitto 2.0 grants the subscriptions, the embedded broker refuses them.
    for (const filter of ['$CONTROL/#', `${API}/response`, '+/dynamic-security/v1/response', shared])
      await mine.subscribeAsync(filter).catch(() => undefined);
    await mine.publishAsync(API, JSON.stringify({ commands: [{ command: 'createRole', rolename: 'stolen' }] }), {
      qos: 1,
    });
    // A command of another client, whose response the client must not receive.
    expect(await ask('getRole', { rolename: 'stolen' })).toBe('Role not found');
    await roundTrip(mine);
    expect(received.filter((topic) => topic.startsWith('$CONTROL'))).toEqual([]);
  });
});

/** Resolves when the client has got what the broker sent it before. */
async function roundTrip(client: MqttClient): Promise<void> {
  await client.subscribeAsync('mine/#');
  const arrived = new Promise<void>((resolve) => {
    client.on('message', (topic) => {
      if (topic === 'mine/done') resolve();
    });
  });
  await client.publishAsync('mine/done', 'x', { qos: 1 });
  await arrived;
}

const STRICT =
  'mutation ($p: ID!) { updateProject(input: { projectId: $p, hasStrictRoles: true }) { project { id } } }';

test('in a strict project an editor may change access control, and still no rights on $CONTROL/', async () => {
  const world = await furnished('the embedded broker');
  const { service } = world;
  await service.graphql(STRICT, { p: service.projectId });
  const editor = (await service.person('EDITOR')).token;
  const changes = [REFUSED[0], ALLOWED[0]] as Change[];
  expect(await changed(world, editor, changes)).toEqual(['NOT_ALLOWED', 'APPLIED']);
});

const errorCode = async (
  { graphql }: TestService,
  document: string,
  variables: Record<string, unknown>,
  token: string,
) => (await graphql(document, variables, token)).errors?.[0]?.extensions.code;

test('neither client control nor streams nor message tails lead below $CONTROL/', async () => {
  const world = await accessWorld('the embedded broker');
  const { service, brokerId: b } = world;
  const editor = (await service.person('EDITOR')).token;
  await changed(world, service.root, FURNITURE);
  await world.client({ clientId: 'c1', username: 'meter', password: 'm' });
  const subscribe =
    'mutation ($b: ID!, $t: String!) { subscribeClient(input: { brokerId: $b, clientId: "c1", topic: $t, qos: 0 }) { clientId } }';
  expect(await errorCode(service, subscribe, { b, t: `${API}/response` }, editor)).toBe('INVALID');
  expect(await errorCode(service, subscribe, { b, t: '$CONTROL/#' }, service.root)).toBe('INVALID');
  expect(await errorCode(service, subscribe, { b, t: 'plant/#' }, editor)).toBeUndefined();
  const stream = `mutation ($b: ID!, $s: String!, $t: String!) {
    createStream(input: { brokerId: $b, name: "s", sourceTopic: $s, targetTopic: $t }) { stream { name } }
  }`;
  for (const [s, t] of [
    ['$CONTROL/#', 'plant/a'],
    ['plant/#', API],
  ] as const) {
    expect([s, await errorCode(service, stream, { b, s, t }, editor)]).toEqual([s, 'INVALID']);
  }
});
