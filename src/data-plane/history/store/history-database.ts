import type { HistoryReader, HistoryRow, HistoryTable } from '../model/history-module.ts';

/** In the data folder, unless the database is PostgreSQL. */
export const HISTORY_FILE = 'history.db';

export interface HistoryTransaction extends HistoryReader {
  /** See `key` and `replaces` of the table. */
  insert(table: HistoryTable, rows: readonly HistoryRow[]): Promise<void>;
}

/** SQLite or PostgreSQL. Errors of all methods: those of the database. */
export interface HistoryDatabase extends HistoryReader {
  create(tables: readonly HistoryTable[]): Promise<void>;
  /** Transactions follow each other. */
  transaction<Result>(work: (transaction: HistoryTransaction) => Promise<Result>): Promise<Result>;
  /** Runs the work unless another process does. Returns whether it ran. */
  alone(work: () => Promise<void>): Promise<boolean>;
  /** Deletes rows before a time, at most a portion of them or whole partitions. Returns whether there may be more. */
  deleteBefore(table: HistoryTable, time: number): Promise<boolean>;
  /** Deletes about this share of a table, its oldest rows, in portions or with whole partitions, until `isStopped`. */
  deleteOldest(table: HistoryTable, share: number, isStopped: () => boolean): Promise<void>;
  /** The time of the oldest rows, or earlier; `null` if there are none. */
  oldest(table: HistoryTable): Promise<number | null>;
  /** The size that counts for HISTORY_MAX_MB. */
  bytes(): Promise<number>;
  /** The part of `bytes` that the rows and indexes of a table take. */
  bytesOf(table: HistoryTable): Promise<number>;
  /** Why nothing should be written, such as too little free space; `null` if there is no reason. */
  lowSpace(): string | null;
  close(): Promise<void>;
}

export const columnsOf = ({ columns }: HistoryTable): string[] => ['at', ...Object.keys(columns)];

/** What becomes of a row with a key that is stored already. */
export function conflictSql({ key, replaces = false, columns }: HistoryTable): string {
  if (key === undefined || !replaces) return 'ON CONFLICT DO NOTHING';
  const others = Object.keys(columns).filter((column) => !key.includes(column));
  return `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${others.map((one) => `${one} = excluded.${one}`).join(', ')}`;
}
