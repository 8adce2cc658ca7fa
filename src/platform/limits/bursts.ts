/** Beyond it the burst that has been quiet for longest ends. */
const MAX_BURSTS = 1_000;

interface Counted<Subject> {
  readonly subject: Subject;
  count: number;
  readonly startedAt: number;
  lastAt: number;
}

interface BurstsOptions<Subject> {
  readonly from: number;
  /** Time without an event after which a burst ends. Default: 60,000. */
  readonly quietMs?: number;
  readonly onBegin: (subject: Subject, count: number) => void;
  readonly onEnd: (subject: Subject, count: number, seconds: number) => void;
}

/** Reports a burst of events when it starts and when it ends, so that callers cannot fill a log. */
export class Bursts<Subject> {
  readonly #options: BurstsOptions<Subject>;
  readonly #quietMs: number;
  /** By key; the burst that has been quiet for longest is first. */
  readonly #counted = new Map<string, Counted<Subject>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BurstsOptions<Subject>) {
    this.#options = options;
    this.#quietMs = options.quietMs ?? 60_000;
  }

  /** Counts an event. Returns whether it is part of a reported burst. */
  add(key: string, subject: Subject): boolean {
    const now = performance.now();
    const known = this.#counted.get(key);
    const burst = known ?? { subject, count: 0, startedAt: now, lastAt: now };
    burst.count += 1;
    burst.lastAt = now;
    this.#counted.delete(key);
    this.#counted.set(key, burst);
    if (this.#counted.size > MAX_BURSTS) this.#endFirst();
    if (burst.count === this.#options.from) this.#options.onBegin(burst.subject, burst.count);
    this.#arm();
    return burst.count >= this.#options.from;
  }

  subjectOf(key: string): Subject | null {
    return this.#counted.get(key)?.subject ?? null;
  }

  close(): void {
    clearTimeout(this.#timer);
    while (this.#counted.size > 0) this.#endFirst();
  }

  #endFirst(): void {
    const [first] = this.#counted;
    if (first === undefined) return;
    const [key, { subject, count, startedAt, lastAt }] = first;
    this.#counted.delete(key);
    const seconds = Math.round((lastAt - startedAt) / 1000);
    if (count >= this.#options.from) this.#options.onEnd(subject, count, seconds);
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
