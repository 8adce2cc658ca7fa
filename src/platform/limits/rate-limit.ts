import { LRUCache } from 'lru-cache';
import { entryLimit } from './entry-limit.ts';

/** One entry takes about 200 bytes. */
const MAX_KEYS = 10_000;

interface RateLimitOptions {
  readonly perSecond: number;
  /** Units that one key may take in one go, and regains in `burst / perSecond` seconds. */
  readonly burst: number;
  /** Default: 10,000. Beyond it the least recently used key is evicted. */
  readonly maxKeys?: number;
  readonly now?: () => number;
}

interface Bucket {
  /** Units that are left; negative after `charge`. */
  units: number;
  updatedAt: number;
}

/**
 * Token bucket per key. A key that is idle long enough to be full again needs no entry, so eviction is exact for it.
 */
export class RateLimit {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #now: () => number;
  readonly #buckets: LRUCache<string, Bucket>;

  constructor({ perSecond, burst, maxKeys = MAX_KEYS, now = () => performance.now() }: RateLimitOptions) {
    this.#perMs = perSecond / 1_000;
    this.#burst = burst;
    this.#now = now;
    this.#buckets = new LRUCache(entryLimit(maxKeys));
  }

  /** Returns 0, or the milliseconds until the key has the units. An amount above the burst needs a full bucket. */
  take(key: string, amount = 1): number {
    const bucket = this.#refilled(key);
    const needed = Math.min(amount, this.#burst);
    if (bucket.units < needed) return this.#msUntil(bucket, needed);
    bucket.units -= amount;
    return 0;
  }

  /** Takes units for work that is done already, so that later requests of the key pay for it. */
  charge(key: string, amount: number): void {
    this.#refilled(key).units -= amount;
  }

  /** Milliseconds until the key has at least one unit. Takes nothing. */
  waitOf(key: string): number {
    const bucket = this.#refilled(key);
    return bucket.units >= 1 ? 0 : this.#msUntil(bucket, 1);
  }

  #refilled(key: string): Bucket {
    const now = this.#now();
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      const created = { units: this.#burst, updatedAt: now };
      this.#buckets.set(key, created);
      return created;
    }
    bucket.units = Math.min(this.#burst, bucket.units + (now - bucket.updatedAt) * this.#perMs);
    bucket.updatedAt = now;
    return bucket;
  }

  #msUntil({ units }: Bucket, needed: number): number {
    return Math.max(1, Math.ceil((needed - units) / this.#perMs));
  }
}
