import { performance } from 'node:perf_hooks';
import type { Viewer } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import { networkOf } from '../../platform/limits/network.ts';
import { RateLimit } from '../../platform/limits/rate-limit.ts';
import { ConcurrencyLimit, QueueFull } from '../../platform/scheduling/concurrency-limit.ts';
import { yieldToEventLoop } from '../../platform/scheduling/sliced-task.ts';

/** What is known of the caller of an operation. */
export interface PreparationCaller {
  readonly viewer: Viewer | null;
  /** Address of the caller. */
  readonly address?: string;
}

/** Default of `msPerSecond`: a quarter of one core. */
export const PREPARATION_MS_PER_SECOND = 250;
/** Seconds of unused time that a caller may use at once. */
const BURST_SECONDS = 20;
/** Milliseconds of compilation in one turn of the event loop. Further documents are compiled at a later use. */
const COMPILATION_MS_PER_TURN = 20;
/** Documents that wait for their preparation, of all callers and of one. */
const MAX_WAITING = 1_000;
const MAX_WAITING_PER_CALLER = 200;

/**
 * Bounds the time for parsing, validating and compiling documents that are not cached.
 *
 * Each caller has a budget in milliseconds: a person or a token by itself, others by their network. Documents are prepared round robin
 * over callers, and the event loop handles other requests after each. The time is charged after the work, so a refused document costs its
 * caller the same as a valid one, however often its text is varied. Cached documents cost nothing.
 *
 * Errors: RATE_LIMITED with `retryAfterSeconds`.
 */
export class Preparation {
  readonly #time: RateLimit;
  /** Milliseconds of compilation in this turn of the event loop; `null`: none. */
  #compilationMs: number | null = null;
  readonly #queue = new ConcurrencyLimit({
    maxRunning: 1,
    maxWaiting: MAX_WAITING,
    maxWaitingPerKey: MAX_WAITING_PER_CALLER,
  });

  constructor(msPerSecond: number = PREPARATION_MS_PER_SECOND) {
    this.#time = new RateLimit({ perSecond: msPerSecond, burst: msPerSecond * BURST_SECONDS });
  }

  /** Prepares a document in its turn, unless `known` returns it by then. */
  prepare<T>(caller: PreparationCaller, known: () => T | undefined, work: () => T): Promise<T> {
    const key = keyOf(caller);
    return new Promise((resolve, reject) => {
      const prepare = async () => {
        const cached = known();
        if (cached !== undefined) {
          resolve(cached);
          return;
        }
        this.#check(key);
        resolve(this.#charged(key, work));
        // The caller goes on at once, the next document does not.
        await new Promise<void>(yieldToEventLoop);
      };
      this.#queue.run(prepare, { key }).catch((error) => reject(error instanceof QueueFull ? refusal(1) : error));
    });
  }

  /** Compiles, unless the budget of the caller or of this turn is used up: then it returns null, and the document runs as it is. */
  compile<T>(caller: PreparationCaller, work: () => T): T | null {
    const key = keyOf(caller);
    if (this.#time.waitOf(key) > 0 || (this.#compilationMs ?? 0) > COMPILATION_MS_PER_TURN) return null;
    if (this.#compilationMs === null) {
      setImmediate(() => {
        this.#compilationMs = null;
      });
    }
    const start = performance.now();
    try {
      return this.#charged(key, work);
    } finally {
      this.#compilationMs = (this.#compilationMs ?? 0) + performance.now() - start;
    }
  }

  /** Throws RATE_LIMITED. */
  #check(key: string): void {
    const waitMs = this.#time.waitOf(key);
    if (waitMs > 0) throw refusal(Math.ceil(waitMs / 1_000));
  }

  #charged<T>(key: string, work: () => T): T {
    const start = performance.now();
    try {
      return work();
    } finally {
      this.#time.charge(key, performance.now() - start);
    }
  }
}

function keyOf({ viewer, address = '' }: PreparationCaller): string {
  return viewer === null ? `network ${networkOf(address)}` : `${viewer.kind} ${viewer.id}`;
}

function refusal(retryAfterSeconds: number): ServiceError {
  return new ServiceError(
    'RATE_LIMITED',
    'Too many new documents: send values as variables, so that documents repeat, or send fewer',
    { info: { retryAfterSeconds } },
  );
}
