/** Milliseconds after the loss of a connection during which attempts are at most EAGER_CAP_MS apart. */
export const EAGER_PERIOD_MS = 60_000;
/** Milliseconds during which a closed port counts as a restart. */
export const RESTART_PERIOD_MS = 10_000;
const FIRST_MS = 50;
const RESTART_CAP_MS = 100;
/** With more than ten restarting brokers, all of them together get about one attempt in this time. */
const RESTART_SHARE_MS = 10;
const EAGER_CAP_MS = 1_000;
const CAP_MS = 10_000;

/** The smallest part of the backoff, so that a link never reconnects in a circle. */
const MIN_PART = 0.1;

/**
 * Backoff in milliseconds: a random part of a time that doubles from 50 ms to one second during the first minute, and
 * to ten seconds later, so that many links do not reconnect at the same time.
 */
export function retryDelay(attempt: number, downForMs: number, capMs = capOf(downForMs)): number {
  const delay = Math.min(capMs, FIRST_MS * 2 ** Math.min(attempt, 10));
  return Math.round(delay * (MIN_PART + (1 - MIN_PART) * Math.random()));
}

const capOf = (downForMs: number): number => (downForMs < EAGER_PERIOD_MS ? EAGER_CAP_MS : CAP_MS);

/**
 * Backoff of several links. While the port of a broker that was connected is closed, a restart is assumed and the cap
 * is 100 ms: a link that reconnects before the broker's clients observes their connections, and an attempt costs half a
 * millisecond. With many such brokers the cap grows to one second.
 */
export class LinkDelays {
  readonly #restarting = new Set<object>();

  /** `hasClosedPort`: whether the port of a broker that was connected is closed. */
  next(link: object, attempt: number, downForMs: number, hasClosedPort: boolean): number {
    if (!hasClosedPort || downForMs >= RESTART_PERIOD_MS) {
      this.#restarting.delete(link);
      return retryDelay(attempt, downForMs);
    }
    const { size } = this.#restarting.add(link);
    return retryDelay(attempt, downForMs, Math.min(EAGER_CAP_MS, Math.max(RESTART_CAP_MS, size * RESTART_SHARE_MS)));
  }

  /** For a link that is connected or closed. */
  forget(link: object): void {
    this.#restarting.delete(link);
  }
}
