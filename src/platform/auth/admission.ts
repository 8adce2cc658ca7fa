import { ServiceError } from '../errors.ts';
import { ConcurrencyLimit, type ConcurrencyLimitOptions, QueueFull } from '../scheduling/concurrency-limit.ts';

export interface AdmissionOptions extends ConcurrencyLimitOptions {
  /** What there are too many of, for the refusal. Default: log-ins. */
  readonly what?: string;
}

/**
 * A fair queue over the networks of callers, whose refusal is RATE_LIMITED. Bounds what guesses of passwords take: memory, the threads
 * that hash, and the guesses that are checked before the first of them has failed.
 */
export class Admission {
  readonly #queue: ConcurrencyLimit;
  readonly #what: string;

  constructor({ what = 'log-ins', ...options }: AdmissionOptions) {
    this.#queue = new ConcurrencyLimit(options);
    this.#what = what;
  }

  /** Errors: RATE_LIMITED, and what the work throws. */
  async run<T>(network: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#queue.run(work, { key: network });
    } catch (error) {
      if (!(error instanceof QueueFull)) throw error;
      const info = { retryAfterSeconds: 1 };
      throw new ServiceError('RATE_LIMITED', `Too many ${this.#what} at once; try again in 1 s`, { info });
    }
  }
}
