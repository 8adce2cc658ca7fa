import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import Database from 'better-sqlite3';
import { DurableFile, PAGE_BYTES } from '../../../platform/storage/message-files/durable-file.ts';
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

/** Rows per INSERT, because a call into SQLite costs more than inserting a row. */
const ROWS = 8;
const INSERT = 'INSERT INTO message (id, topic, qos, payload) VALUES';
const PAGE = 'SELECT id, topic, qos, payload FROM message WHERE id BETWEEN ? AND ? ORDER BY id';
const STATEMENTS = {
  insertRows: `${INSERT} ${Array(ROWS).fill('(?, ?, ?, ?)').join(', ')}`,
  insertRow: `${INSERT} (?, ?, ?, ?)`,
  addToTally: 'UPDATE tally SET messages = messages + ?',
  forwards: `${PAGE} LIMIT ?`,
  backwards: `${PAGE} DESC LIMIT ?`,
};

/** The row id is the message id, in epoch microseconds, so time bounds need no further index. */
export class SegmentFile extends DurableFile<keyof typeof STATEMENTS> {
  constructor(path: string) {
    super(path, { schema: null, cacheKib: 256, statements: STATEMENTS });
  }

  facts(): SegmentFacts {
    const { first, last, messages } = this.db
      .prepare(
        'SELECT (SELECT min(id) FROM message) AS first, (SELECT max(id) FROM message) AS last, messages FROM tally',
      )
      .get() as { first: number | null; last: number | null; messages: number };
    return { first: first ?? 0, last: last ?? 0, messages: first === null ? 0 : messages };
  }

  insert(messages: readonly StoredMessage[]): void {
    this.transaction(() => {
      const whole = messages.length - (messages.length % ROWS);
      for (let start = 0; start < whole; start += ROWS) {
        const values: unknown[] = [];
        for (let index = start; index < start + ROWS; index += 1) values.push(...row(messages[index]));
        this.statements.insertRows.run(values);
      }
      for (let index = whole; index < messages.length; index += 1) this.statements.insertRow.run(row(messages[index]));
      this.statements.addToTally.run(messages.length);
    });
  }

  page(from: number, to: number, reverse: boolean, limit: number): StoredMessage[] {
    // The columns of the statement equal the fields of StoredMessage.
    return (reverse ? this.statements.backwards : this.statements.forwards).all(from, to, limit) as StoredMessage[];
  }

  count(from: number, to: number): number {
    return Number(this.db.prepare('SELECT count(*) FROM message WHERE id BETWEEN ? AND ?').pluck().get(from, to));
  }

  /** Deletes at most `limit` of the oldest messages in the range and returns their number. */
  delete(from: number, to: number, limit: number): number {
    return this.transaction(() => {
      const upTo = this.db
        .prepare('SELECT id FROM message WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1 OFFSET ?')
        .pluck()
        .get(from, to, limit - 1);
      const { changes } = this.db.prepare('DELETE FROM message WHERE id BETWEEN ? AND ?').run(from, upTo ?? to);
      this.statements.addToTally.run(-changes);
      return changes;
    });
  }

  /** Releases at most `pages` free pages to the file system. Returns `true` when none are left. */
  shrink(pages: number): boolean {
    this.db.pragma(`incremental_vacuum(${pages})`);
    if (Number(this.db.pragma('freelist_count', { simple: true })) > 0) return false;
    this.db.pragma('wal_checkpoint(TRUNCATE)');
    return true;
  }
}

const row = (message: StoredMessage | undefined): unknown[] =>
  message === undefined ? [] : [message.id, message.topic, message.qos, message.payload];

/** Creates the file completely or not at all, also after a power failure. */
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

export const UNFINISHED = '.new';

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
