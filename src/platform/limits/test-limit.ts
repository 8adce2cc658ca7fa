import { ServiceError } from '../errors.ts';
import { RateLimit } from './rate-limit.ts';

/** Tests that run at the same time in this process. */
const MAX_TESTS = 4;
/** Tests of one caller: any user may have a project, and the target of a test did not ask for it. */
export const TESTS_PER_MINUTE = 10;

/** Bounds tests of connections, which a caller starts and whose target another party runs. */
export class TestLimit {
  readonly #rate = new RateLimit({ perSecond: TESTS_PER_MINUTE / 60, burst: TESTS_PER_MINUTE });
  #running = 0;

  /** Errors: RATE_LIMITED, and those of the test. */
  async run<Result>(callerId: string, test: () => Promise<Result>): Promise<Result> {
    const waitMs = this.#rate.take(callerId);
    if (waitMs > 0) {
      const retryAfterSeconds = Math.ceil(waitMs / 1_000);
      const text = `You may test ${TESTS_PER_MINUTE} times a minute: try again in ${retryAfterSeconds} s`;
      throw new ServiceError('RATE_LIMITED', text, { info: { retryAfterSeconds } });
    }
    if (this.#running >= MAX_TESTS) {
      throw new ServiceError('RATE_LIMITED', `At most ${MAX_TESTS} tests run at a time: try again later`);
    }
    this.#running += 1;
    try {
      return await test();
    } finally {
      this.#running -= 1;
    }
  }
}
