import type { User } from '../../generated/sqlite/client.ts';
import { ServiceError } from '../errors.ts';
import type { Database } from '../storage/database.ts';
import type { KnownNetworks } from './known-networks.ts';
import type { CheckQueues, LoginAttempt, LoginAttempts } from './login-attempts.ts';
import { NetworkQueue, type NetworkQueueOptions } from './network-queue.ts';
import type { PasswordDirectory } from './password-directory.ts';
import { PasswordChecker } from './passwords.ts';
import { RefusedLogin } from './refused-login.ts';
import type { SecondFactors } from './second-factors.ts';
import type { OpenedSession, Sessions } from './sessions.ts';
import type { SignInCounts } from './sign-in-counts.ts';

/** Each one takes 19 MiB and one of the four threads of libuv. */
const PASSWORD_CHECKS = {
  strangers: { maxRunning: 2, maxWaiting: 200 },
  trusted: { maxRunning: 1, maxWaiting: 200 },
} as const;
/** The directory may be slow, so local passwords have queues of their own. */
const DIRECTORY_CHECKS = {
  strangers: { maxRunning: 8, maxWaiting: 200 },
  trusted: { maxRunning: 4, maxWaiting: 200 },
} as const;

interface Credentials {
  /** E-mail address, or the log-in name in the directory. */
  readonly email: string;
  readonly password: string;
  /** Code of the authenticator app, or a recovery code. */
  readonly code?: string | null | undefined;
}

interface PasswordSignInOptions {
  readonly db: Database;
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly attempts: LoginAttempts;
  readonly knownNetworks: KnownNetworks;
  readonly directory: PasswordDirectory | null;
  readonly onlyEmail: string | null;
  readonly counts: Pick<SignInCounts, 'refused'>;
}

/** Each attempt compares one hash, so that the response time does not reveal which accounts exist. */
export class PasswordSignIn {
  readonly #options: PasswordSignInOptions;
  readonly #passwords = new PasswordChecker();
  readonly #checks = queuesOf(PASSWORD_CHECKS);
  readonly #directoryChecks = queuesOf(DIRECTORY_CHECKS);

  constructor(options: PasswordSignInOptions) {
    this.#options = options;
  }

  get work(): number {
    return this.#passwords.work;
  }

  /**
   * Errors: UNAUTHORIZED (the same for a wrong account and a wrong password), SECOND_FACTOR_REQUIRED after the right
   * password, RATE_LIMITED, and errors of the directory; a RefusedLogin if the account exists.
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
    const isRight = await attempts.run(attempt, this.#checks, async () => {
      if (!(await this.#passwords.matches(hash, password)) || known === null) return false;
      if (known.totpSince === null) return true;
      if (code == null || code.trim() === '') throw secondFactorRequired();
      isCodeWrong = !(await secondFactors.take(known, code));
      return !isCodeWrong;
    });
    if (isCodeWrong) throw new ServiceError('UNAUTHORIZED', WRONG_CODE);
    if (!isRight || known === null || hash === null) throw this.#wrongLogin();
    const conditions = { passwordHash: hash, secondFactorSince: known.totpSince, address };
    return this.#opened(await sessions.open(known.id, conditions), attempt);
  }

  /**
   * Whether a signed-in user gave the right password and, if given, a right code. Throttled with a count that strangers
   * cannot raise. Errors: RATE_LIMITED, NOT_ALLOWED (a user without a local password), SECOND_FACTOR_REQUIRED (no code,
   * if `isCodeRequired`).
   */
  async confirm(
    userId: string,
    { password, code }: Omit<Credentials, 'email'>,
    address: string,
    { isCodeRequired = false } = {},
  ): Promise<boolean> {
    const user = await this.#options.db.user.findUnique({ where: { id: userId } });
    if (user !== null && user.ssoType !== null && !this.#isBreakGlass(user)) {
      throw new ServiceError('NOT_ALLOWED', 'You sign in at an external provider, and have no password here');
    }
    const isComplete = code != null || user?.totpSince == null;
    const attempt = { account: user?.email ?? userId, userId, address, isComplete, isSignedIn: true };
    return this.#options.attempts.run(attempt, this.#checks, async () => {
      if (!(await this.#passwords.matches(user?.passwordHash ?? null, password)) || user === null) return false;
      if (isCodeRequired && user.totpSince === null) return true;
      if (isCodeRequired && (code == null || code.trim() === '')) throw secondFactorRequired();
      return code == null || this.#options.secondFactors.take(user, code);
    });
  }

  /** Throttled like a log-in. Errors: NOT_ALLOWED (a wrong code), RATE_LIMITED, NOT_FOUND. */
  async confirmSecondFactor(
    { userId, account, sessionId }: { readonly userId: string; readonly account: string; readonly sessionId: string },
    code: string,
    address: string,
  ): Promise<readonly string[]> {
    let codes: readonly string[] | null = null;
    const attempt = { account, userId, address, isSignedIn: true };
    await this.#options.attempts.run(attempt, this.#checks, async () => {
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
    attempt: LoginAttempt,
  ): Promise<OpenedSession> {
    let userId: string | null = null;
    await this.#options.attempts.run(attempt, this.#directoryChecks, async (inQueue) => {
      const [found] = await Promise.all([
        directory.signIn(login, password, attempt.address),
        // The same work as for an account with a local password.
        inQueue(this.#checks, () => this.#passwords.matches(null, password)),
      ]);
      if (typeof found === 'object') userId = found.userId;
      return userId !== null;
    });
    if (userId === null) throw this.#wrongLogin();
    const conditions = { provider: directory.provider, address: attempt.address };
    return this.#opened(await this.#options.sessions.open(userId, conditions), attempt);
  }

  async #opened(
    session: OpenedSession,
    { account, address }: Pick<LoginAttempt, 'account' | 'address'>,
  ): Promise<OpenedSession> {
    if (address !== '') await this.#options.knownNetworks.add(session.userId, account, address);
    return session;
  }

  #mayUsePassword(user: User): boolean {
    return this.#isBreakGlass(user) || (this.#options.onlyEmail === null && user.ssoType === null);
  }

  #isBreakGlass(user: User | null): boolean {
    return user?.isRoot === true && user.email === this.#options.onlyEmail;
  }

  /** The same error for all refused log-ins, so that it does not reveal which account may use a password. */
  #wrongLogin(): ServiceError {
    if (this.#options.onlyEmail === null) {
      return new ServiceError('UNAUTHORIZED', 'The e-mail address or the password is wrong');
    }
    const exception = this.#options.directory === null ? '' : ' except for passwords of the directory';
    return new ServiceError(
      'UNAUTHORIZED',
      `The e-mail address or the password is wrong, or passwords are switched off${exception}`,
    );
  }
}

const queuesOf = ({ strangers, trusted }: Readonly<Record<keyof CheckQueues, NetworkQueueOptions>>): CheckQueues => ({
  strangers: new NetworkQueue(strangers),
  trusted: new NetworkQueue(trusted),
});

const secondFactorRequired = () =>
  new ServiceError('SECOND_FACTOR_REQUIRED', 'Also send the code of your authenticator app, or a recovery code');

const WRONG_CODE = 'The code is wrong, or was used before';
