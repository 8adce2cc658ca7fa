import { setTimeout as delay } from 'node:timers/promises';
import { RateLimit } from '../../platform/limits/rate-limit.ts';
import { ConcurrencyLimit, QueueFull } from '../../platform/scheduling/concurrency-limit.ts';

/** Of all links together in one event loop iteration. */
const ITERATION_MS = 10;
/** Of one link in one event loop iteration. */
export const SLICE_MS = 4;
/** Of one link: regained per second, and the maximum burst. Beyond them the link is throttled. */
const UNTHROTTLED = { perSecond: 20, burst: 50 } as const;
/** As a multiple of the slice: throttled links use a quarter of the thread. */
const PAUSE_FACTOR = 3;
/** In every 16th iteration the low-priority callers go first, so that their wait is bounded. */
const LOW_PRIORITY_FIRST_EVERY = 16;

export interface Slice {
  readonly usedMs: number;
  readonly isDrained: boolean;
}

/**
 * Limits the time that the links of one thread spend on reading, so that a broker that floods its link does not delay
 * other work. Throttled links alternate in slices until their input is drained. Meanwhile TCP flow control slows down
 * the broker. Nothing is dropped.
 */
export class ReadingTimeLimit {
  readonly #unthrottled = new RateLimit(UNTHROTTLED);
  readonly #slices = new ConcurrencyLimit({ maxRunning: 1 });
  readonly #waiting: (() => void)[] = [];
  readonly #lowPriority: (() => void)[] = [];
  #iterations = 0;
  #iterationMs = 0;
  #isArmed = false;

  /** Milliseconds that a link may read now; 0 or less: none in this iteration. */
  get leftMs(): number {
    return Math.min(SLICE_MS, ITERATION_MS - this.#iterationMs);
  }

  spend(ms: number): void {
    this.#iterationMs += ms;
    this.#arm();
  }

  /** Returns whether the link may continue without throttling. */
  charge(key: string, ms: number): boolean {
    this.#unthrottled.charge(key, ms);
    return this.#unthrottled.waitOf(key) === 0;
  }

  /** Calls back in a later iteration with time left, in order. Low priority: after all other callers. */
  nextIteration(read: () => void, hasLowPriority = false): void {
    (hasLowPriority ? this.#lowPriority : this.#waiting).push(read);
    this.#arm();
  }

  /** Runs a slice when it is the link's turn. Resolves with true if no further slice is needed. */
  async slice(key: string, read: () => Promise<Slice>, isWanted: () => boolean): Promise<boolean> {
    const work = async () => {
      const { usedMs, isDrained } = await read();
      await delay(usedMs * PAUSE_FACTOR, undefined, { ref: false });
      return isDrained;
    };
    try {
      return await this.#slices.run(work, { key, isWanted });
    } catch (error) {
      if (error instanceof QueueFull) return true;
      throw error;
    }
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => {
      this.#isArmed = false;
      this.#iterationMs = 0;
      this.#iterations += 1;
      const queues = [this.#waiting, this.#lowPriority];
      if (this.#iterations % LOW_PRIORITY_FIRST_EVERY === 0) queues.reverse();
      for (const queue of queues)
        for (let left = queue.length; left > 0 && this.#iterationMs < ITERATION_MS; left -= 1) queue.shift()?.();
      if (queues.some((queue) => queue.length > 0)) this.#arm();
    });
  }
}
