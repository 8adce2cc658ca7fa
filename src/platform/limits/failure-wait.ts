import { LRUCache } from 'lru-cache';

const HOUR_MS = 60 * 60_000;
const FIRST_WAIT_MS = 1_000;
/** More doublings change nothing. */
const MAX_DOUBLINGS = 20;

interface FailureWaitOptions {
  /** Number of failures after which a key has to wait. */
  readonly free: number;
  /** Longest wait in milliseconds. */
  readonly longestWaitMs: number;
  /** Maximum number of keys, about 200 bytes each. Default: 10,000. Beyond it the key unused for longest is evicted. */
  readonly maxKeys?: number;
  /** Time in milliseconds after the last failure after which the key is evicted. Default: one hour. */
  readonly memoryMs?: number;
  /** Clock in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

interface Failures {
  count: number;
  waitsUntil: number;
}

/**
 * Wait that grows with failures per key, such as an account or a network: after `free` failures each further one
 * doubles it, from one second to `longestWaitMs`.
 */
export class FailureWait {
  readonly #options: FailureWaitOptions;
  readonly #now: () => number;
  readonly #failures: LRUCache<string, Failures>;

  constructor(options: FailureWaitOptions) {
    const { maxKeys = 10_000, memoryMs = HOUR_MS, now = () => performance.now() } = options;
    this.#options = options;
    this.#now = now;
    this.#failures = new LRUCache({ max: maxKeys, ttl: memoryMs, ttlResolution: 0, perf: { now } });
  }

  /** Milliseconds until the key may be tried again; 0 if it may be tried now. */
  waitOf(key: string): number {
    const failures = this.#failures.get(key);
    return failures === undefined ? 0 : Math.max(0, Math.ceil(failures.waitsUntil - this.#now()));
  }

  failed(key: string): void {
    const { free, longestWaitMs } = this.#options;
    const failures = this.#failures.get(key) ?? { count: 0, waitsUntil: 0 };
    failures.count += 1;
    const doublings = failures.count - free;
    if (doublings >= 0) {
      failures.waitsUntil =
        this.#now() + Math.min(FIRST_WAIT_MS * 2 ** Math.min(doublings, MAX_DOUBLINGS), longestWaitMs);
    }
    this.#failures.set(key, failures);
  }

  /** Makes up for one failure, where a key stands for many callers. */
  offset(key: string): void {
    const failures = this.#failures.get(key);
    if (failures !== undefined && failures.count > 0) failures.count -= 1;
  }

  /** Evicts the key. */
  succeeded(key: string): void {
    this.#failures.delete(key);
  }

  /** Evicts the keys with this ending. */
  evictEndingWith(ending: string): void {
    for (const key of [...this.#failures.keys()]) if (key.endsWith(ending)) this.#failures.delete(key);
  }
}
