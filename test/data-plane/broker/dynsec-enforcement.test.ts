import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { type Command, dynsecDone } from './dynsec.ts';
import { collect, connect, startBrokerHere } from './embedded.ts';

type Acl = readonly [acltype: string, topic: string, allow: boolean, priority?: number];

const role = (rolename: string, ...acls: readonly Acl[]): Command => ({
  command: 'createRole',
  rolename,
  acls: acls.map(([acltype, topic, allow, priority = 0]) => ({ acltype, topic, allow, priority })),
});

/** A broker with this access control, and its administrator. */
async function start(...commands: readonly Command[]) {
  const { mqttPort: port } = await startBrokerHere();
  const admin = await connect(port);
  await dynsecDone(admin, ...commands);
  return { port, admin };
}

const device = (port: number, username: string, clientId = `${username}-id`) =>
  connect(port, { username, password: 'x', clientId });
const anonymous = (port: number) => connect(port, { username: undefined, password: undefined } as object);

/** The CONNACK's return code. */
async function returnCode(port: number, options: IClientOptions): Promise<number> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { protocolVersion: 4, reconnectPeriod: 0, ...options });
  onTestFinished(() => client.endAsync(true).then(() => {}));
  return new Promise((resolve) => {
    client.once('connect', () => resolve(0));
    client.once('error', (error) => resolve((error as { code?: number }).code ?? -1));
  });
}

/** Which of these topics a client may publish to: those that arrive at the administrator. */
async function published(client: MqttClient, admin: MqttClient, topics: readonly string[]): Promise<string[]> {
  const seen = collect(admin);
  await admin.subscribeAsync(['#', '$SYS/broker/connection/#']);
  for (const topic of topics) await client.publishAsync(topic, 'x', { qos: 1 });
  await admin.publishAsync('end', 'x', { qos: 1 });
  await seen.until((messages) => messages.some(({ topic }) => topic === 'end'));
  return topics.filter((topic) => seen.messages.some((message) => message.topic === topic));
}

async function subscribed(client: MqttClient, filters: readonly string[]): Promise<string[]> {
  const granted: string[] = [];
  for (const filter of filters) {
    const [answer] = await client.subscribeAsync(filter).catch(() => []);
    if (answer && answer.qos < 128) granted.push(filter);
  }
  return granted;
}

test('a client is admitted with its password, if it is enabled, and with its client id', async () => {
  const { port, admin } = await start(
    { command: 'createClient', username: 'dev', password: 'x' },
    { command: 'createClient', username: 'bound', password: 'x', clientid: 'id' },
    { command: 'createClient', username: 'off', password: 'x' },
    { command: 'disableClient', username: 'off' },
    { command: 'createClient', username: 'bare' },
    { command: 'createClient', username: 'empty', password: '' },
  );
  const as = (username: string, password?: string, clientId = 'c') =>
    returnCode(port, { username, clientId, ...(password === undefined ? {} : { password }) });
  expect(await as('dev', 'x')).toBe(0);
  expect(await as('dev', 'y')).toBe(5);
  expect(await as('dev', '')).toBe(5);
  expect(await as('dev')).toBe(5);
  expect(await as('nobody', 'x')).toBe(5);
  expect(await as('bound', 'x', 'id')).toBe(0);
  expect(await as('bound', 'x', 'other')).toBe(5);
  expect(await as('off', 'x')).toBe(5);
  expect(await as('bare', '')).toBe(5);
  expect(await as('bare')).toBe(5);
  expect(await as('empty', '')).toBe(5);
  await dynsecDone(admin, { command: 'enableClient', username: 'off' }, { command: 'setClientId', username: 'bound' });
  expect(await as('off', 'x')).toBe(0);
  expect(await as('bound', 'x', 'other')).toBe(0);
  await dynsecDone(admin, { command: 'setClientPassword', username: 'bare', password: 'set' });
  expect(await as('bare', 'set')).toBe(0);
});

test('a client without a user name, or with an empty one, is admitted if there is an anonymous group, and has its permissions', async () => {
  const { port, admin } = await start(
    role('public', ['publishClientSend', 'public/#', true], ['subscribePattern', 'public/#', true]),
    { command: 'createGroup', groupname: 'everybody', roles: [{ rolename: 'public' }] },
  );
  const empty = [{}, { username: '' }, { username: '', password: 'x' }];
  for (const fields of empty) expect(await returnCode(port, fields)).toBe(5);
  await dynsecDone(admin, { command: 'setAnonymousGroup', groupname: 'everybody' });
  for (const fields of empty) expect(await returnCode(port, fields)).toBe(0);
  const client = await anonymous(port);
  expect(await published(client, admin, ['public/a', 'private/a'])).toEqual(['public/a']);
  expect(await subscribed(client, ['public/#', 'private/#'])).toEqual(['public/#']);
});

test('the first matching rule decides about a publish: by priority, then in the order of creation', async () => {
  const { port, admin } = await start(
    role(
      'sender',
      ['publishClientSend', 'a/#', true, 1],
      ['publishClientSend', 'a/secret', false, 2],
      ['publishClientSend', 'b/#', false, 1],
      ['publishClientSend', 'b/#/x', true, 9],
      ['publishClientSend', 'c/+', true],
      ['publishClientSend', 'c/x', false],
      ['publishClientSend', 'dev/%u/%c', true],
      ['publishClientSend', 'raw/%u%c', true],
      ['publishClientSend', '$SYS/#', true],
      ['publishClientSend', '+/any', true],
    ),
    { command: 'createClient', username: 'dev', password: 'x', roles: [{ rolename: 'sender' }] },
  );
  const client = await device(port, 'dev', 'one');
  const topics = [
    'a/b',
    'a/secret',
    'b/x',
    'c/x',
    'c/x/y',
    'dev/dev/one',
    'dev/dev/two',
    'raw/devone',
    'x/any',
    '$x/any',
    'none',
  ];
  const bridges = ['$SYS/broker/connection/b/state', '$SYS/broker/version', '$SYS/broker/connection/b/x'];
  expect(await published(client, admin, [...topics, ...bridges])).toEqual([
    'a/b',
    'c/x',
    'dev/dev/one',
    'x/any',
    '$SYS/broker/connection/b/state',
  ]);
});

test('the roles of a client precede those of its groups, each by priority', async () => {
  const allow = (name: string, topic: string, is: boolean) => role(name, ['publishClientSend', topic, is]);
  const { port, admin } = await start(
    allow('low', 'a', true),
    allow('high', 'a', false),
    allow('own', 'b', true),
    allow('groups', 'b', false),
    allow('first', 'c', true),
    allow('second', 'c', false),
    {
      command: 'createGroup',
      groupname: 'g1',
      roles: [{ rolename: 'groups', priority: 99 }, { rolename: 'second' }],
    },
    { command: 'createGroup', groupname: 'g2', roles: [{ rolename: 'first', priority: -5 }] },
    {
      command: 'createClient',
      username: 'dev',
      password: 'x',
      roles: [{ rolename: 'low', priority: 1 }, { rolename: 'high', priority: 2 }, { rolename: 'own' }],
      groups: [
        { groupname: 'g1', priority: 1 },
        { groupname: 'g2', priority: 2 },
      ],
    },
  );
  expect(await published(await device(port, 'dev'), admin, ['a', 'b', 'c'])).toEqual(['b', 'c']);
});

test('subscriptions are decided by a literal rule of the role, then by its patterns; the wildcard flag denies before both', async () => {
  const { port, admin } = await start(
    role(
      'reader',
      ['subscribePattern', 'a/#', true, 5],
      ['subscribeLiteral', 'a/b/#', false, -5],
      ['subscribePattern', '#', true, -9],
      ['subscribePattern', 'own/%c/#', true],
    ),
    role('flagged', ['subscribePattern', 'f/#', true], ['subscribeLiteral', 'f/#', true]),
    { command: 'modifyRole', rolename: 'flagged', allowwildcardsubs: false },
    { command: 'createClient', username: 'dev', password: 'x', roles: [{ rolename: 'reader' }] },
    { command: 'createClient', username: 'flag', password: 'x', roles: [{ rolename: 'flagged' }] },
  );
  const filters = ['a/#', 'a/+/c', 'a/b/#', '#', '+/+', '$SYS/#', '$CONTROL/#', 'own/dev-id/#'];
  expect(await subscribed(await device(port, 'dev'), filters)).toEqual(['a/#', 'a/+/c', '#', '+/+', 'own/dev-id/#']);
  const flagged = await device(port, 'flag');
  expect(await subscribed(flagged, ['f/a', 'f/#', 'f/+'])).toEqual(['f/a']);
  await dynsecDone(admin, { command: 'modifyRole', rolename: 'flagged', allowwildcardsubs: true });
  expect(await subscribed(await device(port, 'flag'), ['f/a', 'f/#', 'f/+'])).toEqual(['f/a', 'f/#', 'f/+']);
});

test.each([true, false])(
  'what may not be received does not arrive, live or retained (clean session: %s)',
  async (clean) => {
    const { port, admin } = await start(
      role('receiver', ['subscribePattern', '#', true], ['publishClientReceive', 'secret/#', false]),
      { command: 'createClient', username: 'dev', password: 'x', roles: [{ rolename: 'receiver' }] },
    );
    await admin.publishAsync('secret/kept', 'x', { qos: 1, retain: true });
    const client = await connect(port, { username: 'dev', password: 'x', clientId: 'd', clean });
    const seen = collect(client);
    await client.subscribeAsync('#', { qos: 1 });
    for (const topic of ['secret/a', 'open/a', 'secret/b', 'open/b']) await admin.publishAsync(topic, 'x', { qos: 1 });
    await seen.until((messages) => messages.some(({ topic }) => topic === 'open/b'));
    expect(seen.messages.map(({ topic }) => topic)).toEqual(['open/a', 'open/b']);
  },
);

test.each([true, false])(
  'a denied unsubscribe is acknowledged and the subscription stays (clean session: %s)',
  async (clean) => {
    const { port, admin } = await start(
      role(
        'keeper',
        ['subscribePattern', '#', true],
        ['unsubscribeLiteral', 'stays', false],
        ['unsubscribePattern', 'stay/#', false],
        ['unsubscribePattern', 'own/%u', false],
      ),
      { command: 'createClient', username: 'dev', password: 'x', roles: [{ rolename: 'keeper' }] },
    );
    const client = await connect(port, { username: 'dev', password: 'x', clientId: 'd', clean });
    const seen = collect(client);
    const topics = ['stays', 'goes', 'stay/a', 'own/dev', 'goes/too'];
    await client.subscribeAsync(topics, { qos: 1 });
    await client.unsubscribeAsync(topics);
    for (const topic of [...topics, 'stays']) await admin.publishAsync(topic, 'x', { qos: 1 });
    await seen.until((messages) => messages.filter(({ topic }) => topic === 'stays').length === 2);
    expect(seen.messages.map(({ topic }) => topic)).toEqual(['stays', 'stay/a', 'own/dev', 'stays']);
  },
);

test('without a matching rule the default decides, immediately after a change, and never for $CONTROL', async () => {
  const { port, admin } = await start({ command: 'createClient', username: 'dev', password: 'x' });
  const client = await device(port, 'dev');
  expect(await published(client, admin, ['a'])).toEqual([]);
  expect(await subscribed(client, ['a'])).toEqual([]);
  const all = (allow: boolean) => ({
    command: 'setDefaultACLAccess',
    acls: ['publishClientSend', 'publishClientReceive', 'subscribe', 'unsubscribe'].map((acltype) => ({
      acltype,
      allow,
    })),
  });
  await dynsecDone(admin, all(true));
  expect(await published(client, admin, ['b'])).toEqual(['b']);
  expect(await subscribed(client, ['b', '$CONTROL/#', '$SYS/broker/version'])).toEqual(['b', '$SYS/broker/version']);
  const seen = collect(admin);
  await admin.subscribeAsync('$CONTROL/dynamic-security/v1/response');
  await client.publishAsync('$CONTROL/dynamic-security/v1', '{"commands":[{"command":"listClients"}]}', { qos: 1 });
  await dynsecDone(admin, all(false), { command: 'getDetails' });
  expect(seen.messages.filter(({ text }) => text.includes('listClients'))).toEqual([]);
  expect(await published(client, admin, ['c'])).toEqual([]);
});

test('a client with access to $CONTROL may administer, and gets responses only if it may receive them', async () => {
  const { port } = await start(
    role(
      'dynsec',
      ['publishClientSend', '$CONTROL/dynamic-security/#', true],
      ['subscribePattern', '$CONTROL/dynamic-security/#', true],
      ['publishClientReceive', '$CONTROL/dynamic-security/#', true],
    ),
    { command: 'createClient', username: 'ops', password: 'x', roles: [{ rolename: 'dynsec' }] },
  );
  const ops = await device(port, 'ops');
  expect(await dynsecDone(ops, { command: 'listRoles' })).toEqual([{ totalCount: 2, roles: ['admin', 'dynsec'] }]);
});

test('a role of a group applies to its members as soon as the response is sent', async () => {
  const { port, admin } = await start(
    role('sender'),
    { command: 'createGroup', groupname: 'g', roles: [{ rolename: 'sender' }] },
    { command: 'createClient', username: 'dev', password: 'x', groups: [{ groupname: 'g' }] },
  );
  const acl = { rolename: 'sender', acltype: 'publishClientSend', topic: 'a' };
  expect(await published(await device(port, 'dev'), admin, ['a'])).toEqual([]);
  await dynsecDone(admin, { command: 'addRoleACL', ...acl, allow: true });
  expect(await published(await device(port, 'dev'), admin, ['a'])).toEqual(['a']);
  await dynsecDone(admin, { command: 'removeGroupClient', groupname: 'g', username: 'dev' });
  expect(await published(await device(port, 'dev'), admin, ['a'])).toEqual([]);
});

// Mosquitto checks restored subscriptions since 2.0.12.
test('a resumed session has only its permitted subscriptions, and nothing is queued for the others', async () => {
  const mayHave = (...filters: readonly string[]) =>
    role('reader', ['publishClientReceive', '#', true], ...filters.map((f): Acl => ['subscribePattern', f, true]));
  const { port, admin } = await start(mayHave('kept', 'taken'), {
    command: 'createClient',
    username: 'dev',
    password: 'x',
    roles: [{ rolename: 'reader' }],
  });
  const options = { username: 'dev', password: 'x', clientId: 'dev-id', clean: false };
  const before = await connect(port, options);
  await before.subscribeAsync(['kept', 'taken'], { qos: 1 });
  await before.endAsync();
  await dynsecDone(admin, { ...mayHave('kept'), command: 'modifyRole' });
  const publish = async (text: string) => {
    for (const topic of ['taken', 'kept']) await admin.publishAsync(topic, text, { qos: 1 });
  };
  const texts = async (client: MqttClient, last: string) => {
    const seen = await collect(client).until((messages) => messages.some(({ text }) => text === last));
    return seen.map(({ topic, text }) => `${topic} ${text}`);
  };

  const back = await connect(port, options);
  const live = texts(back, 'live');
  await publish('live');
  expect(await live).toEqual(['kept live']);
  await back.endAsync();
  await dynsecDone(admin, { ...mayHave('kept', 'taken'), command: 'modifyRole' });
  await publish('queued');
  const again = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...options, protocolVersion: 4, reconnectPeriod: 0 });
  onTestFinished(() => again.endAsync(true).then(() => {}));
  expect(await texts(again, 'queued')).toEqual(['kept queued']);
});
