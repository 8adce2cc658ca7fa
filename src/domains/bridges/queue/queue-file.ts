import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { isDamage } from '../../../platform/storage/sqlite-damage.ts';
import { readPublishProperties, writePublishProperties } from '../../../protocol/mqtt/publish-properties.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';

/** A message with its id in the queue, and its size in the bounds. */
export interface QueueRow {
  readonly id: number;
  readonly bytes: number;
  readonly message: BridgeMessage;
}

interface QueueTally {
  readonly messages: number;
  readonly bytes: number;
}

/** Messages to delete: `messages` with `bytes` in total, which are all before `firstId` and each of `ids`. */
interface Gone extends QueueTally {
  readonly firstId: number;
  readonly ids: readonly number[];
}

/** Each transaction updates `tally`, so that the content is known without reading the whole file. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, flags INTEGER NOT NULL, received_at INTEGER NOT NULL,
    topic TEXT NOT NULL, properties BLOB, payload BLOB NOT NULL
  );
  CREATE TABLE IF NOT EXISTS tally (messages INTEGER NOT NULL, bytes INTEGER NOT NULL);
  INSERT INTO tally SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM tally);
`;

const QOS = 0x03;
const RETAIN = 0x04;
/** Several messages of 1 kB fit. */
const PAGE_BYTES = 8_192;
/** The number of pages in the WAL that triggers a checkpoint. */
const CHECKPOINT_PAGES = 256;
/** The WAL is truncated to this size after a large message. */
const WAL_BYTES = 4 * 1_048_576;
const CACHE_KIB = 512;
const BEYOND_ALL = 2 ** 52;

interface Stored {
  readonly id: number;
  readonly bytes: number;
  readonly flags: number;
  readonly received_at: number;
  readonly topic: string;
  readonly properties: Buffer | null;
  readonly payload: Buffer;
}

/**
 * The messages of one queue in one SQLite file: WAL with synchronous FULL, so that committed messages survive a kill
 * and a power failure. Only this connection uses the file. Errors: those of SQLite and the file system.
 */
export class QueueFile {
  readonly path: string;
  readonly #db: Database.Database;
  readonly #insert: Database.Statement;
  readonly #page: Database.Statement;
  readonly #deleteBefore: Database.Statement;
  readonly #deleteOne: Database.Statement;
  readonly #count: Database.Statement;

  private constructor(path: string) {
    this.path = path;
    this.#db = new Database(path, { timeout: 1_000 });
    try {
      this.#db.pragma(`page_size = ${PAGE_BYTES}`);
      this.#db.pragma('locking_mode = EXCLUSIVE');
      this.#db.pragma('journal_mode = WAL');
      this.#db.pragma('synchronous = FULL');
      this.#db.pragma(`cache_size = -${CACHE_KIB}`);
      this.#db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      this.#db.pragma(`journal_size_limit = ${WAL_BYTES}`);
      this.#db.exec(SCHEMA);
      this.#insert = this.#db.prepare('INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?)');
      this.#page = this.#db.prepare('SELECT * FROM message WHERE id > ? ORDER BY id LIMIT ?');
      this.#deleteBefore = this.#db.prepare('DELETE FROM message WHERE id < ?');
      this.#deleteOne = this.#db.prepare('DELETE FROM message WHERE id = ?');
      this.#count = this.#db.prepare('UPDATE tally SET messages = messages + ?, bytes = bytes + ?');
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** Creates the file and its folder if needed. A damaged file is renamed and reported. */
  static open(path: string, onProblem: (reason: string) => void): QueueFile {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    try {
      return new QueueFile(path);
    } catch (error) {
      if (!isDamage(error)) throw error;
      setFileAside(path);
      onProblem(`${path} is damaged and was set aside: ${(error as Error).message}`);
      return new QueueFile(path);
    }
  }

  tally(): QueueTally {
    return this.#db.prepare('SELECT messages, bytes FROM tally').get() as QueueTally;
  }

  /** Without the WAL of some MiB at most. */
  size(): number {
    return statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** 0 if there is no message. In a damaged file, an id that no message has reached. */
  lastId(): number {
    try {
      return Number(this.#db.prepare('SELECT max(id) FROM message').pluck().get() ?? 0);
    } catch (error) {
      if (isDamage(error)) return BEYOND_ALL;
      throw error;
    }
  }

  /** Adds and deletes in one transaction. */
  change(added: readonly QueueRow[], gone: Gone): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      let bytes = -gone.bytes;
      if (gone.messages > 0) this.#deleteBefore.run(gone.firstId);
      for (const id of gone.ids) this.#deleteOne.run(id);
      for (const row of added) {
        bytes += row.bytes;
        this.#insert.run(columns(row));
      }
      this.#count.run(added.length - gone.messages, bytes);
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  /**
   * In order, at most `limit` and `maxBytes`, but at least one; of a damaged file the messages before the damage, if
   * any.
   */
  page(afterId: number, limit: number, maxBytes: number): QueueRow[] {
    const rows: QueueRow[] = [];
    let bytes = 0;
    try {
      for (const row of this.#page.iterate(afterId, limit) as IterableIterator<Stored>) {
        bytes += row.bytes;
        if (rows.length > 0 && bytes > maxBytes) break;
        rows.push(fromColumns(row));
      }
    } catch (error) {
      if (rows.length === 0 || !isDamage(error)) throw error;
    }
    return rows;
  }

  close(): void {
    this.#db.close();
  }

  remove(): void {
    this.close();
    removeQueueFile(this.path);
  }

  /** Renames the damaged file; it is not read again. */
  setAside(): void {
    this.close();
    setFileAside(this.path);
  }
}

export const QUEUE_ENDING = '.sqlite';
const DAMAGED = '.damaged';

/** For manual recovery. The next damaged file replaces it. */
function setFileAside(path: string): void {
  rmSync(`${path}-wal`, { force: true });
  renameSync(path, `${path}${DAMAGED}`);
}

/** Deletes the file with its WAL. A missing file counts as deleted. */
export function removeQueueFile(path: string): void {
  for (const part of [`${path}-wal`, `${path}-shm`, `${path}${DAMAGED}`, path]) rmSync(part, { force: true });
}

function columns({ id, bytes, message }: QueueRow): unknown[] {
  const { topic, payload, qos, retain, properties, receivedAt } = message;
  const flags = qos | (retain ? RETAIN : 0);
  return [
    id,
    bytes,
    flags,
    receivedAt,
    topic,
    properties === null ? null : writePublishProperties(properties),
    payload,
  ];
}

function fromColumns({ id, bytes, flags, received_at, topic, properties, payload }: Stored): QueueRow {
  const message: BridgeMessage = {
    topic,
    payload,
    qos: (flags & QOS) as 0 | 1 | 2,
    retain: (flags & RETAIN) !== 0,
    properties: properties === null ? null : readPublishProperties(properties),
    receivedAt: received_at,
  };
  return { id, bytes, message };
}
