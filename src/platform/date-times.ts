/** 0001-01-01T00:00:00.000Z. */
const FIRST = -62_135_596_800_000;
/** 9999-12-31T23:59:59.999Z. */
export const LAST_DATE_TIME = 253_402_300_799_999;

/**
 * Whether epoch milliseconds are a time of the years 1 to 9999. Other times have no ISO 8601 text with four digits of
 * the year, and PostgreSQL does not store those texts. False for NaN.
 */
export const isDateTime = (epochMs: number): boolean => epochMs >= FIRST && epochMs <= LAST_DATE_TIME;
