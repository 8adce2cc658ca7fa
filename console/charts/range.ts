const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Ranges up to now, in milliseconds, by their name in the address. */
export const RANGES = {
  '10m': 10 * MINUTE_MS,
  '1h': HOUR_MS,
  '24h': DAY_MS,
  '7d': 7 * DAY_MS,
  '30d': 30 * DAY_MS,
} as const;
export type RangeKey = keyof typeof RANGES;
const DEFAULT: RangeKey = '1h';

/** What the axis of time shows. Times are epoch milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What the address says: a range that moves with the time, or two fixed times. */
export type Range = { readonly key: RangeKey } | { readonly key: 'custom'; readonly span: Span };

/** Shorter times have fewer than seven steps of the history. */
const SHORTEST_MS = MINUTE_MS;
const LONGEST_MS = 366 * DAY_MS;

const isRangeKey = (text: string | null): text is RangeKey => text !== null && Object.hasOwn(RANGES, text);

/** The range in the values of an address. Default: the last hour. */
export function rangeIn(values: URLSearchParams): Range {
  const [from, to] = [Date.parse(values.get('from') ?? ''), Date.parse(values.get('to') ?? '')];
  if (to - from >= SHORTEST_MS && to - from <= LONGEST_MS) return { key: 'custom', span: { from, to } };
  const key = values.get('range');
  return { key: isRangeKey(key) ? key : DEFAULT };
}

/** The values of an address with the range. */
export function addressOfRange(range: Range): Readonly<Record<'range' | 'from' | 'to', string>> {
  if (range.key === 'custom') {
    const [from, to] = [range.span.from, range.span.to].map((time) => new Date(time).toISOString());
    return { range: '', from: from ?? '', to: to ?? '' };
  }
  return { range: range.key, from: '', to: '' };
}

/** How often the range up to now moves on. The history has at most this many steps of at least 10 seconds in it. */
const MOVES = 240;
export const movesEvery = (range: Range): number =>
  range.key === 'custom' ? MINUTE_MS : Math.min(MINUTE_MS, Math.max(10_000, RANGES[range.key] / MOVES));

export const spanOf = (range: Range, now: number): Span =>
  range.key === 'custom' ? range.span : { from: now - RANGES[range.key], to: now };

/** A span of a length that the history has, moved out of the future. */
export function limited({ from, to }: Span, now: number): Span {
  const length = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, to - from));
  const middle = (from + to) / 2;
  const end = Math.min(now, Math.round(middle + length / 2));
  return { from: end - Math.round(length), to: end };
}

/** A span without its future. */
export const until = ({ from, to }: Span, now: number): Span => limited({ from, to: Math.min(to, now) }, now);

/** Twice as long for 2, half as long for 0.5, around a time. */
export function zoomed({ from, to }: Span, factor: number, around: number): Span {
  return { from: around - (around - from) * factor, to: around + (to - around) * factor };
}
