import { raw, sqltag as sql } from '@prisma/client/runtime/client';
import type { Prisma } from '../../../generated/sqlite/client.ts';
import { notFound } from '../../errors.ts';
import { SerialQueues } from '../../scheduling/serial-queues.ts';
import type { Database } from '../database.ts';

/** Longest wait for a connection, and longest duration with the wait for the lock, in milliseconds. */
const TIMEOUTS = { maxWait: 30_000, timeout: 30_000 } as const;

/** The tables of rows that own others, and their names in error messages. */
const OWNERS = { Project: 'project', User: 'user' } as const;

/**
 * Transactions that lock the same row run one after the other, in all processes. A transaction that counts what the row
 * owns therefore sees what all earlier ones created, so that a maximum holds exactly.
 *
 * Transactions of one process queue before they take a connection, so each row uses at most one. `work` must use `tx`
 * only. Errors: NOT_FOUND (the row), and errors of the work.
 */
export class RowLock {
  readonly #db: Database;
  readonly #queues = new SerialQueues();

  constructor(db: Database) {
    this.#db = db;
  }

  run<T>(table: keyof typeof OWNERS, id: string, work: (tx: Prisma.TransactionClient) => Promise<T>): Promise<T> {
    // A statement of both databases that locks the row and changes nothing. References to the row do not wait for it.
    const lock = sql`UPDATE ${raw(`"${table}"`)} SET "id" = "id" WHERE "id" = ${id}`;
    return this.#queues.run(`${table} ${id}`, () =>
      this.#db.$transaction(async (tx) => {
        if ((await tx.$executeRaw(lock)) === 0) throw notFound(OWNERS[table], id);
        return work(tx);
      }, TIMEOUTS),
    );
  }
}
