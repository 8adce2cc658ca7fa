/** Times that are selected with one click. */
export const RANGES = ['lastHour', 'lastNight', 'sinceFriday', 'lastWeek'] as const;
type Range = (typeof RANGES)[number];

const HOUR_MS = 3_600_000;
const WEEK_DAYS = 7;
const FRIDAY = 5;
/** In the zone of the viewer. */
const EVENING_HOUR = 20;
const MORNING_HOUR = 8;

interface Times {
  /** In ISO 8601. */
  readonly from: string;
  /** `''`: without an end. */
  readonly to: string;
}

/** The times of a range. Friday is one before this day. */
export function timesOf(range: Range, now: Date): Times {
  if (range === 'lastNight') {
    const { from, to } = lastNight(now);
    return { from: from.toISOString(), to: to.toISOString() };
  }
  const sinceFriday = ((now.getDay() - FRIDAY + WEEK_DAYS - 1) % WEEK_DAYS) + 1;
  const from = {
    lastHour: () => new Date(now.getTime() - HOUR_MS),
    sinceFriday: () => hourOf(now, -sinceFriday, 0),
    lastWeek: () => new Date(now.getTime() - WEEK_DAYS * 24 * HOUR_MS),
  }[range]();
  return { from: from.toISOString(), to: '' };
}

/** From the evening of yesterday to the morning of this day, which may still come. */
export const lastNight = (now: Date) => ({ from: hourOf(now, -1, EVENING_HOUR), to: hourOf(now, 0, MORNING_HOUR) });

function hourOf(now: Date, days: number, hour: number): Date {
  const time = new Date(now);
  time.setDate(time.getDate() + days);
  time.setHours(hour, 0, 0, 0);
  return time;
}
