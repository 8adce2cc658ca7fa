import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { diskFaultOf } from '../../../platform/storage/folder/disk-faults.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { DiskFault, type SqlValue, WaitingWrites, type Write } from './waiting-writes.ts';

/** What the owner of a journal is notified of. */
export interface JournalHooks {
  /** Called once when a transaction has failed, and not because of the disk: the broker must shut down. */
  readonly onBroken: (error: Error) => void;
  /** Called with the reason when the disk cannot be written, and with `null` when it can again. */
  readonly onDiskFault?: (reason: string | null) => void;
}

/**
 * The data of one embedded broker on disk: a SQLite file that is locked by this process.
 *
 * Writes are collected in memory and written in order, with one transaction per iteration of the event loop. When
 * `commit()` resolves, earlier writes survive a power failure (WAL, synchronous FULL). Writes without a commit are on
 * disk within LAZY_MS.
 *
 * If the disk cannot be written (`diskFault`), commits are rejected with DiskFault. The writes wait in memory, within
 * bounds, and are repeated every RETRY_MS. What has to be on disk is refused meanwhile by the callers. If a transaction
 * fails for another reason, or too much waits, memory stays ahead of the file: `onBroken` must shut down the
 * broker.
 */
export class Journal {
  readonly #db: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();
  readonly #hooks: JournalHooks;
  /** Set while the disk cannot be written. */
  #waiting: WaitingWrites | null = null;
  #writes: Write[] = [];
  #commit: Promise<void> | null = null;
  #lazyTimer: NodeJS.Timeout | null = null;
  #broken: Error | null = null;
  #open = true;
  /** Number of flushes. What was added before the last one can be read. */
  flushes = 0;

  /** `folder` is created if missing. */
  constructor(folder: string, hooks: JournalHooks) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#hooks = hooks;
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
    if (version >= FIRST_VERSION + MIGRATIONS.length)
      throw new Error('the broker folder was written by a newer version');
    if (version > 0 && version < FIRST_VERSION) {
      const advice = `start the service of commit ${LAST_BUILD_BEFORE} once, and then this version`;
      throw new Error(`the broker folder was written by an earlier version: ${advice}`);
    }
    for (const [index, sql] of MIGRATIONS.entries()) {
      if (FIRST_VERSION + index <= version) continue;
      this.#db.transaction(() => {
        this.#db.exec(sql);
        this.#db.pragma(`user_version = ${FIRST_VERSION + index}`);
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
    this.addLatest(null, sql, ...values);
  }

  /** The same for a write that replaces an earlier one with the same key, if that waits for the disk. */
  addLatest(key: string | null, sql: string, ...values: SqlValue[]): void {
    if (!this.#open || this.#broken) return;
    const write = { statement: this.#statement(sql), values };
    if (this.#waiting !== null) {
      this.#waiting.add(write, key);
      if (this.#waiting.isFull) this.#break(new Error('too much waits to be stored'));
      return;
    }
    this.#writes.push(write);
    if (this.#commit === null && this.#lazyTimer === null) this.#lazyTimer = setTimeout(() => this.flush(), LAZY_MS);
  }

  setting<T>(name: string): T | undefined {
    const [row] = this.rows<{ value: string }>('SELECT value FROM setting WHERE name = ?', name);
    return row && (JSON.parse(row.value) as T);
  }

  putSetting(name: string, value: object): void {
    this.add('INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)', name, JSON.stringify(value));
  }

  /** Why nothing can be stored at the moment; `null` if it can. */
  get diskFault(): string | null {
    return this.#waiting?.fault.message ?? null;
  }

  /** Refuses a change that has to be on disk. Errors: ControlRefusal. */
  requireDisk(): void {
    if (this.#waiting !== null) throw new ControlRefusal(`The broker ${this.#waiting.fault.message}`);
  }

  /** Resolves when everything added until now is on disk, however long the disk cannot be written. */
  async written(): Promise<void> {
    for (;;) {
      if (this.#waiting !== null) await this.#waiting.written;
      try {
        await this.commit();
        return;
      } catch (error) {
        if (!(error instanceof DiskFault)) throw error;
      }
    }
  }

  /** Resolves when everything added until now is on disk. Errors: DiskFault. */
  commit(): Promise<void> {
    if (this.#broken) return Promise.reject(this.#broken);
    if (this.#waiting) return Promise.reject(this.#waiting.fault);
    if (this.#commit !== null) return this.#commit;
    if (this.#writes.length === 0) return Promise.resolve();
    this.#commit = new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#commit = null;
        this.flush();
        const error = this.#broken ?? this.#waiting?.fault;
        if (error) reject(error);
        else resolve();
      });
    });
    return this.#commit;
  }

  close(): void {
    if (!this.#open) return;
    if (this.#waiting === null) this.flush();
    else this.#repeat();
    this.#open = false;
    // `written` must not wait for a journal that is closed.
    if (this.#waiting !== null) this.#broken ??= new Error(`The broker was closed, and ${this.#waiting.fault.message}`);
    this.#waiting?.close();
    this.#db.close();
  }

  flush(): void {
    if (this.#lazyTimer) clearTimeout(this.#lazyTimer);
    this.#lazyTimer = null;
    if (this.#waiting !== null) return;
    const writes = this.#writes;
    this.#writes = [];
    if (!this.#open || writes.length === 0) {
      this.flushes += 1;
      return;
    }
    const fault = this.#write(writes);
    if (fault === null) return;
    this.#waiting = new WaitingWrites(new DiskFault(fault), writes, () => this.#repeat());
    this.#hooks.onDiskFault?.(fault);
  }

  /** Writes in one transaction. Returns why the disk cannot be written; `null` if it can, or the journal is broken. */
  #write(writes: Iterable<Write>): string | null {
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      for (const { statement, values } of writes) statement.run(...values);
      this.#db.exec('COMMIT');
      this.flushes += 1;
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      const fault = diskFaultOf(error);
      if (fault !== null) return fault;
      this.#break(error instanceof Error ? error : new Error(String(error)));
    }
    return null;
  }

  #repeat(): void {
    const waiting = this.#waiting;
    if (waiting === null || !this.#open || this.#write(waiting.all()) !== null || this.#broken) return;
    this.#waiting = null;
    waiting.close();
    this.#hooks.onDiskFault?.(null);
  }

  #break(error: Error): void {
    if (this.#broken) return;
    this.#broken = error;
    this.#waiting?.close();
    this.#hooks.onBroken(error);
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

/** Version of a file with the tables of the first step below. Earlier versions were of unreleased builds. */
const FIRST_VERSION = 15;
/** The last build that migrates earlier versions. */
const LAST_BUILD_BEFORE = 'b7741b12';

/** The tables, then one step for each later version. A column in `about`, `options` or `properties` is JSON. */
const MIGRATIONS = [
  `
  CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

  CREATE TABLE access_client (username TEXT PRIMARY KEY, about TEXT NOT NULL, password_hash TEXT) WITHOUT ROWID;
  CREATE TABLE access_group (groupname TEXT PRIMARY KEY, about TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE access_role (rolename TEXT PRIMARY KEY, about TEXT NOT NULL) WITHOUT ROWID;

  CREATE TABLE session (client_id TEXT PRIMARY KEY, about TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE subscription (
    client_id TEXT NOT NULL, filter TEXT NOT NULL, qos INTEGER NOT NULL, options TEXT,
    PRIMARY KEY (client_id, filter)
  ) WITHOUT ROWID;

  -- Each payload once for all its queues, with the QoS and the RETAIN flag that it was published with.
  CREATE TABLE message (
    id INTEGER PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL, properties TEXT,
    qos INTEGER NOT NULL DEFAULT 1, retain INTEGER NOT NULL DEFAULT 0
  );
  -- "packet_id" is set when the message was sent, "retain" for subscriptions with Retain As Published. "share" is the
  -- filter of the shared subscription by which the session has the message, or null.
  CREATE TABLE queue (
    client_id TEXT NOT NULL, position INTEGER NOT NULL, message_id INTEGER NOT NULL, qos INTEGER NOT NULL,
    packet_id INTEGER, released INTEGER NOT NULL DEFAULT 0, retain INTEGER NOT NULL DEFAULT 0, share TEXT,
    PRIMARY KEY (client_id, position)
  ) WITHOUT ROWID;
  -- Messages with QoS 2 from clients. "held" is 1 if a stream delayed the acknowledgement.
  CREATE TABLE incoming (
    client_id TEXT NOT NULL, packet_id INTEGER NOT NULL, bytes INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (client_id, packet_id)
  ) WITHOUT ROWID;

  CREATE TABLE will (
    client_id TEXT PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL, qos INTEGER NOT NULL, retain INTEGER NOT NULL,
    properties TEXT, delay_seconds INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  CREATE TABLE delayed_will (
    client_id TEXT PRIMARY KEY, topic TEXT NOT NULL, payload BLOB NOT NULL, qos INTEGER NOT NULL, retain INTEGER NOT NULL,
    properties TEXT, due INTEGER NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE stream (position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, about TEXT NOT NULL);

  -- Certificates of listeners by number, in PEM. A server certificate and its key are in one row.
  CREATE TABLE server_certificate (
    listener INTEGER PRIMARY KEY, file_name TEXT NOT NULL, fingerprint256 TEXT NOT NULL, cert TEXT NOT NULL, key TEXT NOT NULL
  );
  CREATE TABLE client_authority (
    listener INTEGER NOT NULL, file_name TEXT NOT NULL, fingerprint256 TEXT NOT NULL, cert TEXT NOT NULL,
    PRIMARY KEY (listener, file_name)
  ) WITHOUT ROWID;

  -- Records that the broker cannot use: "record" is the row as JSON, with bytes in Base64.
  CREATE TABLE quarantine (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, reason TEXT NOT NULL,
    record TEXT NOT NULL
  );

  -- Small messages are in the order of their topics, and fit on their pages. What is larger is in a table of its own,
  -- so that SQLite reads no payload to compare its topic. "sequence" is the order in which messages were stored, and
  -- "bytes" the size of the whole message.
  CREATE TABLE retained (
    topic TEXT PRIMARY KEY, sequence INTEGER NOT NULL, qos INTEGER NOT NULL, bytes INTEGER NOT NULL, properties TEXT,
    payload BLOB
  ) WITHOUT ROWID;
  CREATE TABLE retained_large (topic TEXT NOT NULL UNIQUE, properties TEXT, payload BLOB NOT NULL);
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
