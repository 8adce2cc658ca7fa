/** 0001-01-01T00:00:00.000Z. */
const FIRST = -62_135_596_800_000;
/** 9999-12-31T23:59:59.999Z. */
export const LAST_DATE_TIME = 253_402_300_799_999;

const ISO_8601 = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?(Z|[+-]\d{2}:\d{2})?$/;

/** Epoch milliseconds of a day, or of a day and a time, in UTC if there is no offset. NaN for another text. */
export function epochOfIso(text: string): number {
  const [, day = '', time = '', offset = 'Z'] = ISO_8601.exec(text) ?? [];
  // Date accepts a day that the month does not have, and moves it to the next month.
  const midnight = Date.parse(day);
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return Number.NaN;
  return time === '' ? midnight : Date.parse(`${day}${time}${offset}`);
}

/**
 * Whether epoch milliseconds are a time of the years 1 to 9999. Other times have no ISO 8601 text with four digits of
 * the year, and PostgreSQL does not store those texts. False for NaN.
 */
export const isDateTime = (epochMs: number): boolean => epochMs >= FIRST && epochMs <= LAST_DATE_TIME;
