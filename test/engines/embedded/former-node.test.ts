import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { connect, startTestBroker, temporaryFolder } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { FORMER_RETAINED } from './retained.ts';

const COPIED = ['access_client', 'access_group', 'access_role', 'retained', 'session', 'subscription', 'message'];
const TABLES = [...COPIED, 'queue', 'incoming', 'delayed_will', 'will'];

/** The last version with clusters. */
const VERSION = 9;

/** The tables that a broker had until version 0.2, when it could be node 1 of a cluster. */
function asBefore(folder: string, sql: string): void {
  const db = new Database(join(folder, 'broker.sqlite'));
  db.exec(`
    ${FORMER_RETAINED}
    ALTER TABLE queue DROP COLUMN share;
    ALTER TABLE message DROP COLUMN qos;
    ALTER TABLE message DROP COLUMN retain;
    CREATE TABLE log_place (
      id INTEGER PRIMARY KEY CHECK (id = 1), node_id INTEGER NOT NULL, place TEXT NOT NULL, next_message INTEGER NOT NULL
    );
    CREATE TABLE presence (
      client_id TEXT PRIMARY KEY, node_id INTEGER NOT NULL, run TEXT NOT NULL, number INTEGER NOT NULL, about TEXT NOT NULL, will_payload BLOB
    ) WITHOUT ROWID;
    ${TABLES.map((table) => `CREATE TABLE before_${table} AS SELECT * FROM ${table} WHERE 0;`).join('\n')}
    ${sql}
  `);
  db.pragma(`user_version = ${VERSION}`);
  db.close();
}

const rows = (folder: string, sql: string) => {
  const db = new Database(join(folder, 'broker.sqlite'), { readonly: true });
  const found = db.prepare(sql).pluck().all();
  db.close();
  return found;
};

/** A folder with the sessions `here` and `there`, a message in the queue of each, and a retained message. */
async function folderWithSessions(): Promise<string> {
  const folder = temporaryFolder();
  const broker = await startTestBroker({ folder });
  for (const clientId of ['here', 'there']) {
    const client = await rawClient(broker.mqttPort, { protocolVersion: 4, clientId, clean: false }, 'plant/#');
    await client.leave();
  }
  const publisher = await connect(broker.mqttPort);
  await publisher.publishAsync('plant/speed', 'queued', { qos: 1 });
  await publisher.publishAsync('state', 'on', { qos: 1, retain: true });
  await broker.close();
  return folder;
}

const nodeIdOf = (clientId: string, nodeId: number) =>
  `UPDATE session SET about = json_set(about, '$.nodeId', ${nodeId}) WHERE client_id = '${clientId}';`;

test('a former node of a cluster keeps its retained messages and the sessions of its own clients', async () => {
  const folder = await folderWithSessions();
  asBefore(folder, `${nodeIdOf('here', 1)} ${nodeIdOf('there', 2)} INSERT INTO log_place VALUES (1, 1, '{}', 100);`);
  const broker = await startTestBroker({ folder });
  const returning = async (clientId: string) => {
    const client = await rawClient(broker.mqttPort, { protocolVersion: 4, clientId, clean: false });
    const [connack] = client.packets;
    return { ...client, isPresent: connack?.cmd === 'connack' && connack.sessionPresent };
  };
  const here = await returning('here');
  expect(here.isPresent).toBe(true);
  await here.until('publish', 1);
  expect((await returning('there')).isPresent).toBe(false);
  const reader = await rawClient(broker.mqttPort, { protocolVersion: 4, clientId: 'reader' }, 'state');
  await reader.until('publish', 1);
  await broker.close();
  expect(
    rows(folder, `SELECT name FROM sqlite_master WHERE name LIKE 'before_%' OR name IN ('presence', 'log_place')`),
  ).toEqual([]);
});

test('a broker whose cluster was being created gets its earlier accounts and sessions back', async () => {
  const folder = await folderWithSessions();
  asBefore(
    folder,
    `INSERT INTO log_place VALUES (1, 2, '{}', 100);
    ${TABLES.map((table) => `INSERT INTO before_${table} SELECT * FROM ${table};`).join('\n')}
    DELETE FROM session; DELETE FROM subscription; DELETE FROM queue; DELETE FROM retained;
    INSERT INTO access_role VALUES ('of-the-cluster', '{}');
    INSERT INTO setting (name, value) VALUES ('keptCopy', 'ALL');`,
  );
  const broker = await startTestBroker({ folder });
  await broker.close();
  expect(rows(folder, 'SELECT client_id FROM session ORDER BY client_id')).toEqual(['here', 'there']);
  expect(rows(folder, 'SELECT topic FROM retained')).toEqual(['state']);
  expect(rows(folder, `SELECT rolename FROM access_role WHERE rolename = 'of-the-cluster'`)).toEqual([]);
  expect(rows(folder, `SELECT name FROM setting WHERE name = 'keptCopy'`)).toEqual([]);
});
