import { LRUCache } from 'lru-cache';
import { entryLimit } from './entry-limit.ts';

const HOUR_MS = 60 * 60_000;
const FIRST_WAIT_MS = 1_000;
const MAX_DOUBLINGS = 20;

interface FailureWaitOptions {
  readonly free: number;
  readonly longestWaitMs: number;
  /** About 200 bytes each. Default: 10,000. Beyond it the key unused for longest is evicted. */
  readonly maxKeys?: number;
  /** Time after the last failure until the key is evicted. Default: one hour. */
  readonly memoryMs?: number;
  readonly now?: () => number;
}

interface Failures {
  count: number;
  waitsUntil: number;
  /** `false` after a failure here, until `learn` states that others counted it. */
  isShared: boolean;
}

/** Wait per key: after `free` failures each further one doubles it, from one second to `longestWaitMs`. */
export class FailureWait {
  readonly #options: FailureWaitOptions;
  readonly #now: () => number;
  readonly #failures: LRUCache<string, Failures>;
  readonly memoryMs: number;

  constructor(options: FailureWaitOptions) {
    const { maxKeys = 10_000, memoryMs = HOUR_MS, now = () => performance.now() } = options;
    this.#options = options;
    this.memoryMs = memoryMs;
    this.#now = now;
    this.#failures = new LRUCache({ ...entryLimit(maxKeys), ttl: memoryMs, ttlResolution: 0, perf: { now } });
  }

  waitOf(key: string): number {
    const failures = this.#failures.get(key);
    return failures === undefined ? 0 : Math.max(0, Math.ceil(failures.waitsUntil - this.#now()));
  }

  failed(key: string): void {
    const failures = this.#failures.get(key) ?? { count: 0, waitsUntil: 0, isShared: false };
    failures.count += 1;
    failures.isShared = false;
    const waitMs = this.#waitAfter(failures.count);
    if (waitMs > 0) failures.waitsUntil = this.#now() + waitMs;
    this.#failures.set(key, failures);
  }

  hasFailed(key: string): boolean {
    return this.#failures.has(key);
  }

  /**
   * Replaces the count of a key by one that others counted, the last time `ageMs` ago. A count with failures here that
   * others do not know remains if it is not smaller. `hasAll`: others have counted them.
   */
  learn(key: string, count: number, ageMs: number, hasAll = false): void {
    const known = this.#failures.get(key);
    const isShared = hasAll || (known?.isShared ?? true);
    if (known !== undefined && !isShared && known.count >= count) return;
    if (count === 0) {
      this.#failures.delete(key);
      return;
    }
    const failedAt = this.#now() - ageMs;
    const waitsUntil = failedAt + this.#waitAfter(count);
    this.#failures.set(key, { count, waitsUntil, isShared }, { start: failedAt });
  }

  /** Makes up for one failure, where a key stands for many callers. */
  offset(key: string): void {
    const failures = this.#failures.get(key);
    if (failures !== undefined && failures.count > 0) failures.count -= 1;
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }

  evictEndingWith(ending: string): void {
    for (const key of [...this.#failures.keys()]) if (key.endsWith(ending)) this.#failures.delete(key);
  }

  #waitAfter(count: number): number {
    const { free, longestWaitMs } = this.#options;
    const doublings = count - free;
    return doublings < 0 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** Math.min(doublings, MAX_DOUBLINGS), longestWaitMs);
  }
}
