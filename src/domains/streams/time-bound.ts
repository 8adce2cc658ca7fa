import { epochOfIso, LAST_DATE_TIME } from '../../platform/date-times.ts';
import { invalid } from '../../platform/errors.ts';

/** 11 digits: the year 5138 in seconds, 1973 in milliseconds. */
const FIRST_MILLISECONDS = 100_000_000_000;

const NUMBER = /^\d{1,16}(\.\d{1,9})?$/;

/**
 * Parses a time bound of the REST interface: epoch seconds, epoch milliseconds (from 11 digits on) or ISO 8601, in UTC
 * if there is no offset. Absent and `""`: unbounded. Errors: INVALID at `/<key>`.
 */
export function momentOf(value: unknown, key: string): string | null {
  if (value === undefined || value === '') return null;
  const text = String(value);
  const epochMs = NUMBER.test(text) ? ofNumber(Number(text)) : epochOfIso(text);
  if (epochMs >= 0 && epochMs <= LAST_DATE_TIME) return new Date(epochMs).toISOString();
  throw invalid([{ path: `/${key}`, reason: 'must be epoch seconds, epoch milliseconds or an ISO 8601 moment' }]);
}

const ofNumber = (count: number): number => Math.round(count < FIRST_MILLISECONDS ? count * 1_000 : count);
