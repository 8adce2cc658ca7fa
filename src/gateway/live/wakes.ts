import { inTurns } from '../../platform/scheduling/steps.ts';

/**
 * Calls many listeners in turns: thousands of them, each writing to a socket, would otherwise hold the event loop for as long as
 * all take together. Begins in the next turn of the loop, so that what happens in one burst wakes everybody once.
 *
 * Bound: one entry for each that waits; whoever adds a listener adds it once until it is called.
 */
export class Wakes {
  #due: (() => void)[] = [];
  #isRunning = false;

  /** `wake` must not throw. */
  add(wake: () => void): void {
    this.#due.push(wake);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => void inTurns(this.#steps()));
  }

  *#steps(): Generator<void, void, void> {
    while (this.#due.length > 0) {
      const round = this.#due;
      this.#due = [];
      for (const wake of round) {
        wake();
        yield;
      }
    }
    this.#isRunning = false;
  }
}
