import { join, sqltag as sql } from '@prisma/client/runtime/client';
import type { Database } from '../storage/database.ts';
import type { Sealer } from '../storage/encryption/sealed.ts';
import { accountKey, type FailureCount, type LoginThrottle, type ThrottledAttempt } from './login-throttle.ts';

/** Beyond it the rows whose last failure is oldest are deleted. About 300 bytes each. */
const MAX_ROWS = 60_000;
/** In failures of one process. Until then the process may exceed MAX_ROWS by three rows for each failure. */
const TRIM_EVERY = 1_000;

/** The clock of the database, so that a wrong clock of one machine changes no waiting time. */
const NOW = sql`(clock_timestamp() AT TIME ZONE 'UTC')`;

interface Row {
  readonly key: string;
  readonly count: number;
  readonly ageMs: number;
}

interface LoginFailuresOptions {
  readonly db: Database;
  readonly sealer: Pick<Sealer, 'sign'>;
  readonly throttle: LoginThrottle;
}

/**
 * The counts of failed log-ins of all processes on one PostgreSQL. The throttle of each process keeps the rules, and
 * receives the counts of an attempt before its check and after its failure. A check costs one statement, a failure one.
 *
 * Processes that check at the same time do not see each other's failures: guesses exceed the free ones by at most the
 * number of concurrent checks minus one. Names are stored as HMAC, because users type passwords into the name field.
 * Rows expire with their count. While the database reads but does not write, each process counts by itself. Errors:
 * those of the database.
 */
export class LoginFailures {
  readonly #options: LoginFailuresOptions;
  #failures = 0;

  constructor(options: LoginFailuresOptions) {
    this.#options = options;
  }

  /** Updates the counts of the throttle. */
  async read(attempt: ThrottledAttempt): Promise<void> {
    const counts = this.#keyed(attempt);
    const rows = await this.#options.db.$queryRaw<readonly Row[]>(sql`
      SELECT "key", "count", extract(epoch FROM ${NOW} - "failedAt")::float8 * 1000 AS "ageMs" FROM "LoginFailure"
      WHERE "key" IN (${join([...counts.keys()])}) AND "expiresAt" > ${NOW}`);
    const byKey = new Map(rows.map((row) => [row.key, row]));
    for (const [key, { failures, name }] of counts) {
      const { count = 0, ageMs = 0 } = byKey.get(key) ?? {};
      failures.learn(name, count, ageMs);
    }
  }

  async failed(attempt: ThrottledAttempt): Promise<void> {
    const { db } = this.#options;
    const counts = this.#keyed(attempt);
    const rows = [...counts].map(([key, { account, failures }]) => {
      const expiresAt = sql`${NOW} + ${failures.memoryMs}::float8 * interval '1 millisecond'`;
      return sql`(${key}, ${account === null ? null : this.#hashOf(account)}, 1, ${NOW}, ${expiresAt})`;
    });
    const counted = await db.$queryRaw<readonly Row[]>(sql`
      INSERT INTO "LoginFailure" AS known ("key", "account", "count", "failedAt", "expiresAt") VALUES ${join(rows)}
      ON CONFLICT ("key") DO UPDATE SET
        "count" = CASE WHEN known."expiresAt" > ${NOW} THEN known."count" + 1 ELSE 1 END,
        "failedAt" = excluded."failedAt", "expiresAt" = excluded."expiresAt"
      RETURNING "key", "count"`);
    for (const { key, count } of counted) {
      const known = counts.get(key);
      known?.failures.learn(known.name, count, 0, true);
    }
    if (this.#failures % TRIM_EVERY === 0) await this.#trim();
    this.#failures += 1;
  }

  /** Ends the count of the account from this network. */
  async succeeded(attempt: ThrottledAttempt): Promise<void> {
    const pair = [...this.#keyed(attempt)].find(([, { kind }]) => kind === 'pair');
    await this.#options.db.loginFailure.deleteMany({ where: { key: pair?.[0] ?? '' } });
  }

  /** Ends the counts of the account from all networks. */
  async unlock(account: string): Promise<void> {
    // In the order in which failures lock their rows: another order could be a deadlock.
    await this.#options.db.$executeRaw(sql`
      DELETE FROM "LoginFailure" WHERE "key" IN (
        SELECT "key" FROM "LoginFailure" WHERE "account" = ${this.#hashOf(accountKey(account))}
        ORDER BY "key" COLLATE "C" FOR UPDATE)`);
  }

  async #trim(): Promise<void> {
    const { db } = this.#options;
    await db.$executeRaw(sql`
      DELETE FROM "LoginFailure" WHERE "key" IN (
        SELECT "key" FROM "LoginFailure" WHERE "expiresAt" <= ${NOW} FOR UPDATE SKIP LOCKED)`);
    await db.$executeRaw(sql`
      DELETE FROM "LoginFailure" WHERE "key" IN (
        SELECT "key" FROM "LoginFailure" ORDER BY "failedAt" DESC OFFSET ${MAX_ROWS} FOR UPDATE SKIP LOCKED)`);
  }

  /** Sorted, so that concurrent failures lock their rows in the same order. */
  #keyed(attempt: ThrottledAttempt): ReadonlyMap<string, FailureCount> {
    const counts = this.#options.throttle.countsOf(attempt);
    const keyed = counts.map((count) => [this.#hashOf(`${count.kind} ${count.name}`), count] as const);
    return new Map(keyed.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #hashOf(text: string): string {
    return this.#options.sealer.sign(text, 'login failure');
  }
}
