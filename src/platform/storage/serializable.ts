import type { Prisma } from '../../generated/sqlite/client.ts';
import type { Database } from './database.ts';
import { isTransactionConflict } from './prisma-errors.ts';

const ATTEMPTS = 5;

/**
 * Runs a transaction whose decision depends on rows that it does not write ("is this the last one?"): as if no other ran at
 * the same time. One that collides is run again. Only `tx` may be used inside.
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
