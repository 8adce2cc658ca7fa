import { setTimeout as delay } from 'node:timers/promises';
import { RateLimit } from '../../platform/limits/rate-limit.ts';
import { ConcurrencyLimit, QueueFull } from '../../platform/scheduling/concurrency-limit.ts';

/** Milliseconds of the thread that all links together may use in one turn of the event loop. */
const TURN_MS = 10;
/** Milliseconds that one link may use at once. */
export const SLICE_MS = 4;
/** Milliseconds that a link regains each second, and may use after a pause. Beyond them it is throttled. */
const FREE = { perSecond: 20, burst: 50 } as const;
/** After a slice of a throttled link none is read for so many times its length: throttled links together use a quarter of the thread. */
const REST_FACTOR = 3;
/** In every 16th turn callers that are behind go first, so that they wait for a bounded number of turns. */
const BEHIND_FIRST_EVERY = 16;

export interface Slice {
  readonly usedMs: number;
  /** Nothing more has come: the link is not throttled any more. */
  readonly isDry: boolean;
}

/**
 * The time that links of one thread may use for reading, so that a broker that floods its link delays no other work for long.
 *
 * A link reads freely as long as it has time left. One that has used it up is throttled: its socket is read in slices, in turn with the
 * other throttled links, until it has nothing more to read. Meanwhile TCP holds back the broker. Nothing is dropped here.
 */
export class ReadingTime {
  readonly #free = new RateLimit(FREE);
  readonly #slices = new ConcurrencyLimit({ maxRunning: 1 });
  readonly #waiting: (() => void)[] = [];
  readonly #behind: (() => void)[] = [];
  #turns = 0;
  #turnMs = 0;
  #isArmed = false;

  /** Milliseconds that a link may use now; 0 or less: none in this turn. */
  get leftMs(): number {
    return Math.min(SLICE_MS, TURN_MS - this.#turnMs);
  }

  /** Notes time that was used in this turn. */
  spend(ms: number): void {
    this.#turnMs += ms;
    this.#arm();
  }

  /** Charges a link. Returns whether it may still read freely. */
  charge(key: string, ms: number): boolean {
    this.#free.charge(key, ms);
    return this.#free.waitOf(key) === 0;
  }

  /** Calls back in a later turn that has time left, in the order of the calls. `isBehind`: after all callers that are not. */
  nextTurn(read: () => void, isBehind = false): void {
    (isBehind ? this.#behind : this.#waiting).push(read);
    this.#arm();
  }

  /** Runs a slice when it is the link's turn. Resolves when the next one may follow: whether the link was dry, or is not wanted any more. */
  async slice(key: string, read: () => Promise<Slice>, isWanted: () => boolean): Promise<boolean> {
    const work = async () => {
      const { usedMs, isDry } = await read();
      await delay(usedMs * REST_FACTOR, undefined, { ref: false });
      return isDry;
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
      this.#turnMs = 0;
      this.#turns += 1;
      const rows = [this.#waiting, this.#behind];
      if (this.#turns % BEHIND_FIRST_EVERY === 0) rows.reverse();
      for (const row of rows)
        for (let left = row.length; left > 0 && this.#turnMs < TURN_MS; left -= 1) row.shift()?.();
      if (rows.some((row) => row.length > 0)) this.#arm();
    });
  }
}
