/**
 * Time in ticks of a twentieth of a second since the first time that was told, in 32 bits, which are six years. It never goes back.
 *
 * Who asks what was used since the last time has to be told each use once, also those of the tick in which it asks. So a question ends
 * the tick: what is used next is of the next one, which may begin a little early.
 */
export class Ticks {
  #epoch: number | null = null;
  #now = 0;

  get now(): number {
    return this.#now;
  }

  /** The tick of a time in epoch milliseconds, from which on it is not earlier. */
  advance(time: number): number {
    this.#epoch ??= time;
    const tick = this.at(time);
    if (tick > this.#now) this.#now = Math.min(tick, MAX_TICK);
    return this.#now;
  }

  /** The tick of a time; below 0 before the first. */
  at(time: number): number {
    return Math.floor((time - (this.#epoch ?? time)) / TICK_MS);
  }

  /** When a tick began. */
  timeOf(tick: number): number {
    return (this.#epoch ?? 0) + tick * TICK_MS;
  }

  /**
   * Ends the tick that is now, and answers it. Not where it would run ahead of the time by more than four: the one that was ended last
   * is the answer then.
   */
  end(time: number): number {
    this.advance(time);
    if (this.#now < this.at(time) + MAX_EARLY) this.#now += 1;
    return this.#now - 1;
  }
}

const TICK_MS = 50;
/** Told times are true to a quarter of a second. */
const MAX_EARLY = 4;
const MAX_TICK = 2 ** 32 - 8;
