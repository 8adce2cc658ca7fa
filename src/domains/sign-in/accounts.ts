import type { Logger } from 'pino';
import type { Prisma, User } from '../../generated/sqlite/client.ts';
import { ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import { isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import { serializable } from '../../platform/storage/serializable.ts';
import { isAscii, mixesScripts, skeletonOf } from '../../platform/text/look-alike.ts';
import { faultIn, isEmailAddress, MAX_NAME } from '../../platform/text/texts.ts';
import type { AuditService } from '../audit/audit-service.ts';
import type { SignInProvider } from '../users/sign-in-methods.ts';
import type { ExternalUser } from './providers.ts';
import { recordRoleChanges } from './rules/role-changes.ts';
import { type SignInRefusal, signInRefused } from './sign-in-errors.ts';

interface SignInAccountsOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly sealer: Sealer;
  readonly audit: Pick<AuditService, 'record'>;
  /** Whether an account is created at the first sign-in of a user. */
  readonly createUsers: boolean;
  readonly log: Logger;
}

const REFUSED = 'refused the sign-in of a user of an external provider';
/** PostgreSQL cannot index longer texts. The names of OpenID Connect Core 2 have at most 255 bytes. */
const MAX_SUBJECT_BYTES = 2_000;

interface Admitted {
  readonly user: User;
  readonly isFirst: boolean;
  /** Whether the claims or the address changed, which affects open sessions. */
  readonly isChanged: boolean;
  readonly claimsBefore: string;
}

/**
 * The accounts of users of external providers. A user is identified by the subject at the provider, never by the e-mail
 * address alone, which may later belong to another user. At the first sign-in a verified address selects an account
 * that an administrator has created for this provider, but none with a local password or of another subject.
 */
export class SignInAccounts {
  readonly #options: SignInAccountsOptions;

  constructor(options: SignInAccountsOptions) {
    this.#options = options;
  }

  /** Errors: NOT_ALLOWED (no suitable account), UNAUTHORIZED (the subject cannot be stored). */
  async admit(external: ExternalUser): Promise<{ readonly userId: string }> {
    const { provider, subject } = external;
    const fault = subjectFault(subject);
    if (fault !== null) {
      this.#options.log.warn({ provider, reason: `the subject ${fault}` }, REFUSED);
      throw new ServiceError('UNAUTHORIZED', `The sign-in failed: the subject ${fault}`);
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        const admitted = await serializable(this.#options.db, (db) => this.#admit(db, external));
        const { user, isFirst, isChanged, claimsBefore: before } = admitted;
        if (isChanged) await this.#options.changes.announce('user', user.id);
        if (isFirst) this.#recordFirst(user, external);
        const after = JSON.stringify(external.claims);
        const reason = external.missingGroups;
        await recordRoleChanges(this.#options, { userId: user.id, provider, before, after, reason });
        return { userId: user.id };
      } catch (error) {
        // A concurrent sign-in created the same account.
        if (attempt > 1 || !isUniqueViolation(error)) throw error;
      }
    }
  }

  async #admit(db: Prisma.TransactionClient, external: ExternalUser): Promise<Admitted> {
    const { provider, subject } = external;
    const key = { provider_subject: { provider, subject } };
    const identity = await db.identity.findUnique({ where: key, include: { user: true } });
    if (identity !== null && identity.user.ssoType !== provider)
      throw this.#refused('ACCOUNT_SIGNS_IN_OTHERWISE', external);
    const user =
      identity === null ? await this.#first(db, external) : await this.#updateEmail(db, identity.user, external);
    const claims = JSON.stringify(external.claims);
    const sealedRefresh = this.sealHandle(provider, subject, external.handle);
    const data = { claims, sealedRefresh, checkedAt: new Date() };
    const create = { provider, subject, userId: user.id, ...data };
    await db.identity.upsert({ where: key, create, update: data });
    return {
      user,
      isFirst: identity === null,
      claimsBefore: identity?.claims ?? '{}',
      isChanged: identity !== null && (identity.claims !== claims || identity.user.email !== user.email),
    };
  }

  /** Records the assignment of the account to the user, which is no mutation. */
  #recordFirst({ id, email, name, ssoType }: User, { subject, missingGroups: reason }: ExternalUser): void {
    const after = { email, name, ssoType, subject, ...(reason !== undefined && { reason }) };
    const target = { kind: 'user', id };
    void this.#options.audit.record({ operation: 'signInFirst', target, after, result: 'DONE' });
  }

  sealHandle(provider: SignInProvider, subject: string, handle: string | null): string | null {
    return handle === null ? null : this.#options.sealer.seal(handle, identityContext(provider, subject));
  }

  openHandle(provider: SignInProvider, subject: string, sealed: string): string {
    return this.#options.sealer.open(sealed, identityContext(provider, subject));
  }

  async #first(db: Prisma.TransactionClient, external: ExternalUser): Promise<User> {
    const { provider } = external;
    const email = verifiedEmail(external);
    if (email === null) {
      const isAddress = isEmailAddress(external.email?.trim().toLowerCase() ?? '');
      const reason = external.isEmailVerified ? 'EMAIL_NOT_NORMALIZED' : 'EMAIL_NOT_VERIFIED';
      throw this.#refused(isAddress ? reason : 'EMAIL_MISSING', external);
    }
    const known = await db.user.findUnique({ where: { email }, include: { identities: { where: { provider } } } });
    if (known !== null) {
      if (known.ssoType !== provider) throw this.#refused('ACCOUNT_SIGNS_IN_OTHERWISE', external);
      if (known.identities.length > 0) throw this.#refused('ACCOUNT_OF_ANOTHER_PERSON', external);
      return db.user.update({ where: { id: known.id }, data: { verified: true } });
    }
    if (!this.#options.createUsers) throw this.#refused('NO_ACCOUNT', external);
    if (await looksLikeAnother(db, email)) throw this.#refused('ACCOUNT_OF_ANOTHER_PERSON', external);
    const data = { id: newId('user'), email, name: nameOf(external, email), ssoType: provider, verified: true };
    return db.user.create({ data });
  }

  /** Updates the e-mail address if it changed at the provider, unless another account has the new address. */
  async #updateEmail(db: Prisma.TransactionClient, user: User, external: ExternalUser): Promise<User> {
    const email = verifiedEmail(external);
    if (email === null || email === user.email) return user;
    if ((await db.user.count({ where: { email } })) > 0 || (await looksLikeAnother(db, email, user.id))) {
      this.#options.log.warn(
        { userId: user.id },
        'the new e-mail address of a user belongs to another account, or looks like its address',
      );
      return user;
    }
    return db.user.update({ where: { id: user.id }, data: { email } });
  }

  #refused(reason: SignInRefusal, { provider, subject }: ExternalUser): ServiceError {
    this.#options.log.warn({ provider, subject, reason }, REFUSED);
    return signInRefused(reason);
  }
}

export const identityContext = (provider: SignInProvider, subject: string): string => `identity ${provider} ${subject}`;

const subjectFault = (subject: string): string | null =>
  Buffer.byteLength(subject) > MAX_SUBJECT_BYTES ? `has more than ${MAX_SUBJECT_BYTES} bytes` : faultIn(subject);

/**
 * The verified address in lower case. `null` for characters that NFKC changes, such as the Kelvin sign, whose lower
 * case is `k`.
 */
function verifiedEmail({ email, isEmailVerified }: ExternalUser): string | null {
  const trimmed = email?.trim() ?? '';
  const address = trimmed.toLowerCase();
  if (!isEmailVerified || !isEmailAddress(address)) return null;
  return trimmed.normalize('NFKC') === trimmed ? address : null;
}

function nameOf({ name }: ExternalUser, email: string): string {
  const cleaned = (name ?? '').replace(/\p{Cc}/gu, ' ').trim();
  return cleaned.slice(0, MAX_NAME).toWellFormed() || (email.split('@')[0] ?? email);
}

/** Whether people would take an address for that of another account, or for another one. Few are not ASCII. */
async function looksLikeAnother(db: Prisma.TransactionClient, email: string, userId = ''): Promise<boolean> {
  if (isAscii(email)) return false;
  if (mixesScripts(email)) return true;
  const others = await db.user.findMany({ where: { id: { not: userId } }, select: { email: true } });
  const skeleton = skeletonOf(email);
  return others.some((other) => skeletonOf(other.email) === skeleton);
}
