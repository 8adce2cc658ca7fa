import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { IClientOptions } from 'mqtt';
import { expect, test } from 'vitest';
import { connectedLink, reached } from '../../support/link.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ADMINISTRATOR, collect, connect, control, startBrokerHere } from './embedded.ts';

const account = (username: string) => ({ username, password: 'secret' });
const ROLES = { roles: [{ rolename: 'all' }] };
const RULES = ['publishClientSend', 'publishClientReceive', 'subscribePattern'].map((acltype) => {
  return { acltype, topic: '#', allow: true };
});
const GROUP = { groupname: 'anybody' };
const SETUP = [
  { command: 'createRole', rolename: 'all', acls: RULES },
  ...['owner', 'other', 'third'].map((username) => ({ command: 'createClient', ...account(username), ...ROLES })),
  { command: 'createGroup', ...GROUP, ...ROLES },
  { command: 'setAnonymousGroup', ...GROUP },
];

async function dynsec(port: number, ...commands: object[]): Promise<void> {
  const client = await connect(port);
  const responses = await control(client, 'dynamic-security', { commands });
  expect(responses.filter(({ error }) => error !== undefined)).toEqual([]);
  await client.endAsync();
}

/** A broker whose sessions belong to accounts, and the way to switch that. */
async function boundBroker(folder = temporaryFolder()) {
  const settings = { storesTopicPayloads: true, bindsSessions: true };
  const broker = await startBrokerHere({ folder }, () => settings);
  return { broker, settings, port: broker.mqttPort };
}

type Who = 'owner' | 'other' | 'third' | undefined;

test.each([4, 5] as const)('sessions of other accounts are refused in version %s', async (protocolVersion) => {
  const { settings, port } = await boundBroker();
  await dynsec(port, ...SETUP);
  const open = (who: Who, clientId: string, clean = false) => {
    const credentials = who === undefined ? { username: undefined, password: undefined } : account(who);
    const properties = protocolVersion === 5 && !clean ? { sessionExpiryInterval: 600 } : {};
    return connect(port, { ...credentials, clientId, clean, protocolVersion, properties } as IClientOptions);
  };
  const refused = { code: protocolVersion === 5 ? 0x85 : 2 };
  const isRefused = async (who: Who, clientId: string) => {
    for (const clean of [true, false]) await expect(open(who, clientId, clean)).rejects.toMatchObject(refused);
  };

  const transient = await open('owner', 'transient', true);
  const stored = await open('owner', 'stored');
  const anonymous = await open(undefined, 'anonymous');
  for (const clientId of ['transient', 'stored'])
    for (const who of ['other', undefined] as const) await isRefused(who, clientId);
  await isRefused('other', 'anonymous');
  expect([transient, stored, anonymous].map(({ connected }) => connected)).toEqual([true, true, true]);
  // The account itself takes its sessions over, and so do clients without a user name.
  for (const [who, older, clientId] of [
    ['owner', stored, 'stored'],
    [undefined, anonymous, 'anonymous'],
  ] as const) {
    const closed = new Promise((resolve) => older.once('close', () => resolve(undefined)));
    const client = await open(who, clientId);
    await closed;
    await client.endAsync();
  }
  // A stored session is refused while its client is offline. The client id of an ended one is free.
  await isRefused('other', 'stored');
  await transient.endAsync();
  await (await open('other', 'transient', true)).endAsync();

  settings.bindsSessions = false;
  await (await open('other', 'stored')).endAsync();
  settings.bindsSessions = true;
  await isRefused('owner', 'stored');
});

test('sessions keep their account over a restart, and those of a deleted account are not handed on', async () => {
  const folder = temporaryFolder();
  const before = await boundBroker(folder);
  await dynsec(before.port, ...SETUP);
  const subscriber = await connect(before.port, { ...account('owner'), clientId: 'device', clean: false });
  await subscriber.subscribeAsync('for/#', { qos: 1 });
  await subscriber.endAsync();
  const publisher = await connect(before.port);
  await publisher.publishAsync('for/owner', 'secret', { qos: 1 });
  await before.broker.close();

  const { port } = await boundBroker(folder);
  const open = (who: string) => connect(port, { ...account(who), clientId: 'device', clean: false });
  await expect(open('other')).rejects.toMatchObject({ code: 2 });
  await dynsec(port, { command: 'disableClient', username: 'owner' });
  await expect(open('other')).rejects.toMatchObject({ code: 2 });
  await dynsec(port, { command: 'deleteClient', username: 'owner' });
  const other = await open('other');
  const { messages, until } = collect(other);
  await other.subscribeAsync('for/#', { qos: 1 });
  await other.publishAsync('for/other', 'public', { qos: 1 });
  await until((seen) => seen.some(({ text }) => text === 'public'));
  expect(messages.map(({ text }) => text)).toEqual(['public']);
  await other.endAsync();
  await expect(open('third')).rejects.toMatchObject({ code: 2 });
});

test('a stored session without an account belongs to the first account that resumes it', async () => {
  const folder = temporaryFolder();
  const before = await boundBroker(folder);
  await dynsec(before.port, ...SETUP);
  const device = await connect(before.port, { ...account('owner'), clientId: 'device', clean: false });
  await device.subscribeAsync('for/#', { qos: 1 });
  await device.endAsync();
  await before.broker.close();
  const journal = new Database(join(folder, 'broker.sqlite'));
  journal.exec('DELETE FROM session');
  journal.close();

  const { port } = await boundBroker(folder);
  await (await connect(port, { ...account('other'), clientId: 'device', clean: false })).endAsync();
  await expect(connect(port, { ...account('owner'), clientId: 'device', clean: false })).rejects.toMatchObject({
    code: 2,
  });
});

test('connections of the service are not concerned', async () => {
  const { port } = await boundBroker();
  const link = await connectedLink({ url: `mqtt://127.0.0.1:${port}`, ...ADMINISTRATOR });
  const again = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
  await connect(port, { clientId: link.clientId });
  await again;
});
