import type { User } from '../../generated/sqlite/client.ts';
import { NO_INVITATION } from '../../platform/auth/invitations.ts';
import { generatePassword, hashPassword } from '../../platform/auth/passwords.ts';
import { invalid, notFound, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isUniqueViolation, missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import { serializable } from '../../platform/storage/serializable.ts';
import { isEmailAddress, MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import { type Nullish, withoutNulls } from '../../platform/without-nulls.ts';
import { RootAdmins } from './root-admins.ts';
import type { SignInMethods, SignInProvider } from './sign-in-methods.ts';
import { type RemovedUser, removeUser } from './user-removal.ts';

/** The default of `name` are the first and last name, or the part of the address before the `@`. */
interface NewUser extends Nullish<Record<'name' | 'firstName' | 'lastName', string>> {
  readonly email: string;
  /** Without a password the user cannot sign in locally. Checked but not stored if `ssoType` is set. */
  readonly password?: string | null | undefined;
  readonly isRootAdmin?: boolean | null | undefined;
  /** Whether an administrator or a provider has verified the e-mail address. */
  readonly verified?: boolean | null | undefined;
  readonly ssoType?: SignInProvider | null | undefined;
}

/**
 * Absent and null values do not change, except that null is a value of `ssoType`, for a local sign-in. A change of
 * `ssoType` deletes the password, the sessions and the external identities.
 */
type UserChange = Nullish<Pick<User, 'name' | 'verified' | 'needsTotp'> & { ssoType: SignInProvider }>;

export class UserService {
  readonly #db: Database;
  readonly #changes: Changes;
  readonly #rootAdmins: RootAdmins;
  #counting: Promise<number> | null = null;

  constructor({ db, changes, signInMethods }: { db: Database; changes: Changes; signInMethods: SignInMethods }) {
    this.#db = db;
    this.#changes = changes;
    this.#rootAdmins = new RootAdmins(signInMethods);
  }

  async create(input: NewUser): Promise<User> {
    const email = normaliseEmail(input.email);
    const name = nameOf(input) || (email.split('@')[0] ?? email);
    const issues = textIssues('input.name', name, { max: MAX_NAME });
    if (issues.length > 0) throw invalid(issues);
    const { password, isRootAdmin, verified, ssoType } = input;
    const hash = password == null ? null : await hashPassword(password);
    const data = {
      id: newId('user'),
      email,
      name,
      passwordHash: ssoType == null ? hash : null,
      isRoot: isRootAdmin ?? false,
      verified: verified ?? false,
      ssoType: ssoType ?? null,
    };
    return this.#db.user.create({ data }).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
      throw new ServiceError('ALREADY_EXISTS', `There is already a user ${email}`, { cause: error });
    });
  }

  async findByEmail(email: string): Promise<User | null> {
    return this.#db.user.findUnique({ where: { email: email.trim().toLowerCase() } });
  }

  async byEmail(email: string): Promise<User> {
    const user = await this.findByEmail(email);
    if (user === null) throw notFound('user', email.trim());
    return user;
  }

  /** Errors: NOT_FOUND, INVALID, LAST_ADMINISTRATOR (the user could no longer sign in). */
  async update(userId: string, { name, verified, needsTotp, ssoType }: UserChange): Promise<void> {
    const issues = textIssues('input.name', name?.trim(), { min: 1, max: MAX_NAME });
    if (issues.length > 0) throw invalid(issues);
    await serializable(this.#db, async (tx) => {
      const before = await tx.user.findUnique({ where: { id: userId } });
      if (before === null) throw notFound('user', userId);
      const isMoved = ssoType !== undefined && ssoType !== before.ssoType;
      const moved = isMoved ? { ssoType, passwordHash: null, ...NO_INVITATION } : {};
      if (isMoved && !this.#rootAdmins.canSignIn({ ...before, ...moved })) {
        await this.#rootAdmins.requireOthers(tx, before);
      }
      await tx.user.update({
        where: { id: userId },
        data: { ...withoutNulls({ name: name?.trim(), verified, needsTotp }), ...moved },
      });
      if (!isMoved) return;
      await tx.session.deleteMany({ where: { userId } });
      // The next external sign-in with the verified address claims the account.
      await tx.identity.deleteMany({ where: { userId } });
    }).catch(missingAsNotFound('user', userId));
    await this.#changes.announce('user', userId);
  }

  /** Ends the sessions of the user except one. Errors: NOT_FOUND, INVALID (also for users of an external provider). */
  async setPassword(userId: string, password: string, exceptSession?: string): Promise<void> {
    const passwordHash = await hashPassword(password);
    const others = exceptSession === undefined ? {} : { id: { not: exceptSession } };
    // In one transaction: no session may outlive the password with which it was opened.
    const [{ count }] = await this.#db.$transaction([
      this.#db.user.updateMany({ where: { id: userId, ssoType: null }, data: { passwordHash, ...NO_INVITATION } }),
      this.#db.session.deleteMany({ where: { userId, user: { ssoType: null }, ...others } }),
    ]);
    if (count === 0) throw await this.#noLocalPassword(userId);
    await this.#changes.announce('user', userId);
  }

  /** Returns the user id. Errors: INVALID (unknown address), LAST_ADMINISTRATOR. */
  async setRootAdmin(email: string, isRootAdmin: boolean): Promise<string> {
    const address = email.trim().toLowerCase();
    const id = await serializable(this.#db, async (tx) => {
      const user = await tx.user.findUnique({ where: { email: address } });
      if (user === null) throw invalid([{ path: 'input.email', reason: 'no user has this address' }]);
      if (user.isRoot === isRootAdmin) return user.id;
      if (!isRootAdmin) await this.#rootAdmins.requireOthers(tx, user);
      await tx.user.update({ where: { id: user.id }, data: { isRoot: isRootAdmin } });
      return user.id;
    });
    await this.#changes.announce('user', id);
    return id;
  }

  /**
   * Whether another root administrator can sign in. The emergency administrator is never removable. Concurrent calls
   * share one query.
   */
  async isRemovable(user: Pick<User, 'email' | 'isRoot' | 'passwordHash' | 'ssoType'>): Promise<boolean> {
    if (!user.isRoot) return true;
    if (this.#rootAdmins.isForEmergencies(user)) return false;
    this.#counting ??= this.#db.user.count({ where: this.#rootAdmins.where }).finally(() => {
      this.#counting = null;
    });
    return (await this.#counting) > (this.#rootAdmins.canSignIn(user) ? 1 : 0);
  }

  /**
   * Deletes an account. `handOverTo` becomes the owner of its projects and of organizations without another owner.
   * Errors: NOT_FOUND, INVALID, LAST_ADMINISTRATOR, IN_USE with `info.projects` or `info.organizations`.
   */
  async remove(userId: string, handOverTo: string | null = null): Promise<RemovedUser> {
    const removed = await serializable(this.#db, (tx) => removeUser(tx, userId, handOverTo, this.#rootAdmins));
    // The new owner first, so that projects are read again with the new owner.
    if (handOverTo !== null) await this.#changes.announce('user', handOverTo);
    await this.#changes.announce('user', userId);
    for (const { id } of removed.organizations) await this.#changes.announce('organization', id);
    return removed;
  }

  /** Creates the first root administrator if none exists. Returns the password if it was generated. */
  async ensureRootAdmin(
    email: string,
    password: string | undefined,
  ): Promise<{ email: string; generated: string } | null> {
    if ((await this.#db.user.count({ where: { isRoot: true } })) > 0) return null;
    const chosen = password ?? generatePassword();
    const existing = await this.findByEmail(email);
    if (existing === null) {
      try {
        await this.create({ email, name: 'Administrator', password: chosen, isRootAdmin: true, verified: true });
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
        // Another process created the user at the same time.
        return this.ensureRootAdmin(email, password);
      }
    } else {
      // The root administrator signs in locally, also if an external provider is configured.
      const promoted = await this.#db.user.updateMany({
        where: { id: existing.id, isRoot: false },
        data: { isRoot: true, ssoType: null },
      });
      // Another process created or promoted the user since they were counted. Its password remains.
      if (promoted.count === 0) return null;
      await this.setPassword(existing.id, chosen);
    }
    return password === undefined ? { email: email.toLowerCase(), generated: chosen } : null;
  }

  async #noLocalPassword(userId: string): Promise<ServiceError> {
    const user = await this.#db.user.findUnique({ where: { id: userId } });
    if (user === null) return notFound('user', userId);
    return invalid([
      { path: 'input.password', reason: `is not used: ${user.email} signs in at the provider ${user.ssoType}` },
    ]);
  }
}

const nameOf = ({ name, firstName, lastName }: NewUser): string =>
  name?.trim() || [firstName, lastName].flatMap((part) => part?.trim() || []).join(' ');

function normaliseEmail(email: string): string {
  const address = email.trim().toLowerCase();
  if (isEmailAddress(address)) return address;
  throw invalid([{ path: 'input.email', reason: 'must be an e-mail address' }]);
}
