import type { Prisma } from '../../generated/sqlite/client.ts';
import type { Database } from './database.ts';
import { isTransactionConflict } from './prisma-errors.ts';

const ATTEMPTS = 5;

/**
 * For decisions that depend on rows that the transaction does not write. A conflict is retried. `work` must use `tx`
 * only.
 */
export async function serializable<T>(db: Database, work: (tx: Prisma.TransactionClient) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.$transaction(work, { isolationLevel: 'Serializable' });
    } catch (error) {
      if (attempt === ATTEMPTS || !isTransactionConflict(error)) throw error;
    }
  }
}
