/**
 * An open SQLite file of stored messages. WAL mode with synchronous=FULL: committed messages survive a killed process
 * and a power cut. Exclusive locking: only this connection uses the file, and SQLite needs no shared-memory file. The
 * row id is the message id, so time bounds need no further index.
 *
 * Units: ids are epoch microseconds. Errors: those of SQLite; `isDamage` returns whether the file itself is damaged.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { StoredMessage } from './message-store.ts';

/** Content of a segment. `first` and `last` are meaningless if there are no messages. */
export interface SegmentFacts {
  readonly first: number;
  readonly last: number;
  readonly messages: number;
}

/** `tally` is updated in each transaction, so that the number of messages is known without reading the whole file. */
const SCHEMA = `
  CREATE TABLE message (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, qos INTEGER NOT NULL, payload BLOB NOT NULL);
  CREATE TABLE tally (messages INTEGER NOT NULL);
  INSERT INTO tally VALUES (0);
`;

/**
 * Fits several messages of 1 kB: a third faster for these than SQLite's default of 4 kB, and as fast for small ones.
 */
const PAGE_BYTES = 8_192;
/** Pages after which the WAL is checkpointed. More pages need more disk per open file, fewer pages more fsyncs. */
const CHECKPOINT_PAGES = 256;
/** Size to which the WAL is truncated after a large message. */
const WAL_BYTES = 4 * 1_048_576;
/** Page cache of one open file. */
const CACHE_KIB = 256;
/** Rows per INSERT, because a call into SQLite costs more than inserting a row. */
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

  /** Inserts all messages or none. */
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

  /** Returns at most `limit` messages in ascending order of ids, or descending if `reverse` is true. */
  page(from: number, to: number, reverse: boolean, limit: number): StoredMessage[] {
    // The columns of the statement equal the fields of StoredMessage.
    return (reverse ? this.#backwards : this.#forwards).all(from, to, limit) as StoredMessage[];
  }

  count(from: number, to: number): number {
    return Number(this.#db.prepare('SELECT count(*) FROM message WHERE id BETWEEN ? AND ?').pluck().get(from, to));
  }

  /** Deletes at most `limit` of the oldest messages in the range and returns their number. */
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

  /** Releases at most `pages` free pages to the file system. Returns `true` when none are left. */
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

/**
 * Creates the file completely or not at all, also after a power cut. SQLite syncs the folder entry with the first
 * commit.
 */
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

/** File name suffix of a file that is not complete yet. */
export const UNFINISHED = '.new';

/** Syncs a folder, so that created and renamed entries are on disk. */
export function syncFolder(path: string): void {
  // Windows has no handles of folders and does not need this.
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

let template: Buffer | null = null;

/** Returns an empty database. It is a copied template, because SQLite needs five fsyncs to create one. */
function emptyFile(): Buffer {
  if (template === null) {
    const db = new Database(':memory:');
    db.pragma(`page_size = ${PAGE_BYTES}`);
    db.pragma('auto_vacuum = INCREMENTAL');
    db.exec(SCHEMA);
    template = db.serialize();
    db.close();
    // "File format write version" and "read version" of the header: 2 is WAL, which an in-memory database cannot set.
    template[18] = 2;
    template[19] = 2;
  }
  return template;
}
