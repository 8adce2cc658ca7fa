/**
 * Time in ticks of 50 ms since the first given time, in 32 bits (over six years). Ticks never go back.
 *
 * A client that requests changes must receive each use exactly once, including uses in the tick of the request.
 * Therefore a request ends the current tick. Later uses belong to the next tick, which may begin slightly early.
 */
export class Ticks {
  #epoch: number | null = null;
  #now = 0;

  get now(): number {
    return this.#now;
  }

  /** Advances to a time in epoch milliseconds, and returns the current tick. */
  advance(time: number): number {
    this.#epoch ??= time;
    const tick = this.at(time);
    if (tick > this.#now) this.#now = Math.min(tick, MAX_TICK);
    return this.#now;
  }

  /** The tick of a time. Negative for times before the first one. */
  at(time: number): number {
    return Math.floor((time - (this.#epoch ?? time)) / TICK_MS);
  }

  timeOf(tick: number): number {
    return (this.#epoch ?? 0) + tick * TICK_MS;
  }

  /**
   * Ends the current tick and returns it. Ticks run at most MAX_EARLY ahead of the clock. At that limit, the current
   * tick continues, and the previously ended one is returned.
   */
  end(time: number): number {
    this.advance(time);
    if (this.#now < this.at(time) + MAX_EARLY) this.#now += 1;
    return this.#now - 1;
  }
}

const TICK_MS = 50;
/** Maximum number of ticks ahead of the clock. It bounds the error of reported times to 250 ms. */
const MAX_EARLY = 4;
const MAX_TICK = 2 ** 32 - 8;
