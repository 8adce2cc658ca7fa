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

/**
 * Backoff in milliseconds. It doubles from 50 ms to one second during the first minute, and to ten seconds later. A
 * quarter is random, so that many links do not reconnect at the same time.
 *
 * While the port of a broker that was connected is closed, a restart is assumed and the cap is 100 ms: a link that
 * reconnects before the broker's clients observes their connections, and an attempt costs half a millisecond. With many
 * such brokers the cap grows to one second. `restarting`: their number with this one, or 0.
 */
export function retryDelay(attempt: number, downForMs: number, restarting = 0): number {
  const delay = Math.min(capOf(downForMs, restarting), FIRST_MS * 2 ** Math.min(attempt, 10));
  return Math.round(delay * (0.75 + 0.25 * Math.random()));
}

function capOf(downForMs: number, restarting: number): number {
  const cap = downForMs < EAGER_PERIOD_MS ? EAGER_CAP_MS : CAP_MS;
  return restarting === 0 ? cap : Math.min(cap, Math.max(RESTART_CAP_MS, restarting * RESTART_SHARE_MS));
}
