export interface BackoffTimes {
  readonly firstMs: number;
  readonly longestMs: number;
  /** The maximum during the first time after a failure. Default: `longestMs`. */
  readonly eager?: { readonly longestMs: number; readonly periodMs: number };
  /** After a run that was longer, the next pause is the first one again. Default: runs do not count. */
  readonly steadyMs?: number;
  /**
   * The random part of each pause, from 0 to 1, so that those that wait for the same thing do not all come at once.
   * Default: 0.
   */
  readonly jitter?: number;
}

export interface BackoffSources {
  /** Milliseconds of a clock that is never set back. */
  readonly now?: () => number;
  /** A number from 0 to 1: with 1, pauses have their full length. */
  readonly random?: () => number;
}

/** A larger exponent changes nothing, and must not reach infinity. */
const MAX_DOUBLINGS = 30;

/** How long to wait after a failure: a pause that doubles with each failure in a row, up to a maximum. */
export class Backoff {
  readonly #times: BackoffTimes;
  readonly #now: () => number;
  readonly #random: () => number;
  #failures = 0;
  #failedAt = 0;

  constructor(
    times: BackoffTimes,
    { now = () => performance.now(), random = () => Math.random() }: BackoffSources = {},
  ) {
    this.#times = times;
    this.#now = now;
    this.#random = random;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Milliseconds since the first of the failures in a row, or since `reset` was called with failures. */
  get failingMs(): number {
    return this.#failures === 0 ? 0 : this.#now() - this.#failedAt;
  }

  /** Milliseconds to wait after another failure. `longestMs` is a further maximum, for this pause only. */
  next(longestMs = Number.POSITIVE_INFINITY): number {
    const { firstMs, jitter = 0 } = this.#times;
    if (this.#failures === 0) this.#failedAt = this.#now();
    const pauseMs = Math.min(longestMs, this.#longestMs(), firstMs * 2 ** Math.min(this.#failures, MAX_DOUBLINGS));
    this.#failures += 1;
    return Math.round(pauseMs * (1 - jitter + jitter * this.#random()));
  }

  /** The same after something had run for `ranMs` milliseconds. */
  nextAfterRun(ranMs: number): number {
    if (ranMs > (this.#times.steadyMs ?? Number.POSITIVE_INFINITY)) this.reset();
    return this.next();
  }

  /** Called after a success. `failures` are those in a row that count nevertheless. */
  reset(failures = 0): void {
    this.#failures = failures;
    this.#failedAt = this.#now();
  }

  #longestMs(): number {
    const { longestMs, eager } = this.#times;
    return eager !== undefined && this.failingMs < eager.periodMs ? eager.longestMs : longestMs;
  }
}
