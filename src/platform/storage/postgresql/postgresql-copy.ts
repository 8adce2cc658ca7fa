/**
 * Copies the rows of an SQLite database to a PostgreSQL database with the same migrations. The tables, their order and
 * their columns are read from the source, so no table can be left out. PostgreSQL reads each value in the type
 * of its column.
 */
import type Sqlite from 'better-sqlite3';
import type { Client } from 'pg';
import { messageOf, ServiceError } from '../../errors.ts';

export interface TableRows {
  readonly table: string;
  readonly rows: number;
}

/** Limits of one statement. A row may be larger. */
const MAX_ROWS = 1_000;
const MAX_BYTES = 4 * 1_048_576;

/** An SQLite database that no process writes. Errors of all methods: those of SQLite. */
export class SqliteRows {
  readonly #db: Sqlite.Database;
  /** Each after the tables that its rows refer to. */
  readonly tables: readonly string[];

  constructor(db: Sqlite.Database) {
    this.#db = db;
    this.tables = this.#sortedTables();
  }

  counts(): TableRows[] {
    return this.tables.map((table) => {
      const rows =
        this.#db
          .prepare<[], number>(`SELECT count(*) FROM ${quoted(table)}`)
          .pluck()
          .get() ?? 0;
      return { table, rows };
    });
  }

  columns(table: string): string[] {
    const sql = 'SELECT name FROM pragma_table_info(?)';
    return this.#db.prepare<[string], string>(sql).pluck().all(table);
  }

  /** JSON arrays of rows, each for one statement. */
  *batches(table: string): Generator<string> {
    let batch: string[] = [];
    let bytes = 0;
    for (const row of this.#db.prepare<[], Record<string, unknown>>(`SELECT * FROM ${quoted(table)}`).iterate()) {
      const json = JSON.stringify(
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, asJson(value)])),
      );
      batch.push(json);
      bytes += json.length;
      if (batch.length < MAX_ROWS && bytes < MAX_BYTES) continue;
      yield `[${batch.join()}]`;
      batch = [];
      bytes = 0;
    }
    if (batch.length > 0) yield `[${batch.join()}]`;
  }

  #sortedTables(): string[] {
    const sql = `SELECT name FROM sqlite_schema
      WHERE type = 'table' AND name <> '_prisma_migrations' AND name NOT LIKE 'sqlite#_%' ESCAPE '#' ORDER BY name`;
    const seen = new Set<string>();
    const sorted: string[] = [];
    const add = (table: string) => {
      if (seen.has(table)) return;
      seen.add(table);
      for (const parent of this.#parents(table)) add(parent);
      sorted.push(table);
    };
    for (const table of this.#db.prepare<[], string>(sql).pluck().all()) add(table);
    return sorted;
  }

  #parents(table: string): string[] {
    return this.#db.prepare<[string], string>('SELECT "table" FROM pragma_foreign_key_list(?)').pluck().all(table);
  }
}

/**
 * Copies all rows in one transaction, in which no other connection reads or writes the tables. If it fails or the
 * process is killed, the tables remain empty.
 *
 * Errors: ServiceError IN_USE if a table has rows, INTERNAL_ERROR if rows cannot be stored; the reason of `signal`.
 */
export async function copyRows(source: SqliteRows, target: Client, signal: AbortSignal): Promise<TableRows[]> {
  const { tables } = source;
  await target.query('BEGIN');
  try {
    await target.query(`LOCK TABLE ${tables.map(quoted).join()} IN ACCESS EXCLUSIVE MODE`);
    await requireUnused(target, tables);
    for (const table of tables) await copyTable(source, target, table, signal);
    const copied = await countRows(target, tables);
    requireEqual(source.counts(), copied);
    await target.query('COMMIT');
    return copied;
  } catch (error) {
    // A lost connection rolls back itself.
    await target.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Tables that do not exist yet count as empty. Errors: ServiceError IN_USE if a table has rows. */
export async function requireUnused(target: Client, tables: readonly string[]): Promise<void> {
  const sql = 'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(quote_ident(name)) IS NOT NULL';
  const { rows: existing } = await target.query<{ name: string }>(sql, [tables]);
  const names = existing.map(({ name }) => name);
  const used = (await countRows(target, names)).filter(({ rows }) => rows > 0);
  if (used.length === 0) return;
  const found = used.map(({ table, rows }) => `${table}: ${rows}`).join(', ');
  throw new ServiceError(
    'IN_USE',
    `The PostgreSQL database ${target.database} already has data (${found}). Create an empty database, and name that one.`,
  );
}

async function copyTable(source: SqliteRows, target: Client, table: string, signal: AbortSignal): Promise<void> {
  const columns = source.columns(table).map(quoted).join();
  const sql = `INSERT INTO ${quoted(table)} (${columns})
    SELECT ${columns} FROM json_populate_recordset(NULL::${quoted(table)}, $1::json)`;
  for (const batch of source.batches(table)) {
    signal.throwIfAborted();
    try {
      await target.query(sql, [batch]);
    } catch (cause) {
      const reason = messageOf(cause);
      throw new ServiceError('INTERNAL_ERROR', `PostgreSQL cannot store rows of ${table}: ${reason}`, { cause });
    }
  }
}

async function countRows(target: Client, tables: readonly string[]): Promise<TableRows[]> {
  const counts: TableRows[] = [];
  for (const table of tables) {
    const { rows } = await target.query<{ count: string }>(`SELECT count(*) FROM ${quoted(table)}`);
    counts.push({ table, rows: Number(rows[0]?.count) });
  }
  return counts;
}

function requireEqual(expected: readonly TableRows[], found: readonly TableRows[]): void {
  for (const [i, { table, rows }] of expected.entries()) {
    const stored = found[i]?.rows;
    if (stored === rows) continue;
    throw new ServiceError('INTERNAL_ERROR', `${table} has ${stored} rows in PostgreSQL instead of ${rows}`);
  }
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** JSON has no bytes. PostgreSQL reads this text as bytes. */
const asJson = (value: unknown): unknown =>
  value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value;
