/** Differences of wall clock and monotonic clock up to this (ms) do not shift reported times. */
const JUMP_MS = 1_000;

/**
 * Epoch milliseconds that never jump, advanced by the monotonic clock. If the wall clock is set, reported times shift.
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

  /** The difference of the wall clock to this clock in milliseconds. */
  shift(): number {
    const shift = this.#wall() - this.now();
    if (Math.abs(shift - this.#shift) > JUMP_MS) this.#shift = shift;
    return this.#shift;
  }
}
