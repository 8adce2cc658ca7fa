import { empty, sqltag as sql } from '@prisma/client/runtime/client';
import type { Prisma, Session } from '../../generated/sqlite/client.ts';
import { ServiceError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Changes } from '../storage/changes/changes.ts';
import type { Database, Engine } from '../storage/database.ts';
import { hashSecret, newSecret } from './secrets.ts';

const HOUR_MS = 3_600_000;
/** A session ends this long after its last use … */
const SESSION_IDLE_MS = 24 * HOUR_MS;
/** … and this long after the log-in in any case. */
export const SESSION_LIFETIME_MS = 30 * 24 * HOUR_MS;
const MAX_LISTED = 1_000;

/** Conditions of a new session. It is opened only if the account still has this password and second factor. */
interface SessionConditions {
  /** A log-in with the previous password must not succeed after a change. */
  readonly passwordHash?: string;
  readonly secondFactorSince?: Date | null;
  /** Absent for a local sign-in. */
  readonly provider?: string;
  readonly address?: string;
}

export interface OpenedSession {
  /** Only its hash is stored. */
  readonly token: string;
  readonly expiresAt: Date;
  readonly userId: string;
}

/** In epoch milliseconds. */
export const sessionEnd = (usedAt: number, createdAt: number): Date =>
  new Date(Math.min(usedAt + SESSION_IDLE_MS, createdAt + SESSION_LIFETIME_MS));

interface SessionsOptions {
  readonly db: Database;
  readonly engine: Engine;
  readonly changes: Changes;
  readonly onOpened?: (provider: string | null) => void;
}

/** Opens, lists and ends sessions. Ended sessions are announced, so that operations of them end in all processes. */
export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Errors: UNAUTHORIZED if the conditions are no longer met. */
  async open(userId: string, conditions: SessionConditions = {}): Promise<OpenedSession> {
    const { passwordHash, secondFactorSince, provider = null, address = null } = conditions;
    const token = newSecret('session');
    const now = new Date();
    const expiresAt = sessionEnd(now.getTime(), now.getTime());
    const { db, engine } = this.#options;
    const since =
      secondFactorSince === null ? sql`AND "totpSince" IS NULL` : sql`AND "totpSince" = ${secondFactorSince}`;
    const [count] = await Promise.all([
      // One statement. Its row lock delays a change of the password until the session is committed.
      db.$executeRaw(sql`
        INSERT INTO "Session" ("id", "userId", "tokenHash", "provider", "address", "createdAt", "lastUsedAt", "expiresAt")
        SELECT ${newId('session')}, "id", ${hashSecret(token)}, ${provider}, ${address}, ${now}, ${now}, ${expiresAt}
        FROM "User" WHERE "id" = ${userId} ${passwordHash === undefined ? empty : sql`AND "passwordHash" = ${passwordHash}`}
          ${secondFactorSince === undefined ? empty : since} ${engine === 'postgresql' ? sql`FOR SHARE` : empty}`),
      db.session.deleteMany({ where: { userId, expiresAt: { lte: now } } }),
    ]);
    if (count === 0) throw changedMeanwhile();
    this.#options.onOpened?.(provider);
    return { token, expiresAt, userId };
  }

  /** The valid sessions of a user, most recently used first. */
  async of(userId: string, query: Prisma.SessionDefaultArgs = {}): Promise<Session[]> {
    return this.#options.db.session.findMany({
      ...query,
      where: { userId, expiresAt: { gt: new Date() } },
      orderBy: [{ lastUsedAt: 'desc' }, { id: 'desc' }],
      take: MAX_LISTED,
    });
  }

  /** A valid session. `null` if it does not exist or has expired. */
  find(id: string): Promise<Session | null> {
    return this.#options.db.session.findFirst({ where: { id, expiresAt: { gt: new Date() } } });
  }

  /** Returns whether the session existed, and belonged to `userId` if it is given. */
  async end(sessionId: string, userId?: string): Promise<boolean> {
    const where = { id: sessionId, ...(userId === undefined ? {} : { userId }) };
    const { count } = await this.#options.db.session.deleteMany({ where });
    // Only existing sessions are announced: callers choose the id, and the id ANYTHING means all sessions.
    if (count > 0) await this.#options.changes.announce('session', sessionId);
    return count > 0;
  }

  /** Returns the number of ended sessions. */
  async endAll(userId: string, exceptSession?: string): Promise<number> {
    const { count } = await this.#options.db.session.deleteMany({
      where: { userId, ...(exceptSession === undefined ? {} : { id: { not: exceptSession } }) },
    });
    if (count > 0) await this.#options.changes.announce('user', userId);
    return count;
  }

  /** Ends all local sessions except those of the user with this address. Returns the number of ended sessions. */
  async endLocal(exceptEmail: string): Promise<number> {
    const where = { provider: null, user: { email: { not: exceptEmail } } };
    const found = await this.#options.db.session.findMany({ where, select: { userId: true }, distinct: ['userId'] });
    const { count } = await this.#options.db.session.deleteMany({ where });
    for (const { userId } of found) await this.#options.changes.announce('user', userId);
    return count;
  }
}

const changedMeanwhile = () => new ServiceError('UNAUTHORIZED', 'The account changed while you signed in; try again');
