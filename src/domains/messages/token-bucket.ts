/** Lets `perSecond` through in the long run, and as much at once after a second of silence. Times in milliseconds of any clock. */
export class TokenBucket {
  readonly #perSecond: number;
  #tokens: number;
  #filledAt: number;

  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond;
    this.#filledAt = now;
  }

  /** False, and nothing is taken: there is less left than `amount`. */
  take(amount: number, now: number): boolean {
    this.#tokens = Math.min(this.#perSecond, this.#tokens + ((now - this.#filledAt) * this.#perSecond) / 1_000);
    this.#filledAt = now;
    if (this.#tokens < amount) return false;
    this.#tokens -= amount;
    return true;
  }
}
