import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { ServiceError } from '../errors.ts';
import { newId } from '../ids.ts';
import { ANYTHING, type Changes } from '../storage/changes.ts';
import type { Database } from '../storage/database.ts';
import { LoginThrottle } from './login-throttle.ts';
import { PasswordChecker } from './passwords.ts';
import { type RightsCheck, type RightsGuard, RightsGuards } from './rights-guards.ts';
import { hashSecret, kindOfSecret, newSecret, type SecretKind, unknownCredential } from './secrets.ts';
import { Turns } from './turns.ts';
import { roleIn, type Viewer } from './viewer.ts';
import { type LoadedViewer, loadViewer } from './viewer-loader.ts';

const HOUR_MS = 3_600_000;
/** A session ends this long after its last use … */
const SESSION_IDLE_MS = 24 * HOUR_MS;
/** … and this long after the log-in in any case. */
const SESSION_LIFETIME_MS = 30 * 24 * HOUR_MS;
/** Uses of a credential are written at most this often. */
const TOUCH_MS = 60_000;
/** Callers kept resolved; the longest unused is resolved anew. Also refreshed after `CACHE_MS`, as a net below notifications. */
const CACHED_VIEWERS = 10_000;
const CACHE_MS = 60_000;
/** Passwords checked at once; hashing takes a thread of libuv's four and 19 MiB for each. */
const PASSWORD_CHECKS = { atOnce: 2, mayWait: 200 } as const;
/** What rights come from. Owners and tokens change with their project, too; members with the person. */
const RIGHTS_KINDS = ['user', 'session', 'token', 'project', 'organisation'] as const;

interface CachedViewer extends LoadedViewer {
  touchedAt: number;
}

export interface AuthOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly log: Logger;
}

/**
 * Who is calling: turns bearer secrets into viewers, and tells long-lived operations when what they were allowed with ends.
 *
 * Viewers are cached by the hash of their secret and dropped as soon as anything they were made from changes: here, or in
 * another process by the database's notifications.
 */
export class AuthService {
  readonly #db: Database;
  readonly #changes: Changes;
  readonly #log: Logger;
  readonly #cache = new LRUCache<string, CachedViewer>({ max: CACHED_VIEWERS, ttl: CACHE_MS });
  readonly #secretOf = new WeakMap<Viewer, { readonly kind: SecretKind; readonly hash: string }>();
  readonly #guards: RightsGuards;
  readonly #passwords = new PasswordChecker();
  readonly #throttle = new LoginThrottle();
  readonly #turns = new Turns(PASSWORD_CHECKS);
  readonly #stops: (() => void)[];
  readonly #touching = new Set<Promise<unknown>>();
  /** Grows with each invalidation: what was read before one must not be cached after it. */
  #generation = 0;

  constructor({ db, changes, log }: AuthOptions) {
    this.#db = db;
    this.#changes = changes;
    this.#log = log;
    this.#guards = new RightsGuards({
      read: (viewer) => this.#readAgain(viewer),
      isCurrent: (viewer) => this.#isCurrent(viewer),
      log,
    });
    this.#stops = RIGHTS_KINDS.map((kind) => changes.on(kind, (id) => this.#invalidate(kind, id)));
  }

  /**
   * The caller behind an `Authorization` header; null when there is none.
   * Errors: UNAUTHORIZED for another scheme and for secrets that are unknown, expired or revoked.
   */
  viewerOf(authorization: string | undefined): Viewer | null | Promise<Viewer> {
    if (authorization === undefined) return null;
    if (!/^bearer /i.test(authorization)) {
      throw new ServiceError('UNAUTHORIZED', 'Send credentials as "Authorization: Bearer <token>"');
    }
    return this.viewerOfSecret(authorization.slice(7).trim());
  }

  viewerOfSecret(secret: string): Viewer | Promise<Viewer> {
    const kind = kindOfSecret(secret);
    if (kind === null) throw unknownCredential();
    const hash = hashSecret(secret);
    const cached = this.#cache.get(hash);
    if (cached === undefined || cached.viewer.expiresAt <= Date.now()) return this.#load(kind, hash);
    this.#touch(kind, cached);
    return cached.viewer;
  }

  /**
   * Errors: UNAUTHORIZED (the same whether the account or the password is wrong, and as slow), RATE_LIMITED.
   */
  async login(
    { email, password }: { readonly email: string; readonly password: string },
    address: string,
  ): Promise<{ readonly token: string; readonly expiresAt: Date; readonly userId: string }> {
    const account = email.trim().toLowerCase();
    const user = await this.#db.user.findUnique({ where: { email: account } });
    const passwordHash = user?.passwordHash ?? null;
    const matches = await this.#checkPassword(passwordHash, password, account, address);
    if (!matches || user === null || passwordHash === null) throw wrongLogin();
    return this.openSession(user.id, passwordHash);
  }

  /**
   * With `passwordHash`: only while that is still the person's. A log-in with a password that is being changed meanwhile must not
   * outlive the change, which ends the sessions there are. Errors: UNAUTHORIZED.
   */
  async openSession(
    userId: string,
    passwordHash?: string,
  ): Promise<{ readonly token: string; readonly expiresAt: Date; readonly userId: string }> {
    const token = newSecret('session');
    const now = new Date();
    const expiresAt = new Date(now.getTime() + SESSION_IDLE_MS);
    await this.#db.$transaction(async (db) => {
      if (passwordHash !== undefined) {
        // Writes what is there: the lock on the row keeps a change of the password waiting until the session is written.
        const { count } = await db.user.updateMany({ where: { id: userId, passwordHash }, data: { passwordHash } });
        if (count === 0) throw wrongLogin();
      }
      await db.session.deleteMany({ where: { userId, expiresAt: { lte: now } } });
      await db.session.create({
        data: {
          id: newId('session'),
          userId,
          tokenHash: hashSecret(token),
          createdAt: now,
          lastUsedAt: now,
          expiresAt,
        },
      });
    });
    return { token, expiresAt, userId };
  }

  /** Ends the session of this viewer. A project token cannot log out; it is revoked. */
  async logout(viewer: Viewer): Promise<void> {
    if (viewer.kind !== 'USER')
      throw new ServiceError('INVALID', 'A project token has no session to end; revoke it instead');
    await this.#db.session.deleteMany({ where: { id: viewer.credentialId } });
    await this.#changes.announce('session', viewer.credentialId);
  }

  /** Checks a person's password without opening a session; throttled like a log-in. */
  async confirmPassword(userId: string, password: string, address: string): Promise<boolean> {
    const user = await this.#db.user.findUnique({ where: { id: userId } });
    return this.#checkPassword(user?.passwordHash ?? null, password, user?.email ?? userId, address);
  }

  /** The viewer with the rights that its credential has now. Errors: UNAUTHORIZED when it has ended. */
  async refreshed(viewer: Viewer): Promise<Viewer> {
    const secret = this.#secretOf.get(viewer);
    return secret === undefined ? viewer : this.#load(secret.kind, secret.hash);
  }

  /**
   * Watches what a long-lived operation was allowed with. `check` throws what the caller would get; it runs again, with the
   * viewer as it is then, whenever something it was made from changes and when the credential expires.
   * Errors: RATE_LIMITED for too many at once.
   */
  guard(viewer: Viewer, check: RightsCheck): RightsGuard {
    return this.#guards.guard(viewer, check);
  }

  /** Long-lived operations that are watched now. */
  get guardCount(): number {
    return this.#guards.count;
  }

  /** What was allowed there ends. Everybody else hears of it by the change of the project, but a root administrator keeps the role. */
  projectRemoved(projectId: string): void {
    this.#guards.recheck((viewer) => roleIn(viewer, projectId) !== null);
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#guards.close();
    await Promise.allSettled(this.#touching);
  }

  /** Asks the throttle again when its turn comes: whoever waited may have failed meanwhile. */
  async #checkPassword(hash: string | null, password: string, account: string, address: string): Promise<boolean> {
    this.#throttle.check(account, address);
    return this.#turns.run(async () => {
      this.#throttle.check(account, address);
      const matches = await this.#passwords.matches(hash, password);
      if (matches) this.#throttle.succeeded(account);
      else if (this.#throttle.failed(account, address)) this.#log.warn({ address }, 'log-ins are failing; slowed down');
      return matches;
    });
  }

  async #load(kind: SecretKind, hash: string): Promise<Viewer> {
    const cached = await this.#read(kind, hash);
    if (cached === null) throw unknownCredential();
    this.#touch(kind, cached);
    return cached.viewer;
  }

  async #read(kind: SecretKind, hash: string): Promise<CachedViewer | null> {
    const generation = this.#generation;
    const loaded = await loadViewer(this.#db, kind, hash);
    if (loaded === null) return null;
    const cached = { ...loaded, touchedAt: loaded.lastUsedAt };
    if (generation === this.#generation) this.#cache.set(hash, cached);
    this.#secretOf.set(loaded.viewer, { kind, hash });
    return cached;
  }

  /** For a guard: what stays open is no use of the credential, and does not prolong it. */
  async #readAgain(viewer: Viewer): Promise<Viewer | null> {
    if (viewer.kind === 'OPERATOR') return viewer;
    const secret = this.#secretOf.get(viewer);
    return secret === undefined ? null : ((await this.#read(secret.kind, secret.hash))?.viewer ?? null);
  }

  #isCurrent(viewer: Viewer): boolean {
    if (viewer.kind === 'OPERATOR') return true;
    const secret = this.#secretOf.get(viewer);
    return secret !== undefined && this.#cache.peek(secret.hash)?.viewer === viewer;
  }

  /** Slides the session's end, or notes the token's use; not waited for, since losing one such note costs nothing. */
  #touch(kind: SecretKind, cached: CachedViewer): void {
    const now = Date.now();
    if (now - cached.touchedAt < TOUCH_MS) return;
    cached.touchedAt = now;
    const id = cached.viewer.credentialId;
    const lastUsedAt = new Date(now);
    const expiresAt = new Date(Math.min(now + SESSION_IDLE_MS, cached.createdAt + SESSION_LIFETIME_MS));
    const written =
      kind === 'session'
        ? this.#db.session.updateMany({ where: { id }, data: { lastUsedAt, expiresAt } })
        : this.#db.projectToken.updateMany({ where: { id }, data: { lastUsedAt } });
    const tracked = Promise.resolve(written)
      .catch((error: unknown) => this.#log.warn({ err: error }, 'the use of a credential could not be noted'))
      .finally(() => this.#touching.delete(tracked));
    this.#touching.add(tracked);
  }

  #invalidate(kind: (typeof RIGHTS_KINDS)[number], id: string): void {
    this.#generation += 1;
    const concerns = (viewer: Viewer): boolean => {
      if (id === ANYTHING || kind === 'organisation') return true;
      if (kind === 'user') return viewer.kind === 'USER' && viewer.id === id;
      if (kind === 'project') return roleIn(viewer, id) !== null;
      return viewer.credentialId === id;
    };
    for (const [hash, { viewer }] of this.#cache.entries()) if (concerns(viewer)) this.#cache.delete(hash);
    if (id === ANYTHING || kind === 'project') this.#guards.doubtful(concerns);
    // Whoever loses something by a change of an organisation is told of as a person; the others only gain.
    else if (kind !== 'organisation') this.#guards.changed(concerns);
  }
}

const wrongLogin = () => new ServiceError('UNAUTHORIZED', 'The e-mail address or the password is wrong');
