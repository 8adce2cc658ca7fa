import { ServiceError } from '../errors.ts';
import type { Changes } from '../storage/changes/changes.ts';
import type { Database } from '../storage/database.ts';
import type { LoginAttempts } from './login-attempts.ts';
import { NetworkQueue } from './network-queue.ts';
import { hashPassword } from './passwords.ts';
import { hashSecret, newSecret } from './secrets.ts';
import type { OpenedSession, Sessions } from './sessions.ts';

const VALID_MS = 7 * 24 * 3_600_000;
/** Each one hashes a password, like a log-in. */
const CHECKS = { maxRunning: 1, maxWaiting: 100 } as const;

interface InvitationsOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly sessions: Sessions;
  readonly attempts: LoginAttempts;
  /** Lower-case address of the only user with a valid local password; or `null`. */
  readonly onlyEmail: string | null;
}

export interface Invitation {
  /** Only its hash is stored. */
  readonly secret: string;
  readonly expiresAt: Date;
}

/** Invitations set the first password of a user, once, within a week. */
export class Invitations {
  readonly #options: InvitationsOptions;
  readonly #checks = new NetworkQueue(CHECKS);

  constructor(options: InvitationsOptions) {
    this.#options = options;
  }

  /** Throws NOT_ALLOWED where an invited user could not use the password. */
  requirePasswords(): void {
    if (this.#options.onlyEmail === null) return;
    throw new ServiceError('NOT_ALLOWED', 'Passwords are switched off, so an invited user could not sign in');
  }

  /**
   * Replaces the previous invitation of the user. Errors: ALREADY_EXISTS if the user has a password, a second factor or
   * an external provider.
   */
  async create(userId: string, needsSecondFactor: boolean): Promise<Invitation> {
    const secret = newSecret('invitation');
    const expiresAt = new Date(Date.now() + VALID_MS);
    const { count } = await this.#options.db.user.updateMany({
      where: { id: userId, passwordHash: null, ssoType: null, totpSince: null },
      data: { invitation: hashSecret(secret), invitedUntil: expiresAt, needsTotp: needsSecondFactor },
    });
    if (count === 0) throw new ServiceError('ALREADY_EXISTS', 'The user can sign in already');
    return { secret, expiresAt };
  }

  /**
   * Sets the password and opens a session. Throttled like a log-in. Errors: UNAUTHORIZED (the same for an unknown, used
   * and expired invitation), INVALID (the password), RATE_LIMITED.
   */
  async accept(secret: string, password: string, address: string): Promise<OpenedSession> {
    const { db, changes, sessions, attempts } = this.#options;
    const invitation = hashSecret(secret);
    let opened: OpenedSession | null = null;
    const queues = { strangers: this.#checks, trusted: this.#checks };
    // Guesses are counted for their network: each one is at another secret.
    await attempts.run({ account: `invitation ${invitation}`, userId: null, address }, queues, async () => {
      const user = await db.user.findUnique({ where: { invitation } });
      if (user === null) return false;
      const passwordHash = await hashPassword(password);
      const { count } = await db.user.updateMany({
        where: { id: user.id, invitation, invitedUntil: { gt: new Date() } },
        data: { passwordHash, ...NO_INVITATION },
      });
      if (count === 0) return false;
      await changes.announce('user', user.id);
      opened = await sessions.open(user.id, { passwordHash, secondFactorSince: null, address });
      return true;
    });
    if (opened === null) throw new ServiceError('UNAUTHORIZED', 'The invitation is unknown, expired or was used');
    return opened;
  }
}

/** What replaces an invitation when the user gets another way to sign in. */
export const NO_INVITATION = { invitation: null, invitedUntil: null } as const;
