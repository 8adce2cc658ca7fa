/** Queues as versions before the log stored them. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { messageBytes } from '../../../../src/data-plane/bridges/queue/queue-entry.ts';
import { queueKey } from '../../../../src/data-plane/bridges/queue/queue-store.ts';
import { readPublishProperties } from '../../../../src/protocol/mqtt/publish-properties.ts';

interface FormerMessage {
  readonly text: string;
  readonly flags?: number;
  readonly topic?: string;
  /** Encoded. */
  readonly properties?: Buffer;
}

export const RECEIVED_AT = 1_700_000_000_000;
const BYTES = 100;
const COMMON = { qos: 1, retain: false, receivedAt: RECEIVED_AT } as const;
const read = (properties: Buffer | undefined) => (properties === undefined ? null : readPublishProperties(properties));

/** Returns the path. */
export function writeFormerFile(folder: string, name: string, messages: readonly FormerMessage[]): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${queueKey(name)}.sqlite`);
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.exec(`
    CREATE TABLE message (
      id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, flags INTEGER NOT NULL, received_at INTEGER NOT NULL,
      topic TEXT NOT NULL, properties BLOB, payload BLOB NOT NULL
    );
    CREATE TABLE tally (messages INTEGER NOT NULL, bytes INTEGER NOT NULL);
    INSERT INTO tally VALUES (${messages.length}, ${BYTES * messages.length})`);
  const insert = db.prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?)');
  db.transaction(() => {
    for (const [index, { text, flags = 1, topic = 'test/topic', properties = null }] of messages.entries()) {
      insert.run(index + 1, BYTES, flags, RECEIVED_AT, topic, properties, Buffer.from(text));
    }
  })();
  db.close();
  return path;
}

/** Statements that write a queue of the bridge `mqtt-bridge` of the broker `brk_1`. */
export function formerRows(name: string, messages: readonly FormerMessage[]): string {
  const values = messages.map(({ text, flags = 1, topic = 'test/topic', properties }, index) => {
    const hex = (bytes: Buffer | string) => `decode('${Buffer.from(bytes).toString('hex')}', 'hex')`;
    const bytes = messageBytes({ ...COMMON, topic, payload: Buffer.from(text), properties: read(properties) });
    const encoded = properties === undefined ? 'NULL' : hex(properties);
    return `(${index + 1}, ${bytes}, ${flags}, ${RECEIVED_AT}, ${hex(topic)}, ${encoded}::bytea, ${hex(text)})`;
  });
  return `
    WITH queue AS (
      INSERT INTO messages.bridge_queue (broker, bridge, name, owner, turn)
      VALUES ('brk_1', 'mqtt-bridge', '${queueKey(name)}', 'former', 1) RETURNING id
    )
    INSERT INTO messages.bridge_message (queue, id, bytes, flags, received_at, topic, properties, payload)
    SELECT queue.id, message.*
    FROM queue, (VALUES ${values}) AS message (id, bytes, flags, received_at, topic, properties, payload)`;
}
