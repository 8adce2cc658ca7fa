/**
 * Prisma's SQLite adapter with durable commits and a mutex for its one connection.
 *
 * Prisma only serialises transactions. A statement between BEGIN and the end of another caller's transaction would
 * become part of it, and be lost with its ROLLBACK although its caller received success. Here it waits until the
 * transaction ends, so a transaction must use its own client only. At most MAX_WAITING statements wait; further ones
 * are refused with QueueFull.
 *
 * SQLite responds at once, so statements in a row would block the event loop until the last of them.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import type { IsolationLevel, SqlDriverAdapter, SqlQuery, Transaction } from '@prisma/driver-adapter-utils';
import { ConcurrencyLimit } from '../scheduling/concurrency-limit.ts';

const MAX_WAITING = 10_000;
/** Longest wait for another process that reads or backs up the file. Blocks this process meanwhile. */
const BUSY_TIMEOUT_MS = 5_000;

/** Limit of SQLite since 3.32. Prisma assumes 999, and then refuses sorted relations of more rows (P2029). */
const MAX_PARAMETERS = 32_766;

/** Longest time of statements in a row. Other statements wait for an iteration of the event loop, too. */
const MAX_IN_A_ROW_MS = 50;

const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
`;

export class SqliteAdapterFactory {
  readonly provider = 'sqlite';
  readonly adapterName: string;
  readonly #inner: PrismaBetterSqlite3;

  constructor(file: string) {
    this.#inner = new PrismaBetterSqlite3({ url: `file:${file}`, timeout: BUSY_TIMEOUT_MS });
    this.adapterName = this.#inner.adapterName;
  }

  async connect(): Promise<SqlDriverAdapter> {
    const connection = await this.#inner.connect();
    await connection.executeScript(PRAGMAS);
    return new SqliteAdapter(connection);
  }
}

class SqliteAdapter implements SqlDriverAdapter {
  readonly provider = 'sqlite';
  readonly adapterName: string;
  readonly #connection: SqlDriverAdapter;
  readonly #mutex = new ConcurrencyLimit({ maxRunning: 1, maxWaiting: MAX_WAITING });
  /** When the first statement of this iteration of the event loop began. */
  #begunAt: number | null = null;

  constructor(connection: SqlDriverAdapter) {
    this.#connection = connection;
    this.adapterName = connection.adapterName;
  }

  getConnectionInfo() {
    return { maxBindValues: MAX_PARAMETERS, supportsRelationJoins: false };
  }

  queryRaw(query: SqlQuery) {
    return this.#mutex.run(() => this.#paced(() => this.#connection.queryRaw(query)));
  }

  executeRaw(query: SqlQuery) {
    return this.#mutex.run(() => this.#paced(() => this.#connection.executeRaw(query)));
  }

  executeScript(script: string) {
    return this.#mutex.run(() => this.#connection.executeScript(script));
  }

  async startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    const release = await this.#lock();
    try {
      const transaction = await this.#connection.startTransaction(isolationLevel);
      return releasingTransaction(transaction, release, (statement) => this.#paced(statement));
    } catch (error) {
      release();
      throw error;
    }
  }

  dispose() {
    return this.#connection.dispose();
  }

  async #paced<T>(statement: () => Promise<T>): Promise<T> {
    const now = performance.now();
    if (this.#begunAt === null) {
      this.#begunAt = now;
      setImmediate(() => {
        this.#begunAt = null;
      });
    } else if (now - this.#begunAt > MAX_IN_A_ROW_MS) await nextIteration();
    return statement();
  }

  /** Resolves with the function that unlocks the connection. */
  #lock(): Promise<() => void> {
    return new Promise((locked, refuse) => {
      this.#mutex.run(() => new Promise<void>((unlock) => locked(unlock))).catch(refuse);
    });
  }
}

/** Calls `release` at the end. Prisma itself sends COMMIT or ROLLBACK before it calls these methods. */
function releasingTransaction(
  transaction: Transaction,
  release: () => void,
  paced: <T>(statement: () => Promise<T>) => Promise<T>,
): Transaction {
  return {
    provider: transaction.provider,
    adapterName: transaction.adapterName,
    options: transaction.options,
    queryRaw: (query) => paced(() => transaction.queryRaw(query)),
    executeRaw: (query) => paced(() => transaction.executeRaw(query)),
    createSavepoint: async (name) => transaction.createSavepoint?.(name),
    rollbackToSavepoint: async (name) => transaction.rollbackToSavepoint?.(name),
    releaseSavepoint: async (name) => transaction.releaseSavepoint?.(name),
    commit: () => transaction.commit().finally(release),
    rollback: async () => {
      try {
        // A failed COMMIT may leave the transaction open, and the next statement would become part of it.
        await transaction.executeRaw({ sql: 'ROLLBACK', args: [], argTypes: [] });
      } catch {
        // The usual case: no transaction is open.
      }
      await transaction.rollback().finally(release);
    },
  };
}
