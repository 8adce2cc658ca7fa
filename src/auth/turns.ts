import { ServiceError } from '../errors.ts';

/**
 * Lets so many pieces of work run at once and so many more wait their turn, first come first served; the next is refused
 * with RATE_LIMITED. Holds guesses of passwords below what they could take: memory, the threads that hash, and the moment in
 * which a hundred of them all find that nothing has failed yet.
 */
export class Turns {
  readonly #atOnce: number;
  readonly #mayWait: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor({ atOnce, mayWait }: { readonly atOnce: number; readonly mayWait: number }) {
    this.#atOnce = atOnce;
    this.#mayWait = mayWait;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running += 1;
    else {
      if (this.#waiting.length >= this.#mayWait) {
        const info = { retryAfterSeconds: 1 };
        throw new ServiceError('RATE_LIMITED', 'Too many log-ins at once; try again in 1 s', { info });
      }
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // Handed over without a moment of being free, so nobody who comes now can overtake.
      if (next) next();
      else this.#running -= 1;
    }
  }
}
