const MINUTE_MS = 60_000;

/** A time as people type it: local, without a zone, and without seconds if there are none. Empty if it is none. */
export function localTime(time: string | number | null): string {
  const date = new Date(time ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS)
    .toISOString()
    .slice(0, 'yyyy-mm-dd hh:mm:ss'.length)
    .replace('T', ' ')
    .replace(/:00$/, '');
}

/** The same in whole minutes. */
export const minuteOf = (time: string | number | null): string => localTime(time).slice(0, 'yyyy-mm-dd hh:mm'.length);

/** The day of it. */
export const dayOf = (time: string | number | null): string => localTime(time).slice(0, 'yyyy-mm-dd'.length);

/** The day after a day. */
export function dayAfter(day: string): string {
  // No change of the clock moves noon to another day.
  const date = new Date(`${day}T12:00`);
  return dayOf(date.setDate(date.getDate() + 1));
}

const TYPED = /^\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?$/;

/** The time of such a text in ISO 8601. Empty if it has none. A day alone is its beginning. */
export function timeOfInput(value: string): string {
  const typed = value.trim();
  const date = new Date(typed.includes(':') ? typed.replace(' ', 'T') : `${typed}T00:00`);
  // `Date` turns the 31st of a short month into another day.
  return TYPED.test(typed) && !Number.isNaN(date.getTime()) && localTime(date.getTime()).startsWith(typed.slice(0, 10))
    ? date.toISOString()
    : '';
}
