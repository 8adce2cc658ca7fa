import { graphql, type ResultOf } from '../graph/graphql.ts';
import type { Format } from './units.ts';

/** The largest that a broker lists: it has no counts of one client or topic. */
export const COUNTED = graphql(`fragment Counted on TopTraffic @_unmask {
  from
  to
  maxError
  entries { name count }
}`);

const FIRST = 100;

type Counted = ResultOf<typeof COUNTED>;

export interface Amount {
  readonly value: number;
  readonly perSecond: number;
  /** Otherwise the value is the most that it can be. */
  readonly isExact: boolean;
}

/** Looks up amounts by name in a list of the 100 largest ones. `null` if nothing is known. */
export function amountsIn(list: Counted | null | undefined): (name: string) => Amount | null {
  if (list == null) return () => null;
  const { entries, maxError, from, to } = list;
  const seconds = Math.max(1, (Date.parse(to) - Date.parse(from)) / 1_000);
  const counts = new Map(entries.map(({ name, count }) => [name, count]));
  const isFull = entries.length >= FIRST;
  const others = Math.max(maxError, isFull ? (entries.at(-1)?.count ?? 0) : 0);
  return (name) => {
    const count = counts.get(name);
    const value = count === undefined ? others : count + maxError;
    return { value, perSecond: value / seconds, isExact: maxError === 0 && (count !== undefined || !isFull) };
  };
}

/** A rate for a table: "≤" before the most that it can be. */
export const rateText = (amount: Amount | null, format: Format): string =>
  amount === null ? '–' : `${amount.isExact ? '' : '≤\u00a0'}${format(amount.perSecond)}`;

/** For a CSV file; `null` unless it is exact. */
export const exactRate = (amount: Amount | null): number | null => (amount?.isExact ? amount.perSecond : null);
