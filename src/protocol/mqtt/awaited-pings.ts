/** Matches PINGRESP to PINGREQ, which have no identifiers: each belongs to the oldest PINGREQ without one. */
export class AwaitedPings {
  #sent = 0;
  #answered = 0;
  readonly #waiting = new Map<number, () => void>();

  sent(): void {
    this.#sent += 1;
  }

  whenAnswered(done: () => void): void {
    this.#waiting.set(this.#sent, done);
  }

  answered(): void {
    this.#answered += 1;
    const done = this.#waiting.get(this.#answered);
    this.#waiting.delete(this.#answered);
    done?.();
  }
}
