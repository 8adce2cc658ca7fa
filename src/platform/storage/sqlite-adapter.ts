/**
 * Prisma's SQLite adapter, made durable and safe for concurrent use of its one connection.
 *
 * Durable: write-ahead log with synchronous FULL, so what was acknowledged is on disk; foreign keys on.
 *
 * Safe: Prisma runs transactions and single statements on the same connection and orders only transactions among
 * themselves. A single statement between BEGIN and the end of somebody else's transaction would become part of it, and be
 * lost with its ROLLBACK although its caller was told that it succeeded. Here a statement waits, first come first served,
 * until the open transaction ends (Prisma ends one after its own timeout, 5 s by default). So a transaction must use its
 * own client only: waiting for another statement inside it waits for itself, until that timeout.
 *
 * At most MAX_WAITING statements wait; the next is refused.
 */
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3';
import type { IsolationLevel, SqlDriverAdapter, SqlQuery, Transaction } from '@prisma/driver-adapter-utils';

const MAX_WAITING = 10_000;
/** How long a statement waits for another process that reads or backs up the file. Blocks this process meanwhile. */
const BUSY_TIMEOUT_MS = 5_000;

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
  readonly #turns = new ConnectionTurns();

  constructor(connection: SqlDriverAdapter) {
    this.#connection = connection;
    this.adapterName = connection.adapterName;
  }

  queryRaw(query: SqlQuery) {
    return this.#turns.run(() => this.#connection.queryRaw(query));
  }

  executeRaw(query: SqlQuery) {
    return this.#turns.run(() => this.#connection.executeRaw(query));
  }

  executeScript(script: string) {
    return this.#turns.run(() => this.#connection.executeScript(script));
  }

  async startTransaction(isolationLevel?: IsolationLevel): Promise<Transaction> {
    const endTurn = await this.#turns.take();
    try {
      return endingTurn(await this.#connection.startTransaction(isolationLevel), endTurn);
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  dispose() {
    return this.#connection.dispose();
  }
}

/** The transaction, with the turn given back at its end. Prisma itself sends COMMIT or ROLLBACK before it calls either. */
function endingTurn(transaction: Transaction, endTurn: () => void): Transaction {
  return {
    provider: transaction.provider,
    adapterName: transaction.adapterName,
    options: transaction.options,
    queryRaw: (query) => transaction.queryRaw(query),
    executeRaw: (query) => transaction.executeRaw(query),
    createSavepoint: async (name) => transaction.createSavepoint?.(name),
    rollbackToSavepoint: async (name) => transaction.rollbackToSavepoint?.(name),
    releaseSavepoint: async (name) => transaction.releaseSavepoint?.(name),
    commit: () => transaction.commit().finally(endTurn),
    rollback: async () => {
      try {
        // A COMMIT that failed may leave the transaction open, and the next statement would silently become part of it.
        await transaction.executeRaw({ sql: 'ROLLBACK', args: [], argTypes: [] });
      } catch {
        // The usual case: there is no open transaction any more.
      }
      await transaction.rollback().finally(endTurn);
    },
  };
}

/** Gives the connection to one holder at a time, in the order of asking. */
class ConnectionTurns {
  #taken = false;
  readonly #waiting: (() => void)[] = [];

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const endTurn = await this.take();
    try {
      return await work();
    } finally {
      endTurn();
    }
  }

  async take(): Promise<() => void> {
    if (this.#taken) {
      if (this.#waiting.length >= MAX_WAITING) throw new Error(`${MAX_WAITING} statements wait for the database`);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#taken = true;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const next = this.#waiting.shift();
      // Handed over without a moment of being free, so nobody who asks now can overtake.
      if (next) next();
      else this.#taken = false;
    };
  }
}
