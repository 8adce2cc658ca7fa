import type { Logger } from 'pino';
import type { Identity, Prisma } from '../../generated/sqlite/client.ts';
import { MAX_UNCHECKED_MS } from '../../platform/auth/viewer-loader.ts';
import { ServiceError } from '../../platform/errors.ts';
import { ConcurrencyLimit } from '../../platform/scheduling/concurrency-limit.ts';
import type { Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Lease, Leases } from '../../platform/storage/leases.ts';
import type { AuditService } from '../audit/audit-service.ts';
import type { SignInAccounts } from './accounts.ts';
import type { Checked, CheckingProvider } from './providers.ts';
import type { Claims } from './rules/claim-values.ts';
import { recordRoleChanges } from './rules/role-changes.ts';

const LOOK_MS = 60_000;
/** People asked about at once, at one provider. */
const AT_ONCE = 8;
/** So many failures in a row and the provider is left alone until the next look. */
const MAX_FAILURES = 8;

export interface SignInChecksOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly leases: Leases;
  readonly accounts: SignInAccounts;
  readonly audit: Pick<AuditService, 'record'>;
  readonly providers: readonly CheckingProvider[];
  /** How often a person is asked about, while sessions are open. */
  readonly everyMs: number;
  readonly log: Logger;
}

/**
 * Asks providers again about people who signed in there and have sessions: whoever is gone loses them, and changed claims change
 * roles at once. One process of those on a database does it.
 *
 * While a provider cannot be asked, sessions go on, with a line in the log, until MAX_UNCHECKED_MS after the last time it could; so do
 * those of people whom a provider gives no way to ask about. That limit is the viewer's own (see viewer-loader.ts); here their sessions
 * are tidied away.
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
    }, LOOK_MS).unref();
  }

  /** One look at everybody who was not asked about for `olderThanMs`; if one is under way, that. Never rejects. */
  run(olderThanMs = this.#options.everyMs): Promise<void> {
    this.#round ??= this.#look(olderThanMs)
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'people who signed in could not be checked'))
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

  async #look(olderThanMs: number): Promise<void> {
    for (const provider of this.#options.providers) await this.#lookAt(provider, olderThanMs);
    await this.#endUnchecked();
  }

  async #lookAt(provider: CheckingProvider, olderThanMs: number): Promise<void> {
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
    // In no order: one person of whom the provider cannot say anything shall not stand before all others each time.
    await Promise.all(shuffled(due).map((identity) => limit.run(() => check(identity))));
  }

  async #check(provider: CheckingProvider, identity: Identity): Promise<void> {
    const { subject, sealedRefresh } = identity;
    if (sealedRefresh === null) return;
    const handle = this.#options.accounts.openHandle(provider.provider, subject, sealedRefresh);
    const checked = await provider.check({ subject, claims: JSON.parse(identity.claims) as Claims, handle });
    if (checked.outcome === 'GONE') await this.#gone(identity);
    else await this.#there(provider, identity, checked);
  }

  async #there(
    { provider }: CheckingProvider,
    identity: Identity,
    { claims, handle, isWhole }: Extract<Checked, { outcome: 'THERE' }>,
  ): Promise<void> {
    const after = JSON.stringify(claims);
    const { count } = await this.#options.db.identity.updateMany({
      where: asItWas(identity),
      data: {
        claims: after,
        sealedRefresh: this.#options.accounts.sealHandle(provider, identity.subject, handle),
        ...(isWhole ? { checkedAt: new Date() } : {}),
      },
    });
    if (count === 0 || after === identity.claims) return;
    const { userId, claims: before } = identity;
    await this.#options.changes.announce('user', userId);
    await recordRoleChanges(this.#options, { userId, provider, before, after });
  }

  async #gone(identity: Identity): Promise<void> {
    const { db, changes, log } = this.#options;
    const { provider, userId } = identity;
    const ended = await db.$transaction(async (tx) => {
      // Who signed in again meanwhile is there; the write keeps a sign-in waiting that is about to tell so.
      const { count } = await tx.identity.updateMany({ where: asItWas(identity), data: { provider } });
      return count === 0 ? null : (await tx.session.deleteMany({ where: { userId, provider } })).count;
    });
    if (ended === null) return;
    log.info({ provider, userId, sessions: ended }, 'sessions ended: the provider does not know the person any more');
    await changes.announce('user', userId);
    this.#recordEnd(userId, { provider, sessions: ended, reason: 'GONE' });
  }

  /** Nobody was told anything of these people for too long. */
  async #endUnchecked(): Promise<void> {
    const { db, changes, log } = this.#options;
    const late = { checkedAt: { lte: new Date(Date.now() - MAX_UNCHECKED_MS) } };
    const found = await db.identity.findMany({
      where: { ...late, user: { sessions: { some: { provider: { not: null } } } } },
      select: { provider: true, userId: true },
    });
    for (const { provider, userId } of found) {
      const { count } = await db.session.deleteMany({ where: { userId, provider } });
      if (count === 0) continue;
      log.warn(
        { provider, userId, sessions: count },
        'sessions ended: the provider said nothing of the person for too long',
      );
      await changes.announce('user', userId);
      this.#recordEnd(userId, { provider, sessions: count, reason: 'UNCHECKED' });
    }
  }

  #recordEnd(userId: string, after: Readonly<Record<string, unknown>>): void {
    const target = { kind: 'user', id: userId };
    void this.#options.audit.record({ operation: 'endSignIns', target, after, result: 'DONE' });
  }

  /** Told once, and once when it is over. */
  #failed(provider: string, error: unknown): void {
    const isExpected = error instanceof ServiceError && error.code === 'SIGN_IN_UNAVAILABLE';
    if (!isExpected) this.#options.log.error({ err: error, provider }, 'a person who signed in could not be checked');
    if (!isExpected || this.#unreachable.has(provider)) return;
    this.#unreachable.add(provider);
    const hours = MAX_UNCHECKED_MS / 3_600_000;
    this.#options.log.warn(
      { provider },
      `people who signed in cannot be checked: the provider does not answer; their sessions go on for at most ${hours} h`,
    );
  }

  #reached(provider: string): void {
    if (this.#unreachable.delete(provider))
      this.#options.log.info({ provider }, 'people who signed in are checked again');
  }
}

/** A person as read; who has signed in since has another handle. */
const asItWas = ({ provider, subject, sealedRefresh }: Identity): Prisma.IdentityWhereInput => ({
  provider,
  subject,
  sealedRefresh,
});

function shuffled<T>(entries: readonly T[]): T[] {
  return entries
    .map((entry) => ({ entry, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ entry }) => entry);
}
