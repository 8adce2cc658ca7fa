const TICK_MS = 50;

type Every = (ms: number, callback: () => void) => () => void;

const everyMs: Every = (ms, callback) => {
  const timer = setInterval(callback, ms);
  return () => clearInterval(timer);
};

interface Deadline {
  readonly at: number;
  readonly callback: () => void;
}

/**
 * Deadlines for responses from outside, in milliseconds that the event loop was free to read them: time in which this
 * process was busy, or had no processor, does not count. Each turn of the loop counts at most TICK_MS, so a deadline is
 * never early and, in a free loop, at most TICK_MS late.
 */
export class LoopClock {
  readonly #every: Every;
  readonly #deadlines = new Set<Deadline>();
  #nowMs = 0;
  #stop: (() => void) | null = null;

  constructor(every = everyMs) {
    this.#every = every;
  }

  /** Calls back once, after what has arrived by then was read. Returns a function that cancels. */
  after(ms: number, callback: () => void): () => void {
    // The next tick may be due at once.
    const deadline = { at: this.#nowMs + ms + TICK_MS, callback };
    this.#deadlines.add(deadline);
    this.#stop ??= this.#every(TICK_MS, () => this.#tick());
    return () => this.#remove(deadline);
  }

  #remove(deadline: Deadline): boolean {
    const isPending = this.#deadlines.delete(deadline);
    if (this.#deadlines.size === 0) {
      this.#stop?.();
      this.#stop = null;
    }
    return isPending;
  }

  #tick(): void {
    this.#nowMs += TICK_MS;
    for (const deadline of this.#deadlines) {
      if (deadline.at > this.#nowMs) continue;
      setImmediate(() => {
        if (this.#remove(deadline)) deadline.callback();
      });
    }
  }
}

/** Of this thread. */
export const loopClock = new LoopClock();
