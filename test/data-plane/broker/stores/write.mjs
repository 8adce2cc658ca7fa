/**
 * Writes the stores in this folder: what an embedded broker of commit db6652e leaves on disk after the packets below.
 * Run it with the compiled code of that commit: `node test/data-plane/broker/stores/write.mjs <checkout of
 * db6652e>/dist [name of a store]…`. Each store is the file `broker.sqlite`, compacted and compressed with gzip.
 *
 * Those in this folder were then migrated to version 15 by the journal of commit b7741b12, without the retained message
 * with 201 levels, which that version moves into quarantine.
 */
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { generate } from 'mqtt-packet';

const dist = resolve(process.argv[2] ?? '');
const { startEmbeddedBroker } = await import(pathToFileURL(join(dist, 'embedded/embedded-broker.js')).href);

const DEEP = `${'a/'.repeat(200)}z`;
const ADMINISTRATOR = { username: 'admin', password: 'correct horse' };
const LISTENER = { number: 1, protocol: 'MQTT', host: '127.0.0.1', port: 0, tls: false, requireCertificate: false };
const SILENT = { info() {}, warn() {}, error() {} };

/** A connection that is acknowledged and then written to as it is; `close` resets it, which publishes its will. */
async function open(port, protocolVersion, fields) {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  const account = { username: ADMINISTRATOR.username, password: Buffer.from(ADMINISTRATOR.password) };
  const packet = (content) => generate(content, { protocolVersion });
  const protocol = { protocolId: 'MQTT', protocolVersion, keepalive: 0 };
  socket.write(packet({ cmd: 'connect', clean: false, ...protocol, ...account, ...fields }));
  await once(socket, 'data');
  return {
    send: (content) => socket.write(Buffer.isBuffer(content) ? content : packet(content)),
    close: () => socket.resetAndDestroy(),
  };
}

const will = (topic, fields) => ({ topic, payload: Buffer.from('gone'), qos: 0, retain: false, ...fields });
const subscribe = (...topics) => ({
  cmd: 'subscribe',
  messageId: 1,
  subscriptions: topics.map((topic) => ({ topic, qos: 1, nl: false, rap: false, rh: 0 })),
});
const publish = (topic, fields) => ({
  cmd: 'publish',
  topic,
  payload: 'text',
  qos: 1,
  messageId: 2,
  retain: false,
  ...fields,
});

const STORES = {
  'deep-will': async (port) => {
    await open(port, 4, { clientId: 'four', will: will(DEEP) });
    await open(port, 5, { clientId: 'five', will: will(DEEP, { qos: 1, retain: true }) });
    await open(port, 4, { clientId: 'sound', will: will('sound/will', { qos: 1, retain: true }) });
  },
  'deep-delayed-will': async (port) => {
    const delayed = { properties: { willDelayInterval: 1_000 } };
    const client = await open(port, 5, {
      clientId: 'delayed',
      properties: { sessionExpiryInterval: 4_294_967_295 },
      will: will(DEEP, delayed),
    });
    await delay(200);
    client.close();
  },
  'deep-queued': async (port) => {
    const reader = await open(port, 4, { clientId: 'reader' });
    reader.send(subscribe('#'));
    await delay(200);
    reader.close();
    const writer = await open(port, 4, { clientId: 'writer' });
    writer.send(publish('sound/topic', { retain: true }));
    await delay(200);
    writer.close();
    // The broker ends when it delivers this, after it has retained and queued it.
    const client = await open(port, 4, { clientId: 'client', clean: true, will: will(DEEP, { qos: 1, retain: true }) });
    await delay(200);
    client.close();
  },
  'proto-subscription': async (port) => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a'];
    const four = await open(port, 4, { clientId: 'four' });
    four.send(subscribe(...names));
    const five = await open(port, 5, { clientId: '__proto__', properties: { sessionExpiryInterval: 4_294_967_295 } });
    five.send(subscribe(...names));
    await delay(200);
    four.close();
    five.close();
  },
  'deep-subscription': async (port) => {
    const client = await open(port, 4, { clientId: 'reader' });
    // The connection ends with an error, after the filters were stored.
    client.send(subscribe('sound/+', DEEP));
  },
  'user-properties': async (port) => {
    const userProperties = { a: ['1', '3'], b: '2' };
    const fields = { properties: { userProperties } };
    const reader = await open(port, 5, { clientId: 'reader', properties: { sessionExpiryInterval: 4_294_967_295 } });
    reader.send(subscribe('user/#'));
    await delay(200);
    reader.close();
    const client = await open(port, 5, { clientId: 'client', will: will('user/will', { qos: 1, ...fields }) });
    client.send(publish('user/retained', { retain: true, ...fields }));
  },
};

const wanted = process.argv.slice(3);
for (const [name, write] of Object.entries(STORES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  const file = join(folder, 'broker.sqlite');
  const workerUrl = pathToFileURL(join(dist, 'embedded/worker.js'));
  const options = { id: 'test', folder, listeners: [LISTENER], administrator: ADMINISTRATOR, workerUrl, log: SILENT };
  const broker = await startEmbeddedBroker(options);
  await write(broker.listeners[0].port);
  await delay(500);
  // As after a power cut: the broker ends without a word to its clients.
  const copy = join(folder, 'copy.sqlite');
  writeFileSync(copy, readFileSync(file));
  if (existsSync(`${file}-wal`)) writeFileSync(`${copy}-wal`, readFileSync(`${file}-wal`));
  await broker.close();
  const db = new Database(copy);
  db.pragma('journal_mode = DELETE');
  db.exec('VACUUM');
  const rows = ['will', 'delayed_will', 'retained', 'queue', 'subscription']
    .map((table) => `${table} ${db.prepare(`SELECT count(*) AS n FROM ${table}`).get().n}`)
    .join(', ');
  db.close();
  const bytes = gzipSync(readFileSync(copy), { level: 9 });
  writeFileSync(new URL(`${name}.sqlite.gz`, import.meta.url), bytes);
  rmSync(folder, { recursive: true, force: true });
  console.log(`${name}: ${bytes.length} bytes; ${rows}`);
}
process.exit();
