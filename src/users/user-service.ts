import { generatePassword, hashPassword } from '../auth/passwords.ts';
import { invalid, notFound, ServiceError } from '../errors.ts';
import type { User } from '../generated/sqlite/client.ts';
import { newId } from '../ids.ts';
import type { Changes } from '../storage/changes.ts';
import type { Database } from '../storage/database.ts';
import { isUniqueViolation } from '../storage/prisma-errors.ts';
import { serializable } from '../storage/serializable.ts';
import { MAX_NAME, textIssues } from '../texts.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
const EMAIL = /^[^\s@\0-\x1f]+@[^\s@\0-\x1f]+$/;
const MAX_EMAIL_LENGTH = 254;

export interface NewUser {
  readonly email: string;
  readonly name?: string | null | undefined;
  /** Null or absent: the person cannot sign in until a password is set. */
  readonly password?: string | null | undefined;
  readonly isRootAdmin?: boolean | null | undefined;
}

export interface UserServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
}

/** The people who may sign in. Knows nothing of sessions: those end by the change it announces. */
export class UserService {
  readonly #db: Database;
  readonly #changes: Changes;

  constructor({ db, changes }: UserServiceOptions) {
    this.#db = db;
    this.#changes = changes;
  }

  /** Errors: INVALID, ALREADY_EXISTS. */
  async create({ email, name, password, isRootAdmin }: NewUser): Promise<User> {
    const address = normaliseEmail(email);
    const label = (name ?? '').trim() || (address.split('@')[0] ?? address);
    const issues = textIssues('input.name', label, { max: MAX_NAME });
    if (issues.length > 0) throw invalid(issues);
    const passwordHash = password == null ? null : await hashPassword(password);
    try {
      return await this.#db.user.create({
        data: { id: newId('user'), email: address, name: label, passwordHash, isRoot: isRootAdmin ?? false },
      });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new ServiceError('ALREADY_EXISTS', `There is already a user ${address}`, { cause: error });
    }
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

  /** Sets a password and ends the person's sessions, but for the one named. Errors: NOT_FOUND, INVALID. */
  async setPassword(userId: string, password: string, exceptSession?: string): Promise<void> {
    const passwordHash = await hashPassword(password);
    const others = exceptSession === undefined ? {} : { id: { not: exceptSession } };
    // Together: sessions that outlive the password they were opened with would be the way in that was to be closed.
    const [{ count }] = await this.#db.$transaction([
      this.#db.user.updateMany({ where: { id: userId }, data: { passwordHash } }),
      this.#db.session.deleteMany({ where: { userId, ...others } }),
    ]);
    if (count === 0) throw notFound('user', userId);
    await this.#changes.announce('user', userId);
  }

  /** Errors: NOT_FOUND, IN_USE for the last root administrator, owners of projects, and the last owner of an organisation. */
  async remove(userId: string): Promise<void> {
    await serializable(this.#db, async (db) => {
      const user = await db.user.findUnique({
        where: { id: userId },
        include: {
          projects: { select: { name: true } },
          organisations: {
            where: { role: 'OWNER', organisation: { members: { none: { role: 'OWNER', userId: { not: userId } } } } },
            select: { organisation: { select: { name: true } } },
          },
        },
      });
      if (user === null) throw notFound('user', userId);
      if (user.isRoot && (await db.user.count({ where: { isRoot: true } })) === 1) {
        throw new ServiceError('IN_USE', 'The last root administrator cannot be removed');
      }
      if (user.projects.length > 0) {
        const projects = user.projects.map(({ name }) => name);
        throw new ServiceError('IN_USE', `${user.email} owns projects: ${projects.join(', ')}`, { info: { projects } });
      }
      if (user.organisations.length > 0) {
        const organisations = user.organisations.map(({ organisation }) => organisation.name);
        throw new ServiceError('IN_USE', `${user.email} is the last owner of: ${organisations.join(', ')}`, {
          info: { organisations },
        });
      }
      await db.user.delete({ where: { id: userId } });
    });
    await this.#changes.announce('user', userId);
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
      await this.create({ email, name: 'Administrator', password: chosen, isRootAdmin: true });
    } else {
      await this.#db.user.update({ where: { id: existing.id }, data: { isRoot: true } });
      await this.setPassword(existing.id, chosen);
    }
    return password === undefined ? { email: email.toLowerCase(), generated: chosen } : null;
  }
}

function normaliseEmail(email: string): string {
  const address = email.trim().toLowerCase();
  if (!EMAIL.test(address) || address.length > MAX_EMAIL_LENGTH) {
    throw invalid([{ path: 'input.email', reason: 'must be an e-mail address' }]);
  }
  return address;
}
