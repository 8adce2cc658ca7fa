interface Counted {
  count: number;
  notedAt: number;
  /** Of the window, the oldest first. */
  readonly grown: { readonly at: number; readonly by: number }[];
}

interface NoteOptions {
  /** Whether all counts of a counter that was not known are growth. Default: it begins with its first count. */
  readonly areNew?: boolean;
  /** Milliseconds of `performance`. */
  readonly now?: number;
}

/** Counters are usually noted every few seconds. */
const MAX_GAP_MS = 60_000;

/** How much counters have grown within the last `windowMs`. The caller bounds their number. */
export class RecentGrowth {
  readonly #windowMs: () => number;
  readonly #maxGapMs: number;
  readonly #counters = new Map<string, Counted>();

  /**
   * `windowMs` may change. `maxGapMs`: a counter that was not noted for longer restarts, because it may have grown long
   * ago.
   */
  constructor(windowMs: number | (() => number), { maxGapMs = MAX_GAP_MS } = {}) {
    this.#windowMs = typeof windowMs === 'number' ? () => windowMs : windowMs;
    this.#maxGapMs = maxGapMs;
  }

  /** A lower count than before is a counter that began again at 0. */
  note(key: string, count: number, { areNew = false, now = performance.now() }: NoteOptions = {}): void {
    const before = this.#counters.get(key);
    const isContinued = before !== undefined && now - before.notedAt <= this.#maxGapMs;
    const known = isContinued ? before : { count: areNew ? 0 : count, notedAt: now, grown: [] };
    this.#counters.set(key, known);
    const by = count < known.count ? count : count - known.count;
    known.count = count;
    known.notedAt = now;
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
    const since = now - this.#windowMs();
    while (grown[0] !== undefined && grown[0].at < since) grown.shift();
  }
}
