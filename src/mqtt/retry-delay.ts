/** For this long after a connection was lost (ms) every attempt follows the one before within EAGER_CAP_MS. */
export const EAGER_PERIOD_MS = 60_000;
const FIRST_MS = 100;
const EAGER_CAP_MS = 1_000;
const CAP_MS = 10_000;

/**
 * Pause before the next attempt: doubling from 100 ms up to one second in the first minute, so that a restarted broker is seen
 * within two seconds, later up to ten. A quarter of it is random, so that many links do not come back at one moment.
 */
export function retryDelay(attempt: number, downForMs: number, random: () => number = Math.random): number {
  const cap = downForMs < EAGER_PERIOD_MS ? EAGER_CAP_MS : CAP_MS;
  const pause = Math.min(cap, FIRST_MS * 2 ** Math.min(attempt, 10));
  return Math.round(pause * (0.75 + 0.25 * random()));
}
