import { Backoff } from '../../../platform/scheduling/backoff.ts';
import type { Outcome } from '../senders/sender.ts';

/** How long a message is sent again. Then it is a dead letter. */
const RETRY_MS = 24 * 3_600_000;
/** The same for a message that the receiver refuses: the messages behind it may be accepted. */
const REFUSED_MS = 10 * 60_000;
const BACKOFF = { firstMs: 1_000, longestMs: 300_000, jitter: 0.1 } as const;
/** Longer requests of a receiver are not followed. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * When a failed message is sent again, in milliseconds since 1970; `null` if it is a dead letter. `attempts`: so far,
 * with this one.
 */
export function nextAttempt(outcome: Outcome, attempts: number, startedAt: number, now: number): number | null {
  const backoff = new Backoff(BACKOFF);
  // The attempts are in the database, which another process may have written.
  backoff.reset(attempts - 1);
  const wanted = Math.min(outcome.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  const at = now + Math.max(wanted, backoff.next());
  return at - startedAt > (outcome.isRefused === true ? REFUSED_MS : RETRY_MS) ? null : at;
}
