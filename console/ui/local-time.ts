const MINUTE_MS = 60_000;

/** A time in the form of an input of type `datetime-local`: local, without a zone. Empty if it is none. */
export function localTime(time: string | number | null): string {
  const date = new Date(time ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS)
    .toISOString()
    .slice(0, 'yyyy-mm-ddThh:mm:ss'.length);
}

/** The same in whole minutes, which inputs have without `step`. */
export const minuteOf = (time: string | number | null): string => localTime(time).slice(0, 'yyyy-mm-ddThh:mm'.length);

/** The time of such an input in UTC. Empty if it has none. */
export function timeOfInput(value: string): string {
  const date = new Date(value);
  return value === '' || Number.isNaN(date.getTime()) ? '' : date.toISOString();
}
