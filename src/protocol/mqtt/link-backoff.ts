import { Backoff, type BackoffSources, type BackoffTimes } from '../../platform/scheduling/backoff.ts';

/** A tenth is not random, so that a link never reconnects in a circle. */
export const LINK_BACKOFF = {
  firstMs: 50,
  longestMs: 10_000,
  eager: { longestMs: 1_000, periodMs: 60_000 },
  jitter: 0.9,
} as const satisfies BackoffTimes;

/** How long a closed port counts as a restart of the broker. */
export const RESTART_PERIOD_MS = 10_000;
const RESTART_LONGEST_MS = 100;
/** With more than ten restarting brokers, all of them together get about one attempt in this time. */
const RESTART_SHARE_MS = 10;

/**
 * The backoff of one link. While the port of a broker that was connected is closed, a restart is assumed and the
 * maximum is 100 ms: a link that reconnects before the broker's clients observes their connections, and an attempt
 * costs half a millisecond. With many such brokers it grows to one second.
 */
export class LinkBackoff extends Backoff {
  readonly #restarting: Set<LinkBackoff>;

  /** `restarting`: the backoffs of all links whose broker restarts. */
  constructor(restarting: Set<LinkBackoff>, sources?: BackoffSources) {
    super(LINK_BACKOFF, sources);
    this.#restarting = restarting;
  }

  /** `hasClosedPort`: whether the port of a broker that was connected is closed. */
  nextOf(hasClosedPort: boolean): number {
    if (!hasClosedPort || this.failingMs >= RESTART_PERIOD_MS) {
      this.forget();
      return this.next();
    }
    const { size } = this.#restarting.add(this);
    return this.next(Math.max(RESTART_LONGEST_MS, size * RESTART_SHARE_MS));
  }

  /** Called when the link is connected or closed. */
  forget(): void {
    this.#restarting.delete(this);
  }
}
