import { ServiceError } from '../errors.ts';
import type { User } from '../generated/sqlite/client.ts';
import type { Database } from '../storage/database.ts';
import { Admission } from './admission.ts';
import type { Attempts } from './attempts.ts';
import type { PasswordDirectory } from './password-directory.ts';
import { PasswordChecker } from './passwords.ts';
import { RefusedLogin } from './refused-login.ts';
import type { SecondFactors } from './second-factors.ts';
import type { OpenedSession, Sessions } from './sessions.ts';
import type { SignInCounts } from './sign-in-counts.ts';

/** Passwords checked at once; hashing takes a thread of libuv's four and 19 MiB for each. */
const PASSWORD_CHECKS = { atOnce: 2, mayWait: 200 } as const;
/** Asked at once at the directory, which may be slow; nobody with a password here waits for it. */
const DIRECTORY_CHECKS = { atOnce: 8, mayWait: 200 } as const;

export interface Credentials {
  /** E-mail address, or the name that the directory knows the person by. */
  readonly email: string;
  readonly password: string;
  /** Of the second factor: a code of the app, or a recovery code. */
  readonly code?: string | null | undefined;
}

export interface PasswordSignInOptions {
  readonly db: Database;
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly attempts: Attempts;
  readonly directory: PasswordDirectory | null;
  /** Who may use a password of this service. Null: everybody who has one; else the root administrator with this address alone. */
  readonly onlyEmail: string | null;
  readonly counts: Pick<SignInCounts, 'refused'>;
}

/**
 * Log-ins with a password. One hash is compared for each, whoever it is, so that how long it takes does not tell which accounts there
 * are; a directory costs its callers more than those who have a password here.
 */
export class PasswordSignIn {
  readonly #options: PasswordSignInOptions;
  readonly #passwords = new PasswordChecker();
  readonly #admission = new Admission(PASSWORD_CHECKS);
  readonly #directoryAdmission = new Admission(DIRECTORY_CHECKS);

  constructor(options: PasswordSignInOptions) {
    this.#options = options;
  }

  /** See PasswordChecker. */
  get work(): number {
    return this.#passwords.work;
  }

  /**
   * Errors: UNAUTHORIZED (the same whether the account or the password is wrong; another message for a wrong code),
   * SECOND_FACTOR_REQUIRED after the right password, RATE_LIMITED, those of the directory. Where there is such an account, each is a
   * RefusedLogin.
   */
  async login(credentials: Credentials, address: string): Promise<OpenedSession> {
    const user = await this.#options.db.user.findUnique({ where: { email: credentials.email.trim().toLowerCase() } });
    try {
      return await this.#loginAs(user, credentials, address);
    } catch (error) {
      this.#options.counts.refused(error);
      throw user !== null && error instanceof ServiceError ? new RefusedLogin(error, user.id) : error;
    }
  }

  async #loginAs(user: User | null, { email, password, code }: Credentials, address: string): Promise<OpenedSession> {
    const login = email.trim();
    const attempt = { account: login.toLowerCase(), userId: user?.id ?? null, address };
    const { attempts, directory, sessions, secondFactors } = this.#options;
    if (directory !== null && (user === null || user.ssoType === directory.provider) && !this.#isBreakGlass(user)) {
      return this.#loginAt(directory, login, password, attempt);
    }
    const known = user !== null && this.#mayUsePassword(user) ? user : null;
    const hash = known?.passwordHash ?? null;
    let isCodeWrong = false;
    const isRight = await attempts.run(attempt, this.#admission, async () => {
      if (!(await this.#passwords.matches(hash, password)) || known === null) return false;
      if (known.totpSince === null) return true;
      if (code == null || code.trim() === '') throw secondFactorRequired();
      isCodeWrong = !(await secondFactors.take(known, code));
      return !isCodeWrong;
    });
    if (isCodeWrong) throw new ServiceError('UNAUTHORIZED', WRONG_CODE);
    if (!isRight || known === null || hash === null) throw this.#wrongLogin();
    return sessions.open(known.id, { passwordHash: hash, secondFactorSince: known.totpSince, address });
  }

  /**
   * Whether it is the person's password and, where asked for, a code of the person's second factor; opens no session. Slowed down like a
   * log-in. Errors: RATE_LIMITED, NOT_ALLOWED (a person without a password here).
   */
  async confirm(userId: string, { password, code }: Omit<Credentials, 'email'>, address: string): Promise<boolean> {
    const user = await this.#options.db.user.findUnique({ where: { id: userId } });
    if (user !== null && user.ssoType !== null && !this.#isBreakGlass(user)) {
      throw new ServiceError('NOT_ALLOWED', 'You sign in elsewhere, and have no password here');
    }
    const isWhole = code != null || user?.totpSince == null;
    const attempt = { account: user?.email ?? userId, userId, address, isWhole };
    return this.#options.attempts.run(attempt, this.#admission, async () => {
      if (!(await this.#passwords.matches(user?.passwordHash ?? null, password)) || user === null) return false;
      return code == null || this.#options.secondFactors.take(user, code);
    });
  }

  /** `SecondFactors.confirm`, slowed down like a log-in. Errors: NOT_ALLOWED for a wrong code (whoever sent it is signed in, and stays so), RATE_LIMITED, NOT_FOUND. */
  async confirmSecondFactor(
    { userId, account, sessionId }: { readonly userId: string; readonly account: string; readonly sessionId: string },
    code: string,
    address: string,
  ): Promise<readonly string[]> {
    let codes: readonly string[] | null = null;
    await this.#options.attempts.run({ account, userId, address }, this.#admission, async () => {
      codes = await this.#options.secondFactors.confirm(userId, code, sessionId);
      return codes !== null;
    });
    if (codes === null) throw new ServiceError('NOT_ALLOWED', WRONG_CODE);
    return codes;
  }

  async #loginAt(
    directory: PasswordDirectory,
    login: string,
    password: string,
    attempt: { readonly account: string; readonly userId: string | null; readonly address: string },
  ): Promise<OpenedSession> {
    let userId: string | null = null;
    await this.#options.attempts.run(attempt, this.#directoryAdmission, async () => {
      const [found] = await Promise.all([
        directory.signIn(login, password, attempt.address),
        // The work that an account with a password here would have cost.
        this.#admission.run(() => this.#passwords.matches(null, password)),
      ]);
      if (typeof found === 'object') userId = found.userId;
      return userId !== null;
    });
    if (userId === null) throw this.#wrongLogin();
    return this.#options.sessions.open(userId, { provider: directory.provider, address: attempt.address });
  }

  #mayUsePassword(user: User): boolean {
    return this.#isBreakGlass(user) || (this.#options.onlyEmail === null && user.ssoType === null);
  }

  #isBreakGlass(user: User | null): boolean {
    return user?.isRoot === true && user.email === this.#options.onlyEmail;
  }

  /** One for all who are refused, also where passwords are switched off: it does not tell whose password would count. */
  #wrongLogin(): ServiceError {
    if (this.#options.onlyEmail === null) {
      return new ServiceError('UNAUTHORIZED', 'The e-mail address or the password is wrong');
    }
    const instead = this.#options.directory === null ? '' : ' but for those of the directory';
    return new ServiceError(
      'UNAUTHORIZED',
      `The e-mail address or the password is wrong, or not for use here: signing in with a password is switched off${instead}`,
    );
  }
}

const secondFactorRequired = () =>
  new ServiceError('SECOND_FACTOR_REQUIRED', 'Send the code of your authenticator app, or a recovery code, as well');

const WRONG_CODE = 'The code is wrong, or was used before';
