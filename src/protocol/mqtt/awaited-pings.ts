/**
 * Matches PINGRESP to PINGREQ. Neither carries an identifier, so each PINGRESP belongs to the oldest PINGREQ without
 * one, whether MQTT.js or this service sent it.
 */
export class AwaitedPings {
  #sent = 0;
  #answered = 0;
  readonly #waiting = new Map<number, () => void>();

  sent(): void {
    this.#sent += 1;
  }

  /** Calls back when the PINGRESP to the last PINGREQ arrives. */
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
