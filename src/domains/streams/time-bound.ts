import { LAST_DATE_TIME } from '../../platform/date-times.ts';
import { invalid } from '../../platform/errors.ts';

/** 11 digits: the year 5138 in seconds, 1973 in milliseconds. */
const FIRST_MILLISECONDS = 100_000_000_000;

const NUMBER = /^\d{1,16}(\.\d{1,9})?$/;
const ISO_8601 = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * Parses a time bound of the REST interface: epoch seconds, epoch milliseconds (from 11 digits on) or ISO 8601, in UTC
 * if there is no offset. Absent and `""`: unbounded. Errors: INVALID at `/<key>`.
 */
export function momentOf(value: unknown, key: string): string | null {
  if (value === undefined || value === '') return null;
  const text = String(value);
  const epochMs = NUMBER.test(text) ? ofNumber(Number(text)) : ofIso(text);
  if (epochMs !== null && epochMs <= LAST_DATE_TIME) return new Date(epochMs).toISOString();
  throw invalid([{ path: `/${key}`, reason: 'must be epoch seconds, epoch milliseconds or an ISO 8601 moment' }]);
}

const ofNumber = (count: number): number => Math.round(count < FIRST_MILLISECONDS ? count * 1_000 : count);

function ofIso(text: string): number | null {
  const [, day = '', time = '', , , offset] = ISO_8601.exec(text) ?? [];
  const epochMs = Date.parse(
    time === '' ? day : `${day}${time.slice(0, time.length - (offset?.length ?? 0))}${offset ?? 'Z'}`,
  );
  // Date accepts a day that the month does not have and moves it to the next month.
  const isReal = !Number.isNaN(epochMs) && new Date(day).toISOString().startsWith(day);
  return isReal && epochMs >= 0 ? epochMs : null;
}
