import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextIteration } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import type { ColumnType, HistoryRow, HistoryTable, HistoryValue } from '../model/history-module.ts';
import { columnsOf, conflictSql, type HistoryDatabase, type HistoryTransaction } from './history-database.ts';

const TYPES: Readonly<Record<ColumnType, string>> = {
  TIME: 'INTEGER NOT NULL',
  INTEGER: 'INTEGER',
  TEXT: 'TEXT',
  BYTES: 'BLOB',
};
const CACHE_KIB = 8_192;
const CHECKPOINT_PAGES = 1_000;
const WAL_BYTES = 8 * 1_048_576;
const MAX_DELETED = 5_000;
/** Pages given back to the file system after a deletion. */
const VACUUM_PAGES = 2_000;
const MAX_STATEMENTS = 200;
const MEBIBYTE = 1_048_576;

interface SqliteHistoryOptions {
  readonly file: string;
  /** Free space of the disk below which nothing is written; writing continues at a tenth more. 0: no limit. */
  readonly minFreeBytes: number;
}

/**
 * The history in a file of its own. `synchronous=NORMAL`: a killed process loses nothing that was committed, a power
 * failure may lose the last commits. The file is attached as `history`, so that its tables have the names that they
 * have in PostgreSQL.
 */
export class SqliteHistory implements HistoryDatabase {
  readonly #options: SqliteHistoryOptions;
  readonly #db: Sqlite.Database;
  readonly #statements = new Map<string, Sqlite.Statement>();
  #isLow = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: SqliteHistoryOptions) {
    this.#options = options;
    this.#db = new Sqlite(':memory:');
    try {
      this.#db.prepare('ATTACH ? AS history').run(options.file);
      this.#db.pragma('history.auto_vacuum = INCREMENTAL');
      this.#db.pragma('history.journal_mode = WAL');
      this.#db.pragma('history.synchronous = NORMAL');
      this.#db.pragma('history.busy_timeout = 5000');
      this.#db.pragma(`history.cache_size = -${CACHE_KIB}`);
      this.#db.pragma(`history.journal_size_limit = ${WAL_BYTES}`);
      this.#db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  async create(tables: readonly HistoryTable[]): Promise<void> {
    for (const { name, columns, key, indexes = [] } of tables) {
      const definitions = Object.entries({ at: 'TIME' as const, ...columns }).map(
        ([column, type]) => `"${column}" ${TYPES[type]}`,
      );
      const primary = key === undefined ? '' : `, PRIMARY KEY (${key.join(', ')})`;
      const options = key === undefined ? '' : ' WITHOUT ROWID';
      this.#db.exec(`CREATE TABLE IF NOT EXISTS history.${name} (${definitions.join(', ')}${primary})${options}`);
      // For the deletion of what has expired.
      const hasTime = key?.[0] === 'at' || indexes.some(([column]) => column === 'at');
      for (const index of hasTime ? indexes : [['at'], ...indexes]) {
        this.#db.exec(`CREATE INDEX IF NOT EXISTS history.${name}_${index.join('_')} ON ${name} (${index.join(', ')})`);
      }
    }
  }

  async all<Row>(sql: string, values: readonly HistoryValue[] = []): Promise<Row[]> {
    return this.#rows<Row>(sql, values);
  }

  transaction<Result>(work: (transaction: HistoryTransaction) => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(async () => {
      this.#db.exec('BEGIN IMMEDIATE');
      try {
        const value = await work({
          all: async (sql, values = []) => this.#rows(sql, values),
          insert: async (table, rows) => this.#insert(table, rows),
        });
        this.#db.exec('COMMIT');
        return value;
      } catch (error) {
        if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
        throw error;
      }
    });
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async alone(work: () => Promise<void>): Promise<boolean> {
    await work();
    return true;
  }

  async deleteBefore(table: HistoryTable, time: number): Promise<boolean> {
    return (await this.#delete(table, time, MAX_DELETED)) === MAX_DELETED;
  }

  async deleteOldest(table: HistoryTable, share: number, isStopped: () => boolean): Promise<void> {
    const [{ rows } = { rows: 0 }] = this.#rows<{ rows: number }>(
      `SELECT count(*) AS rows FROM history.${table.name}`,
      [],
    );
    let left = Math.ceil(rows * share);
    for (let deleted = 1; left > 0 && deleted > 0 && !isStopped(); left -= deleted) {
      deleted = await this.#delete(table, Number.MAX_SAFE_INTEGER, Math.min(left, MAX_DELETED));
      // Writes and queries that wait are first.
      await nextIteration();
    }
  }

  async oldest({ name }: HistoryTable): Promise<number | null> {
    const [row] = this.#rows<{ at: number | null }>(`SELECT min(at) AS at FROM history.${name}`, []);
    return row?.at ?? null;
  }

  async bytes(): Promise<number> {
    const read = (name: string) => Number(this.#db.pragma(`history.${name}`, { simple: true }));
    return (read('page_count') - read('freelist_count')) * read('page_size');
  }

  async bytesOf({ name }: HistoryTable): Promise<number> {
    const [row] = this.#rows<{ bytes: number | null }>(
      `SELECT sum(pgsize) AS bytes FROM dbstat
       WHERE schema = 'history' AND aggregate = 1 AND name IN (SELECT name FROM history.sqlite_schema WHERE tbl_name = $1)`,
      [name],
    );
    return row?.bytes ?? 0;
  }

  lowSpace(): string | null {
    const { file, minFreeBytes } = this.#options;
    const { bavail, bsize } = statfsSync(dirname(file));
    this.#isLow = bavail * bsize < (this.#isLow ? minFreeBytes * 1.1 : minFreeBytes);
    return this.#isLow ? `the disk has less than ${Math.ceil(minFreeBytes / MEBIBYTE)} MB free` : null;
  }

  async close(): Promise<void> {
    await this.#turn;
    this.#statements.clear();
    this.#db.close();
  }

  /** Deletes the oldest rows before a time, at most `count`. Returns how many. */
  async #delete(table: HistoryTable, time: number, count: number): Promise<number> {
    const { changes } = await this.transaction(async () => {
      const columns = table.key?.join(', ') ?? 'rowid';
      const portion = `SELECT ${columns} FROM history.${table.name} WHERE at < $1 ORDER BY at LIMIT $2`;
      const sql = `DELETE FROM history.${table.name} WHERE (${columns}) IN (${portion})`;
      return this.#statement(sql).run(named([time, count]));
    });
    if (changes > 0) this.#db.pragma(`history.incremental_vacuum(${VACUUM_PAGES})`);
    return changes;
  }

  #insert(table: HistoryTable, rows: readonly HistoryRow[]): void {
    const columns = columnsOf(table);
    const places = columns.map((_column, nth) => `$${nth + 1}`);
    const sql = `INSERT INTO history.${table.name} (${columns.join(', ')}) VALUES (${places.join(', ')}) ${conflictSql(table)}`;
    const statement = this.#statement(sql);
    for (const row of rows) statement.run(named(row));
  }

  #rows<Row>(sql: string, values: readonly HistoryValue[]): Row[] {
    const statement = this.#statement(sql);
    return (values.length === 0 ? statement.all() : statement.all(named(values))) as Row[];
  }

  #statement(sql: string): Sqlite.Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** `$1` is a parameter with the name 1. */
const named = (values: readonly HistoryValue[]): Record<number, HistoryValue> =>
  Object.fromEntries(values.map((value, nth) => [nth + 1, value]));
