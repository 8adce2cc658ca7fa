import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openHashes, sealHashes } from '../../../src/embedded/sharing/sealed-passwords.ts';
import { ADMINISTRATOR, collect, connect, control, startTestBroker, temporaryFolder } from '../embedded.ts';
import { collectFrom, eventually, nodeOf, startNode, type TestNode, useRedis } from './nodes.ts';

const API = 'brokergraph/membership';
const redis = useRedis();

type Client = Awaited<ReturnType<typeof connect>>;

const asked = async (client: Client, api: string, command: string, fields: object = {}) => {
  const [response] = await control(client, api, { commands: [{ command, ...fields }] });
  // As the commands answer that are sent here.
  return response as { error?: string; data?: { clients: string[]; passwords: string } };
};

const usernames = async (client: Client) => (await asked(client, 'dynamic-security', 'listClients')).data?.clients;

async function retainedAt(port: number): Promise<readonly string[]> {
  const client = await connect(port);
  const { messages, until } = collect(client);
  await client.subscribeAsync('kept/#', { qos: 1 });
  // Behind those that are retained.
  await client.publishAsync('kept/end', 'end', { qos: 1 });
  await until((all) => all.some(({ text }) => text === 'end'));
  await client.endAsync();
  return messages.flatMap(({ text, retain }) => (retain ? [text] : []));
}

/** A broker by itself, with an account, a retained message, and a session in whose queue one waits. */
async function ownBroker(folder: string): Promise<void> {
  const broker = await startTestBroker({ folder });
  const client = await connect(broker.mqttPort);
  await asked(client, 'dynamic-security', 'createClient', { username: 'dev', password: 'secret' });
  const sleeper = await connect(broker.mqttPort, { clientId: 'sleeper', clean: false });
  await sleeper.subscribeAsync('q', { qos: 1 });
  await sleeper.endAsync();
  await client.publishAsync('q', 'waits', { qos: 1 });
  await client.publishAsync('kept/own', 'own', { qos: 1, retain: true });
  expect(await asked(client, API, 'keepCopy')).toEqual({ command: 'keepCopy', data: {} });
  // As a cluster has it that knows no such account.
  await asked(client, 'dynamic-security', 'deleteClient', { username: 'dev' });
  await broker.close();
}

/** With a retained message of its own. */
async function seed(clusterId: string): Promise<TestNode> {
  const first = await startNode({ redis: redis(), clusterId, nodeId: 1 });
  const client = await connect(first.mqttPort);
  await client.publishAsync('kept/first', 'of the first', { qos: 1, retain: true });
  await client.endAsync();
  return first;
}

test('a broker that was a node for a while only has what it had before, unless that was forgotten', async () => {
  const clusterId = randomUUID();
  const first = await seed(clusterId);
  for (const isForgotten of [false, true]) {
    const folder = temporaryFolder();
    await ownBroker(folder);
    const nodeId = isForgotten ? 3 : 2;
    const node = await startNode({ redis: redis(), clusterId, nodeId, folder });
    expect(await retainedAt(node.mqttPort)).toEqual(['of the first']);
    const client = await connect(node.mqttPort);
    expect(await nodeOf(client)).toMatchObject({ state: 'MEMBER', isCopyKept: true });
    expect((await asked(client, API, 'keepCopy')).error).toMatch(/node/);
    if (isForgotten) {
      await asked(client, API, 'forgetCopy');
      expect(await nodeOf(client)).toMatchObject({ isCopyKept: false });
    }
    await node.close();

    const alone = await startTestBroker({ folder });
    expect(await retainedAt(alone.mqttPort)).toEqual([isForgotten ? 'of the first' : 'own']);
    const administrator = await connect(alone.mqttPort);
    expect(await usernames(administrator)).toEqual(isForgotten ? ['admin'] : ['admin', 'dev']);
    if (!isForgotten) {
      await connect(alone.mqttPort, { username: 'dev', password: 'secret' });
      const { until } = collectFrom(alone.mqttPort, { clientId: 'sleeper', clean: false });
      expect(await until((all) => all.length === 1)).toMatchObject([{ text: 'waits' }]);
    }
    await alone.close();
    // It is brought back once.
    const database = new Database(join(folder, 'broker.sqlite'));
    const left = database.prepare('SELECT count(*) AS count FROM before_retained').get();
    database.close();
    expect(left).toEqual({ count: 0 });
  }
  await first.close();
});

test('a broker whose access control was changed for a cluster that was not made begins anew with its own; another one just goes on', async () => {
  const folder = temporaryFolder();
  const broker = await startTestBroker({ folder });
  const client = await connect(broker.mqttPort);
  await asked(client, 'dynamic-security', 'createClient', { username: 'dev', password: 'secret' });
  await asked(client, API, 'keepCopy');
  await asked(client, API, 'bringBack');
  await asked(client, 'dynamic-security', 'createClient', { username: 'later' });
  expect(client.connected).toBe(true);
  await asked(client, API, 'keepCopy');
  await asked(client, 'dynamic-security', 'deleteClient', { username: 'dev' });
  const gone = new Promise((resolve) => client.once('close', () => resolve(true)));
  await asked(client, API, 'bringBack');
  await gone;
  const back = await eventually(() => connect(broker.mqttPort).catch(() => null));
  expect(await usernames(back)).toEqual(['admin', 'dev', 'later']);
  await connect(broker.mqttPort, { username: 'dev', password: 'secret' });
});

test('passwords go from one broker to another as hashes that only who knows its administrator can read', async () => {
  const one = await startTestBroker();
  const other = await startTestBroker({ administrator: { ...ADMINISTRATOR, password: 'another' } });
  const from = await connect(one.mqttPort);
  const to = await connect(other.mqttPort, { password: 'another' });
  await asked(from, 'dynamic-security', 'createClient', { username: 'dev', password: 'secret' });
  await asked(from, 'dynamic-security', 'createClient', { username: 'open' });
  for (const username of ['dev', 'open']) {
    await asked(to, 'dynamic-security', 'createClient', { username, password: 'other' });
  }
  const kicked = await connect(other.mqttPort, { username: 'dev', password: 'other' });
  const given = await asked(from, API, 'getPasswords', { usernames: ['dev', 'open', 'nobody', 7] });
  const passwords = given.data?.passwords ?? '';
  expect(openHashes(passwords, 'another', 'GIVEN')).toBeNull();
  // What was given is not taken as it is.
  expect(openHashes(passwords, ADMINISTRATOR.password, 'TO_TAKE')).toBeNull();
  expect((await asked(to, API, 'putPasswords', { passwords })).error).toBe('Invalid passwords');
  const hashes = openHashes(passwords, ADMINISTRATOR.password, 'GIVEN') ?? new Map();
  expect([...hashes.keys()]).toEqual(['dev', 'open']);
  expect(hashes.get('open')).toBeNull();

  const gone = new Promise((resolve) => kicked.once('close', () => resolve(true)));
  const sealed = sealHashes(hashes, 'another', 'TO_TAKE');
  expect((await asked(to, API, 'putPasswords', { passwords: sealed })).error).toBeUndefined();
  await gone;
  await connect(other.mqttPort, { username: 'dev', password: 'secret' });
  await expect(connect(other.mqttPort, { username: 'dev', password: 'other' })).rejects.toThrow();
  await expect(connect(other.mqttPort, { username: 'open', password: 'other' })).rejects.toThrow();
});
