import { invalid } from './errors.ts';
import { byCodeUnits } from './sorting/by-code-units.ts';
import { comparison, cursorOf, type ListOrder, type Place, placeIn } from './sorting/places.ts';

/** Arguments of Relay connections, and the offset that REST lists use. */
export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
  /** Number of entries that are skipped at the start, or after `after`. */
  readonly offset?: number | null | undefined;
}

export interface ListConnection<T> {
  readonly edges: readonly { readonly cursor: string; readonly node: T }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  readonly totalCount: number;
}

export const MAX_PAGE = 10_000;
export const DEFAULT_PAGE = 50;

/** Description of a connection of `listConnection` or `checkedPage`. */
export const pageOf = (entries: string): string =>
  `A page of ${entries}: at most ${MAX_PAGE.toLocaleString('en')} entries, ${DEFAULT_PAGE} by default.`;

interface Positions<T> {
  /** Kind of the list and its order. A cursor of another one is INVALID. */
  readonly order: ListOrder<string>;
  readonly placeOf: (item: T) => Place;
  readonly compare: (a: Place, b: Place) => number;
}

/**
 * Page of a list of a kind that is sorted by id. A cursor has the id, so it stays valid while the list changes.
 * Errors: INVALID.
 */
export const listConnection = <T extends { readonly id: string }>(
  items: readonly T[],
  args: PageArguments,
  kind: string,
  direction: 'asc' | 'desc' = 'asc',
): ListConnection<T> =>
  connectionOf(items, args, {
    order: { field: kind, direction },
    placeOf: ({ id }) => ({ value: null, key: id }),
    compare: direction === 'asc' ? comparison('asc') : (a, b) => byCodeUnits(b.key, a.key),
  });

/**
 * Page of a list that is sorted by a value, then by id. A cursor has both, so it stays valid while the list changes.
 * Errors: INVALID.
 */
export function orderedConnection<T extends { readonly id: string }>(
  items: readonly T[],
  args: PageArguments,
  order: ListOrder<string>,
  readValue: (item: T) => Place['value'],
): ListConnection<T> {
  const compare = comparison(order.direction);
  const places = items.map((item) => ({ item, value: readValue(item), key: item.id })).sort(compare);
  const { edges, ...page } = connectionOf(places, args, { order, placeOf: (place) => place, compare });
  return { ...page, edges: edges.map(({ cursor, node: { item } }) => ({ cursor, node: item })) };
}

function connectionOf<T>(
  items: readonly T[],
  args: PageArguments,
  { order, placeOf, compare }: Positions<T>,
): ListConnection<T> {
  const { first, last } = checkedPage(args);
  let start = 0;
  let end = items.length;
  if (args.after != null) {
    const place = placeIn(args.after, order);
    start = countWhile(items, (item) => compare(placeOf(item), place) <= 0);
  }
  if (args.before != null) {
    const place = placeIn(args.before, order, 'before');
    end = countWhile(items, (item) => compare(placeOf(item), place) < 0);
  }
  start = Math.min(start + (args.offset ?? 0), end);
  if (last === null) end = Math.min(end, start + (first ?? DEFAULT_PAGE));
  else {
    if (first !== null) end = Math.min(end, start + first);
    start = Math.max(start, end - last);
  }
  const edges = [];
  for (let i = start; i < end; i++) {
    const node = items[i] as T;
    edges.push({ cursor: cursorOf(placeOf(node), order), node });
  }
  return {
    edges,
    pageInfo: {
      hasNextPage: end < items.length,
      hasPreviousPage: start > 0,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges[edges.length - 1]?.cursor ?? null,
    },
    totalCount: items.length,
  };
}

export function checkedPage(args: PageArguments): { first: number | null; last: number | null } {
  const issues = [];
  for (const name of ['first', 'last'] as const) {
    const value = args[name];
    if (value != null && (value < 0 || value > MAX_PAGE))
      issues.push({ path: name, reason: `must be 0 to ${MAX_PAGE}` });
  }
  if (args.offset != null && args.offset < 0) issues.push({ path: 'offset', reason: 'must not be negative' });
  if (issues.length > 0) throw invalid(issues);
  return { first: args.first ?? null, last: args.last ?? null };
}

/** Number of items at the start of a sorted list of which the condition is true. */
function countWhile<T>(items: readonly T[], isBefore: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(items[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}
