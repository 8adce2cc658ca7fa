import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { collect, connect, startTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';

/** Stores of an earlier version (stores/write.mjs) that ended it at its start, or when the client reconnected. */

const DEEP = `${'a/'.repeat(200)}z`;

/** A broker that starts on such a store, and what it reported. */
async function startOn(name: string) {
  const folder = temporaryFolder();
  const stored = readFileSync(new URL(`stores/${name}.sqlite.gz`, import.meta.url));
  writeFileSync(join(folder, 'broker.sqlite'), gunzipSync(stored), { mode: 0o600 });
  const states: string[] = [];
  const moved: string[] = [];
  const faults: string[] = [];
  const log = {
    info: () => {},
    warn: () => {},
    error: (fields: object, text: string) => {
      expect(text).toBe('a stored record was moved into quarantine');
      const { record, reason } = fields as { record: string; reason: string };
      moved.push(`${record}: ${reason}`);
    },
  };
  const options = { folder, log, onState: (state: string) => void states.push(state) };
  const broker = await startTestBroker({ ...options, onFault: (kind) => void faults.push(kind) });
  /** It runs since its start, and what is in quarantine after its end. */
  const quarantined = async () => {
    expect(states).toEqual(['STARTING', 'RUNNING']);
    expect(faults).toEqual(moved.map(() => 'record'));
    await broker.close();
    const db = new Database(join(folder, 'broker.sqlite'), { readonly: true });
    const rows = db.prepare('SELECT kind, name, reason, record FROM quarantine ORDER BY id').all() as {
      kind: string;
      name: string;
      reason: string;
      record: string;
    }[];
    const left = ['will', 'delayed_will', 'retained', 'message', 'queue', 'subscription'].map((table) => {
      const { count } = db.prepare(`SELECT count(*) AS count FROM ${table}`).get() as { count: number };
      return [table, count] as const;
    });
    db.close();
    return { rows, left: Object.fromEntries(left) };
  };
  return { ...broker, moved, quarantined };
}

const LEVELS = 'its topic must not have more than 200 levels';

test('wills with 201 levels of clients that were connected are moved into quarantine, and others published', async () => {
  const { mqttPort, moved, quarantined } = await startOn('deep-will');
  const client = await connect(mqttPort);
  const { until } = collect(client);
  await client.subscribeAsync('#');
  expect(await until((messages) => messages.length > 0)).toMatchObject([{ topic: 'sound/will', text: 'gone' }]);
  expect(moved).toEqual([`will "five": ${LEVELS}`, `will "four": ${LEVELS}`]);
  const { rows, left } = await quarantined();
  expect(rows.map(({ kind, name, reason }) => ({ kind, name, reason }))).toEqual([
    { kind: 'will', name: 'five', reason: LEVELS },
    { kind: 'will', name: 'four', reason: LEVELS },
  ]);
  expect(JSON.parse(rows[0]?.record ?? '')).toMatchObject({ client_id: 'five', topic: DEEP, qos: 1, retain: 1 });
  expect(left).toMatchObject({ will: 0, retained: 1 });
});

test('a delayed will with 201 levels is moved into quarantine, and its session continues', async () => {
  const { mqttPort, moved, quarantined } = await startOn('deep-delayed-will');
  const client = await rawClient(mqttPort, { clientId: 'delayed', clean: false });
  expect(client.packets[0]).toMatchObject({ cmd: 'connack', reasonCode: 0, sessionPresent: true });
  expect(moved).toEqual([`delayed will "delayed": ${LEVELS}`]);
  expect((await quarantined()).left).toMatchObject({ delayed_will: 0 });
});

test('queued messages with 201 levels are moved into quarantine, and others delivered', async () => {
  const { mqttPort, moved, quarantined } = await startOn('deep-queued');
  const reader = await rawClient(mqttPort, { protocolVersion: 4, clientId: 'reader', clean: false });
  await reader.until('publish', 1);
  await reader.settle();
  expect(reader.packets.filter(({ cmd }) => cmd === 'publish')).toMatchObject([{ topic: 'sound/topic' }]);
  const another = await connect(mqttPort);
  const { until } = collect(another);
  await another.subscribeAsync('#');
  expect(await until((messages) => messages.length > 0)).toMatchObject([{ topic: 'sound/topic', retain: true }]);
  expect(moved).toHaveLength(1);
  const { rows, left } = await quarantined();
  expect(rows).toMatchObject([{ kind: 'queued message', reason: LEVELS }]);
  expect(JSON.parse(rows[0]?.record ?? '')).toMatchObject({
    topic: DEEP,
    payload: { base64: Buffer.from('gone').toString('base64') },
  });
  expect(left).toMatchObject({ retained: 1, message: 1, queue: 1 });
});

test.each([4, 5] as const)(
  'sessions with a subscription to __proto__ continue (protocol %i)',
  async (protocolVersion) => {
    const { mqttPort, moved, quarantined } = await startOn('proto-subscription');
    const clientId = protocolVersion === 4 ? 'four' : '__proto__';
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a'];
    const writer = await connect(mqttPort);
    await writer.publishAsync('__proto__', 'queued', { qos: 1 });
    const properties = protocolVersion === 5 ? { properties: { sessionExpiryInterval: 60 } } : {};
    const client = await rawClient(mqttPort, { protocolVersion, clientId, clean: false, ...properties });
    expect(client.packets[0]).toMatchObject({ cmd: 'connack', sessionPresent: true });
    await client.until('publish', 1);
    for (const name of names) await writer.publishAsync(name, 'live', { qos: 1 });
    await client.until('publish', 1 + names.length);
    expect(moved).toEqual([]);
    expect((await quarantined()).left).toMatchObject({ subscription: 10 });
  },
);

test('a subscription with 201 levels is moved into quarantine, and its session continues with the others', async () => {
  const { mqttPort, moved, quarantined } = await startOn('deep-subscription');
  const client = await rawClient(mqttPort, { protocolVersion: 4, clientId: 'reader', clean: false });
  expect(client.packets[0]).toMatchObject({ cmd: 'connack', returnCode: 0, sessionPresent: true });
  const writer = await connect(mqttPort);
  await writer.publishAsync('sound/x', 'text', { qos: 1 });
  await client.until('publish', 1);
  expect(moved).toHaveLength(1);
  const { rows, left } = await quarantined();
  expect(rows).toMatchObject([{ kind: 'subscription', name: `reader ${DEEP}` }]);
  expect(left).toMatchObject({ subscription: 1 });
});

test('user properties that were stored by name are sent in the order of the record', async () => {
  const { mqttPort, moved } = await startOn('user-properties');
  const reader = await rawClient(mqttPort, { clientId: 'reader', clean: false }, 'user/#');
  // From the queue, and the retained message once more for SUBSCRIBE.
  await reader.until('publish', 3);
  const userProperties = { a: ['1', '3'], b: '2' };
  const messages = reader.packets.filter((packet) => packet.cmd === 'publish');
  expect(messages.map(({ topic }) => topic).sort()).toEqual(['user/retained', 'user/retained', 'user/will']);
  for (const { properties } of messages) expect({ ...properties?.userProperties }).toEqual(userProperties);
  expect(moved).toEqual([]);
});

test.each([
  [14, /earlier version: start the service of commit \w+ once/],
  [16, /newer version/],
])('a store of version %i is refused, and remains as it is', async (version, reason) => {
  const folder = temporaryFolder();
  const file = join(folder, 'broker.sqlite');
  await (await startTestBroker({ folder })).close();
  const db = new Database(file);
  db.pragma(`user_version = ${version}`);
  db.close();
  const before = readFileSync(file);
  await expect(startTestBroker({ folder })).rejects.toThrow(reason);
  expect(readFileSync(file)).toEqual(before);
});
