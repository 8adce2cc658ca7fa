/**
 * The leases of brokers, which are many: a row each, with the key of the advisory lock of its holder's session. A row
 * counts while this lock is held, so a session that ends loses all its leases at once, and needs one lock for them. The
 * table is not logged: after a crash of the server or the promotion of a standby it is empty, and no lock is left.
 *
 * Processes of the version before hold an advisory lock for each lease. While one of them is connected, holders of rows
 * hold these locks, too.
 */
import { randomBytes } from 'node:crypto';
import type { PostgresqlSession } from '../postgresql/postgresql-session.ts';
import { lockKey, tryLocks } from './lease-locks.ts';

/** Processes of the version before have sessions of leases with this name. */
const PREVIOUS = 'brokergraph leases';

/** Locked, because two sessions that create the table at the same time would not both succeed. */
const CREATE = `SELECT pg_advisory_xact_lock(${lockKey("'leases'")});
  CREATE UNLOGGED TABLE IF NOT EXISTS "Lease" ("name" TEXT PRIMARY KEY, "holder" BIGINT NOT NULL)`;

/** Whether the session of a row has ended and left its lock. Evaluated after the row was locked. */
const IS_LEFT = `pg_try_advisory_xact_lock_shared("Lease"."holder")`;

/** Skips rows that others take at the moment. */
const DELETE_LEFT = `DELETE FROM "Lease" WHERE "name" IN
  (SELECT "name" FROM "Lease" WHERE ${IS_LEFT} ORDER BY "name" FOR UPDATE SKIP LOCKED) AND ${IS_LEFT}`;

/** Sorted, so that two processes do not wait for each other's rows. */
const TAKE = `INSERT INTO "Lease" ("name", "holder")
  SELECT "name", $2::bigint FROM unnest($1::text[]) AS "name" ORDER BY "name"
  ON CONFLICT ("name") DO UPDATE SET "holder" = excluded."holder"
  WHERE "Lease"."holder" = excluded."holder" OR ${IS_LEFT}
  RETURNING "name"`;

export const isRowLease = (name: string): boolean => name.startsWith('broker:');

/** The rows of one session. Errors: those of the session. */
export class LeaseRows {
  readonly #session: PostgresqlSession;
  readonly #holder: string;
  /** Whose locks of the version before this session holds. */
  readonly #locked = new Set<string>();

  private constructor(session: PostgresqlSession, holder: string) {
    this.#session = session;
    this.#holder = holder;
  }

  static async open(session: PostgresqlSession): Promise<LeaseRows> {
    const holder = randomBytes(8).readBigInt64BE().toString();
    await session.query(CREATE);
    await session.query(DELETE_LEFT);
    await session.query('SELECT pg_advisory_lock($1::bigint)', [holder]);
    return new LeaseRows(session, holder);
  }

  /** Returns the acquired ones. */
  async take(names: readonly string[]): Promise<ReadonlySet<string>> {
    if (names.length === 0) return new Set();
    const { rows } = await this.#session.query(TAKE, [names, this.#holder]);
    const taken = rows.map(({ name }) => String(name));
    const lost = await this.check(taken);
    return new Set(taken.filter((name) => !lost.has(name)));
  }

  /** Holds the locks of the version before while they are needed. Returns the leases that such a process has. */
  async check(held: readonly string[]): Promise<ReadonlySet<string>> {
    const found = await this.#session.query(
      'SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1 LIMIT 1',
      [PREVIOUS],
    );
    if (found.rows.length === 0) {
      await this.#unlock([...this.#locked]);
      return new Set();
    }
    const open = held.filter((name) => !this.#locked.has(name));
    for (const name of await tryLocks(this.#session, open)) this.#locked.add(name);
    const lost = open.filter((name) => !this.#locked.has(name));
    await this.#delete(lost);
    return new Set(lost);
  }

  async release(names: readonly string[]): Promise<void> {
    await this.#delete(names);
    await this.#unlock(names.filter((name) => this.#locked.has(name)));
  }

  async #delete(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const sql = 'DELETE FROM "Lease" WHERE "name" = ANY($1::text[]) AND "holder" = $2::bigint';
    await this.#session.query(sql, [names, this.#holder]);
  }

  async #unlock(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const sql = `SELECT pg_advisory_unlock(${lockKey('"name"')}) FROM unnest($1::text[]) AS "name"`;
    await this.#session.query(sql, [names]);
    for (const name of names) this.#locked.delete(name);
  }
}
