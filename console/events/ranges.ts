/** Times that are selected with one click. */
export const RANGES = ['lastHour', 'lastNight', 'lastWeek'] as const;
export type Range = (typeof RANGES)[number];

const HOUR_MS = 3_600_000;
const WEEK_MS = 168 * HOUR_MS;
/** In the zone of the viewer. */
const EVENING_HOUR = 20;
const MORNING_HOUR = 8;

interface Times {
  /** In ISO 8601. */
  readonly from: string;
  /** `''`: without an end. */
  readonly to: string;
}

/** The times of a range. The last night ends on this day. */
export function timesOf(range: Range, now: Date): Times {
  if (range !== 'lastNight') {
    const lengthMs = range === 'lastHour' ? HOUR_MS : WEEK_MS;
    return { from: new Date(now.getTime() - lengthMs).toISOString(), to: '' };
  }
  const [from, to] = [new Date(now), new Date(now)];
  from.setDate(from.getDate() - 1);
  from.setHours(EVENING_HOUR, 0, 0, 0);
  to.setHours(MORNING_HOUR, 0, 0, 0);
  return { from: from.toISOString(), to: to.toISOString() };
}
