/** `perSecond`, with bursts of the same size. Times in milliseconds of any clock. */
export class TokenBucket {
  readonly #perSecond: number;
  #tokens: number;
  #filledAt: number;

  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond;
    this.#filledAt = now;
  }

  /** Takes no tokens, and returns `false`, if fewer are left. */
  take(amount: number, now: number): boolean {
    this.#tokens = Math.min(this.#perSecond, this.#tokens + ((now - this.#filledAt) * this.#perSecond) / 1_000);
    this.#filledAt = now;
    if (this.#tokens < amount) return false;
    this.#tokens -= amount;
    return true;
  }
}
