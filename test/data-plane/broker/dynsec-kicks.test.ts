import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { type Command, clearAccess, dynsec, dynsecDone } from './dynsec.ts';
import { collect, connect, startBrokerHere, useTestBroker } from './embedded.ts';

const shared = useTestBroker();

/**
 * Users of the scene, null: without user name. `direct` holds the role, `member` by its group, `both` twice, `other`
 * not.
 */
const USERS = ['direct', 'member', 'both', 'other', null] as const;
type User = (typeof USERS)[number];

const SCENE: readonly Command[] = [
  { command: 'createRole', rolename: 'role' },
  { command: 'createRole', rolename: 'unused' },
  { command: 'createGroup', groupname: 'group' },
  { command: 'createGroup', groupname: 'empty' },
  { command: 'createGroup', groupname: 'anonymous' },
  { command: 'setAnonymousGroup', groupname: 'anonymous' },
  // All three ways to come to a role.
  { command: 'createClient', username: 'direct', password: 'x', roles: [{ rolename: 'role' }] },
  { command: 'createClient', username: 'member', password: 'x', groups: [{ groupname: 'group' }] },
  { command: 'createClient', username: 'both', password: 'x' },
  { command: 'createClient', username: 'other', password: 'x' },
  { command: 'addClientRole', username: 'both', rolename: 'role' },
  { command: 'addGroupClient', groupname: 'group', username: 'both' },
  { command: 'modifyGroup', groupname: 'group', roles: [{ rolename: 'role' }] },
  { command: 'addRoleACL', rolename: 'role', acltype: 'publishClientSend', topic: 'a', allow: true },
];
const ANONYMOUS_HOLDS: Command = { command: 'addGroupRole', groupname: 'anonymous', rolename: 'role' };

async function connectAs(port: number, user: User): Promise<MqttClient> {
  if (user !== null) return connect(port, { username: user, password: 'x' });
  return connect(port, { username: undefined, password: undefined } as object);
}

/** Who is disconnected when these commands are done; the others answer a ping afterwards. */
async function kickedBy(commands: readonly Command[], scene: readonly Command[] = []): Promise<User[]> {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  await clearAccess(admin);
  await dynsecDone(admin, ...SCENE, ...scene);
  const clients = await Promise.all(USERS.map((user) => connectAs(mqttPort, user)));
  const closed = clients.map((client) => new Promise<boolean>((resolve) => client.once('close', () => resolve(true))));
  await dynsec(admin, ...commands);
  // Kicks follow the response immediately, so later requests are handled after them.
  await dynsec(admin, { command: 'getDetails' });
  await dynsec(admin, { command: 'getDetails' });
  const answers = clients.map((client) =>
    client.unsubscribeAsync('nothing').then(
      () => false,
      () => true,
    ),
  );
  const results = await Promise.all(
    closed.map((end, index) => Promise.race([end, answers[index] as Promise<boolean>])),
  );
  await admin.endAsync();
  return USERS.filter((_user, index) => results[index]);
}

const HOLDERS: User[] = ['direct', 'member', 'both'];
const MEMBERS: User[] = ['member', 'both'];

test.each<[string, Command[], User[], Command[]?]>([
  ['deleteClient', [{ command: 'deleteClient', username: 'other' }], ['other']],
  ['disableClient', [{ command: 'disableClient', username: 'other' }], ['other']],
  ['enableClient', [{ command: 'enableClient', username: 'other' }], []],
  ['modifyClient without a change', [{ command: 'modifyClient', username: 'other' }], ['other']],
  ['modifyClient that is refused', [{ command: 'modifyClient', username: 'other', roles: 7 }], []],
  ['setClientId without a change', [{ command: 'setClientId', username: 'other' }], ['other']],
  ['setClientPassword', [{ command: 'setClientPassword', username: 'other', password: 'x' }], ['other']],
  ['addClientRole', [{ command: 'addClientRole', username: 'other', rolename: 'role' }], ['other']],
  ['addClientRole of a held role', [{ command: 'addClientRole', username: 'direct', rolename: 'role' }], []],
  ['removeClientRole', [{ command: 'removeClientRole', username: 'other', rolename: 'role' }], ['other']],
  ['createClient', [{ command: 'createClient', username: 'new', roles: [{ rolename: 'role' }] }], []],
  ['addGroupClient', [{ command: 'addGroupClient', groupname: 'empty', username: 'other' }], ['other']],
  [
    'addGroupClient that is refused',
    [{ command: 'addGroupClient', groupname: 'nobody', username: 'other' }],
    ['other'],
  ],
  ['removeGroupClient', [{ command: 'removeGroupClient', groupname: 'group', username: 'other' }], ['other']],
  ['createGroup', [{ command: 'createGroup', groupname: 'new' }], []],
  ['deleteGroup', [{ command: 'deleteGroup', groupname: 'group' }], MEMBERS],
  ['modifyGroup with a text', [{ command: 'modifyGroup', groupname: 'group', textname: 'x' }], MEMBERS],
  [
    'modifyGroup with members',
    [{ command: 'modifyGroup', groupname: 'group', clients: [{ username: 'other' }] }],
    [...MEMBERS, 'other'],
  ],
  ['modifyGroup that is refused', [{ command: 'modifyGroup', groupname: 'group', clients: [{}] }], []],
  ['modifyGroup of the anonymous group', [{ command: 'modifyGroup', groupname: 'anonymous' }], [null]],
  ['addGroupRole', [{ command: 'addGroupRole', groupname: 'group', rolename: 'unused' }], MEMBERS],
  ['removeGroupRole', [{ command: 'removeGroupRole', groupname: 'group', rolename: 'unused' }], MEMBERS],
  ['setAnonymousGroup to the same', [{ command: 'setAnonymousGroup', groupname: 'anonymous' }], [null]],
  ['createRole', [{ command: 'createRole', rolename: 'new' }], []],
  ['deleteRole', [{ command: 'deleteRole', rolename: 'role' }], HOLDERS],
  [
    'deleteRole that anonymous clients have too',
    [{ command: 'deleteRole', rolename: 'role' }],
    [...HOLDERS, null],
    [ANONYMOUS_HOLDS],
  ],
  ['deleteRole of an unused one', [{ command: 'deleteRole', rolename: 'unused' }], []],
  ['modifyRole with a text', [{ command: 'modifyRole', rolename: 'role', textname: 'x' }], []],
  ['modifyRole with ACLs', [{ command: 'modifyRole', rolename: 'role', acls: [] }], HOLDERS],
  ['modifyRole with the flag', [{ command: 'modifyRole', rolename: 'role', allowwildcardsubs: false }], HOLDERS],
  ['modifyRole with the flag as it is', [{ command: 'modifyRole', rolename: 'role', allowwildcardsubs: true }], []],
  ['addRoleACL', [{ command: 'addRoleACL', rolename: 'role', acltype: 'publishClientSend', topic: 'b' }], HOLDERS],
  [
    'addRoleACL that is refused',
    [{ command: 'addRoleACL', rolename: 'role', acltype: 'publishClientSend', topic: 'a' }],
    [],
  ],
  [
    'removeRoleACL',
    [{ command: 'removeRoleACL', rolename: 'role', acltype: 'publishClientSend', topic: 'a' }],
    HOLDERS,
  ],
  ['setDefaultACLAccess', [{ command: 'setDefaultACLAccess', acls: [{ acltype: 'subscribe', allow: true }] }], []],
  [
    'reading',
    [
      { command: 'getClient', username: 'other' },
      { command: 'listRoles', verbose: true },
    ],
    [],
  ],
  [
    'several commands',
    [
      { command: 'modifyClient', username: 'other' },
      { command: 'removeGroupRole', groupname: 'group', rolename: 'role' },
      { command: 'deleteRole', rolename: 'role' },
    ],
    [...HOLDERS, 'other'],
  ],
])('%s disconnects the same clients as in Mosquitto 2.1', async (_name, commands, kicked, scene) => {
  expect(await kickedBy(commands, scene)).toEqual(kicked);
});

function connecting(port: number, options: IClientOptions): MqttClient {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { protocolVersion: 4, reconnectPeriod: 0, ...options });
  client.on('error', () => {});
  onTestFinished(() => client.endAsync(true).then(() => {}));
  return client;
}

test('a kicked client keeps its session and its queue', async () => {
  const { mqttPort } = await startBrokerHere();
  const admin = await connect(mqttPort);
  await dynsecDone(admin, ...MAY_ALL);
  const session = { username: 'dev', password: 'x', clientId: 'dev', clean: false } as const;
  const device = await connect(mqttPort, session);
  await device.subscribeAsync('queue', { qos: 1 });
  const closed = new Promise<void>((resolve) => device.once('close', () => resolve()));
  await dynsecDone(admin, { command: 'modifyClient', username: 'dev' });
  await closed;
  await admin.publishAsync('queue', 'kept', { qos: 1 });
  // Collected from before the connection stands: what is queued comes right behind CONNACK.
  const back = collect(connecting(mqttPort, session));
  expect((await back.until((seen) => seen.length > 0))[0]?.text).toBe('kept');
});

const MAY_ALL: readonly Command[] = [
  {
    command: 'createRole',
    rolename: 'all',
    acls: ['publishClientSend', 'subscribePattern'].map((acltype) => ({ acltype, topic: '#', allow: true })),
  },
  { command: 'createClient', username: 'dev', password: 'x', roles: [{ rolename: 'all' }] },
];

test.each<[Command, string[]]>([
  [{ command: 'disableClient', username: 'dev' }, ['will']],
  [{ command: 'deleteClient', username: 'dev' }, ['will']],
  [{ command: 'setClientPassword', username: 'dev', password: 'y' }, ['will']],
  [{ command: 'removeClientRole', username: 'dev', rolename: 'all' }, []],
])(
  '[MQTT-3.1.2-8] the will of a kicked client is published if its account could publish it: %o',
  async (change, published) => {
    const { mqttPort } = await startBrokerHere();
    const admin = await connect(mqttPort);
    const watching = collect(admin);
    await dynsecDone(admin, ...MAY_ALL);
    await admin.subscribeAsync(['will', 'end']);
    const will = { topic: 'will', payload: Buffer.from('gone'), qos: 1, retain: true } as const;
    const device = await connect(mqttPort, { username: 'dev', password: 'x', will });
    const closed = new Promise<void>((resolve) => device.once('close', () => resolve()));
    await dynsecDone(admin, change);
    await closed;
    await admin.publishAsync('end', 'end', { qos: 1 });
    await watching.until((seen) => seen.some(({ topic }) => topic === 'end'));
    const topics = watching.messages.map(({ topic }) => topic).filter((topic) => !topic.startsWith('$'));
    expect(topics).toEqual([...published, 'end']);
  },
);

test('an administrator that changes its own account gets the response before it is disconnected', async () => {
  const { mqttPort } = await startBrokerHere();
  for (let round = 0; round < 20; round += 1) {
    const admin = await connect(mqttPort);
    const closed = new Promise<void>((resolve) => admin.once('close', () => resolve()));
    const [answer] = await dynsec(admin, {
      command: 'modifyClient',
      username: 'admin',
      correlationData: String(round),
    });
    expect(answer).toEqual({ command: 'modifyClient', correlationData: String(round) });
    await closed;
  }
});

test('a client is refused if its password is changed while it connects', async () => {
  const { mqttPort } = await startBrokerHere();
  const admin = await connect(mqttPort);
  await dynsecDone(admin, { command: 'createClient', username: 'dev', password: 'old' });
  let password = 'old';
  for (let round = 0; round < 20; round += 1) {
    const next = `new ${round}`;
    const device = connecting(mqttPort, { username: 'dev', password });
    const closed = new Promise<void>((resolve) => device.once('close', () => resolve()));
    await dynsecDone(admin, { command: 'setClientPassword', username: 'dev', password: next });
    // Refused, or let in and disconnected, or disconnected on the way in.
    await closed;
    password = next;
  }
});

test('a request is not executed if an earlier request removes its permission', async () => {
  const { mqttPort } = await startBrokerHere();
  const admin = await connect(mqttPort);
  const acls = ['publishClientSend', 'subscribePattern', 'publishClientReceive'].map((acltype) => ({
    acltype,
    topic: '$CONTROL/#',
    allow: true,
  }));
  await dynsecDone(
    admin,
    { command: 'createRole', rolename: 'ops', acls },
    { command: 'createClient', username: 'ops', password: 'x', roles: [{ rolename: 'ops' }] },
  );
  const ops = await connect(mqttPort, { username: 'ops', password: 'x' });
  const closed = new Promise<void>((resolve) => ops.once('close', () => resolve()));
  const ask = (...commands: readonly Command[]) =>
    ops.publish('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }));
  // The password takes long enough for the second request to come.
  ask({ command: 'createClient', username: 'slow', password: 'x' }, { command: 'deleteClient', username: 'ops' });
  ask({ command: 'createRole', rolename: 'sneaked in' });
  await closed;
  expect(await dynsecDone(admin, { command: 'listClients' }, { command: 'listRoles' })).toEqual([
    { totalCount: 2, clients: ['admin', 'slow'] },
    { totalCount: 2, roles: ['admin', 'ops'] },
  ]);
});
