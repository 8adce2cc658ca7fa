import pg, { type ClientBase, type PoolClient } from 'pg';
import { poolConfig } from '../../../platform/storage/postgresql/postgresql-connection.ts';
import type { ColumnType, HistoryReader, HistoryRow, HistoryTable, HistoryValue } from '../model/history-module.ts';
import { columnsOf, conflictSql, type HistoryDatabase, type HistoryTransaction } from './history-database.ts';

const TYPES: Readonly<Record<ColumnType, string>> = { TIME: 'bigint', INTEGER: 'bigint', TEXT: 'text', BYTES: 'bytea' };
const LOCK = "hashtext('brokergraph history')";
const WORK_LOCK = "hashtext('brokergraph history work')";
const INT8 = 20;
/** One of them writes, the others read and hold the lock of `alone`. */
const MAX_CONNECTIONS = 4;
const LOCK_TIMEOUT = '2s';
/** The server ends idle transactions, and with it their locks; see `poolConfig`. */
const ALIVE_MS = 4_000;
const MISSING_PARTITION = '23514';

/** At least so much of a partition: its copy takes as long as what remains, while writers wait. */
const MIN_TRIM = 1 / 4;
const TRIM_LOCK_TIMEOUT = '10s';
/** Pages of a table that one statement copies, or samples. */
const PIECE_PAGES = 2_000;

interface Partition {
  readonly partition: string;
  /** Epoch milliseconds. */
  readonly from: number;
  /** In bytes, with indexes. */
  readonly size: number;
}

/** Numbers beyond 2^53 are not stored. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/**
 * The history in the schema `history` of the database, which `create` creates, partitioned by time: what has expired is
 * dropped with its partition.
 */
export class PostgresqlHistory implements HistoryDatabase {
  readonly #pool: pg.Pool;
  readonly #partitions = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(databaseUrl: string) {
    this.#pool = new pg.Pool({ ...poolConfig(databaseUrl), types, max: MAX_CONNECTIONS });
    // The pool replaces the connection.
    this.#pool.on('error', () => undefined);
  }

  async create(tables: readonly HistoryTable[]): Promise<void> {
    await this.#inTransaction(async (client) => {
      await client.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
      await client.query('SET LOCAL client_min_messages = warning');
      await client.query('CREATE SCHEMA IF NOT EXISTS history');
      for (const table of tables) await client.query(tableSql(table));
    });
  }

  async all<Row>(sql: string, values: readonly HistoryValue[] = []): Promise<Row[]> {
    return readerOf(this.#pool).all(sql, values);
  }

  transaction<Result>(work: (transaction: HistoryTransaction) => Promise<Result>): Promise<Result> {
    return this.#inTurn(() =>
      this.#storing(work).catch(async (error: unknown) => {
        // Another process has dropped a partition that this one had created.
        if (!(error instanceof pg.DatabaseError) || error.code !== MISSING_PARTITION) throw error;
        this.#partitions.clear();
        return this.#storing(work);
      }),
    );
  }

  async alone(work: () => Promise<void>): Promise<boolean> {
    return this.#inTransaction(async (client) => {
      const { rows } = await client.query(`SELECT pg_try_advisory_xact_lock(${WORK_LOCK}) AS locked`);
      if (rows[0]?.locked !== true) return false;
      const alive = setInterval(() => void client.query('SELECT 1').catch(() => undefined), ALIVE_MS);
      await work().finally(() => clearInterval(alive));
      return true;
    });
  }

  async deleteBefore({ name, partitionMs }: HistoryTable, time: number): Promise<boolean> {
    const expired = (await this.#partitionsOf(name)).filter(({ from }) => from + partitionMs <= time);
    for (const { partition } of expired) await this.#drop(partition);
    return false;
  }

  async deleteOldest(table: HistoryTable, share: number, isStopped: () => boolean): Promise<void> {
    const partitions = await this.#partitionsOf(table.name);
    let left = share * partitions.reduce((sum, { size }) => sum + size, 0);
    for (const { partition, from, size } of partitions.sort((one, other) => one.from - other.from)) {
      if (left <= 0 || isStopped()) return;
      if (size <= left) await this.#drop(partition);
      else await this.#trim(table, from, Math.min(1, Math.max(left / size, MIN_TRIM)));
      left -= size;
    }
  }

  async oldest({ name }: HistoryTable): Promise<number | null> {
    const times = (await this.#partitionsOf(name)).map(({ from }) => from);
    return times.length === 0 ? null : Math.min(...times);
  }

  async bytes(): Promise<number> {
    const { rows } = await this.#pool.query<{ bytes: number }>(
      `SELECT coalesce(sum(pg_total_relation_size(class.oid)), 0)::bigint AS bytes FROM pg_class AS class
       WHERE relnamespace = 'history'::regnamespace AND relkind = 'r'`,
    );
    return rows[0]?.bytes ?? 0;
  }

  async bytesOf({ name }: HistoryTable): Promise<number> {
    return (await this.#partitionsOf(name)).reduce((sum, { size }) => sum + size, 0);
  }

  /** The disk is the server's. When it is full, the server refuses what is written. */
  lowSpace(): null {
    return null;
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.#pool.end();
  }

  async #partitionsOf(table: string): Promise<Partition[]> {
    const { rows } = await this.#pool.query<Omit<Partition, 'from'>>(
      `SELECT child.relname AS partition, coalesce(pg_total_relation_size(child.oid), 0) AS size
       FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid WHERE inhparent = to_regclass($1)`,
      [`history.${table}`],
    );
    return rows.map((row) => ({ ...row, from: Number(/_(\d+)$/.exec(row.partition)?.[1]) }));
  }

  async #drop(partition: string): Promise<void> {
    await this.#inTransaction(async (client) => {
      // Readers and writers wait no longer than this for the lock.
      await client.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
      await client.query(`DROP TABLE IF EXISTS history.${partition}`);
    });
    this.#partitions.delete(partition);
  }

  /**
   * Replaces a partition by a copy without the oldest rows, because the server would not give back the room of deleted
   * rows. Writers of the table wait; readers only until the copy has its place. Statements are short, because the
   * server cancels long ones.
   */
  #trim({ name: table, partitionMs }: HistoryTable, from: number, share: number): Promise<void> {
    const [partition, copy] = [`history.${table}_${from}`, `${table}_${from}_copy`];
    return this.#inTurn(() =>
      this.#inTransaction(async (client) => {
        await client.query(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
        await client.query(`LOCK TABLE history.${table} IN SHARE ROW EXCLUSIVE MODE`);
        const pages = await numberOf(
          client,
          `SELECT pg_relation_size('${partition}') / current_setting('block_size')::int AS value`,
        );
        const sample = Math.min(100, (100 * PIECE_PAGES) / Math.max(1, pages ?? 0));
        const last = await numberOf(
          client,
          `SELECT percentile_disc(${share}) WITHIN GROUP (ORDER BY at) AS value
           FROM ${partition} TABLESAMPLE SYSTEM (${sample})`,
        );
        if (pages === null || last === null) return;
        // With the bounds, the copy is attached without a look at its rows.
        await client.query(`CREATE TABLE history.${copy} (LIKE history.${table} INCLUDING ALL,
          CONSTRAINT bounds CHECK (at >= ${from} AND at < ${from + partitionMs}))`);
        for (let page = 0; page < pages; page += PIECE_PAGES) {
          const piece = `ctid >= '(${page},0)' AND ctid < '(${page + PIECE_PAGES},0)'`;
          await client.query(`INSERT INTO history.${copy} SELECT * FROM ${partition} WHERE ${piece} AND at > ${last}`);
        }
        // The copy took long: a slow reader must not make it void.
        await client.query(`SET LOCAL lock_timeout = '${TRIM_LOCK_TIMEOUT}'`);
        await client.query(`DROP TABLE ${partition}`);
        await client.query(`ALTER TABLE history.${copy} RENAME TO ${table}_${from}`);
        await client.query(
          `ALTER TABLE history.${table} ATTACH PARTITION ${partition} FOR VALUES FROM (${from}) TO (${from + partitionMs})`,
        );
        await client.query(`ALTER TABLE ${partition} DROP CONSTRAINT bounds`);
      }),
    );
  }

  /** One after the other, so that writers of this process hold no locks meanwhile. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  #storing<Result>(work: (transaction: HistoryTransaction) => Promise<Result>): Promise<Result> {
    return this.#inTransaction((client) =>
      work({ ...readerOf(client), insert: (...args) => this.#insert(client, ...args) }),
    );
  }

  async #insert(client: ClientBase, table: HistoryTable, rows: readonly HistoryRow[]): Promise<void> {
    if (rows.length === 0) return;
    const { name, columns, partitionMs } = table;
    // A time would be part of the name of a partition.
    if (!rows.every(([time]) => Number.isSafeInteger(time) && Number(time) >= 0))
      throw new RangeError('A row has no time');
    for (const at of new Set(rows.map(([time]) => Math.floor(Number(time) / partitionMs) * partitionMs))) {
      await this.#createPartition(name, at, at + partitionMs);
    }
    const arrays = (['TIME', ...Object.values(columns)] as const).map((type, nth) => `$${nth + 1}::${TYPES[type]}[]`);
    await client.query(
      `INSERT INTO history.${name} (${columnsOf(table).join(', ')})
       SELECT * FROM unnest(${arrays.join(', ')}) ${conflictSql(table)}`,
      arrays.map((_array, nth) => rows.map((row) => storable(row[nth]))),
    );
  }

  /** In a transaction of its own: the one that inserts would hold the lock for other writers. */
  async #createPartition(table: string, from: number, to: number): Promise<void> {
    const partition = `${table}_${from}`;
    if (this.#partitions.has(partition)) return;
    // Attached, because `CREATE TABLE … PARTITION OF` would wait for all who read and write other partitions.
    await this.#pool.query(`
      SELECT pg_advisory_xact_lock(${LOCK});
      DO $$ BEGIN
        IF to_regclass('history.${partition}') IS NULL THEN
          CREATE TABLE history.${partition} (LIKE history.${table} INCLUDING ALL);
          ALTER TABLE history.${table} ATTACH PARTITION history.${partition} FOR VALUES FROM (${from}) TO (${to});
        END IF;
      END $$`);
    this.#partitions.add(partition);
  }

  async #inTransaction<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect();
    try {
      await client.query('BEGIN');
      const result = await work(client);
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // The server ends the transaction of a connection that is closed.
      client.release(true);
      throw error;
    }
  }
}

/** Brokers may report texts with U+0000, and users search for them. PostgreSQL refuses it. */
const storable = (value: HistoryValue | undefined): HistoryValue | undefined =>
  typeof value === 'string' ? value.replaceAll('\0', '\u{FFFD}') : value;

const readerOf = (client: ClientBase | pg.Pool): HistoryReader => ({
  all: async (sql, values = []) => (await client.query(sql, values.map(storable))).rows,
});

async function numberOf(client: ClientBase, sql: string): Promise<number | null> {
  const { rows } = await client.query<{ value: number | null }>(sql);
  return rows[0]?.value ?? null;
}

function tableSql({ name, columns, key, indexes = [] }: HistoryTable): string {
  const definitions = Object.entries(columns).map(([column, type]) => `"${column}" ${TYPES[type]}`);
  const primary = key === undefined ? [] : [`PRIMARY KEY (${key.join(', ')})`];
  const all = ['at bigint NOT NULL', ...definitions, ...primary].join(', ');
  return [
    `CREATE TABLE IF NOT EXISTS history.${name} (${all}) PARTITION BY RANGE (at)`,
    ...indexes.map(
      (index) => `CREATE INDEX IF NOT EXISTS ${name}_${index.join('_')} ON history.${name} (${index.join(', ')})`,
    ),
  ].join('; ');
}
