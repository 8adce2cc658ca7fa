import { ServiceError } from '../errors.ts';
import { Slots } from '../slots.ts';

export interface AdmissionOptions {
  readonly atOnce: number;
  readonly mayWait: number;
  readonly what?: string;
}

/**
 * Lets so many pieces of work run at once and so many more wait their turn, first come first served; the next is refused
 * with RATE_LIMITED. Holds guesses of passwords below what they could take: memory, the threads that hash, and the moment in
 * which a hundred of them all find that nothing has failed yet.
 */
export class Admission {
  readonly #slots: Slots;
  readonly #mayWait: number;
  readonly #what: string;

  /** `what` there are too many of, for the refusal. */
  constructor({ atOnce, mayWait, what = 'log-ins' }: AdmissionOptions) {
    this.#slots = new Slots(atOnce);
    this.#mayWait = mayWait;
    this.#what = what;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const { ahead } = this.#slots;
    if (ahead !== null && ahead >= this.#mayWait) {
      const info = { retryAfterSeconds: 1 };
      throw new ServiceError('RATE_LIMITED', `Too many ${this.#what} at once; try again in 1 s`, { info });
    }
    return this.#slots.run(work);
  }
}
