/** Classifies database errors by Prisma's error codes, which are the same for SQLite and PostgreSQL. */
import { notFound } from '../errors.ts';

export function isUniqueViolation(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'P2002' || (code === 'P2010' && adapterCause(error)?.kind === 'UniqueConstraintViolation');
}

/** Whether the row refers to a missing row, or another row still refers to it. */
export const isForeignKeyViolation = (error: unknown): boolean => codeOf(error) === 'P2003';

export const isNotFound = (error: unknown): boolean => codeOf(error) === 'P2025';

/**
 * Whether a transaction may be retried: a conflict of serializable ones, or a deadlock. If PostgreSQL detects the
 * conflict at COMMIT, the error comes from the driver adapter, without a code of Prisma.
 */
export function isTransactionConflict(error: unknown): boolean {
  const code = codeOf(error);
  if (code === 'P2034' || (code === 'P2010' && adapterCause(error)?.kind === 'TransactionWriteConflict')) return true;
  if (!(error instanceof Error) || error.name !== 'DriverAdapterError') return false;
  return (error.cause as { readonly kind?: unknown } | undefined)?.kind === 'TransactionWriteConflict';
}

/** Whether a text contains U+0000, which PostgreSQL cannot store (code 22021). */
export function isImpossibleText(error: unknown): boolean {
  return codeOf(error) === 'P2039' && adapterCause(error)?.code === '22021';
}

/** Prisma: not reachable, time-outs, connection closed, no free connection, no transaction in time. */
const UNAVAILABLE_CODES: readonly unknown[] = ['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037'];
/**
 * PostgreSQL: statement cancelled by its time-out, shutdown, crash, start, a standby that accepts no writes, and no
 * free memory or connection.
 */
const UNAVAILABLE_STATES: readonly unknown[] = ['57014', '57P01', '57P02', '57P03', '25006', '53200', '53300'];
/** node-postgres has no codes for lost connections. The last one is that of poolConfig. */
const LOST_CONNECTION =
  /^(Connection terminated|timeout e|Client has encountered a connection error|no response from the database)/;

/** Whether the database could not be reached, or did not respond in time. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (UNAVAILABLE_CODES.includes(codeOf(error)) || UNAVAILABLE_STATES.includes(adapterCause(error)?.code)) return true;
  return error instanceof Error && LOST_CONNECTION.test(error.message);
}

function adapterCause(error: unknown): { readonly kind?: unknown; readonly code?: unknown } | undefined {
  const { meta } = (error ?? {}) as { readonly meta?: { driverAdapterError?: { cause?: object } } };
  return meta?.driverAdapterError?.cause;
}

/** Throws NOT_FOUND if the row of a write or its parent row does not exist any more. */
export const missingAsNotFound =
  (what: string, id: string) =>
  (error: unknown): never => {
    throw isNotFound(error) || isForeignKeyViolation(error) ? notFound(what, id) : error;
  };

/** Compares the name and code, not the class, because each generated client has its own classes. */
function codeOf(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'PrismaClientKnownRequestError') return undefined;
  return 'code' in error ? error.code : undefined;
}
