/** Answers to PINGREQ packets, which carry no id: each is that to the oldest one that has none yet, whoever sent it. */
export class AwaitedPings {
  #sent = 0;
  #answered = 0;
  readonly #waiting = new Map<number, () => void>();

  sent(): void {
    this.#sent += 1;
  }

  /** `done`: once the one that was sent last is answered. */
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
