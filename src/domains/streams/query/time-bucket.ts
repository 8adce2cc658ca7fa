/**
 * Windows that follow one another by the clock: the current one is the last `offset + n × size` that is not after now. Sizes are
 * taken in whole milliseconds.
 */
export class TimeBucket {
  readonly #size: number;
  readonly #offset: number;
  /** Epoch milliseconds. */
  #start = Number.NaN;

  /** Seconds, which may have fractions. */
  constructor(size: number, offset: number) {
    this.#size = Math.max(1, Math.round(size * 1_000));
    this.#offset = Math.round(offset * 1_000);
  }

  /** Epoch seconds, with a fraction where size or offset have one. */
  get start(): number {
    return this.#start / 1_000;
  }

  /** The first moment that is not of it any more. */
  get end(): number {
    return (this.#start + this.#size) / 1_000;
  }

  /** True: `now`, in epoch milliseconds, is in another bucket than before. The clock may have been put back. */
  enter(now: number): boolean {
    if (now >= this.#start && now < this.#start + this.#size) return false;
    this.#start = this.#offset + Math.floor((now - this.#offset) / this.#size) * this.#size;
    return true;
  }
}
