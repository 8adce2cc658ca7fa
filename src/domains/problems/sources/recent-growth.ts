interface Counted {
  count: number;
  readonly grown: { readonly at: number; readonly by: number }[];
}

/** How much counters have grown within the last `windowMs`. A counter begins with its first count, or at `begin`. */
export class RecentGrowth {
  readonly #windowMs: number;
  readonly #counters = new Map<string, Counted>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** A new counter, all of whose counts are growth. Changes nothing of a known one. */
  begin(key: string): void {
    if (!this.#counters.has(key)) this.#counters.set(key, { count: 0, grown: [] });
  }

  /** A lower count than before is a counter that began again at 0. */
  note(key: string, count: number, now = performance.now()): void {
    const known = this.#counters.get(key);
    if (known === undefined) {
      this.#counters.set(key, { count, grown: [] });
      return;
    }
    const by = count < known.count ? count : count - known.count;
    known.count = count;
    if (by > 0) known.grown.push({ at: now, by });
  }

  of(key: string, now = performance.now()): number {
    const grown = this.#counters.get(key)?.grown;
    if (grown === undefined) return 0;
    while (grown[0] !== undefined && grown[0].at < now - this.#windowMs) grown.shift();
    return grown.reduce((sum, { by }) => sum + by, 0);
  }

  /** Deletes the counters for which `isGone` holds. The caller bounds the number of counters with it. */
  drop(isGone: (key: string) => boolean): void {
    for (const key of this.#counters.keys()) if (isGone(key)) this.#counters.delete(key);
  }
}
