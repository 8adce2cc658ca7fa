import type { Span } from './range.ts';

/** Steps of an axis of values, times a power of ten. */
const NICE = [1, 2, 5, 10] as const;
const VALUE_TICKS = 4;

/**
 * The ticks of an axis of values from zero, at least to `max`. `isWhole`: there is nothing between two whole numbers,
 * so the axis has none.
 */
export function valueTicks(max: number, isWhole: boolean): number[] {
  if (max <= 0) return [0, 1];
  const rough = max / VALUE_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const nice = (NICE.find((factor) => factor * power >= rough) ?? 10) * power;
  const step = isWhole ? Math.max(1, nice) : nice;
  const count = Math.ceil(max / step - 1e-9);
  // Products of decimals have errors in their last digits.
  return Array.from({ length: count + 1 }, (_, nth) => Number((nth * step).toPrecision(12)));
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[10, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14].map((days) => days * DAY),
  ...[30, 60, 120].map((days) => days * DAY),
];

interface TimeTick {
  readonly at: number;
  /** What differs from the tick before. */
  readonly shows: 'DATE' | 'MINUTE' | 'SECOND';
}

/** The ticks of an axis of time, at most `count`, at round times of the viewer's zone. */
export function timeTicks({ from, to }: Span, count: number): TimeTick[] {
  const step = STEPS.find((one) => (to - from) / one <= Math.max(1, count)) ?? 365 * DAY;
  const midnight = new Date(from);
  midnight.setHours(0, 0, 0, 0);
  const ticks: TimeTick[] = [];
  // Counted within each day, because a day of the zone may have 23 or 25 hours.
  const days = Math.max(1, step / DAY);
  for (const day = midnight; day.getTime() <= to; day.setDate(day.getDate() + days)) {
    const next = new Date(day);
    next.setDate(next.getDate() + 1);
    for (let at = day.getTime(); at < next.getTime(); at += step) {
      if (at < from || at > to) continue;
      const isMidnight = at === day.getTime();
      ticks.push({ at, shows: isMidnight ? 'DATE' : step < MINUTE ? 'SECOND' : 'MINUTE' });
    }
  }
  return ticks;
}
