import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';

/**
 * The data of one embedded broker on disk: a SQLite file that is locked by this process.
 *
 * Writes are collected in memory and written in order, with one transaction per iteration of the event loop. When
 * `commit()` resolves, earlier writes survive a power failure (WAL, synchronous FULL). Writes without a commit are on
 * disk within LAZY_MS. If a transaction fails (disk full), memory is ahead of the file: all commits are rejected, and
 * `onBroken` must shut down the broker.
 */
export class Journal {
  readonly #db: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();
  readonly #onBroken: (error: Error) => void;
  #writes: Write[] = [];
  #commit: Promise<void> | null = null;
  #lazyTimer: NodeJS.Timeout | null = null;
  #broken: Error | null = null;
  #open = true;
  /** Number of flushes. What was added before the last one can be read. */
  flushes = 0;

  /** `folder` is created if missing. `onBroken` is called once when a transaction has failed. */
  constructor(folder: string, onBroken: (error: Error) => void) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#onBroken = onBroken;
    const file = join(folder, 'broker.sqlite');
    this.#db = new Database(file, { timeout: 1_000 });
    try {
      // SQLite creates its other files with the same permissions.
      chmodSync(file, 0o600);
      this.#db.pragma('locking_mode = EXCLUSIVE');
      this.#db.pragma('journal_mode = WAL');
      this.#db.pragma('synchronous = FULL');
      this.#db.pragma('cache_size = -8000');
      this.#migrate();
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  #migrate(): void {
    const version = Number(this.#db.pragma('user_version', { simple: true }));
    if (version > MIGRATIONS.length) throw new Error('the broker folder was written by a newer version');
    for (const [index, sql] of MIGRATIONS.entries()) {
      if (index < version) continue;
      this.#db.transaction(() => {
        this.#db.exec(sql);
        this.#db.pragma(`user_version = ${index + 1}`);
      })();
    }
  }

  rows<T>(sql: string, ...values: SqlValue[]): T[] {
    // The callers' row types restate the columns they select.
    return this.#statement(sql).all(...values) as T[];
  }

  /** The same as lists of values, in two thirds of the time. */
  tuples<T extends readonly unknown[]>(sql: string, ...values: SqlValue[]): T[] {
    return this.#statement(sql)
      .raw()
      .all(...values) as T[];
  }

  add(sql: string, ...values: SqlValue[]): void {
    if (!this.#open || this.#broken) return;
    this.#writes.push({ statement: this.#statement(sql), values });
    if (this.#commit === null && this.#lazyTimer === null) this.#lazyTimer = setTimeout(() => this.flush(), LAZY_MS);
  }

  setting<T>(name: string): T | undefined {
    const [row] = this.rows<{ value: string }>('SELECT value FROM setting WHERE name = ?', name);
    return row && (JSON.parse(row.value) as T);
  }

  putSetting(name: string, value: object): void {
    this.add('INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)', name, JSON.stringify(value));
  }

  /** Resolves when everything added until now is on disk. */
  commit(): Promise<void> {
    if (this.#broken) return Promise.reject(this.#broken);
    if (this.#commit !== null) return this.#commit;
    if (this.#writes.length === 0) return Promise.resolve();
    this.#commit = new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#commit = null;
        this.flush();
        if (this.#broken) reject(this.#broken);
        else resolve();
      });
    });
    return this.#commit;
  }

  close(): void {
    if (!this.#open) return;
    this.flush();
    this.#open = false;
    this.#db.close();
  }

  flush(): void {
    if (this.#lazyTimer) clearTimeout(this.#lazyTimer);
    this.#lazyTimer = null;
    const writes = this.#writes;
    this.#writes = [];
    this.flushes += 1;
    if (!this.#open || writes.length === 0) return;
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      for (const { statement, values } of writes) statement.run(...values);
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      this.#broken = error instanceof Error ? error : new Error(String(error));
      this.#onBroken(this.#broken);
    }
  }

  #statement(sql: string): Database.Statement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Maximum time until a write without a commit is on disk. */
const LAZY_MS = 20;

export type SqlValue = string | number | null | Uint8Array;

interface Write {
  readonly statement: Database.Statement;
  readonly values: readonly SqlValue[];
}

const ACCESS_TABLES = ['access_client', 'access_group', 'access_role'];
const SESSION_TABLES = ['retained', 'session', 'subscription', 'message', 'queue', 'incoming', 'delayed_will', 'will'];
/** Tables of which nodes of clusters had copies (`before_…`) until version 0.2. */
const NODE_TABLES = [...ACCESS_TABLES, ...SESSION_TABLES];

/** Restores the copies of tables if the setting `keptCopy` has one of these values. */
function restored(tables: readonly string[], values: string): string {
  const isCopied = `EXISTS (SELECT 1 FROM setting WHERE name = 'keptCopy' AND value IN (${values}))`;
  return tables
    .map(
      (table) =>
        `DELETE FROM ${table} WHERE ${isCopied}; INSERT INTO ${table} SELECT * FROM before_${table} WHERE ${isCopied};`,
    )
    .join('\n');
}

/** `message` has each payload once for all its queues. `queue.packet_id` is set when the message was sent. */
const MIGRATIONS = [
  `
  CREATE TABLE account (username TEXT PRIMARY KEY, password_hash TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE retained (topic TEXT PRIMARY KEY, payload BLOB NOT NULL, qos INTEGER NOT NULL);
  CREATE TABLE session (client_id TEXT PRIMARY KEY, about TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE subscription (
    client_id TEXT NOT NULL, filter TEXT NOT NULL, qos INTEGER NOT NULL, options TEXT,
    PRIMARY KEY (client_id, filter)
  ) WITHOUT ROWID;
  CREATE TABLE message (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL);
  CREATE TABLE queue (
    client_id TEXT NOT NULL, position INTEGER NOT NULL, message_id INTEGER NOT NULL, qos INTEGER NOT NULL,
    packet_id INTEGER, released INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (client_id, position)
  ) WITHOUT ROWID;
  CREATE TABLE incoming (client_id TEXT NOT NULL, packet_id INTEGER NOT NULL, PRIMARY KEY (client_id, packet_id)) WITHOUT ROWID;
  CREATE TABLE will (client_id TEXT PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL, qos INTEGER NOT NULL, retain INTEGER NOT NULL) WITHOUT ROWID;
  `,
  // Access control: `about` is an object of the access model as JSON. The account of older folders becomes a client.
  `
  CREATE TABLE access_client (username TEXT PRIMARY KEY, about TEXT NOT NULL, password_hash TEXT) WITHOUT ROWID;
  CREATE TABLE access_group (groupname TEXT PRIMARY KEY, about TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE access_role (rolename TEXT PRIMARY KEY, about TEXT NOT NULL) WITHOUT ROWID;
  INSERT INTO access_client (username, about, password_hash) SELECT username, json_object(
    'username', username, 'clientId', NULL, 'textName', NULL, 'textDescription', NULL,
    'disabled', json('false'), 'roles', json('[]'), 'groups', json('[]')
  ), password_hash FROM account;
  DROP TABLE account;
  `,
  // MQTT 5: `properties` is JSON or null. `queue.retain` is set for subscriptions with Retain As Published.
  `
  ALTER TABLE retained ADD COLUMN properties TEXT;
  ALTER TABLE message ADD COLUMN properties TEXT;
  ALTER TABLE queue ADD COLUMN retain INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE will ADD COLUMN properties TEXT;
  ALTER TABLE will ADD COLUMN delay_seconds INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE delayed_will (
    client_id TEXT PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL, qos INTEGER NOT NULL, retain INTEGER NOT NULL,
    properties TEXT, due INTEGER NOT NULL
  ) WITHOUT ROWID;
  `,
  // Payload bytes of a QoS 2 publish, for inspection.
  `
  ALTER TABLE incoming ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  `,
  // Streams: `about` is the definition as JSON. `held` is 1 if a stream delayed the acknowledgement.
  `
  CREATE TABLE stream (position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, about TEXT NOT NULL);
  ALTER TABLE incoming ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
  `,
  // Certificates of listeners by number, in PEM. A server certificate and its key are in one row.
  `
  CREATE TABLE server_certificate (
    listener INTEGER PRIMARY KEY, file_name TEXT NOT NULL, fingerprint256 TEXT NOT NULL, cert TEXT NOT NULL, key TEXT NOT NULL
  );
  CREATE TABLE client_authority (
    listener INTEGER NOT NULL, file_name TEXT NOT NULL, fingerprint256 TEXT NOT NULL, cert TEXT NOT NULL,
    PRIMARY KEY (listener, file_name)
  ) WITHOUT ROWID;
  `,
  // Clusters: the position of the node in the common log (JSON), the id of the next message, and for each client its
  // node and its will in `about` (JSON) and `will_payload`.
  `
  CREATE TABLE log_place (
    id INTEGER PRIMARY KEY CHECK (id = 1), node_id INTEGER NOT NULL, place TEXT NOT NULL, next_message INTEGER NOT NULL
  );
  CREATE TABLE presence (
    client_id TEXT PRIMARY KEY, node_id INTEGER NOT NULL, run TEXT NOT NULL, number INTEGER NOT NULL, about TEXT NOT NULL, will_payload BLOB
  ) WITHOUT ROWID;
  `,
  // Data of a broker before it became a node of a cluster.
  NODE_TABLES.map((table) => `CREATE TABLE before_${table} AS SELECT * FROM ${table} WHERE 0;`).join('\n'),
  // Records that the broker cannot use: `record` is the row as JSON, with bytes in Base64.
  `
  CREATE TABLE quarantine (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, reason TEXT NOT NULL,
    record TEXT NOT NULL
  );
  `,
  // Removes clusters of embedded brokers that shared sessions. A node keeps its retained messages and the sessions of
  // clients that were last connected to it. If its cluster was still being created, the node gets its earlier data
  // back.
  `
  ${restored(ACCESS_TABLES, "'ACCESS', 'ALL'")}
  ${restored(SESSION_TABLES, "'ALL'")}
  INSERT OR REPLACE INTO setting SELECT 'accessControl', value FROM setting
    WHERE name = 'accessControlBefore' AND EXISTS (SELECT 1 FROM setting WHERE name = 'keptCopy' AND value IN ('ACCESS', 'ALL'));
  CREATE TABLE other_session AS SELECT client_id FROM session, log_place
    WHERE json_extract(about, '$.nodeId') <> node_id AND NOT EXISTS (SELECT 1 FROM setting WHERE name = 'keptCopy');
  ${['subscription', 'queue', 'incoming', 'delayed_will', 'session'].map((table) => `DELETE FROM ${table} WHERE client_id IN (SELECT client_id FROM other_session);`).join('\n')}
  DROP TABLE other_session;
  DROP TABLE presence;
  DROP TABLE log_place;
  ${NODE_TABLES.map((table) => `DROP TABLE before_${table};`).join('\n')}
  DELETE FROM setting WHERE name IN ('keptCopy', 'accessControlBefore');
  `,
  // Retained messages are read in the order of their topics. `sequence` is the order in which they were stored.
  `
  CREATE TABLE sorted (
    topic TEXT PRIMARY KEY, payload BLOB NOT NULL, qos INTEGER NOT NULL, properties TEXT, sequence INTEGER NOT NULL
  ) WITHOUT ROWID;
  INSERT INTO sorted SELECT topic, payload, qos, properties, 0 FROM retained ORDER BY topic;
  DROP TABLE retained;
  ALTER TABLE sorted RENAME TO retained;
  INSERT INTO setting VALUES ('uncheckedRetained', 'true');
  `,
  // The filter of the shared subscription by which a session has the message, or null.
  `
  ALTER TABLE queue ADD COLUMN share TEXT;
  `,
  // The QoS and the RETAIN flag that a message was published with.
  `
  ALTER TABLE message ADD COLUMN qos INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE message ADD COLUMN retain INTEGER NOT NULL DEFAULT 0;
  UPDATE message SET qos = queued.qos, retain = queued.retain FROM (
    SELECT message_id, max(qos) AS qos, max(retain) AS retain FROM queue GROUP BY message_id
  ) AS queued WHERE id = queued.message_id;
  `,
  // Topics are compared in an index: without one, SQLite reads a payload to compare its topic. Payloads are the last
  // column, because SQLite reads what is before a column.
  `
  CREATE TABLE indexed (
    topic TEXT NOT NULL, sequence INTEGER NOT NULL, qos INTEGER NOT NULL, properties TEXT, payload BLOB NOT NULL
  );
  INSERT INTO indexed SELECT topic, sequence, qos, properties, payload FROM retained ORDER BY topic;
  DROP TABLE retained;
  ALTER TABLE indexed RENAME TO retained;
  CREATE UNIQUE INDEX retained_topic ON retained (topic);
  `,
  // Small messages are in the order of their topics, and fit on their pages. What is larger is in a table of its own,
  // so that SQLite reads no payload to compare its topic. \`bytes\` is the size of the whole message.
  `
  CREATE TABLE ordered (
    topic TEXT PRIMARY KEY, sequence INTEGER NOT NULL, qos INTEGER NOT NULL, bytes INTEGER NOT NULL, properties TEXT,
    payload BLOB
  ) WITHOUT ROWID;
  CREATE TABLE retained_large (topic TEXT NOT NULL UNIQUE, properties TEXT, payload BLOB NOT NULL);
  INSERT INTO ordered
    SELECT topic, sequence, qos, size, iif(size > 512, NULL, properties), iif(size > 512, NULL, payload)
    FROM (SELECT *, octet_length(topic) + length(payload) + ifnull(octet_length(properties), 0) AS size FROM retained)
    ORDER BY topic;
  INSERT INTO retained_large SELECT topic, retained.properties, retained.payload
    FROM ordered JOIN retained USING (topic) WHERE ordered.payload IS NULL;
  DROP TABLE retained;
  ALTER TABLE ordered RENAME TO retained;
  CREATE TRIGGER retained_no_longer_large AFTER UPDATE ON retained WHEN old.payload IS NULL AND new.payload IS NOT NULL
    BEGIN DELETE FROM retained_large WHERE topic = old.topic; END;
  CREATE TRIGGER retained_deleted AFTER DELETE ON retained WHEN old.payload IS NULL
    BEGIN DELETE FROM retained_large WHERE topic = old.topic; END;
  CREATE VIEW retained_message AS SELECT
    topic, sequence, qos, coalesce(retained.payload, retained_large.payload) AS payload,
    iif(retained.payload IS NULL, retained_large.properties, retained.properties) AS properties
    FROM retained LEFT JOIN retained_large USING (topic);
  `,
];
