import type { Logger } from 'pino';
import type { Prisma, User } from '../../generated/sqlite/client.ts';
import type { ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isUniqueViolation } from '../../platform/storage/prisma-errors.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import { serializable } from '../../platform/storage/serializable.ts';
import { MAX_NAME } from '../../platform/text/texts.ts';
import type { AuditService } from '../audit/audit-service.ts';
import type { SignInProvider } from '../users/sign-in-methods.ts';
import type { ToldPerson } from './providers.ts';
import { type SignInRefusal, signInRefused } from './refusals.ts';
import { recordRoleChanges } from './rules/role-changes.ts';

export interface SignInAccountsOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly sealer: Sealer;
  readonly audit: Pick<AuditService, 'record'>;
  /** Accounts are made for people who sign in for the first time. */
  readonly createUsers: boolean;
  readonly log: Logger;
}

interface Admitted {
  readonly user: User;
  readonly isFirst: boolean;
  /** What sessions of the person were allowed with. */
  readonly isChanged: boolean;
  /** JSON. */
  readonly claimsBefore: string;
}

const EMAIL = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u;
const MAX_EMAIL_LENGTH = 254;

/**
 * The accounts of people who sign in elsewhere.
 *
 * A person is known by what the provider calls them, never by the address alone: an address may be somebody else's tomorrow. Only at
 * the first sign-in the address decides, where the provider vouches for it, and only an account that an administrator has made for
 * this way of signing in is taken; one that has a password here, or belongs to another person of the provider, is not.
 */
export class SignInAccounts {
  readonly #options: SignInAccountsOptions;

  constructor(options: SignInAccountsOptions) {
    this.#options = options;
  }

  /** The account of the person, made or brought up to date. Errors: NOT_ALLOWED, with the reason in `info.reason`. */
  async admit(person: ToldPerson): Promise<{ readonly userId: string }> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const {
          user,
          isFirst,
          isChanged,
          claimsBefore: before,
        } = await serializable(this.#options.db, (db) => this.#admit(db, person));
        if (isChanged) await this.#options.changes.announce('user', user.id);
        if (isFirst) this.#recordFirst(user, person);
        const after = JSON.stringify(person.claims);
        await recordRoleChanges(this.#options, { userId: user.id, provider: person.provider, before, after });
        return { userId: user.id };
      } catch (error) {
        // Somebody else made the same account at the same time.
        if (attempt > 1 || !isUniqueViolation(error)) throw error;
      }
    }
  }

  async #admit(db: Prisma.TransactionClient, person: ToldPerson): Promise<Admitted> {
    const { provider, subject } = person;
    const key = { provider_subject: { provider, subject } };
    const identity = await db.identity.findUnique({ where: key, include: { user: true } });
    if (identity !== null && identity.user.ssoType !== provider)
      throw this.#refused('ACCOUNT_SIGNS_IN_OTHERWISE', person);
    const user = identity === null ? await this.#first(db, person) : await this.#follow(db, identity.user, person);
    const claims = JSON.stringify(person.claims);
    const sealedRefresh = this.sealHandle(provider, subject, person.handle);
    const told = { claims, sealedRefresh, checkedAt: new Date() };
    await db.identity.upsert({
      where: key,
      create: { provider, subject, userId: user.id, ...told },
      update: told,
    });
    return {
      user,
      isFirst: identity === null,
      claimsBefore: identity?.claims ?? '{}',
      isChanged: identity !== null && (identity.claims !== claims || identity.user.email !== user.email),
    };
  }

  /** Nobody asked for it by a mutation: from now on an account is this person's. */
  #recordFirst({ id, email, name, ssoType }: User, { subject }: ToldPerson): void {
    const after = { email, name, ssoType, subject };
    void this.#options.audit.record({
      operation: 'signInFirst',
      target: { kind: 'user', id },
      after,
      result: 'DONE',
    });
  }

  sealHandle(provider: SignInProvider, subject: string, handle: string | null): string | null {
    return handle === null ? null : this.#options.sealer.seal(handle, identityContext(provider, subject));
  }

  openHandle(provider: SignInProvider, subject: string, sealed: string): string {
    return this.#options.sealer.open(sealed, identityContext(provider, subject));
  }

  /** Nobody has signed in as this person before. */
  async #first(db: Prisma.TransactionClient, person: ToldPerson): Promise<User> {
    const { provider } = person;
    const email = vouchedEmail(person);
    if (email === null) throw this.#refused('EMAIL_NOT_VERIFIED', person);
    const known = await db.user.findUnique({ where: { email }, include: { identities: { where: { provider } } } });
    if (known !== null) {
      if (known.ssoType !== provider) throw this.#refused('ACCOUNT_SIGNS_IN_OTHERWISE', person);
      if (known.identities.length > 0) throw this.#refused('ACCOUNT_OF_ANOTHER_PERSON', person);
      return db.user.update({ where: { id: known.id }, data: { verified: true } });
    }
    if (!this.#options.createUsers) throw this.#refused('NO_ACCOUNT', person);
    const data = { id: newId('user'), email, name: nameOf(person, email), ssoType: provider, verified: true };
    return db.user.create({ data });
  }

  /** The address of a person may change at the provider; where somebody else has it here, the account keeps its own. */
  async #follow(db: Prisma.TransactionClient, user: User, person: ToldPerson): Promise<User> {
    const email = vouchedEmail(person);
    if (email === null || email === user.email) return user;
    if ((await db.user.count({ where: { email } })) > 0) {
      this.#options.log.warn({ userId: user.id }, 'a person’s new e-mail address belongs to another account');
      return user;
    }
    return db.user.update({ where: { id: user.id }, data: { email } });
  }

  #refused(reason: SignInRefusal, { provider, subject }: ToldPerson): ServiceError {
    this.#options.log.warn({ provider, subject, reason }, 'a person who signed in was not let in');
    return signInRefused(reason);
  }
}

export const identityContext = (provider: SignInProvider, subject: string): string => `identity ${provider} ${subject}`;

/** Null also for letters that would become others: in lower case the Kelvin sign is a k, and the address perhaps somebody else's. */
function vouchedEmail({ email, isEmailVerified }: ToldPerson): string | null {
  const told = email?.trim() ?? '';
  const address = told.toLowerCase();
  if (!isEmailVerified || !EMAIL.test(address) || address.length > MAX_EMAIL_LENGTH) return null;
  return told.normalize('NFKC') === told ? address : null;
}

function nameOf({ name }: ToldPerson, email: string): string {
  const told = (name ?? '')
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, MAX_NAME);
  return told === '' ? (email.split('@')[0] ?? email) : told;
}
