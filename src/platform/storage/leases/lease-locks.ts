/** The advisory locks of leases. A hash of 64 bits, because two names with the same lock could not both be held. */
import { raw } from '@prisma/client/runtime/client';
import type { PostgresqlSession } from '../postgresql/postgresql-session.ts';

/** Differs from the locks of other programs on the database. */
const SEED = 0x62677368;

/** SQL of the key of a lock; `name` is SQL of the name of the lease. */
export const lockKey = (name: string): string => `hashtextextended(${name}, ${SEED})`;

/** Tries to get each lock. Returns the names of those that the session holds now. */
export async function tryLocks(
  session: Pick<PostgresqlSession, 'query'>,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const sql = `SELECT name, pg_try_advisory_lock(${lockKey('name')}) AS held FROM unnest($1::text[]) AS name`;
  const { rows } = await session.query(sql, [names]);
  return new Set(rows.filter(({ held }) => held === true).map(({ name }) => String(name)));
}

/** SQL: whether a process holds the lease. One that is cut off holds it until the server has noticed. */
export const isLeaseHeld = (name: string) =>
  raw(`EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 1
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (classid::bigint << 32 | objid::bigint) = ${lockKey(name)}
  )`);

/** The start of the names of the leases that show which data folders have a process that runs their brokers. */
export const FOLDER_LEASE = 'folder:';

export const folderLease = (folderId: string): string => `${FOLDER_LEASE}${folderId}`;
