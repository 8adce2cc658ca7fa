import type { Session } from '../../generated/sqlite/client.ts';
import { ServiceError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Changes } from '../storage/changes.ts';
import type { Database } from '../storage/database.ts';
import { hashSecret, newSecret } from './secrets.ts';

const HOUR_MS = 3_600_000;
/** A session ends this long after its last use … */
const SESSION_IDLE_MS = 24 * HOUR_MS;
/** … and this long after the log-in in any case. */
const SESSION_LIFETIME_MS = 30 * 24 * HOUR_MS;
/** Programs that log in for each of their calls have many. */
const MAX_LISTED = 1_000;

/** What a session was allowed with. It is opened only while that is still so. */
export interface SessionGround {
  /** The password's hash that was checked: a log-in with a password that is being changed must not outlive the change. */
  readonly passwordHash?: string;
  /** Since when the second factor was asked for; null: there was none. */
  readonly secondFactorSince?: Date | null;
  /** Where the person signed in; absent: here. */
  readonly provider?: string;
  /** Of the caller, to tell sessions apart. */
  readonly address?: string;
}

export interface OpenedSession {
  /** To be sent as bearer; only its hash is kept. */
  readonly token: string;
  readonly expiresAt: Date;
  readonly userId: string;
}

/** When a session ends that is used at this time; epoch milliseconds. */
export const sessionEnd = (usedAt: number, createdAt: number): Date =>
  new Date(Math.min(usedAt + SESSION_IDLE_MS, createdAt + SESSION_LIFETIME_MS));

export interface SessionsOptions {
  readonly db: Database;
  readonly changes: Changes;
  /** Told of each, with where the person signed in; null: here. */
  readonly onOpened?: (provider: string | null) => void;
}

/** The log-ins of people: opened, listed, ended. Ended ones are announced, so that what was opened with them ends everywhere. */
export class Sessions {
  readonly #db: Database;
  readonly #changes: Changes;

  readonly #onOpened: (provider: string | null) => void;

  constructor({ db, changes, onOpened = () => undefined }: SessionsOptions) {
    this.#db = db;
    this.#changes = changes;
    this.#onOpened = onOpened;
  }

  /** Errors: UNAUTHORIZED when the ground is gone. */
  async open(userId: string, ground: SessionGround = {}): Promise<OpenedSession> {
    const { passwordHash, secondFactorSince, provider = null, address = null } = ground;
    const token = newSecret('session');
    const now = new Date();
    const expiresAt = sessionEnd(now.getTime(), now.getTime());
    await this.#db.$transaction(async (db) => {
      if (passwordHash !== undefined) {
        const where = {
          id: userId,
          passwordHash,
          ...(secondFactorSince === undefined ? {} : { totpSince: secondFactorSince }),
        };
        // Writes what is there: the lock on the row keeps a change of the password waiting until the session is written.
        const { count } = await db.user.updateMany({ where, data: { passwordHash } });
        if (count === 0) throw changedMeanwhile();
      }
      await db.session.deleteMany({ where: { userId, expiresAt: { lte: now } } });
      await db.session.create({
        data: {
          id: newId('session'),
          userId,
          tokenHash: hashSecret(token),
          provider,
          address,
          createdAt: now,
          lastUsedAt: now,
          expiresAt,
        },
      });
    });
    this.#onOpened(provider);
    return { token, expiresAt, userId };
  }

  /** Those that have not ended, the one used last first; at most MAX_LISTED. */
  async of(userId: string): Promise<Session[]> {
    return this.#db.session.findMany({
      where: { userId, expiresAt: { gt: new Date() } },
      orderBy: [{ lastUsedAt: 'desc' }, { id: 'desc' }],
      take: MAX_LISTED,
    });
  }

  /** Ends one session, if it is one of `userId`, where given. Whether it was there. */
  async end(sessionId: string, userId?: string): Promise<boolean> {
    const where = { id: sessionId, ...(userId === undefined ? {} : { userId }) };
    const { count } = await this.#db.session.deleteMany({ where });
    // Of what was there alone: callers choose the id, and one of them means all.
    if (count > 0) await this.#changes.announce('session', sessionId);
    return count > 0;
  }

  /** Ends all sessions of a person, but for the one named; so many. */
  async endAll(userId: string, exceptSession?: string): Promise<number> {
    const { count } = await this.#db.session.deleteMany({
      where: { userId, ...(exceptSession === undefined ? {} : { id: { not: exceptSession } }) },
    });
    if (count > 0) await this.#changes.announce('user', userId);
    return count;
  }

  /** Ends the sessions of everybody who signed in here, but for the person with this address; so many. */
  async endLocal(exceptEmail: string): Promise<number> {
    const where = { provider: null, user: { email: { not: exceptEmail } } };
    const found = await this.#db.session.findMany({ where, select: { userId: true }, distinct: ['userId'] });
    const { count } = await this.#db.session.deleteMany({ where });
    for (const { userId } of found) await this.#changes.announce('user', userId);
    return count;
  }
}

const changedMeanwhile = () => new ServiceError('UNAUTHORIZED', 'The account changed while you signed in; try again');
