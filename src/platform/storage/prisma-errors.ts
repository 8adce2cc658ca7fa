/** What went wrong in the database, told by Prisma's error codes; they are the same on both engines. */
import { notFound } from '../errors.ts';

const UNIQUE_VIOLATION = 'P2002';
const FOREIGN_KEY_VIOLATION = 'P2003';
const RECORD_NOT_FOUND = 'P2025';
const TRANSACTION_CONFLICT = 'P2034';
const DRIVER_ERROR = 'P2039';

/** A row with the same unique value is there already. */
export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === UNIQUE_VIOLATION;
}

/** The row refers to one that is not there, or another row still refers to it. */
export function isForeignKeyViolation(error: unknown): boolean {
  return codeOf(error) === FOREIGN_KEY_VIOLATION;
}

/** The row to update, delete or connect is not there. */
export function isNotFound(error: unknown): boolean {
  return codeOf(error) === RECORD_NOT_FOUND;
}

/**
 * A serializable transaction met another one and was undone: it may be tried again. Where PostgreSQL finds that out at the COMMIT, the
 * error is the driver adapter's, without a code of Prisma's.
 */
export function isTransactionConflict(error: unknown): boolean {
  if (codeOf(error) === TRANSACTION_CONFLICT) return true;
  if (!(error instanceof Error) || error.name !== 'DriverAdapterError') return false;
  return (error.cause as { readonly kind?: unknown } | undefined)?.kind === 'TransactionWriteConflict';
}

/** A text holds U+0000, which PostgreSQL knows no place for (its code 22021); nothing stored is equal to it. */
export function isImpossibleText(error: unknown): boolean {
  if (codeOf(error) !== DRIVER_ERROR) return false;
  const { meta } = error as {
    readonly meta?: { readonly driverAdapterError?: { readonly cause?: { code?: unknown } } };
  };
  return meta?.driverAdapterError?.cause?.code === '22021';
}

/** For a write that found its row, or the one it belongs to, removed meanwhile. */
export const goneMeansNotFound =
  (what: string, id: string) =>
  (error: unknown): never => {
    throw isNotFound(error) || isForeignKeyViolation(error) ? notFound(what, id) : error;
  };

/** Told by name and code, not by class: each generated client brings its own classes. */
function codeOf(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'PrismaClientKnownRequestError') return undefined;
  return 'code' in error ? error.code : undefined;
}
