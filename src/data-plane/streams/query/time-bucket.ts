/**
 * Consecutive time windows. The current window starts at the latest `offset + n × size` that is not after now. Sizes
 * are rounded to whole milliseconds.
 */
export class TimeBucket {
  readonly #size: number;
  readonly #offset: number;
  #start = Number.NaN;

  /** Sizes are in seconds and may have fractions. */
  constructor(size: number, offset: number) {
    this.#size = Math.max(1, Math.round(size * 1_000));
    this.#offset = Math.round(offset * 1_000);
  }

  get start(): number {
    return this.#start / 1_000;
  }

  get end(): number {
    return (this.#start + this.#size) / 1_000;
  }

  /** Moves to the bucket of `now`. Returns whether it changed; the clock may have been set back. */
  enter(now: number): boolean {
    if (now >= this.#start && now < this.#start + this.#size) return false;
    this.#start = this.#offset + Math.floor((now - this.#offset) / this.#size) * this.#size;
    return true;
  }
}
