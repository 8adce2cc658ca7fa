import { performance } from 'node:perf_hooks';
import type { Viewer } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import { networkOf } from '../../platform/limits/network.ts';
import { RateLimit } from '../../platform/limits/rate-limit.ts';
import { ConcurrencyLimit, QueueFull } from '../../platform/scheduling/concurrency-limit.ts';
import { yieldToEventLoop } from '../../platform/scheduling/sliced-task.ts';

export interface PreparationCaller {
  readonly viewer: Viewer | null;
  readonly address?: string;
}

/** Default of `msPerSecond`: a quarter of one core. */
const PREPARATION_MS_PER_SECOND = 250;
/** Maximum unused time that a caller may save, in seconds. */
const BURST_SECONDS = 20;
/** Maximum milliseconds of compilation per event loop iteration. Further documents are compiled at a later use. */
const COMPILATION_MS_PER_ITERATION = 20;
/** Maximum number of documents that wait for preparation, of all callers and of one. */
const MAX_WAITING = 1_000;
const MAX_WAITING_PER_CALLER = 200;

/**
 * Bounds the time for documents that are not cached: parsing, validating, compiling, and executing introspections. Each
 * user, token, and network without credentials has a budget in milliseconds, charged after the work. Documents are
 * prepared round robin over callers, with other requests in between. Errors: RATE_LIMITED with `retryAfterSeconds`.
 */
export class Preparation {
  readonly #time: RateLimit;
  /** In this event loop iteration. `null` if nothing was compiled. */
  #compilationMs: number | null = null;
  readonly #queue = new ConcurrencyLimit({
    maxRunning: 1,
    maxWaiting: MAX_WAITING,
    maxWaitingPerKey: MAX_WAITING_PER_CALLER,
  });

  constructor(msPerSecond: number = PREPARATION_MS_PER_SECOND) {
    this.#time = new RateLimit({ perSecond: msPerSecond, burst: msPerSecond * BURST_SECONDS });
  }

  /** Queues the preparation. `cached` is called when its turn comes, and may return the prepared document. */
  prepare<T>(caller: PreparationCaller, cached: () => T | undefined, work: () => T): Promise<T> {
    const key = keyOf(caller);
    return new Promise((resolve, reject) => {
      const prepare = async () => {
        const found = cached();
        if (found !== undefined) {
          resolve(found);
          return;
        }
        this.#check(key);
        resolve(this.#charged(key, work));
        await new Promise<void>(yieldToEventLoop);
      };
      this.#queue.run(prepare, { key }).catch((error) => reject(error instanceof QueueFull ? refusal(1) : error));
    });
  }

  /** Does work of which the result depends on the document only. Errors: RATE_LIMITED, and those of `work`. */
  run<T>(caller: PreparationCaller, work: () => T): T {
    const key = keyOf(caller);
    this.#check(key);
    return this.#charged(key, work);
  }

  /** Returns null if the budget of the caller or of this iteration is used up; graphql-js then executes. */
  compile<T>(caller: PreparationCaller, work: () => T): T | null {
    const key = keyOf(caller);
    if (this.#time.waitOf(key) > 0 || (this.#compilationMs ?? 0) > COMPILATION_MS_PER_ITERATION) return null;
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

  #check(key: string): void {
    const waitMs = this.#time.waitOf(key);
    if (waitMs > 0) throw refusal(Math.ceil(waitMs / 1_000));
  }

  #charged<T>(key: string, work: () => T): T {
    const [start, before] = [performance.now(), process.cpuUsage()];
    try {
      return work();
    } finally {
      const { user, system } = process.cpuUsage(before);
      // Processor time excludes what other processes took meanwhile, but includes the other threads of this one.
      this.#time.charge(key, Math.min(performance.now() - start, (user + system) / 1_000));
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
