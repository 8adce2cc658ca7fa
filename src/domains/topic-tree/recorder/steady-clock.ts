/** A difference of wall clock and steady clock beyond this (ms) is a jump; below, times that were told stay the same. */
const JUMP_MS = 1_000;

/**
 * Epoch milliseconds that never jump: of a clock that only goes forward, from the wall clock's time when it was made. What is told to
 * people is moved by how far the wall clock was set since.
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

  /** What to add to a time of this clock for it to be one of the wall clock as that is set now. */
  shift(): number {
    const shift = this.#wall() - this.now();
    if (Math.abs(shift - this.#shift) > JUMP_MS) this.#shift = shift;
    return this.#shift;
  }
}
