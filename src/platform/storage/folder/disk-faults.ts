/** Classifies errors of disks: of the file system, of SQLite and of PostgreSQL, also inside errors of Prisma. */

const FAULTS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^(?:ENOSPC|EDQUOT|SQLITE_FULL|53100)$/, 'the disk is full'],
  // 25006: PostgreSQL on a standby, or set to read-only, as some providers do before a disk is full.
  [/^(?:EROFS|SQLITE_READONLY(?:_\w+)?|25006)$/, 'it is read-only'],
  [/^(?:EIO|SQLITE_IOERR(?:_\w+)?|58030)$/, 'the disk reports an error'],
  [/^SQLITE_CANTOPEN(?:_\w+)?$/, 'its files cannot be opened'],
];

/** The reason as a clause for users, such as “the disk is full”. `null` if the error is another one. */
export function diskFaultOf(error: unknown): string | null {
  const codes = codesOf(error);
  return FAULTS.find(([pattern]) => codes.some((code) => pattern.test(code)))?.[1] ?? null;
}

interface CodedError {
  readonly code?: unknown;
  readonly originalCode?: unknown;
  readonly cause?: unknown;
  readonly meta?: { readonly driverAdapterError?: unknown };
}

function codesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > MAX_DEPTH) return [];
  const { code, originalCode, cause, meta } = error as CodedError;
  const own = [code, originalCode].filter((one) => typeof one === 'string');
  return [...own, ...codesOf(meta?.driverAdapterError, depth + 1), ...codesOf(cause, depth + 1)];
}

/** An error may reference itself as its cause. */
const MAX_DEPTH = 5;
