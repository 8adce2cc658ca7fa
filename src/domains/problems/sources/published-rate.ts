interface Published {
  readonly at: number;
  readonly count: number;
  /** By how much the counter has grown since the publication before. */
  readonly by: number;
}

/** Publications come a little earlier or later. */
const WINDOW_MS = 65_000;
const MINUTE_MS = 60_000;
/** Brokers publish their numbers every 10 s, if nothing else is configured. */
const INTERVAL_MS = 10_000;
/** Without growth for so many intervals, the counter has stopped. */
const QUIET_INTERVALS = 2;

/** How much a counter grows in a minute that a broker publishes, at whatever interval. Times in milliseconds. */
export class PublishedRate {
  /** Those of the last minute, at least two. */
  readonly #published: Published[] = [];
  #grownAt = Number.NEGATIVE_INFINITY;
  /** A minute until it is known: the first publication after a connect may be retained. */
  #intervalMs = MINUTE_MS;

  /** A lower count than before is a counter that began again at 0. */
  note(count: number, at: number): void {
    const before = this.#published.at(-1);
    const by = before === undefined ? 0 : count < before.count ? count : count - before.count;
    if (by > 0) this.#grownAt = at;
    if (before !== undefined && this.#published.length > 1) this.#intervalMs = Math.max(INTERVAL_MS, at - before.at);
    this.#published.push({ at, count, by });
    while (this.#published.length > 2 && (this.#published[0]?.at ?? at) < at - WINDOW_MS) this.#published.shift();
  }

  /** 0 if it stopped growing; `null` before the second publication. */
  perMinute(now: number): number | null {
    const [first, ...others] = this.#published;
    const last = others.at(-1);
    if (first === undefined || last === undefined) return null;
    if (now - this.#grownAt > QUIET_INTERVALS * this.#intervalMs) return 0;
    const sum = others.reduce((all, { by }) => all + by, 0);
    return Math.round(sum / Math.max(1, (last.at - first.at) / MINUTE_MS));
  }
}
