/**
 * What a module of the history declares: its tables, how what arrives becomes rows of them, and its queries. The store
 * creates the tables, writes, and deletes what is too old or too much, in SQLite and PostgreSQL alike.
 */

/** `TIME`: epoch milliseconds. */
export type ColumnType = 'TIME' | 'INTEGER' | 'TEXT' | 'BYTES';
export type HistoryValue = number | string | Uint8Array | null;
/** The values of the columns, in their order. */
export type HistoryRow = readonly HistoryValue[];

/**
 * A table is never altered: what other columns need is a table with another name, because processes of two versions use
 * one database during an update.
 */
export interface HistoryTable {
  /** In SQL: `history.<name>`. Lower case and `_`. */
  readonly name: string;
  /** In addition to `at`, the first one: the time of the row. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** A second row with equal values is not stored. It contains `at`. Default: rows may be equal. */
  readonly key?: readonly string[];
  /** Whether a second row with an equal key replaces the first one instead. */
  readonly replaces?: boolean;
  readonly indexes?: readonly (readonly string[])[];
  /** Rows of how long a time expire together in PostgreSQL. */
  readonly partitionMs: number;
  /** Default: HISTORY_DAYS, which is also the maximum. */
  readonly keepMs?: number;
}

/** Rows per name of the table. */
export type HistoryRows = ReadonlyMap<string, readonly HistoryRow[]>;

export interface HistoryReader {
  /**
   * The rows of a query with the parameters `$1`, `$2` …, in the SQL that SQLite and PostgreSQL share. Integers are
   * numbers, bytes are a Buffer.
   */
  all<Row>(sql: string, values?: readonly HistoryValue[]): Promise<Row[]>;
}

/** What did not get into the history: times in epoch milliseconds. */
export interface HistoryGap {
  readonly from: number;
  readonly to: number;
  readonly lost: number;
  readonly reason: HistoryGapReason;
}

/**
 * QUEUE_FULL: more arrived than was written. DISK_LOW and UNAVAILABLE: nothing was written. REFUSED: the database
 * refuses values.
 */
export type HistoryGapReason = 'QUEUE_FULL' | 'DISK_LOW' | 'UNAVAILABLE' | 'REFUSED';

export type HistoryQueries = Readonly<Record<string, (db: HistoryReader, args: never) => Promise<unknown>>>;

type StoreRows = (rows: HistoryRows) => Promise<void>;

export interface HistoryModule<Arrival, Queries extends HistoryQueries> {
  readonly name: string;
  readonly tables: readonly HistoryTable[];
  /** Runs in the transaction that stores the rows. A batch that could not be stored comes again. */
  rowsOf(arrived: readonly Arrival[], db: HistoryReader): HistoryRows | Promise<HistoryRows>;
  readonly queries: Queries;
  /** A batch was not stored: what `rowsOf` has remembered of it does not hold. */
  forget?(): void;
  /**
   * Derive rows from stored ones, each from what the one before has stored. Called about once a minute, on PostgreSQL
   * in one process at a time. `store` rejects if the rows are not stored.
   */
  readonly rollUps?: readonly ((db: HistoryReader, now: number, store: StoreRows) => Promise<void>)[];
}
