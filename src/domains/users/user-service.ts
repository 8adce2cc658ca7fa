import type { User } from '../../generated/sqlite/client.ts';
import { generatePassword, hashPassword } from '../../platform/auth/passwords.ts';
import { type InputIssue, invalid, notFound, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isUniqueViolation, missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import { serializable } from '../../platform/storage/serializable.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import { RootAdmins, type WaysIn } from './root-admins.ts';
import { type RemovedUser, removeUser } from './user-removal.ts';

const EMAIL = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u;
const MAX_EMAIL_LENGTH = 254;

/** Where people sign in who have no password here; as in `User.ssoType`, `Session.provider`, `Identity` and `SignInRule`. */
export type SignInProvider = 'ldap' | 'sso';

export interface NewUser {
  readonly email: string;
  /** Default: first and last name, else what the address begins with. */
  readonly name?: string | null | undefined;
  readonly firstName?: string | null | undefined;
  readonly lastName?: string | null | undefined;
  /** Null or absent: the person cannot sign in here until one is set. Checked and not kept where `ssoType` is given. */
  readonly password?: string | null | undefined;
  readonly isRootAdmin?: boolean | null | undefined;
  /** Somebody has made sure that the address is the person's. */
  readonly verified?: boolean | null | undefined;
  readonly ssoType?: SignInProvider | null | undefined;
}

/** What is absent stays; so does null, but for `ssoType`. */
export interface UserChange {
  readonly name?: string | null | undefined;
  readonly verified?: boolean | null | undefined;
  /** Null: signs in here, once a password is set. A change takes the password, the sessions, and whom the account was known by elsewhere. */
  readonly ssoType?: SignInProvider | null | undefined;
}

export interface UserServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly waysIn: WaysIn;
}

/** The people who may sign in. Knows nothing of open sessions: those end by the change it announces. */
export class UserService {
  readonly #db: Database;
  readonly #changes: Changes;
  readonly #rootAdmins: RootAdmins;
  #counting: Promise<number> | null = null;

  constructor({ db, changes, waysIn }: UserServiceOptions) {
    this.#db = db;
    this.#changes = changes;
    this.#rootAdmins = new RootAdmins(waysIn);
  }

  /** Errors: INVALID, ALREADY_EXISTS. */
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

  /** Errors: NOT_FOUND. */
  async byEmail(email: string): Promise<User> {
    const user = await this.findByEmail(email);
    if (user === null) throw notFound('user', email.trim());
    return user;
  }

  /** Errors: NOT_FOUND, INVALID, LAST_ADMINISTRATOR (the way to sign in would go). */
  async update(userId: string, { name, verified, ssoType }: UserChange): Promise<void> {
    const issues = textIssues('input.name', name?.trim(), { min: 1, max: MAX_NAME });
    if (issues.length > 0) throw invalid(issues);
    await serializable(this.#db, async (tx) => {
      const before = await tx.user.findUnique({ where: { id: userId } });
      if (before === null) throw notFound('user', userId);
      const isMoved = ssoType !== undefined && ssoType !== before.ssoType;
      const moved = isMoved ? { ssoType, passwordHash: null } : {};
      if (isMoved && !this.#rootAdmins.canSignIn({ ...before, ...moved })) {
        await this.#rootAdmins.requireOthers(tx, before);
      }
      await tx.user.update({
        where: { id: userId },
        data: {
          ...(name == null ? {} : { name: name.trim() }),
          ...(verified == null ? {} : { verified }),
          ...moved,
        },
      });
      if (!isMoved) return;
      await tx.session.deleteMany({ where: { userId } });
      // Whoever signs in there next is who the account is for, with its address vouched for.
      await tx.identity.deleteMany({ where: { userId } });
    }).catch(missingAsNotFound('user', userId));
    await this.#changes.announce('user', userId);
  }

  /**
   * Sets a password and ends the person's sessions, but for the one named. Errors: NOT_FOUND, INVALID (also for people who sign in
   * elsewhere: nobody would ask for it).
   */
  async setPassword(userId: string, password: string, exceptSession?: string): Promise<void> {
    const passwordHash = await hashPassword(password);
    const others = exceptSession === undefined ? {} : { id: { not: exceptSession } };
    // Together: sessions that outlive the password they were opened with would be the way in that was to be closed.
    const [{ count }] = await this.#db.$transaction([
      this.#db.user.updateMany({ where: { id: userId, ssoType: null }, data: { passwordHash } }),
      this.#db.session.deleteMany({ where: { userId, user: { ssoType: null }, ...others } }),
    ]);
    if (count === 0) throw await this.#noPasswordHere(userId);
    await this.#changes.announce('user', userId);
  }

  /**
   * Gives or takes root administration; UNCHANGED costs nothing. Errors: INVALID (nobody has the address), LAST_ADMINISTRATOR.
   */
  async setRootAdmin(email: string, isRootAdmin: boolean): Promise<string> {
    const address = email.trim().toLowerCase();
    const id = await serializable(this.#db, async (tx) => {
      const user = await tx.user.findUnique({ where: { email: address } });
      if (user === null) throw invalid([{ path: 'input.email', reason: 'nobody has this address' }]);
      if (user.isRoot === isRootAdmin) return user.id;
      if (!isRootAdmin) await this.#rootAdmins.requireOthers(tx, user);
      await tx.user.update({ where: { id: user.id }, data: { isRoot: isRootAdmin } });
      return user.id;
    });
    await this.#changes.announce('user', id);
    return id;
  }

  /**
   * Whether the account, and the role of a root administrator, can be taken from the person: another root administrator is left who
   * can sign in; never those of the one for emergencies. People who are asked about in one moment cost one question.
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
   * Removes an account. With `handOverTo` that person becomes the owner of its projects, and of the organisations that it was the last
   * owner of. Errors: NOT_FOUND, INVALID (nobody to hand over to), LAST_ADMINISTRATOR, IN_USE with `info.projects` or
   * `info.organisations` that have no other owner.
   */
  async remove(userId: string, handOverTo: string | null = null): Promise<RemovedUser> {
    const removed = await serializable(this.#db, (tx) => removeUser(tx, userId, handOverTo, this.#rootAdmins));
    // Who gains first: a project is then read with its new owner.
    if (handOverTo !== null) await this.#changes.announce('user', handOverTo);
    await this.#changes.announce('user', userId);
    for (const { id } of removed.organisations) await this.#changes.announce('organisation', id);
    return removed;
  }

  /**
   * Makes sure that somebody can sign in: creates the first root administrator when there is none.
   * Answers its password when it had to be generated, else null.
   */
  async ensureRootAdmin(
    email: string,
    password: string | undefined,
  ): Promise<{ email: string; generated: string } | null> {
    if ((await this.#db.user.count({ where: { isRoot: true } })) > 0) return null;
    const chosen = password ?? generatePassword();
    const existing = await this.findByEmail(email);
    if (existing === null) {
      const user = { email, name: 'Administrator', password: chosen, isRootAdmin: true, verified: true };
      try {
        await this.create(user);
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
        // Another process that started at the same moment was first.
        return this.ensureRootAdmin(email, password);
      }
    } else {
      // Signs in here from now on, whoever else is asked for the others.
      await this.#db.user.update({ where: { id: existing.id }, data: { isRoot: true, ssoType: null } });
      await this.setPassword(existing.id, chosen);
    }
    return password === undefined ? { email: email.toLowerCase(), generated: chosen } : null;
  }

  async #noPasswordHere(userId: string): Promise<ServiceError> {
    const user = await this.#db.user.findUnique({ where: { id: userId } });
    if (user === null) return notFound('user', userId);
    return invalid([{ path: 'input.password', reason: `is not used: ${user.email} signs in by ${user.ssoType}` }]);
  }
}

const nameOf = ({ name, firstName, lastName }: NewUser): string =>
  name?.trim() || [firstName, lastName].flatMap((part) => part?.trim() || []).join(' ');

function normaliseEmail(email: string): string {
  const address = email.trim().toLowerCase();
  const issue: InputIssue = { path: 'input.email', reason: 'must be an e-mail address' };
  if (!EMAIL.test(address) || address.length > MAX_EMAIL_LENGTH) throw invalid([issue]);
  return address;
}
