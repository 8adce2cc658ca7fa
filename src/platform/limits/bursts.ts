/** Counted at once; beyond that the one that has been quiet for longest is over. */
const MAX_BURSTS = 1_000;

interface Counted<Subject> {
  readonly subject: Subject;
  count: number;
  readonly beganAt: number;
  lastAt: number;
}

export interface BurstsOptions<Subject> {
  /** So many in a row are a burst. */
  readonly from: number;
  /** It is over when nothing comes for so long. Default one minute. */
  readonly quietMs?: number;
  readonly onBegin: (subject: Subject, count: number) => void;
  /** With all that came, and over how long. */
  readonly onEnd: (subject: Subject, count: number, seconds: number) => void;
}

/**
 * Tells of what comes in bursts twice: when one begins, and how much it was when it is over. Whoever causes it cannot fill a log
 * with it. Times in milliseconds.
 */
export class Bursts<Subject> {
  readonly #options: BurstsOptions<Subject>;
  readonly #quietMs: number;
  /** By who causes it, the one quiet for longest first. */
  readonly #counted = new Map<string, Counted<Subject>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BurstsOptions<Subject>) {
    this.#options = options;
    this.#quietMs = options.quietMs ?? 60_000;
  }

  /** Counts one; answers whether its burst is told. */
  add(key: string, subject: Subject): boolean {
    const now = performance.now();
    const known = this.#counted.get(key);
    const burst = known ?? { subject, count: 0, beganAt: now, lastAt: now };
    burst.count += 1;
    burst.lastAt = now;
    this.#counted.delete(key);
    this.#counted.set(key, burst);
    if (this.#counted.size > MAX_BURSTS) this.#endFirst();
    if (burst.count === this.#options.from) this.#options.onBegin(burst.subject, burst.count);
    this.#arm();
    return burst.count >= this.#options.from;
  }

  /** What was given with the first of those that are counted together; null: none is. */
  subjectOf(key: string): Subject | null {
    return this.#counted.get(key)?.subject ?? null;
  }

  /** What goes on is over. */
  close(): void {
    clearTimeout(this.#timer);
    while (this.#counted.size > 0) this.#endFirst();
  }

  #endFirst(): void {
    for (const [key, { subject, count, beganAt, lastAt }] of this.#counted) {
      this.#counted.delete(key);
      const seconds = Math.round((lastAt - beganAt) / 1000);
      if (count >= this.#options.from) this.#options.onEnd(subject, count, seconds);
      return;
    }
  }

  #arm(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const quietSince = performance.now() - this.#quietMs;
      for (const { lastAt } of this.#counted.values()) {
        if (lastAt > quietSince) break;
        this.#endFirst();
      }
      if (this.#counted.size > 0) this.#arm();
    }, this.#quietMs);
    this.#timer.unref();
  }
}
