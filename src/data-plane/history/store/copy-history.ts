import { existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import type pg from 'pg';
import { closePostgresql, connectPostgresql } from '../../../platform/storage/postgresql/postgresql-connection.ts';
import type { HistoryRow, HistoryTable } from '../model/history-module.ts';
import { historyModules } from '../modules.ts';
import { GAPS } from './gaps.ts';
import { columnsOf, type HistoryTransaction } from './history-database.ts';
import { PostgresqlHistory } from './postgresql-history.ts';

interface CopyOptions {
  readonly file: string;
  readonly databaseUrl: string;
  readonly signal: AbortSignal;
}

const ROWS_AT_ONCE = 2_000;

/**
 * Copies the history of a SQLite file to the schema `history`, in one transaction. What an earlier copy left there is
 * replaced. Returns the number of rows. Errors: those of the databases; the reason of `signal`.
 */
export async function copyHistory({ file, databaseUrl, signal }: CopyOptions): Promise<number> {
  if (!existsSync(file)) return 0;
  await dropSchema(databaseUrl);
  const source = new Sqlite(file, { readonly: true });
  const target = new PostgresqlHistory(databaseUrl);
  try {
    const tables = [GAPS, ...historyModules().flatMap((module) => module.tables)];
    await target.create(tables);
    return await target.transaction(async (transaction) => {
      let rows = 0;
      for (const table of tables) rows += await copyTable(source, table, transaction, signal);
      return rows;
    });
  } finally {
    source.close();
    await target.close();
  }
}

/** A table that the file does not have yet is empty. */
async function copyTable(
  source: Sqlite.Database,
  table: HistoryTable,
  target: HistoryTransaction,
  signal: AbortSignal,
): Promise<number> {
  const { name } = table;
  if (source.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(name) === undefined) return 0;
  const all = source.prepare<[], HistoryRow>(`SELECT ${columnsOf(table).join(', ')} FROM ${name} ORDER BY at`).raw();
  let [count, batch]: [number, HistoryRow[]] = [0, []];
  const write = async () => {
    signal.throwIfAborted();
    await target.insert(table, batch);
    count += batch.length;
    batch = [];
  };
  for (const row of all.iterate()) {
    batch.push(row);
    if (batch.length === ROWS_AT_ONCE) await write();
  }
  await write();
  return count;
}

async function dropSchema(databaseUrl: string): Promise<void> {
  const client: pg.Client = await connectPostgresql(databaseUrl, 'history');
  try {
    await client.query('SET client_min_messages = warning; DROP SCHEMA IF EXISTS history CASCADE');
  } finally {
    await closePostgresql(client);
  }
}
