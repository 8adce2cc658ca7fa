import type { Logger } from 'pino';
import { Bursts } from '../limits/bursts.ts';
import { networkOf } from '../limits/network.ts';
import type { Admission } from './admission.ts';
import type { KnownNetworks } from './known-networks.ts';
import { type CallerTrust, LoginThrottle, type ThrottledAttempt } from './login-throttle.ts';

/** Attempts of one caller, or at one account, that fail in a row: fewer are mistyped. */
const BURST_FROM = 5;

/** Who tries to get in, and where. */
export interface Attempt {
  /** As it was typed, in lower case: perhaps nobody's, perhaps a password in the wrong place. Never logged. */
  readonly account: string;
  /** Of the account, when there is one. */
  readonly userId: string | null;
  readonly address: string;
  /** False: it is a part of what a log-in takes, so that being right forgets no failures. Default: all of it. */
  readonly isWhole?: boolean;
  /** Whether the caller has a session of the account. Default: false. */
  readonly isSignedIn?: boolean;
}

/** The queues of checks: callers whom the account is known to have signed in from do not wait behind strangers. */
export interface CheckQueues {
  readonly strangers: Admission;
  readonly trusted: Admission;
}

/** Runs work in the queue of the caller. */
export type RunInQueue = <T>(queues: CheckQueues, work: () => Promise<T>) => Promise<T>;

/** Refused attempts that come one after the other: of one caller, or at one account from many addresses. */
interface RefusedBurst {
  /** Null: from many. */
  readonly address: string | null;
  readonly userId: string | null;
}

/** Guessing is slowed down, and told as one burst. */
export class Attempts {
  readonly #throttle = new LoginThrottle();
  readonly #known: Pick<KnownNetworks, 'isKnown'>;
  readonly #byAddress: Bursts<RefusedBurst>;
  readonly #byAccount: Bursts<RefusedBurst>;

  constructor(log: Logger, known: Pick<KnownNetworks, 'isKnown'>) {
    this.#known = known;
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
   * Runs the check when the network of the caller has its turn, and counts its result. An error of the check is no guess and is not
   * counted. `inQueue` runs further work of the check in another queue.
   * Errors: RATE_LIMITED while the caller has to wait, and those of the check.
   */
  async run(attempt: Attempt, queues: CheckQueues, check: (inQueue: RunInQueue) => Promise<boolean>): Promise<boolean> {
    const { account, address } = attempt;
    // Counts that concern known networks, too, refuse a flood without a query.
    this.#begin(attempt, { account, address, trust: attempt.isSignedIn ? 'SIGNED_IN' : 'KNOWN_NETWORK' });
    const throttled: ThrottledAttempt = { account, address, trust: await this.#trustOf(attempt) };
    const inQueue: RunInQueue = ({ strangers, trusted }, work) =>
      (throttled.trust === 'NONE' ? strangers : trusted).run(networkOf(address), work);
    this.#begin(attempt, throttled);
    return inQueue(queues, async () => {
      // The account or the network may have failed while this attempt waited.
      this.#begin(attempt, throttled);
      const isRight = await check(inQueue);
      if (isRight) {
        if (attempt.isWhole !== false) this.#throttle.succeeded(throttled);
      } else {
        this.#throttle.failed(throttled);
        this.#refused(attempt);
      }
      return isRight;
    });
  }

  /** Ends the waits of an account. */
  unlock(account: string): void {
    this.#throttle.unlock(account);
  }

  close(): void {
    this.#byAddress.close();
    this.#byAccount.close();
  }

  async #trustOf({ account, address, isSignedIn }: Attempt): Promise<CallerTrust> {
    if (isSignedIn) return 'SIGNED_IN';
    return (await this.#known.isKnown(account, address)) ? 'KNOWN_NETWORK' : 'NONE';
  }

  #begin(attempt: Attempt, throttled: ThrottledAttempt): void {
    try {
      this.#throttle.check(throttled);
    } catch (error) {
      this.#refused(attempt);
      throw error;
    }
  }

  /** Of one caller it is one burst, however many accounts it tries; what is left are the many who try one account. */
  #refused({ account, userId, address }: Attempt): void {
    if (this.#byAddress.add(networkOf(address), { address, userId: null })) return;
    this.#byAccount.add(account.slice(0, 254), { address: null, userId });
  }
}

const shown = ({ address, userId }: RefusedBurst) => ({
  ...(address === null ? {} : { address }),
  ...(userId === null ? {} : { userId }),
});
