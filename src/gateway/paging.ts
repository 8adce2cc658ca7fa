import { invalid } from '../platform/errors.ts';

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

/** Page of a list that is sorted by id. A cursor is an id, so it stays valid while the list changes. */
export function listConnection<T extends { readonly id: string }>(
  items: readonly T[],
  args: PageArguments,
  order: 'asc' | 'desc' = 'asc',
): ListConnection<T> {
  const { first, last } = checkedPage(args);
  let start = 0;
  let end = items.length;
  if (args.after != null) start = countUpTo(items, args.after, { order, inclusive: true });
  if (args.before != null) end = countUpTo(items, args.before, { order, inclusive: false });
  start = Math.min(start + (args.offset ?? 0), end);
  if (last === null) end = Math.min(end, start + (first ?? DEFAULT_PAGE));
  else {
    if (first !== null) end = Math.min(end, start + first);
    start = Math.max(start, end - last);
  }
  const edges = [];
  for (let i = start; i < end; i++) {
    const node = items[i] as T;
    edges.push({ cursor: node.id, node });
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

/** Number of entries that sort before `id`; with `inclusive`, the entry `id` counts as well. */
function countUpTo(
  items: readonly { readonly id: string }[],
  id: string,
  { order, inclusive }: { readonly order: 'asc' | 'desc'; readonly inclusive: boolean },
): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = items[middle]?.id ?? '';
    if ((order === 'asc' ? other < id : other > id) || (inclusive && other === id)) low = middle + 1;
    else high = middle;
  }
  return low;
}
