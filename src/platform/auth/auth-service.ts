import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { notFound, ServiceError } from '../errors.ts';
import { Bursts } from '../limits/bursts.ts';
import { entryLimit } from '../limits/entry-limit.ts';
import { networkOf } from '../limits/network.ts';
import { ANYTHING, type Changes } from '../storage/changes/changes.ts';
import type { Database, Engine } from '../storage/database.ts';
import type { Sealer } from '../storage/encryption/sealed.ts';
import { Invitations } from './invitations.ts';
import { KnownNetworks } from './known-networks.ts';
import { LoginAttempts } from './login-attempts.ts';
import { NetworkQueue } from './network-queue.ts';
import type { PasswordDirectory } from './password-directory.ts';
import { PasswordSignIn } from './password-sign-in.ts';
import { RightsGuards } from './rights-guards.ts';
import { SecondFactors } from './second-factors.ts';
import { hashSecret, kindOfSecret, type SecretKind, unknownCredential } from './secrets.ts';
import { Sessions, sessionEnd } from './sessions.ts';
import { SignInCounts } from './sign-in-counts.ts';
import { roleIn, type Viewer } from './viewer.ts';
import { type ClaimRoles, type LoadedViewer, loadViewer } from './viewer-loader.ts';

const TOUCH_MS = 60_000;
const MAX_CACHED_VIEWERS = 10_000;
const CACHE_MS = 60_000;
/** A cached unknown secret is refused without a database query. */
const MAX_UNKNOWN_SECRETS = 10_000;
const LOOK_UPS = { maxRunning: 16, maxWaiting: 10_000, what: 'look-ups of sessions and tokens' } as const;
/** Unknown secrets in a row, of one caller, that are logged. Fewer are an expired session. */
const BURST_FROM = 5;
/** Kinds of changes that affect viewers. Changes of owners and members are announced for the user. */
const RIGHTS_KINDS = ['user', 'session', 'token', 'project-removed', 'organization', 'sign-in-rule'] as const;

/** The id is the log-in name of an unlocked account. */
const UNLOCKED = 'sign-in-unlocked';

interface CachedViewer extends LoadedViewer {
  touchedAt: number;
}

interface AuthOptions {
  readonly db: Database;
  readonly engine: Engine;
  readonly changes: Changes;
  readonly sealer: Pick<Sealer, 'seal' | 'open' | 'sign'>;
  readonly log: Logger;
  readonly directory?: PasswordDirectory | null;
  /** Lower case. Default: all users may. */
  readonly onlyEmail?: string | null;
  readonly claimRoles?: ClaimRoles;
}

/**
 * Resolves bearer secrets to viewers, and ends long-lived operations when their rights end. Viewers are cached by the
 * hash of their secret, and evicted as soon as one of their rows changes in any process.
 */
export class AuthService {
  readonly #options: AuthOptions;
  readonly #cache = new LRUCache<string, CachedViewer>({ ...entryLimit(MAX_CACHED_VIEWERS), ttl: CACHE_MS });
  readonly #secretOf = new WeakMap<Viewer, { readonly kind: SecretKind; readonly hash: string }>();
  readonly #unknown = new LRUCache<string, true>({ ...entryLimit(MAX_UNKNOWN_SECRETS), ttl: CACHE_MS });
  readonly #lookUps = new NetworkQueue(LOOK_UPS);
  readonly guards: RightsGuards;
  readonly #attempts: LoginAttempts;
  readonly #knownNetworks: KnownNetworks;
  readonly #refusals: Bursts<string>;
  readonly signInCounts = new SignInCounts();
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly passwords: PasswordSignIn;
  readonly invitations: Invitations;
  readonly #stops: (() => void)[];
  readonly #touching = new Set<Promise<unknown>>();
  /** Increases with each invalidation: a viewer that was read before an invalidation must not be cached after it. */
  #generation = 0;

  constructor(options: AuthOptions) {
    const { db, engine, changes, sealer, log, directory = null, onlyEmail = null } = options;
    this.#options = options;
    this.sessions = new Sessions({ db, engine, changes, onOpened: (provider) => this.signInCounts.opened(provider) });
    this.secondFactors = new SecondFactors({ db, changes, sealer });
    this.#knownNetworks = new KnownNetworks(db);
    this.#attempts = new LoginAttempts({
      known: this.#knownNetworks,
      shared: engine === 'postgresql' ? { db, sealer } : null,
      log,
    });
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
    const { sessions } = this;
    this.invitations = new Invitations({ db, changes, sessions, attempts: this.#attempts, onlyEmail });
    this.#refusals = unknownSecrets(log);
    this.guards = new RightsGuards({
      read: (viewer) => this.#readAgain(viewer),
      isCurrent: (viewer) => this.#isCurrent(viewer),
      log,
    });
    this.#stops = [
      ...RIGHTS_KINDS.map((kind) => changes.on(kind, (id) => this.#invalidate(kind, id))),
      changes.on(UNLOCKED, (account) => this.#attempts.unlocked(account)),
    ];
  }

  /**
   * `null` without a header. Errors: UNAUTHORIZED for another scheme and for secrets that are unknown, expired or
   * revoked; RATE_LIMITED for too many look-ups.
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

  /** Ends the session of this viewer. Errors: INVALID for a project token. */
  async logout(viewer: Viewer): Promise<void> {
    if (viewer.kind !== 'USER')
      throw new ServiceError('INVALID', 'A project token has no session to end; revoke it instead');
    await this.sessions.end(viewer.credentialId);
  }

  /** Ends the waits of a user after failed log-ins, in all processes. Errors: NOT_FOUND. */
  async unlock(userId: string): Promise<void> {
    const user = await this.#options.db.user.findUnique({ where: { id: userId } });
    if (user === null) throw notFound('user', userId);
    const accounts = new Set([user.email, ...(await this.#knownNetworks.accountsOf(userId))]);
    for (const account of accounts) {
      await this.#attempts.unlock(account);
      await this.#options.changes.announce(UNLOCKED, account);
    }
  }

  /** Errors: UNAUTHORIZED if the credential has ended. */
  async refreshed(viewer: Viewer): Promise<Viewer> {
    const secret = this.#secretOf.get(viewer);
    return secret === undefined ? viewer : this.#load(secret.kind, secret.hash);
  }

  /** Checks the operations of callers with a role in this project again. */
  projectChanged(projectId: string): void {
    this.guards.recheck((viewer) => roleIn(viewer, projectId) !== null);
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#attempts.close();
    this.#refusals.close();
    await this.guards.close();
    await Promise.allSettled(this.#touching);
  }

  #refused(address: string): ServiceError {
    this.#refusals.add(networkOf(address), address);
    return unknownCredential();
  }

  /** An unknown secret costs one query however often it is sent. */
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
    const { db, claimRoles = async () => [] } = this.#options;
    const loaded = await loadViewer(db, claimRoles, kind, hash);
    if (loaded === null) {
      if (generation === this.#generation) this.#unknown.set(hash, true);
      return null;
    }
    const cached = { ...loaded, touchedAt: loaded.lastUsedAt };
    if (generation === this.#generation) this.#cache.set(hash, cached);
    this.#secretOf.set(loaded.viewer, { kind, hash });
    return cached;
  }

  /** An open operation does not prolong the session. */
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

  /** Extends the session or records the use of the token. Callers do not wait for the write: losing one is harmless. */
  #touch(kind: SecretKind, cached: CachedViewer): void {
    const now = Date.now();
    if (now - cached.touchedAt < TOUCH_MS) return;
    cached.touchedAt = now;
    const { id: tokenId, credentialId: id } = cached.viewer;
    const { db, log } = this.#options;
    const lastUsedAt = new Date(now);
    const expiresAt = sessionEnd(now, cached.createdAt);
    const written =
      kind === 'session'
        ? db.session.updateMany({ where: { id }, data: { lastUsedAt, expiresAt } })
        : db.projectToken.updateMany({ where: { id: tokenId }, data: { lastUsedAt } });
    const tracked = Promise.resolve(written)
      .catch((error: unknown) => log.warn({ err: error }, 'could not record the use of a credential'))
      .finally(() => this.#touching.delete(tracked));
    this.#touching.add(tracked);
  }

  #invalidate(kind: (typeof RIGHTS_KINDS)[number], id: string): void {
    this.#generation += 1;
    this.#unknown.clear();
    const concerns = (viewer: Viewer): boolean => {
      if (id === ANYTHING || kind === 'organization') return true;
      if (kind === 'user') return viewer.kind === 'USER' && viewer.id === id;
      if (kind === 'project-removed') return roleIn(viewer, id) !== null;
      // The rule may also give a role to users who have none in its project.
      if (kind === 'sign-in-rule') return viewer.kind === 'USER';
      // A token may have two secrets, whose credentialId differs.
      return kind === 'token' ? viewer.id === id : viewer.credentialId === id;
    };
    for (const [hash, { viewer }] of this.#cache.entries()) if (concerns(viewer)) this.#cache.delete(hash);
    if (id === ANYTHING || kind === 'project-removed') this.guards.possiblyChanged(concerns);
    else if (kind === 'sign-in-rule') {
      this.guards.possiblyChanged((viewer) => concerns(viewer) && roleIn(viewer, id) !== null);
    }
    // Users who lose rights by a change of an organization are announced as users. The others only gain rights.
    else if (kind !== 'organization') this.guards.changed(concerns);
  }
}

function unknownSecrets(log: Logger): Bursts<string> {
  return new Bursts({
    from: BURST_FROM,
    onBegin: (address, count) => log.warn({ address, count }, 'a caller sends unknown sessions or tokens'),
    onEnd: (address, count, seconds) =>
      log.warn({ address, count, seconds }, 'a caller has stopped sending unknown sessions or tokens'),
  });
}
