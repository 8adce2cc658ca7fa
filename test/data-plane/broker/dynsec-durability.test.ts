import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { isLong } from '../../support/suite.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startBrokerProcess } from './broker-process.ts';
import { type Command, dynsec, dynsecDone } from './dynsec.ts';
import { connect, startBrokerHere, startTestBroker } from './embedded.ts';

const ROUNDS = isLong ? 6 : 1;

/** One payload: a role, a group and some clients that belong together, and one that loses its role again. */
function batch(name: string): Command[] {
  const clients = Array.from({ length: 10 }, (_, index) => `${name}-${index}`);
  return [
    { command: 'createRole', rolename: name, acls: [{ acltype: 'publishClientSend', topic: name, allow: true }] },
    { command: 'createGroup', groupname: name, roles: [{ rolename: name }] },
    ...clients.map((username) => ({ command: 'createClient', username, groups: [{ groupname: name }] })),
    { command: 'addClientRole', username: `${name}-0`, rolename: name },
    { command: 'removeClientRole', username: `${name}-0`, rolename: name },
    { command: 'setClientPassword', username: `${name}-0`, password: name },
    { command: 'deleteClient', username: `${name}-9` },
  ];
}

test('kill -9 during batches: confirmed changes are on disk, and no batch is applied in part', async () => {
  const folder = temporaryFolder();
  const answered: string[] = [];
  const sent: string[] = [];
  let broker = await startBrokerProcess(folder);
  for (let round = 0; round < ROUNDS; round += 1) {
    const { port, whileAlive } = broker;
    const admin = await connect(port);
    const writing = (async () => {
      for (let index = 0; ; index += 1) {
        const name = `b${round}-${index}`;
        sent.push(name);
        if (!(await whileAlive(dynsecDone(admin, ...batch(name))))) return;
        answered.push(name);
      }
    })();
    // However busy the machine is, the kill comes in the midst of work.
    await expect.poll(() => answered.length).toBeGreaterThan(2 * round + 1);
    await delay(Math.random() * 250);
    await broker.kill();
    admin.end(true);
    await writing;
    broker = await startBrokerProcess(folder);
  }
  const admin = await connect(broker.port);
  const [clients, groups, roles, details] = (await dynsecDone(
    admin,
    { command: 'listClients' },
    { command: 'listGroups', verbose: true },
    { command: 'listRoles' },
    { command: 'getDetails' },
  )) as [{ clients: string[] }, { groups: { groupname: string; clients: object[] }[] }, { roles: string[] }, object];
  const written = sent.filter((name) => roles.roles.includes(name));
  expect(answered.length).toBeGreaterThan(ROUNDS);
  expect(answered.filter((name) => !written.includes(name))).toEqual([]);
  const members = (name: string) => Array.from({ length: 9 }, (_, index) => `${name}-${index}`);
  expect(groups.groups.map(({ groupname }) => groupname)).toEqual(written.toSorted());
  for (const { groupname, clients: of } of groups.groups) {
    expect(of).toEqual(members(groupname).map((username) => ({ username })));
  }
  expect(clients.clients).toEqual(['admin', ...written.flatMap(members)].toSorted());
  expect(details).toMatchObject({ changeIndex: written.length * batch('').length });
  const last = answered.at(-1) ?? '';
  await connect(broker.port, { username: `${last}-0`, password: last });
});

test('a restart changes nothing, including the administrator', async () => {
  const folder = temporaryFolder();
  const everything = async (port: number) =>
    dynsecDone(
      await connect(port),
      { command: 'listClients', verbose: true },
      { command: 'listGroups', verbose: true },
      { command: 'listRoles', verbose: true },
      { command: 'getDefaultACLAccess' },
      { command: 'getAnonymousGroup' },
      { command: 'getDetails' },
    );
  const first = await startBrokerHere({ folder });
  const admin = await connect(first.mqttPort);
  await dynsecDone(
    admin,
    { command: 'createRole', rolename: 'r ☃', allowwildcardsubs: false, textname: 'R' },
    { command: 'addRoleACL', rolename: 'r ☃', acltype: 'subscribeLiteral', topic: 'b', priority: 1 },
    { command: 'addRoleACL', rolename: 'r ☃', acltype: 'subscribeLiteral', topic: 'a', priority: 1, allow: true },
    { command: 'createGroup', groupname: 'g', roles: [{ rolename: 'r ☃', priority: 3 }] },
    { command: 'createClient', username: 'c', password: 'x', clientid: 'i', textdescription: 'D' },
    { command: 'modifyGroup', groupname: 'g', clients: [{ username: 'c', priority: -7 }] },
    { command: 'disableClient', username: 'c' },
    { command: 'setAnonymousGroup', groupname: 'g' },
    { command: 'setDefaultACLAccess', acls: [{ acltype: 'subscribe', allow: true }] },
    { command: 'createClient', username: 'gone' },
    { command: 'deleteClient', username: 'gone' },
  );
  await admin.endAsync();
  const before = await everything(first.mqttPort);
  await first.close();
  const second = await startBrokerHere({ folder });
  expect(await everything(second.mqttPort)).toEqual(before);
});

test.each<[string, Command[]]>([
  ['is deleted', [{ command: 'deleteClient', username: 'admin' }]],
  [
    'is disabled, bound to a client id and has another password',
    [
      { command: 'disableClient', username: 'admin' },
      { command: 'setClientId', username: 'admin', clientid: 'somebody' },
      { command: 'setClientPassword', username: 'admin', password: 'theirs' },
    ],
  ],
  ['has lost its role', [{ command: 'removeClientRole', username: 'admin', rolename: 'admin' }]],
  ['has a role that is gone', [{ command: 'deleteRole', rolename: 'admin' }]],
  ['has a role that says something else', [{ command: 'modifyRole', rolename: 'admin', acls: [], textname: 'theirs' }]],
  [
    'is denied by a role before its own',
    [
      { command: 'createRole', rolename: 'deny', acls: [{ acltype: 'publishClientSend', topic: '$CONTROL/#' }] },
      {
        command: 'modifyClient',
        username: 'admin',
        roles: [{ rolename: 'deny', priority: 100_000 }, { rolename: 'admin' }],
      },
    ],
  ],
])(
  'an administrator that %s can work again from the next start on, and nothing else is changed',
  async (_what, commands) => {
    const folder = temporaryFolder();
    const first = await startBrokerHere({ folder });
    const admin = await connect(first.mqttPort);
    await dynsecDone(
      admin,
      { command: 'createClient', username: 'other' },
      { command: 'createRole', rolename: 'other' },
    );
    await dynsecDone(admin, ...commands);
    await first.close();
    const rolesOf = (path: string) => {
      const db = new Database(path, { readonly: true });
      const rows = db.prepare('SELECT rolename, about FROM access_role').all() as { rolename: string; about: string }[];
      db.close();
      return new Map(rows.map(({ rolename, about }) => [rolename, about]));
    };
    const before = rolesOf(join(folder, 'broker.sqlite'));
    const second = await startTestBroker({ folder });
    const again = await connect(second.mqttPort);
    const [listed] = await dynsec(again, { command: 'listClients' });
    expect(listed).toMatchObject({ data: { clients: ['admin', 'other'] } });
    await again.publishAsync('anything', 'x', { qos: 1 });
    await second.close();
    const after = rolesOf(join(folder, 'broker.sqlite'));
    for (const [rolename, about] of before) expect(after.get(rolename)).toBe(about);
    // What was repaired stays so: another start changes nothing.
    const third = await startBrokerHere({ folder });
    await connect(third.mqttPort);
    await third.close();
    expect(rolesOf(join(folder, 'broker.sqlite'))).toEqual(after);
  },
);
