import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { notFound, ServiceError } from '../errors.ts';
import { Bursts } from '../limits/bursts.ts';
import { networkOf } from '../limits/network.ts';
import { ANYTHING, type Changes } from '../storage/changes.ts';
import type { Database } from '../storage/database.ts';
import type { Sealer } from '../storage/sealed.ts';
import { Admission } from './admission.ts';
import { Attempts } from './attempts.ts';
import { KnownNetworks } from './known-networks.ts';
import type { PasswordDirectory } from './password-directory.ts';
import { type Credentials, PasswordSignIn } from './password-sign-in.ts';
import { type RightsCheck, type RightsGuard, RightsGuards } from './rights-guards.ts';
import { SecondFactors } from './second-factors.ts';
import { hashSecret, kindOfSecret, type SecretKind, unknownCredential } from './secrets.ts';
import { type OpenedSession, type SessionGround, Sessions, sessionEnd } from './sessions.ts';
import { SignInCounts } from './sign-in-counts.ts';
import { roleIn, type Viewer } from './viewer.ts';
import { type LoadedViewer, loadViewer, type RolesElsewhere } from './viewer-loader.ts';

/** Uses of a credential are written at most this often. */
const TOUCH_MS = 60_000;
/** Callers kept resolved; the longest unused is resolved anew. Also refreshed after `CACHE_MS`, as a net below notifications. */
const CACHED_VIEWERS = 10_000;
const CACHE_MS = 60_000;
/** Secrets that nobody has, kept so that sending one again costs a look; the longest unused is looked up anew. */
const UNKNOWN_SECRETS = 10_000;
/** Look-ups of secrets at once, whoever floods the service with new ones. */
const LOOK_UPS = { maxRunning: 16, maxWaiting: 10_000, what: 'sessions and tokens that have to be looked up' } as const;
/** Unknown secrets of one caller in a row; fewer are a session that has ended. */
const BURST_FROM = 5;
/**
 * What rights come from. Tokens and members go with their project; owners and members change with the person. Whatever else a project
 * has, its name or its settings, is in no viewer: see projectChanged.
 */
const RIGHTS_KINDS = ['user', 'session', 'token', 'project-removed', 'organisation', 'sign-in-rule'] as const;

/** Kind of change whose id is the log-in name of an account that is unlocked. */
const UNLOCKED = 'sign-in-unlocked';

interface CachedViewer extends LoadedViewer {
  touchedAt: number;
}

export interface AuthOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly sealer: Pick<Sealer, 'seal' | 'open'>;
  readonly log: Logger;
  /** Asked for people who have no password here. */
  readonly directory?: PasswordDirectory | null;
  /** In lower case: the only person who may use a password of this service, a root administrator; default: everybody who has one. */
  readonly onlyEmail?: string | null;
  /** Of people who signed in elsewhere. Default: none. */
  readonly rolesElsewhere?: RolesElsewhere;
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
  readonly #rolesElsewhere: RolesElsewhere;
  readonly #log: Logger;
  readonly #cache = new LRUCache<string, CachedViewer>({ max: CACHED_VIEWERS, ttl: CACHE_MS });
  readonly #secretOf = new WeakMap<Viewer, { readonly kind: SecretKind; readonly hash: string }>();
  readonly #unknown = new LRUCache<string, true>({ max: UNKNOWN_SECRETS, ttl: CACHE_MS });
  readonly #lookUps = new Admission(LOOK_UPS);
  readonly #guards: RightsGuards;
  readonly #attempts: Attempts;
  readonly #knownNetworks: KnownNetworks;
  readonly #refusals: Bursts<string>;
  readonly signInCounts = new SignInCounts();
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly passwords: PasswordSignIn;
  readonly #stops: (() => void)[];
  readonly #touching = new Set<Promise<unknown>>();
  /** Grows with each invalidation: what was read before one must not be cached after it. */
  #generation = 0;

  constructor({
    db,
    changes,
    sealer,
    log,
    directory = null,
    onlyEmail = null,
    rolesElsewhere = async () => [],
  }: AuthOptions) {
    this.#db = db;
    this.#changes = changes;
    this.#rolesElsewhere = rolesElsewhere;
    this.#log = log;
    this.sessions = new Sessions({ db, changes, onOpened: (provider) => this.signInCounts.opened(provider) });
    this.secondFactors = new SecondFactors({ db, changes, sealer });
    this.#knownNetworks = new KnownNetworks(db);
    this.#attempts = new Attempts(log, this.#knownNetworks);
    this.passwords = new PasswordSignIn({
      db,
      sessions: this.sessions,
      secondFactors: this.secondFactors,
      attempts: this.#attempts,
      knownNetworks: this.#knownNetworks,
      directory,
      onlyEmail,
      counts: this.signInCounts,
    });
    this.#refusals = unknownSecrets(log);
    this.#guards = new RightsGuards({
      read: (viewer) => this.#readAgain(viewer),
      isCurrent: (viewer) => this.#isCurrent(viewer),
      log,
    });
    this.#stops = [
      ...RIGHTS_KINDS.map((kind) => changes.on(kind, (id) => this.#invalidate(kind, id))),
      changes.on(UNLOCKED, (account) => this.#attempts.unlock(account)),
    ];
  }

  /**
   * The caller behind an `Authorization` header; null when there is none. `address`: where it came from, to tell of bursts.
   * Errors: UNAUTHORIZED for another scheme and for secrets that are unknown, expired or revoked; RATE_LIMITED for too many unknown ones.
   */
  viewerOf(authorization: string | undefined, address = ''): Viewer | null | Promise<Viewer> {
    if (authorization === undefined) return null;
    if (!/^bearer /i.test(authorization)) {
      throw new ServiceError('UNAUTHORIZED', 'Send credentials as "Authorization: Bearer <token>"');
    }
    return this.viewerOfSecret(authorization.slice(7).trim(), address);
  }

  viewerOfSecret(secret: string, address = ''): Viewer | Promise<Viewer> {
    const kind = kindOfSecret(secret);
    if (kind === null) throw this.#refused(address);
    const hash = hashSecret(secret);
    const cached = this.#cache.get(hash);
    if (cached === undefined || cached.viewer.expiresAt <= Date.now()) return this.#find(kind, hash, address);
    this.#touch(kind, cached);
    return cached.viewer;
  }

  /** See PasswordSignIn. */
  login(credentials: Credentials, address: string): Promise<OpenedSession> {
    return this.passwords.login(credentials, address);
  }

  /** See Sessions. */
  openSession(userId: string, ground?: SessionGround): Promise<OpenedSession> {
    return this.sessions.open(userId, ground);
  }

  /** Ends the session of this viewer. A project token cannot log out; it is revoked. */
  async logout(viewer: Viewer): Promise<void> {
    if (viewer.kind !== 'USER')
      throw new ServiceError('INVALID', 'A project token has no session to end; revoke it instead');
    await this.sessions.end(viewer.credentialId);
  }

  /** Checks a person's password without opening a session; throttled like a log-in. */
  confirmPassword(userId: string, password: string, address: string): Promise<boolean> {
    return this.passwords.confirm(userId, { password }, address);
  }

  /** Ends the waits of a person after failed log-ins, in all processes. Errors: NOT_FOUND. */
  async unlock(userId: string): Promise<void> {
    const user = await this.#db.user.findUnique({ where: { id: userId } });
    if (user === null) throw notFound('user', userId);
    const accounts = new Set([user.email, ...(await this.#knownNetworks.accountsOf(userId))]);
    for (const account of accounts) await this.#changes.announce(UNLOCKED, account);
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

  /** What was allowed there is looked at again, with the project as it is now; nothing is, once it was removed. */
  projectChanged(projectId: string): void {
    this.#guards.recheck((viewer) => roleIn(viewer, projectId) !== null);
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#attempts.close();
    this.#refusals.close();
    await this.#guards.close();
    await Promise.allSettled(this.#touching);
  }

  #refused(address: string): ServiceError {
    this.#refusals.add(networkOf(address), address);
    return unknownCredential();
  }

  /** What nobody has costs one look-up, however often it is sent, and only so many at once. */
  async #find(kind: SecretKind, hash: string, address: string): Promise<Viewer> {
    if (this.#unknown.has(hash)) throw this.#refused(address);
    try {
      return await this.#lookUps.run(networkOf(address), () => this.#load(kind, hash));
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'UNAUTHORIZED') throw this.#refused(address);
      throw error;
    }
  }

  async #load(kind: SecretKind, hash: string): Promise<Viewer> {
    const cached = await this.#read(kind, hash);
    if (cached === null) throw unknownCredential();
    this.#touch(kind, cached);
    return cached.viewer;
  }

  async #read(kind: SecretKind, hash: string): Promise<CachedViewer | null> {
    const generation = this.#generation;
    const loaded = await loadViewer(this.#db, this.#rolesElsewhere, kind, hash);
    if (loaded === null) {
      if (generation === this.#generation) this.#unknown.set(hash, true);
      return null;
    }
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
    const { id: tokenId, credentialId: id } = cached.viewer;
    const lastUsedAt = new Date(now);
    const expiresAt = sessionEnd(now, cached.createdAt);
    const written =
      kind === 'session'
        ? this.#db.session.updateMany({ where: { id }, data: { lastUsedAt, expiresAt } })
        : this.#db.projectToken.updateMany({ where: { id: tokenId }, data: { lastUsedAt } });
    const tracked = Promise.resolve(written)
      .catch((error: unknown) => this.#log.warn({ err: error }, 'the use of a credential could not be noted'))
      .finally(() => this.#touching.delete(tracked));
    this.#touching.add(tracked);
  }

  #invalidate(kind: (typeof RIGHTS_KINDS)[number], id: string): void {
    this.#generation += 1;
    this.#unknown.clear();
    const concerns = (viewer: Viewer): boolean => {
      if (id === ANYTHING || kind === 'organisation') return true;
      if (kind === 'user') return viewer.kind === 'USER' && viewer.id === id;
      if (kind === 'project-removed') return roleIn(viewer, id) !== null;
      // Who has no role in its project may have one by it now.
      if (kind === 'sign-in-rule') return viewer.kind === 'USER';
      // Of a token both secrets, while it has two.
      return kind === 'token' ? viewer.id === id : viewer.credentialId === id;
    };
    for (const [hash, { viewer }] of this.#cache.entries()) if (concerns(viewer)) this.#cache.delete(hash);
    if (id === ANYTHING || kind === 'project-removed') this.#guards.doubtful(concerns);
    else if (kind === 'sign-in-rule') {
      this.#guards.doubtful((viewer) => concerns(viewer) && roleIn(viewer, id) !== null);
    }
    // Whoever loses something by a change of an organisation is told of as a person; the others only gain.
    else if (kind !== 'organisation') this.#guards.changed(concerns);
  }
}

function unknownSecrets(log: Logger): Bursts<string> {
  return new Bursts({
    from: BURST_FROM,
    onBegin: (address, count) => log.warn({ address, count }, 'unknown sessions or tokens are being sent'),
    onEnd: (address, count, seconds) =>
      log.warn({ address, count, seconds }, 'no more unknown sessions or tokens are being sent'),
  });
}
