/**
 * One SQLite file of stored messages, open: WAL with synchronous FULL, so that what is committed survives a killed process and a power
 * cut. It belongs to this connection alone (exclusive locking: no shared memory file). The row id is the id of the message, so bounds
 * by time need no index beside it.
 *
 * Units: ids are epoch microseconds. Errors: those of SQLite; `isDamage` tells which of them are the file's own.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { StoredMessage } from './message-store.ts';

/** What a segment holds. Of one without messages, `first` and `last` mean nothing. */
export interface SegmentFacts {
  readonly first: number;
  readonly last: number;
  readonly messages: number;
}

/** `tally` is kept in each transaction, so that a file never has to be read through to know how many messages it holds. */
const SCHEMA = `
  CREATE TABLE message (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, qos INTEGER NOT NULL, payload BLOB NOT NULL);
  CREATE TABLE tally (messages INTEGER NOT NULL);
  INSERT INTO tally VALUES (0);
`;

/** Fits several messages of 1 kB; a third faster for those than SQLite's 4 kB, and as fast for small ones. */
const PAGE_BYTES = 8_192;
/** Pages after which the WAL goes into the file: longer ones cost more disk for each open file, shorter ones more fsyncs. */
const CHECKPOINT_PAGES = 256;
/** What a WAL keeps of its length when it had to take a large message. */
const WAL_BYTES = 4 * 1_048_576;
/** Memory of one open file. */
const CACHE_KIB = 256;
/** Rows of one INSERT: calls into SQLite cost more than what they do. */
const ROWS = 8;

export class SegmentFile {
  readonly #db: Database.Database;
  readonly #insertRows: Database.Statement;
  readonly #insertRow: Database.Statement;
  readonly #addToTally: Database.Statement;
  readonly #forwards: Database.Statement;
  readonly #backwards: Database.Statement;

  constructor(path: string) {
    this.#db = new Database(path, { fileMustExist: true, timeout: 1_000 });
    try {
      this.#db.pragma('locking_mode = EXCLUSIVE');
      this.#db.pragma('synchronous = FULL');
      this.#db.pragma(`cache_size = -${CACHE_KIB}`);
      this.#db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      this.#db.pragma(`journal_size_limit = ${WAL_BYTES}`);
      const insert = 'INSERT INTO message (id, topic, qos, payload) VALUES';
      this.#insertRows = this.#db.prepare(`${insert} ${Array(ROWS).fill('(?, ?, ?, ?)').join(', ')}`);
      this.#insertRow = this.#db.prepare(`${insert} (?, ?, ?, ?)`);
      this.#addToTally = this.#db.prepare('UPDATE tally SET messages = messages + ?');
      const page = 'SELECT id, topic, qos, payload FROM message WHERE id BETWEEN ? AND ? ORDER BY id';
      this.#forwards = this.#db.prepare(`${page} LIMIT ?`);
      this.#backwards = this.#db.prepare(`${page} DESC LIMIT ?`);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  facts(): SegmentFacts {
    const { first, last, messages } = this.#db
      .prepare(
        'SELECT (SELECT min(id) FROM message) AS first, (SELECT max(id) FROM message) AS last, messages FROM tally',
      )
      .get() as { first: number | null; last: number | null; messages: number };
    return { first: first ?? 0, last: last ?? 0, messages: first === null ? 0 : messages };
  }

  /** All or none of them. */
  insert(messages: readonly StoredMessage[]): void {
    this.#transaction(() => {
      const whole = messages.length - (messages.length % ROWS);
      for (let start = 0; start < whole; start += ROWS) {
        const values: unknown[] = [];
        for (let index = start; index < start + ROWS; index += 1) values.push(...row(messages[index]));
        this.#insertRows.run(values);
      }
      for (let index = whole; index < messages.length; index += 1) this.#insertRow.run(row(messages[index]));
      this.#addToTally.run(messages.length);
    });
  }

  /** At most `limit` in order of their ids, or the other way round. */
  page(from: number, to: number, reverse: boolean, limit: number): StoredMessage[] {
    // The columns of the statement are the fields of the message.
    return (reverse ? this.#backwards : this.#forwards).all(from, to, limit) as StoredMessage[];
  }

  count(from: number, to: number): number {
    return Number(this.#db.prepare('SELECT count(*) FROM message WHERE id BETWEEN ? AND ?').pluck().get(from, to));
  }

  /** At most `limit` of the oldest in the range; answers how many. */
  delete(from: number, to: number, limit: number): number {
    return this.#transaction(() => {
      const upTo = this.#db
        .prepare('SELECT id FROM message WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1 OFFSET ?')
        .pluck()
        .get(from, to, limit - 1);
      const { changes } = this.#db.prepare('DELETE FROM message WHERE id BETWEEN ? AND ?').run(from, upTo ?? to);
      this.#addToTally.run(-changes);
      return changes;
    });
  }

  /** Gives free pages back to the disk, at most so many; true when none are left. */
  shrink(pages: number): boolean {
    this.#db.pragma(`incremental_vacuum(${pages})`);
    if (Number(this.#db.pragma('freelist_count', { simple: true })) > 0) return false;
    this.#db.pragma('wal_checkpoint(TRUNCATE)');
    return true;
  }

  close(): void {
    this.#db.close();
  }

  #transaction<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }
}

const row = (message: StoredMessage | undefined): unknown[] =>
  message === undefined ? [] : [message.id, message.topic, message.qos, message.payload];

/** It is there whole, also after a power cut, or not at all. That its name is on disk, SQLite sees to with the first commit. */
export function createSegmentFile(path: string): void {
  const unfinished = `${path}${UNFINISHED}`;
  try {
    const file = openSync(unfinished, 'w', 0o600);
    try {
      writeSync(file, emptyFile());
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** Ends the name of a file that is being made. */
export const UNFINISHED = '.new';

/** Names that were made or changed in a folder are on disk. */
export function syncFolder(path: string): void {
  // Windows knows no handles of folders, and needs none.
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

let template: Buffer | null = null;

/** Copied, because SQLite takes five fsyncs to make the same. */
function emptyFile(): Buffer {
  if (template === null) {
    const db = new Database(':memory:');
    db.pragma(`page_size = ${PAGE_BYTES}`);
    db.pragma('auto_vacuum = INCREMENTAL');
    db.exec(SCHEMA);
    template = db.serialize();
    db.close();
    // "File format write version" and "read version" of the header: WAL, which a database in memory cannot be.
    template[18] = 2;
    template[19] = 2;
  }
  return template;
}
