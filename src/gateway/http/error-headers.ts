import { ERROR_STATUS } from '../../platform/errors.ts';

/** Seconds in `Retry-After` if the error has no number. */
const RETRY_AFTER = 5;

/** Header fields that the status of an error requires, except for `Allow`. `info`: that of the error. */
export function errorHeaders(status: number, info: Readonly<Record<string, unknown>> = {}): Record<string, string> {
  if (status === ERROR_STATUS.UNAUTHORIZED) return { 'www-authenticate': 'Bearer realm="brokergraph"' };
  if (status !== ERROR_STATUS.RATE_LIMITED && status !== 503) return {};
  const { retryAfterSeconds: known } = info;
  const isKnown = typeof known === 'number' && Number.isFinite(known) && known > 0;
  return { 'retry-after': String(isKnown ? Math.ceil(known) : RETRY_AFTER) };
}
