/**
 * What is done at the end of a turn of the event loop, when all that came in with it was handled: for all connections that share it
 * together, in the order in which it was asked for, and then, once, what the thread does behind it.
 */
export class Turns {
  readonly #onEnd: () => void;
  #due: (() => void)[] = [];
  #isHurried = false;

  constructor(onEnd: () => void = () => undefined) {
    this.#onEnd = onEnd;
  }

  /** Once; `work` must not throw. */
  atEnd(work: () => void): void {
    if (this.#due.length === 0) setImmediate(this.#end);
    this.#due.push(work);
  }

  /** Something waits for an answer of a broker: behind this turn the thread goes on at once. */
  hurry(): void {
    this.#isHurried = true;
  }

  readonly #end = (): void => {
    const due = this.#due;
    this.#due = [];
    for (const work of due) work();
    if (!this.#isHurried) this.#onEnd();
    this.#isHurried = false;
  };
}
