import { BadBatch, reasonOf, SinkFailure } from '../sink/sink.ts';

/** The endpoint refuses a message: smaller batches are sent, down to the message that is refused alone. */
const OF_MESSAGES = new Set([400, 409, 413, 415, 422]);
const OF_CREDENTIALS = new Set([401, 403, 407]);
/** The request is retried later, as with all of 5xx. */
const LATER = new Set([408, 425, 429]);
const GONE = 410;

/** The meaning of a response status; `null` if the batch is accepted. `retryAfter`: the header. */
export function answerFailure(status: number, retryAfter: string | null): SinkFailure | BadBatch | null {
  if (status >= 200 && status < 300) return null;
  const text = `The endpoint responded with ${status}`;
  if (status < 400) return new SinkFailure('FAILED', `${text}: redirects are not followed`);
  if (OF_MESSAGES.has(status)) return new BadBatch(text);
  if (status === GONE) {
    const reason =
      'it no longer exists. Nothing is sent until the connection is changed, or switched off and on (active)';
    return new SinkFailure('FAILED', `${text}: ${reason}`, { isFinal: true });
  }
  const retryAfterMs = retryAfter === null ? undefined : retryAfterOf(retryAfter, Date.now());
  if (OF_CREDENTIALS.has(status)) return new SinkFailure('UNAUTHORISED', text, { retryAfterMs });
  const comesBack = status >= 500 || LATER.has(status);
  return new SinkFailure(comesBack ? 'UNREACHABLE' : 'FAILED', text, { retryAfterMs });
}

/** Milliseconds from `now`: the header has seconds or a date (RFC 9110, 10.2.3); `undefined` if it has neither. */
export function retryAfterOf(header: string, now: number): number | undefined {
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const time = Date.parse(header);
  return Number.isNaN(time) ? undefined : Math.max(0, time - now);
}

export function requestFailure(error: unknown): SinkFailure {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return new SinkFailure('UNREACHABLE', `The endpoint cannot be reached: ${reasonOf(cause)}`, { cause: error });
}
