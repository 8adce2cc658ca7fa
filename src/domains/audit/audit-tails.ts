import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import type { Prisma } from '../../generated/sqlite/client.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import { endsOf } from './audit-search.ts';
import { type AuditEnds, AuditReader, AuditTail, type AuditTailEvent } from './audit-tail.ts';

/** Different filters of subscriptions. */
export const MAX_TAILS = 200;
/** Interval at which the end of the chain is read while there are subscribers; it includes other processes' entries. */
const TICK_MS = 250;

interface Waiting {
  readonly position: number;
  readonly wake: () => void;
}

/**
 * Follows the chain for subscribers. While there are any, one query per tick reads its ends. If it grew, each filter
 * reads its new entries once, so MAX_TAILS bounds the queries per tick. Beyond it, a subscriber is refused.
 */
export class AuditTails {
  readonly #db: Database;
  readonly #tails = new Map<string, AuditTail>();
  readonly #waiting = new Set<Waiting>();
  #ends: Promise<AuditEnds> | null = null;
  #ticker: NodeJS.Timeout | null = null;
  #isTicking = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Errors: RATE_LIMITED. */
  watch(where: Prisma.AuditEntryWhereInput, options: SubscriberOptions): LiveSource<AuditTailEvent> {
    const key = JSON.stringify(where);
    let tail = this.#tails.get(key);
    if (tail === undefined) {
      if (this.#tails.size >= MAX_TAILS) {
        throw new ServiceError('RATE_LIMITED', `At most ${MAX_TAILS} different filters of the audit can be followed`);
      }
      tail = new AuditTail(this.#db, where);
      this.#tails.set(key, tail);
    }
    const opened = tail;
    this.#ticker ??= setInterval(() => void this.#tick(), TICK_MS).unref();
    return new AuditReader({
      ...options,
      tail,
      ends: (isStart) => (isStart ? endsOf(this.#db) : this.#currentEnds()),
      onEntries: (position, wake) => this.#wait({ position, wake }),
      onEnd: () => {
        if (opened.subscriberCount > 0) return;
        this.#tails.delete(key);
        if (this.#tails.size === 0) this.close();
      },
    });
  }

  close(): void {
    if (this.#ticker) clearInterval(this.#ticker);
    this.#ticker = null;
    this.#ends = null;
  }

  /** Read at most once per tick. */
  #currentEnds(): Promise<AuditEnds> {
    if (this.#ends === null) {
      const ends = endsOf(this.#db);
      this.#ends = ends;
      ends.catch(() => {
        if (this.#ends === ends) this.#ends = null;
      });
    }
    return this.#ends;
  }

  #wait(waiting: Waiting): () => void {
    this.#waiting.add(waiting);
    return () => {
      this.#waiting.delete(waiting);
      waiting.wake();
    };
  }

  async #tick(): Promise<void> {
    if (this.#isTicking) return;
    this.#isTicking = true;
    this.#ends = null;
    try {
      const { last } = await this.#currentEnds();
      for (const waiting of this.#waiting) {
        if (waiting.position >= last) continue;
        this.#waiting.delete(waiting);
        waiting.wake();
      }
    } catch {
      // The next tick retries. A reader that reads meanwhile gets the error.
    }
    this.#isTicking = false;
  }
}
