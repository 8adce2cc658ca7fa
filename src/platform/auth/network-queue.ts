import { ServiceError } from '../errors.ts';
import { ConcurrencyLimit, type ConcurrencyLimitOptions, QueueFull } from '../scheduling/concurrency-limit.ts';

export interface NetworkQueueOptions extends ConcurrencyLimitOptions {
  /** Plural noun for the error message. Default: log-ins. */
  readonly what?: string;
}

/** Bounds the memory and the threads of password checks, and is fair to networks. */
export class NetworkQueue {
  readonly #queue: ConcurrencyLimit;
  readonly #what: string;

  constructor({ what = 'log-ins', ...options }: NetworkQueueOptions) {
    this.#queue = new ConcurrencyLimit(options);
    this.#what = what;
  }

  async run<T>(network: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#queue.run(work, { key: network });
    } catch (error) {
      if (!(error instanceof QueueFull)) throw error;
      const info = { retryAfterSeconds: 1 };
      throw new ServiceError('RATE_LIMITED', `Too many concurrent ${this.#what}; try again in 1 s`, { info });
    }
  }
}
