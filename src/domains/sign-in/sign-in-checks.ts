import type { Logger } from 'pino';
import type { Identity } from '../../generated/sqlite/client.ts';
import { MAX_UNCHECKED_MS } from '../../platform/auth/viewer-loader.ts';
import { ServiceError } from '../../platform/errors.ts';
import { ConcurrencyLimit } from '../../platform/scheduling/concurrency-limit.ts';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Lease, Leases } from '../../platform/storage/leases/leases.ts';
import type { AuditService } from '../audit/audit-service.ts';
import type { SignInAccounts } from './accounts.ts';
import type { CheckedUser, CheckingProvider } from './providers.ts';
import type { Claims } from './rules/claim-values.ts';
import { recordRoleChanges } from './rules/role-changes.ts';

const ROUND_MS = 60_000;
const AT_ONCE = 8;
const MAX_FAILURES = 8;

interface SignInChecksOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly leases: Leases;
  readonly accounts: SignInAccounts;
  readonly audit: Pick<AuditService, 'record'>;
  readonly providers: readonly CheckingProvider[];
  /** Interval of the checks of a user with open sessions, in milliseconds. */
  readonly everyMs: number;
  readonly log: Logger;
}

/**
 * Checks users with sessions at their external providers: sessions of deleted users end, and changed claims change
 * roles. One process of those with the same database runs the checks.
 *
 * While users cannot be checked, sessions remain valid until MAX_UNCHECKED_MS after the last successful check. The
 * viewer enforces this limit (viewer-loader.ts); this class deletes the expired sessions.
 */
export class SignInChecks {
  readonly #options: SignInChecksOptions;
  readonly #unreachable = new Set<string>();
  #lease: Lease | null = null;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: SignInChecksOptions) {
    this.#options = options;
  }

  start(): void {
    this.#lease = this.#options.leases.want('sign-in checks', (held) => {
      if (held) void this.run();
    });
    this.#timer = setInterval(() => {
      if (this.#lease?.held) void this.run();
    }, ROUND_MS).unref();
  }

  /** Checks all users whose last check is older than `olderThanMs`, or returns the running round. Never rejects. */
  run(olderThanMs = this.#options.everyMs): Promise<void> {
    this.#round ??= this.#checkAll(olderThanMs)
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'could not check users of external providers'))
      .finally(() => {
        this.#round = null;
      });
    return this.#round;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.#round;
    await this.#lease?.release();
  }

  async #checkAll(olderThanMs: number): Promise<void> {
    for (const provider of this.#options.providers) await this.#checkUsersOf(provider, olderThanMs);
    await this.#endUnchecked();
  }

  async #checkUsersOf(provider: CheckingProvider, olderThanMs: number): Promise<void> {
    const due = await this.#options.db.identity.findMany({
      where: {
        provider: provider.provider,
        checkedAt: { lte: new Date(Date.now() - olderThanMs) },
        sealedRefresh: { not: null },
        user: { sessions: { some: { provider: provider.provider, expiresAt: { gt: new Date() } } } },
      },
    });
    const limit = new ConcurrencyLimit({ maxRunning: AT_ONCE });
    let failures = 0;
    const check = async (identity: Identity) => {
      if (this.#isClosed || failures >= MAX_FAILURES) return;
      try {
        await this.#check(provider, identity);
        failures = 0;
        this.#reached(provider.provider);
      } catch (error) {
        failures += 1;
        this.#failed(provider.provider, error);
      }
    };
    // In random order, so that a user whose check always fails does not block the others in each round.
    await Promise.all(shuffled(due).map((identity) => limit.run(() => check(identity))));
  }

  async #check(provider: CheckingProvider, identity: Identity): Promise<void> {
    const { subject, sealedRefresh } = identity;
    if (sealedRefresh === null) return;
    const handle = this.#options.accounts.openHandle(provider.provider, subject, sealedRefresh);
    const checked = await provider.check({ subject, claims: JSON.parse(identity.claims) as Claims, handle });
    if (checked.outcome === 'GONE') await this.#endSessions(identity);
    else await this.#update(provider, identity, checked);
  }

  async #update(
    { provider }: CheckingProvider,
    identity: Identity,
    { claims, handle, isComplete }: Extract<CheckedUser, { outcome: 'ACTIVE' }>,
  ): Promise<void> {
    const after = JSON.stringify(claims);
    const { count } = await this.#options.db.identity.updateMany({
      where: unchanged(identity),
      data: {
        claims: after,
        sealedRefresh: this.#options.accounts.sealHandle(provider, identity.subject, handle),
        ...(isComplete ? { checkedAt: new Date() } : {}),
      },
    });
    if (count === 0 || after === identity.claims) return;
    const { userId, claims: before } = identity;
    await this.#options.changes.announce('user', userId);
    await recordRoleChanges(this.#options, { userId, provider, before, after });
  }

  async #endSessions(identity: Identity): Promise<void> {
    const { db, log } = this.#options;
    const { provider, userId } = identity;
    const ended = await db.$transaction(async (tx) => {
      // A user who signed in again meanwhile still exists. The row lock of the update delays a concurrent sign-in.
      const { count } = await tx.identity.updateMany({ where: unchanged(identity), data: { provider } });
      return count === 0 ? null : (await tx.session.deleteMany({ where: { userId, provider } })).count;
    });
    if (ended === null) return;
    log.info(
      { provider, userId, sessions: ended },
      'ended the sessions of a user who no longer exists at the provider',
    );
    await this.#ended(userId, { provider, sessions: ended, reason: 'GONE' });
  }

  async #endUnchecked(): Promise<void> {
    const { db, log } = this.#options;
    const late = { checkedAt: { lte: new Date(Date.now() - MAX_UNCHECKED_MS) } };
    const found = await db.identity.findMany({
      where: { ...late, user: { sessions: { some: { provider: { not: null } } } } },
      select: { provider: true, userId: true },
    });
    for (const { provider, userId } of found) {
      const { count } = await db.session.deleteMany({ where: { userId, provider } });
      if (count === 0) continue;
      log.warn({ provider, userId, sessions: count }, 'ended sessions of a user who could not be checked for too long');
      await this.#ended(userId, { provider, sessions: count, reason: 'UNCHECKED' });
    }
  }

  async #ended(userId: string, after: Readonly<Record<string, unknown>>): Promise<void> {
    const target = { kind: 'user', id: userId };
    await this.#options.changes.announce('user', userId);
    void this.#options.audit.record({ operation: 'endSignIns', target, after, result: 'DONE' });
  }

  #failed(provider: string, error: unknown): void {
    const isExpected = error instanceof ServiceError && error.code === 'SIGN_IN_UNAVAILABLE';
    if (!isExpected)
      this.#options.log.error({ err: error, provider }, 'could not check a user of an external provider');
    if (!isExpected || this.#unreachable.has(provider)) return;
    this.#unreachable.add(provider);
    const hours = MAX_UNCHECKED_MS / 3_600_000;
    this.#options.log.warn(
      { provider },
      `the sign-in provider is unavailable, so users cannot be checked; their sessions remain valid for at most ${hours} h`,
    );
  }

  #reached(provider: string): void {
    if (this.#unreachable.delete(provider))
      this.#options.log.info({ provider }, 'the sign-in provider is available again; users are checked again');
  }
}

/** Selects an identity unless the user has signed in since it was read, which changes the handle. */
const unchanged = ({ provider, subject, sealedRefresh }: Identity) => ({ provider, subject, sealedRefresh });

function shuffled<T>(entries: readonly T[]): T[] {
  const ranked = entries.map((entry) => ({ entry, rank: Math.random() }));
  return ranked.sort((one, other) => one.rank - other.rank).map(({ entry }) => entry);
}
