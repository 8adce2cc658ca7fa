import type { Logger } from 'pino';
import { Bursts } from '../limits/bursts.ts';
import { networkOf } from '../limits/network.ts';
import type { Database } from '../storage/database.ts';
import type { Sealer } from '../storage/encryption/sealed.ts';
import type { KnownNetworks } from './known-networks.ts';
import { LoginFailures } from './login-failures.ts';
import { type CallerTrust, LoginThrottle, type ThrottledAttempt } from './login-throttle.ts';
import type { NetworkQueue } from './network-queue.ts';

/** Failed attempts in a row that are logged. Fewer are typing errors. */
const BURST_FROM = 5;

export interface LoginAttempt {
  /** As typed, in lower case. It may be unknown, or a password in the wrong field: never log it. */
  readonly account: string;
  readonly userId: string | null;
  readonly address: string;
  /** Whether the attempt checks all factors of a log-in, so that success ends the count of failures. Default: true. */
  readonly isComplete?: boolean;
  readonly isSignedIn?: boolean;
}

/** The queues of checks: callers in known networks of the account do not wait behind strangers. */
export interface CheckQueues {
  readonly strangers: NetworkQueue;
  readonly trusted: NetworkQueue;
}

type RunInQueue = <T>(queues: CheckQueues, work: () => Promise<T>) => Promise<T>;

interface RefusedBurst {
  readonly address: string | null;
  readonly userId: string | null;
}

interface LoginAttemptsOptions {
  readonly known: Pick<KnownNetworks, 'isKnown'>;
  /** The PostgreSQL database of several processes, which count together. Default: one process. */
  readonly shared?: { readonly db: Database; readonly sealer: Pick<Sealer, 'sign'> } | null;
  readonly log: Logger;
}

/** Checks log-ins, slows down guessing, and logs failed attempts in a row as one burst. */
export class LoginAttempts {
  readonly #throttle = new LoginThrottle();
  readonly #shared: LoginFailures | null;
  readonly #known: Pick<KnownNetworks, 'isKnown'>;
  readonly #byAddress: Bursts<RefusedBurst>;
  readonly #byAccount: Bursts<RefusedBurst>;

  constructor({ known, shared = null, log }: LoginAttemptsOptions) {
    this.#known = known;
    this.#shared = shared && new LoginFailures({ ...shared, throttle: this.#throttle });
    const bursts = () =>
      new Bursts<RefusedBurst>({
        from: BURST_FROM,
        onBegin: (burst, count) => log.warn({ ...shown(burst), count }, 'log-ins are failing; slowed down'),
        onEnd: (burst, count, seconds) => log.warn({ ...shown(burst), count, seconds }, 'log-ins have stopped failing'),
      });
    this.#byAddress = bursts();
    this.#byAccount = bursts();
  }

  /**
   * Counts the result of the check, but not its errors. `inQueue` runs further work in another queue. Errors:
   * RATE_LIMITED while the caller has to wait, and errors of the check.
   */
  async run(
    attempt: LoginAttempt,
    queues: CheckQueues,
    check: (inQueue: RunInQueue) => Promise<boolean>,
  ): Promise<boolean> {
    const { account, address } = attempt;
    // The counts that also apply to known networks refuse a flood without a database query.
    this.#begin(attempt, { account, address, trust: attempt.isSignedIn ? 'SIGNED_IN' : 'KNOWN_NETWORK' });
    const throttled: ThrottledAttempt = { account, address, trust: await this.#trustOf(attempt) };
    const inQueue: RunInQueue = ({ strangers, trusted }, work) =>
      (throttled.trust === 'NONE' ? strangers : trusted).run(networkOf(address), work);
    this.#begin(attempt, throttled);
    return inQueue(queues, async () => {
      // Other log-ins to this account or from this network may have failed meanwhile, in any process.
      await this.#shared?.read(throttled);
      this.#begin(attempt, throttled);
      const isRight = await check(inQueue);
      if (isRight) {
        if (attempt.isComplete !== false && this.#throttle.hasFailed(throttled)) {
          this.#throttle.succeeded(throttled);
          await this.#shared?.succeeded(throttled);
        }
      } else {
        this.#throttle.failed(throttled);
        this.#refused(attempt);
        await this.#shared?.failed(throttled);
      }
      return isRight;
    });
  }

  /** Ends the counts that all processes share. The caller announces the account, so that each process forgets it. */
  async unlock(account: string): Promise<void> {
    await this.#shared?.unlock(account);
  }

  unlocked(account: string): void {
    this.#throttle.unlock(account);
  }

  close(): void {
    this.#byAddress.close();
    this.#byAccount.close();
  }

  async #trustOf({ account, address, isSignedIn }: LoginAttempt): Promise<CallerTrust> {
    if (isSignedIn) return 'SIGNED_IN';
    return (await this.#known.isKnown(account, address)) ? 'KNOWN_NETWORK' : 'NONE';
  }

  #begin(attempt: LoginAttempt, throttled: ThrottledAttempt): void {
    try {
      this.#throttle.check(throttled);
    } catch (error) {
      this.#refused(attempt);
      throw error;
    }
  }

  /** Attempts of one caller are one burst, however many accounts it tries. Others are counted per account. */
  #refused({ account, userId, address }: LoginAttempt): void {
    if (this.#byAddress.add(networkOf(address), { address, userId: null })) return;
    this.#byAccount.add(account.slice(0, 254), { address: null, userId });
  }
}

const shown = ({ address, userId }: RefusedBurst) => ({
  ...(address === null ? {} : { address }),
  ...(userId === null ? {} : { userId }),
});
