/** How long something must work again until it counts as back: what comes and goes is one outage. */
const STEADY_MS = 10_000;

interface OutagesOptions {
  /** What is down, for the log: `the connection to a broker`. */
  readonly what: string;
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void };
  /** Default: STEADY_MS. */
  readonly steadyMs?: number;
}

interface Outage {
  readonly since: number;
  /** How often it went down. */
  count: number;
  /** Set while it works again. */
  back: NodeJS.Timeout | null;
}

/** Reports outages: one warning when an outage begins, whatever happens in it, and one line when it has ended. */
export class Outages {
  readonly #options: OutagesOptions;
  readonly #known = new Map<string, Outage>();

  constructor(options: OutagesOptions) {
    this.#options = options;
  }

  /** Number of what is down now. */
  get count(): number {
    return [...this.#known.values()].filter(({ back }) => back === null).length;
  }

  /** What is down, or was within the last seconds. */
  get keys(): readonly string[] {
    return [...this.#known.keys()];
  }

  /** Notes that something is down. `fields`: its name and the reason. `since`: epoch milliseconds. */
  down(key: string, fields: object, since = Date.now()): void {
    const known = this.#known.get(key);
    if (known === undefined) {
      this.#known.set(key, { since, count: 1, back: null });
      const { log, what } = this.#options;
      log.warn({ ...fields, since: new Date(since).toISOString() }, `${what} is down`);
    } else if (known.back !== null) {
      clearTimeout(known.back);
      known.back = null;
      known.count += 1;
    }
  }

  /** Notes that something works. */
  up(key: string, fields: object): void {
    const known = this.#known.get(key);
    if (known === undefined || known.back !== null) return;
    const { log, what, steadyMs = STEADY_MS } = this.#options;
    const seconds = Math.round((Date.now() - known.since) / 1_000);
    known.back = setTimeout(() => {
      this.#known.delete(key);
      const interruptions = known.count > 1 ? { interruptions: known.count } : {};
      const since = new Date(known.since).toISOString();
      log.info({ ...fields, since, seconds, ...interruptions }, `${what} is back`);
    }, steadyMs).unref();
  }

  /** Forgets what was removed, or switched off on purpose. */
  forget(key: string): void {
    clearTimeout(this.#known.get(key)?.back ?? undefined);
    this.#known.delete(key);
  }
}
