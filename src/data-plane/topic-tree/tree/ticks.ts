/**
 * Time in ticks of 50 ms since the first given time, in 32 bits (over six years). Ticks never go back.
 *
 * A client that requests changes must receive each use exactly once, including uses in the tick of the request.
 * Therefore a request ends the current tick. Later uses belong to the next tick, which may begin slightly early.
 */
export class Ticks {
  #epoch: number | null = null;
  now = 0;

  advance(time: number): number {
    this.#epoch ??= time;
    const tick = this.at(time);
    if (tick > this.now) this.now = Math.min(tick, MAX_TICK);
    return this.now;
  }

  at(time: number): number {
    return Math.floor((time - (this.#epoch ?? time)) / TICK_MS);
  }

  timeOf(tick: number): number {
    return (this.#epoch ?? 0) + tick * TICK_MS;
  }

  /** Ends the current tick and returns it. At MAX_EARLY ticks ahead of the clock, the previous one is returned. */
  end(time: number): number {
    this.advance(time);
    if (this.now < this.at(time) + MAX_EARLY) this.now += 1;
    return this.now - 1;
  }
}

const TICK_MS = 50;
const MAX_EARLY = 4;
const MAX_TICK = 2 ** 32 - 8;
