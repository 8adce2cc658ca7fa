interface Counted {
  count: number;
  /** Of the window, the oldest first. */
  readonly grown: { readonly at: number; readonly by: number }[];
}

interface NoteOptions {
  /** Whether all counts of a counter that was not known are growth. Default: it begins with its first count. */
  readonly areNew?: boolean;
  /** Milliseconds of `performance`. */
  readonly now?: number;
}

/** How much counters have grown within the last `windowMs`. The caller bounds their number. */
export class RecentGrowth {
  readonly #windowMs: number;
  readonly #counters = new Map<string, Counted>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** A lower count than before is a counter that began again at 0. */
  note(key: string, count: number, { areNew = false, now = performance.now() }: NoteOptions = {}): void {
    const known = this.#counters.get(key) ?? { count: areNew ? 0 : count, grown: [] };
    this.#counters.set(key, known);
    const by = count < known.count ? count : count - known.count;
    known.count = count;
    this.#dropOld(known, now);
    if (by > 0) known.grown.push({ at: now, by });
  }

  /** Notes all counters that there are. Others are deleted. */
  noteAll(counts: readonly (readonly [key: string, count: number])[], options: NoteOptions = {}): void {
    const keys = new Set(counts.map(([key]) => key));
    for (const key of this.#counters.keys()) if (!keys.has(key)) this.#counters.delete(key);
    for (const [key, count] of counts) this.note(key, count, options);
  }

  of(key: string, now = performance.now()): number {
    const known = this.#counters.get(key);
    if (known === undefined) return 0;
    this.#dropOld(known, now);
    return known.grown.reduce((sum, { by }) => sum + by, 0);
  }

  delete(key: string): void {
    this.#counters.delete(key);
  }

  #dropOld({ grown }: Counted, now: number): void {
    while (grown[0] !== undefined && grown[0].at < now - this.#windowMs) grown.shift();
  }
}
