import type { Outcome } from '../senders/sender.ts';

/** How long a message is sent again. Then it is a dead letter. */
const RETRY_MS = 24 * 3_600_000;
/** The same for a message that the receiver refuses: the messages behind it may be accepted. */
const REFUSED_MS = 10 * 60_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 300_000;
/** Longer requests of a receiver are not followed. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * When a failed message is sent again, in milliseconds since 1970; `null` if it is a dead letter. `attempts`: so far,
 * with this one.
 */
export function nextAttempt(outcome: Outcome, attempts: number, startedAt: number, now: number): number | null {
  const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempts - 1, 20));
  const wanted = Math.min(outcome.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  const at = now + Math.max(wanted, pause * (0.9 + Math.random() * 0.2));
  return at - startedAt > (outcome.isRefused === true ? REFUSED_MS : RETRY_MS) ? null : at;
}
