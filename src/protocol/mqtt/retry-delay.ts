/** For this long after a connection was lost (ms) every attempt follows the one before within EAGER_CAP_MS. */
export const EAGER_PERIOD_MS = 60_000;
/** For this long (ms) within RESTART_CAP_MS while nobody listens on the broker's port. */
export const RESTART_PERIOD_MS = 10_000;
const FIRST_MS = 50;
const RESTART_CAP_MS = 100;
const EAGER_CAP_MS = 1_000;
const CAP_MS = 10_000;

export interface RetryOptions {
  /** The last attempt was refused by the host, not by the broker. */
  readonly nobodyListens?: boolean;
  readonly random?: () => number;
}

/**
 * Pause before the next attempt: doubling from 50 ms up to one second in the first minute, so that a broker is seen within two
 * seconds, later up to ten. A broker that is started anew is met within 100 ms: only who is back before its clients sees them
 * come, and an attempt that is refused at once costs half a millisecond. A quarter of it is random, so that many links do not come
 * back at one moment.
 */
export function retryDelay(
  attempt: number,
  downForMs: number,
  { nobodyListens = false, random = Math.random }: RetryOptions = {},
): number {
  const pause = Math.min(capOf(downForMs, nobodyListens), FIRST_MS * 2 ** Math.min(attempt, 10));
  return Math.round(pause * (0.75 + 0.25 * random()));
}

function capOf(downForMs: number, nobodyListens: boolean): number {
  if (nobodyListens && downForMs < RESTART_PERIOD_MS) return RESTART_CAP_MS;
  return downForMs < EAGER_PERIOD_MS ? EAGER_CAP_MS : CAP_MS;
}
