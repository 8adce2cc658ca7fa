/** Differences of wall clock and monotonic clock up to this (ms) do not shift reported times. */
const JUMP_MS = 1_000;

/**
 * Epoch milliseconds that never jump: the wall clock's time at creation, advanced by the monotonic clock. If the wall
 * clock is set, reported times are shifted by the difference.
 */
export class SteadyClock {
  readonly #monotonic: () => number;
  readonly #wall: () => number;
  readonly #offset: number;
  #shift = 0;

  constructor(monotonic: () => number = () => performance.now(), wall: () => number = () => Date.now()) {
    this.#monotonic = monotonic;
    this.#wall = wall;
    this.#offset = wall() - monotonic();
  }

  now(): number {
    return Math.round(this.#offset + this.#monotonic());
  }

  /** The number of milliseconds to add to a time of this clock to get the corresponding time of the wall clock. */
  shift(): number {
    const shift = this.#wall() - this.now();
    if (Math.abs(shift - this.#shift) > JUMP_MS) this.#shift = shift;
    return this.#shift;
  }
}
