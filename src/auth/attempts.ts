import type { Logger } from 'pino';
import { Bursts } from '../limits/bursts.ts';
import { networkOf } from '../limits/network.ts';
import type { Admission } from './admission.ts';
import { LoginThrottle } from './login-throttle.ts';

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
}

/** Refused attempts that come one after the other: of one caller, or at one account from many addresses. */
interface RefusedBurst {
  /** Null: from many. */
  readonly address: string | null;
  readonly userId: string | null;
}

/** Guessing is slowed down, and told as one burst. */
export class Attempts {
  readonly #throttle = new LoginThrottle();
  readonly #byAddress: Bursts<RefusedBurst>;
  readonly #byAccount: Bursts<RefusedBurst>;

  constructor(log: Logger) {
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
   * Runs the check when its turn comes, and counts its answer. What it throws is no guess, and counts as nothing.
   * Errors: RATE_LIMITED while the account or the address has to wait, and what the check throws.
   */
  async run(attempt: Attempt, admission: Admission, check: () => Promise<boolean>): Promise<boolean> {
    this.#begin(attempt);
    return admission.run(async () => {
      // Whoever waited may have failed meanwhile.
      this.#begin(attempt);
      const isRight = await check();
      if (isRight) {
        if (attempt.isWhole !== false) this.#throttle.succeeded(attempt.account);
      } else {
        this.#throttle.failed(attempt.account, attempt.address);
        this.#refused(attempt);
      }
      return isRight;
    });
  }

  close(): void {
    this.#byAddress.close();
    this.#byAccount.close();
  }

  #begin(attempt: Attempt): void {
    try {
      this.#throttle.check(attempt.account, attempt.address);
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
