import type { MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { type Command, clearAccess, dynsec, dynsecDone } from './dynsec.ts';
import { ADMINISTRATOR, connect, control, startBrokerHere, useTestBroker } from './embedded.ts';

const shared = useTestBroker();

const EVERYTHING: readonly Command[] = [
  { command: 'createRole', rolename: 'role' },
  { command: 'createGroup', groupname: 'group' },
  { command: 'createGroup', groupname: 'anonymous' },
  { command: 'setAnonymousGroup', groupname: 'anonymous' },
  { command: 'createClient', username: 'client', password: 'secret' },
  { command: 'createClient', username: 'held', roles: [{ rolename: 'role' }], groups: [{ groupname: 'group' }] },
  { command: 'createGroup', groupname: 'held', roles: [{ rolename: 'role' }] },
  { command: 'addRoleACL', rolename: 'role', acltype: 'subscribePattern', topic: 'a/#' },
];

async function startWithEverything(): Promise<MqttClient> {
  const client = await connect(shared().mqttPort);
  await clearAccess(client);
  await dynsecDone(client, ...EVERYTHING);
  return client;
}

const tooLong = 'x'.repeat(65_536);
const list = (key: string, name: unknown) => [{ [key]: name }];

/** What is granted, then what is refused with which text. */
const REFUSALS: readonly (readonly [Command, ...(readonly [Command, string])[]])[] = [
  [
    { command: 'createClient', username: 'new', password: 'x', clientid: 'id', textname: 'T', textdescription: 'D' },
    [{ command: 'createClient', username: 'client' }, 'Client already exists'],
    [{ command: 'createClient' }, 'Invalid/missing username'],
    [{ command: 'createClient', username: 7 }, 'Invalid/missing username'],
    [{ command: 'createClient', username: '' }, 'Empty username'],
    [{ command: 'createClient', username: 'tab\t' }, 'Username not valid UTF-8'],
    [{ command: 'createClient', username: 'nul\0' }, 'Username not valid UTF-8'],
    [{ command: 'createClient', username: '\ud800' }, 'Username not valid UTF-8'],
    [{ command: 'createClient', username: '\uffff' }, 'Username not valid UTF-8'],
    [{ command: 'createClient', username: tooLong }, 'Username not valid UTF-8'],
    [{ command: 'createClient', username: 'n', password: null }, 'Invalid/missing password'],
    [{ command: 'createClient', username: 'n', password: tooLong }, 'The password is too long'],
    [{ command: 'createClient', username: 'n', clientid: 7 }, 'Invalid/missing client id'],
    [{ command: 'createClient', username: 'n', clientid: 'a\u0080' }, 'Client ID not valid UTF-8'],
    [{ command: 'createClient', username: 'n', textname: 7 }, 'Invalid/missing textname'],
    [{ command: 'createClient', username: 'n', textname: tooLong }, 'The textname is too long'],
    [{ command: 'createClient', username: 'n', textdescription: [] }, 'Invalid/missing textdescription'],
    [{ command: 'createClient', username: 'n', roles: list('rolename', 'nobody') }, 'Role not found'],
    [
      { command: 'createClient', username: 'n', roles: list('rolename', 7) },
      "'roles' not an array or missing/invalid rolename",
    ],
    [{ command: 'createClient', username: 'n', roles: null }, "'roles' not an array or missing/invalid rolename"],
    [
      { command: 'createClient', username: 'n', groups: [{ groupname: 'group' }, { groupname: 'nobody' }] },
      'Group not found',
    ],
    [
      { command: 'createClient', username: 'n', groups: [{ groupname: 'group' }, { groupname: 'group' }] },
      'Internal error',
    ],
  ],
  [
    {
      command: 'modifyClient',
      username: 'client',
      clientid: 7,
      password: null,
      textname: [],
      textdescription: {},
      groups: 7,
    },
    [{ command: 'modifyClient' }, 'Invalid/missing username'],
    [{ command: 'modifyClient', username: 'nobody' }, 'Client not found'],
    [{ command: 'modifyClient', username: '\ud800' }, 'Username not valid UTF-8'],
    [{ command: 'modifyClient', username: 'client', roles: list('rolename', 'nobody') }, 'Role not found'],
    [
      { command: 'modifyClient', username: 'client', roles: 'role' },
      "'roles' not an array or missing/invalid rolename",
    ],
    [
      { command: 'modifyClient', username: 'client', groups: list('groupname', 'nobody') },
      "'groups' contains an object with a 'groupname' that does not exist",
    ],
    [
      { command: 'modifyClient', username: 'client', groups: list('groupname', 7) },
      "'groups' contains an object with an invalid 'groupname'",
    ],
  ],
  [
    { command: 'setClientId', username: 'client', clientid: 'id' },
    [{ command: 'setClientId', username: 'client', clientid: null }, 'Invalid/missing client ID'],
    [{ command: 'setClientId', username: 'client', clientid: 'a\u0001' }, 'Client ID not valid UTF-8'],
    [{ command: 'setClientId', username: 'nobody' }, 'Client not found'],
  ],
  [
    { command: 'setClientPassword', username: 'client', password: 'new' },
    [{ command: 'setClientPassword', username: 'client' }, 'Invalid/missing password'],
    [{ command: 'setClientPassword', username: 'client', password: '' }, 'Empty password is not allowed'],
    [{ command: 'setClientPassword', username: 'nobody', password: 'x' }, 'Client not found'],
  ],
  [
    { command: 'addClientRole', username: 'client', rolename: 'role' },
    [{ command: 'addClientRole', username: 'held', rolename: 'role' }, 'Internal error'],
    [{ command: 'addClientRole', username: 'nobody', rolename: 'role' }, 'Client not found'],
    [{ command: 'addClientRole', username: 'client', rolename: 'nobody' }, 'Role not found'],
    [{ command: 'addClientRole', username: 'client' }, 'Invalid/missing rolename'],
    [{ command: 'addClientRole', username: 'client', rolename: '\ud800' }, 'Role name not valid UTF-8'],
  ],
  [
    { command: 'removeClientRole', username: 'client', rolename: 'role' },
    [{ command: 'removeClientRole', username: 'nobody', rolename: 'role' }, 'Client not found'],
    [{ command: 'removeClientRole', username: 'client', rolename: 'nobody' }, 'Role not found'],
  ],
  ...(['enableClient', 'disableClient', 'getClient', 'deleteClient'] as const).map(
    (command) =>
      [
        { command, username: 'client' },
        [{ command, username: 'nobody' }, 'Client not found'],
        [{ command, username: null }, 'Invalid/missing username'],
      ] as const,
  ),
  [
    { command: 'createGroup', groupname: 'new', textname: 'T', textdescription: 'D' },
    [{ command: 'createGroup', groupname: 'group' }, 'Group already exists'],
    [{ command: 'createGroup' }, 'Invalid/missing groupname'],
    [{ command: 'createGroup', groupname: '' }, 'Empty groupname'],
    [{ command: 'createGroup', groupname: 'tab\t' }, 'Group name not valid UTF-8'],
    [{ command: 'createGroup', groupname: 'n', textname: null }, 'Invalid/missing textname'],
    [{ command: 'createGroup', groupname: 'n', textdescription: 7 }, 'Invalid/missing textdescription'],
    [{ command: 'createGroup', groupname: 'n', roles: list('rolename', 'nobody') }, 'Role not found'],
    [{ command: 'createGroup', groupname: 'n', roles: 'role' }, 'Internal error'],
  ],
  [
    { command: 'modifyGroup', groupname: 'group', textname: 7, clients: ['client'] },
    [{ command: 'modifyGroup', groupname: 'nobody' }, 'Group not found'],
    [{ command: 'modifyGroup', groupname: 'group', roles: list('rolename', 'nobody') }, 'Role not found'],
    [{ command: 'modifyGroup', groupname: 'group', roles: {} }, "'roles' not an array or missing/invalid rolename"],
    [
      { command: 'modifyGroup', groupname: 'group', clients: list('username', 'nobody') },
      "'clients' contains an object with a 'username' that does not exist",
    ],
    [
      { command: 'modifyGroup', groupname: 'group', clients: list('username', 7) },
      "'clients' contains an object with an invalid 'username'",
    ],
  ],
  [
    { command: 'addGroupClient', groupname: 'group', username: 'client' },
    [{ command: 'addGroupClient', groupname: 'group', username: 'held' }, 'Client is already in this group'],
    [{ command: 'addGroupClient', groupname: 'group', username: 'nobody' }, 'Client not found'],
    [{ command: 'addGroupClient', groupname: 'nobody', username: 'client' }, 'Group not found'],
  ],
  [
    { command: 'removeGroupClient', groupname: 'group', username: 'client' },
    [{ command: 'removeGroupClient', groupname: 'group', username: 'nobody' }, 'Client not found'],
    [{ command: 'removeGroupClient', groupname: 'nobody', username: 'client' }, 'Group not found'],
  ],
  [
    { command: 'addGroupRole', groupname: 'group', rolename: 'role' },
    [{ command: 'addGroupRole', groupname: 'held', rolename: 'role' }, 'Group is already in this role'],
    [{ command: 'addGroupRole', groupname: 'nobody', rolename: 'role' }, 'Group not found'],
    [{ command: 'addGroupRole', groupname: 'group', rolename: 'nobody' }, 'Role not found'],
  ],
  [
    { command: 'removeGroupRole', groupname: 'group', rolename: 'role' },
    [{ command: 'removeGroupRole', groupname: 'nobody', rolename: 'role' }, 'Group not found'],
    [{ command: 'removeGroupRole', groupname: 'group', rolename: 'nobody' }, 'Role not found'],
  ],
  [
    { command: 'deleteGroup', groupname: 'group' },
    [{ command: 'deleteGroup', groupname: 'anonymous' }, 'Deleting the anonymous group is forbidden'],
    [{ command: 'deleteGroup', groupname: 'nobody' }, 'Group not found'],
  ],
  [{ command: 'getGroup', groupname: 'group' }, [{ command: 'getGroup', groupname: 'nobody' }, 'Group not found']],
  [
    { command: 'setAnonymousGroup', groupname: 'group' },
    [{ command: 'setAnonymousGroup', groupname: '' }, 'Group not found'],
    [{ command: 'setAnonymousGroup', groupname: null }, 'Invalid/missing groupname'],
  ],
  [
    { command: 'createRole', rolename: 'new', allowwildcardsubs: false, acls: 'x' },
    [{ command: 'createRole', rolename: 'role' }, 'Role already exists'],
    [{ command: 'createRole', rolename: [] }, 'Invalid/missing rolename'],
    [{ command: 'createRole', rolename: '' }, 'Empty rolename'],
    [{ command: 'createRole', rolename: 'tab\t' }, 'Role name not valid UTF-8'],
    [{ command: 'createRole', rolename: 'n', textname: 7 }, 'Invalid/missing textname'],
    [{ command: 'createRole', rolename: 'n', textdescription: 7 }, 'Invalid/missing textdescription'],
    [{ command: 'createRole', rolename: 'n', allowwildcardsubs: 'no' }, 'Invalid allowwildcardsubs'],
    [{ command: 'createRole', rolename: 'n', allowwildcardsubs: null }, 'Invalid allowwildcardsubs'],
  ],
  [
    { command: 'modifyRole', rolename: 'role', textname: 7, allowwildcardsubs: 'no', acls: 'x' },
    [{ command: 'modifyRole', rolename: 'nobody' }, 'Role does not exist'],
    [{ command: 'modifyRole' }, 'Invalid/missing rolename'],
  ],
  [
    { command: 'addRoleACL', rolename: 'role', acltype: 'SUBSCRIBELITERAL', topic: 'a/#' },
    [
      { command: 'addRoleACL', rolename: 'role', acltype: 'subscribePattern', topic: 'a/#' },
      'ACL with this topic already exists',
    ],
    [{ command: 'addRoleACL', rolename: 'nobody', acltype: 'subscribePattern', topic: 'b' }, 'Role not found'],
    [{ command: 'addRoleACL', rolename: 'role', topic: 'b' }, 'Invalid/missing acltype'],
    [{ command: 'addRoleACL', rolename: 'role', acltype: 'subscribe', topic: 'b' }, 'Unknown acltype'],
    [{ command: 'addRoleACL', rolename: 'role', acltype: 'subscribePattern' }, 'Invalid/missing topic'],
    [{ command: 'addRoleACL', rolename: 'role', acltype: 'subscribePattern', topic: 'a/#/b' }, 'Invalid ACL topic'],
    [{ command: 'addRoleACL', rolename: 'role', acltype: 'subscribePattern', topic: 'a+' }, 'Invalid ACL topic'],
    [{ command: 'addRoleACL', rolename: 'role', acltype: 'publishClientSend', topic: '' }, 'Invalid ACL topic'],
    [{ command: 'removeRoleACL', rolename: 'role', acltype: 'publishClientSend', topic: '' }, 'Invalid ACL topic'],
    [
      { command: 'addRoleACL', rolename: 'role', acltype: 'subscribePattern', topic: '/'.repeat(201) },
      'Invalid ACL topic',
    ],
    [
      { command: 'addRoleACL', rolename: 'role', acltype: 'subscribePattern', topic: '\ud800' },
      'Topic not valid UTF-8',
    ],
  ],
  [
    { command: 'removeRoleACL', rolename: 'role', acltype: 'subscribePattern', topic: 'a/#' },
    [{ command: 'removeRoleACL', rolename: 'role', acltype: 'subscribeLiteral', topic: 'a/#' }, 'ACL not found'],
    [{ command: 'removeRoleACL', rolename: 'role', acltype: 'x', topic: 'a/#' }, 'Unknown acltype'],
    [{ command: 'removeRoleACL', rolename: 'nobody', acltype: 'x', topic: 'a/#' }, 'Role not found'],
  ],
  [{ command: 'getRole', rolename: 'role' }, [{ command: 'getRole', rolename: 'nobody' }, 'Role not found']],
  [{ command: 'deleteRole', rolename: 'role' }, [{ command: 'deleteRole', rolename: 'nobody' }, 'Role not found']],
  [
    { command: 'setDefaultACLAccess', acls: [{ acltype: 'nothing', allow: true }, 7] },
    [{ command: 'setDefaultACLAccess', acls: {} }, 'Missing/invalid actions array'],
    [{ command: 'setDefaultACLAccess' }, 'Missing/invalid actions array'],
  ],
];

test.each(REFUSALS.map((row) => [row[0].command, row] as const))(
  '%s is done, and refused with the texts of Mosquitto',
  async (_name, [granted, ...refused]) => {
    const client = await startWithEverything();
    const state = async () => [
      ...(await dynsecDone(
        client,
        { command: 'listClients', verbose: true },
        { command: 'listGroups', verbose: true },
      )),
      ...(await dynsecDone(client, { command: 'listRoles', verbose: true }, { command: 'getDetails' })),
    ];
    const before = await state();
    for (const [command, error] of refused) {
      expect(await dynsec(client, command), JSON.stringify(command).slice(0, 200)).toEqual([
        { command: command.command, error },
      ]);
    }
    // What is refused changes nothing.
    expect(await state()).toEqual(before);
    await dynsecDone(client, granted);
  },
);

test('objects are returned with their fields and the names of Mosquitto', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await connect(mqttPort);
  const acls = [
    { acltype: 'subscribePattern', topic: 'b', allow: true },
    { acltype: 'subscribePattern', topic: 'c', priority: 3 },
    { acltype: 'subscribePattern', topic: 'a', allow: true },
    { acltype: 'publishClientSend', topic: 'x/#', priority: 1_000_000, allow: true },
    // Passed over: unknown, without a topic, with an empty one, the same again.
    { acltype: 'nothing', topic: 'x' },
    { acltype: 'subscribePattern' },
    { acltype: 'subscribePattern', topic: '' },
    { acltype: 'subscribePattern', topic: 'b', allow: false },
    7,
  ];
  await dynsecDone(
    client,
    { command: 'createRole', rolename: 'r1', textname: 'R', textdescription: '', allowwildcardsubs: false, acls },
    { command: 'createRole', rolename: 'r2' },
    { command: 'createGroup', groupname: 'g1', roles: [{ rolename: 'r2', priority: -1_000_000 }] },
    { command: 'createGroup', groupname: 'g2' },
    {
      command: 'createClient',
      username: 'dev',
      password: 'secret',
      clientid: 'id',
      textname: 'D',
      roles: [{ rolename: 'r1' }, { rolename: 'r2', priority: 4 }, { rolename: 'r1', priority: 9 }],
      groups: [{ groupname: 'g1', priority: -2 }, { groupname: 'g2' }, 'g1', {}],
    },
    { command: 'disableClient', username: 'dev' },
  );
  const [one, group, role, clients, groups, roles, anonymous, defaults, details] = await dynsecDone(
    client,
    { command: 'getClient', username: 'dev' },
    { command: 'getGroup', groupname: 'g1' },
    { command: 'getRole', rolename: 'r1' },
    { command: 'listClients' },
    { command: 'listGroups' },
    { command: 'listRoles' },
    { command: 'getAnonymousGroup' },
    { command: 'getDefaultACLAccess' },
    { command: 'getDetails' },
  );
  expect(one).toEqual({
    client: {
      username: 'dev',
      clientid: 'id',
      textname: 'D',
      disabled: true,
      roles: [{ rolename: 'r2', priority: 4 }, { rolename: 'r1' }],
      groups: [{ groupname: 'g2' }, { groupname: 'g1', priority: -2 }],
      connections: [],
    },
  });
  expect(group).toEqual({
    group: { groupname: 'g1', clients: [{ username: 'dev' }], roles: [{ rolename: 'r2', priority: -100_000 }] },
  });
  expect(role).toEqual({
    role: {
      rolename: 'r1',
      textname: 'R',
      textdescription: '',
      allowwildcardsubs: false,
      acls: [
        { acltype: 'publishClientSend', topic: 'x/#', priority: 100_000, allow: true },
        { acltype: 'subscribePattern', topic: 'c', priority: 3, allow: false },
        { acltype: 'subscribePattern', topic: 'b', priority: 0, allow: true },
        { acltype: 'subscribePattern', topic: 'a', priority: 0, allow: true },
      ],
    },
  });
  expect(clients).toEqual({ totalCount: 2, clients: ['admin', 'dev'] });
  expect(groups).toEqual({ totalCount: 2, groups: ['g1', 'g2'] });
  expect(roles).toEqual({ totalCount: 3, roles: ['admin', 'r1', 'r2'] });
  expect(anonymous).toEqual({ group: { groupname: '' } });
  expect(defaults).toEqual({
    acls: [
      { acltype: 'publishClientSend', allow: false },
      { acltype: 'publishClientReceive', allow: true },
      { acltype: 'subscribe', allow: false },
      { acltype: 'unsubscribe', allow: true },
    ],
  });
  expect(details).toEqual({ clientCount: 2, groupCount: 2, roleCount: 3, changeIndex: 6 });
});

test('modify commands set an empty text, clear with an empty list, and ignore other types', async () => {
  const client = await startWithEverything();
  await dynsecDone(
    client,
    { command: 'modifyClient', username: 'held', clientid: 'id', textname: '', textdescription: 'D', password: '' },
    { command: 'modifyClient', username: 'held', clientid: null, textname: null, roles: [], groups: [] },
    { command: 'modifyGroup', groupname: 'group', clients: [{ username: 'client', priority: 5 }, 'held'] },
  );
  const [held, group] = await dynsecDone(
    client,
    { command: 'getClient', username: 'held' },
    { command: 'getGroup', groupname: 'group' },
  );
  const texts = { clientid: 'id', textname: '', textdescription: 'D' };
  expect(held).toEqual({ client: { username: 'held', ...texts, roles: [], groups: [], connections: [] } });
  expect(group).toMatchObject({ group: { clients: [{ username: 'client' }] } });
  await dynsecDone(client, { command: 'modifyClient', username: 'held', clientid: '' });
  const [cleared] = await dynsecDone(client, { command: 'getClient', username: 'held' });
  expect(cleared).toEqual({
    client: { username: 'held', textname: '', textdescription: 'D', roles: [], groups: [], connections: [] },
  });
});

test('a deleted role is removed from its clients and groups, and a new role of that name has no members', async () => {
  const client = await startWithEverything();
  await dynsecDone(client, { command: 'deleteRole', rolename: 'role' }, { command: 'createRole', rolename: 'role' });
  const [held, group] = await dynsecDone(
    client,
    { command: 'getClient', username: 'held' },
    { command: 'getGroup', groupname: 'held' },
  );
  expect(held).toMatchObject({ client: { roles: [] } });
  expect(group).toMatchObject({ group: { roles: [] } });
});

test('commands and fields are case-insensitive; responses use the names of Mosquitto; reads do not count as changes', async () => {
  const client = await startWithEverything();
  const count = async () => (await dynsecDone(client, { command: 'getDetails' }))[0];
  const before = await count();
  expect(
    await control(client, 'dynamic-security', {
      Commands: [
        { Command: 'GETCLIENT', UserName: 'client', CORRELATIONDATA: 'a' },
        { command: 'listclients', Count: 1, correlationData: 'b' },
        { command: 'createrole' },
        { command: 'CreateSomething', correlationData: 'c' },
        { command: '__proto__' },
      ],
    }),
  ).toEqual([
    {
      command: 'getClient',
      correlationData: 'a',
      data: { client: { username: 'client', roles: [], groups: [], connections: [] } },
    },
    { command: 'listClients', correlationData: 'b', data: { totalCount: 3, clients: ['admin'] } },
    { command: 'createRole', error: 'Invalid/missing rolename' },
    { command: 'CreateSomething', correlationData: 'c', error: 'Unknown command' },
    { command: '__proto__', error: 'Unknown command' },
  ]);
  expect(await count()).toEqual(before);
});

test('invalid UTF-8 in a payload is refused with the name of its field', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await connect(mqttPort);
  const text = '{"commands":[{"command":"createClient","username":"a#"},{"command":"createRole","rolename":"ok"}]}';
  const payload = Buffer.from(text);
  payload[payload.indexOf('#')] = 0xff;
  const answer = new Promise<string>((resolve) => client.on('message', (_topic, bytes) => resolve(bytes.toString())));
  await client.subscribeAsync('$CONTROL/dynamic-security/v1/response');
  await client.publishAsync('$CONTROL/dynamic-security/v1', payload);
  expect(JSON.parse(await answer)).toEqual({
    responses: [{ command: 'createClient', error: 'Username not valid UTF-8' }, { command: 'createRole' }],
  });
});

test('a client is returned with the addresses of its connections', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await connect(mqttPort);
  await connect(mqttPort);
  const connections = [{ address: '127.0.0.1' }, { address: '127.0.0.1' }];
  const [one, listed] = await dynsecDone(
    client,
    { command: 'getClient', username: ADMINISTRATOR.username },
    { command: 'listClients', verbose: true },
  );
  expect(one).toMatchObject({ client: { connections } });
  expect(listed).toMatchObject({ clients: [{ username: ADMINISTRATOR.username, connections }] });
});
