interface Counters {
  readonly received: number;
  readonly failed: number;
}

/** Fewer failures are no run. */
const LEAST = 3;
/** A run lasts for so many of its usual intervals without a further message. */
const INTERVALS = 2;

/** Failures of a stream without a success between them, however slowly messages arrive. Times in milliseconds. */
export class FailureRun {
  #before: Counters | null = null;
  #count = 0;
  #firstAt = 0;
  #lastAt = 0;

  /** Lower counters than before began again at 0. */
  note({ received, failed }: Counters, at: number): void {
    const { received: receivedBefore, failed: failedBefore } = this.#before ?? { received, failed };
    this.#before = { received, failed };
    const by = failed - failedBefore;
    if (by < received - receivedBefore || received < receivedBefore) this.#count = 0;
    else if (by > 0) {
      if (this.#count === 0) this.#firstAt = at;
      this.#count += by;
      this.#lastAt = at;
    }
  }

  lasts(at: number): boolean {
    const intervalMs = (this.#lastAt - this.#firstAt) / Math.max(1, this.#count - 1);
    return this.#count >= LEAST && at - this.#lastAt <= INTERVALS * intervalMs;
  }
}
