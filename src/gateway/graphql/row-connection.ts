import { queryFromInfo } from '@pothos/plugin-prisma';
import type { GraphQLResolveInfo } from 'graphql';
import { invalid } from '../../platform/errors.ts';
import { checkedPage, DEFAULT_PAGE, MAX_PAGE, type PageArguments } from '../../platform/paging.ts';
import { cursorOf, type ListOrder, type Place, placeIn } from '../../platform/sorting/places.ts';
import type { RequestContext } from '../context.ts';
import { selects } from './document.ts';

/** A list of rows of the database, by columns without null. Texts have the order of the database. */
export interface RowList extends Pick<ListOrder<string>, 'direction'> {
  /** Kind of the list. A cursor of another kind is INVALID. */
  readonly kind: string;
  /** Column whose value differs in each row of the list. */
  readonly key: string;
  readonly keyType?: 'number';
  /** Column that sorts before the key. */
  readonly column?: string;
  readonly columnType?: 'time';
  /** Default: DEFAULT_PAGE entries, at most MAX_PAGE. More requested ones are not an error. */
  readonly pageSize?: { readonly most: number; readonly usual: number };
}

/** Options of `findMany`. One row more than the page has shows whether there is a further page. */
export interface RowQuery {
  readonly where: object;
  readonly orderBy: object[];
  readonly take: number;
  readonly skip: number;
}

interface RowSource<Row> {
  readonly find: (query: RowQuery) => Promise<Row[]>;
  readonly count: () => Promise<number>;
}

/** Members of organizations and projects, and other short lists. */
export const SHORT_PAGES = { most: 100, usual: 20 } as const;

/** A page of rows, of which only the selected columns are read. Errors: INVALID, and those of `find`. */
export async function rowConnection<Row extends object>(
  list: RowList,
  args: PageArguments,
  context: RequestContext,
  info: GraphQLResolveInfo,
  { find, count }: RowSource<Row>,
) {
  const query = rowQuery(list, args);
  const columns = queryFromInfo({ context, info, select: selectionOf(list), paths: NODES });
  const [rows, totalCount] = await Promise.all([
    selects(info, 'edges', 'nodes', 'pageInfo') ? find({ ...query, ...columns }) : [],
    selects(info, 'totalCount') ? count() : 0,
  ]);
  return rowPage(list, args, rows, totalCount);
}

const NODES = [['nodes'], ['edges', 'node']];

/** Of a field whose rows are a relation of its object, so that they are read for all objects of a list at once. */
export function relatedRows(
  list: RowList,
  args: PageArguments,
  nestedSelection: (query: object, path: string[]) => object,
): RowQuery {
  const select = nestedSelection({ select: selectionOf(list) }, ['edges', 'node']);
  return { ...nestedSelection(select, ['nodes']), ...rowQuery(list, args) };
}

/** Errors: INVALID. */
function rowQuery(list: RowList, args: PageArguments): RowQuery {
  const { key, column, direction } = list;
  const bounds = [beyond(list, 'after', args.after), beyond(list, 'before', args.before)];
  const where = column === undefined ? { [key]: Object.assign({}, ...bounds) } : { AND: bounds };
  const order = backwards(args) === (direction === 'asc') ? 'desc' : 'asc';
  const orderBy = [...(column === undefined ? [] : [{ [column]: order }]), { [key]: order }];
  return { where, orderBy, take: sizeOf(list, args) + 1, skip: args.offset ?? 0 };
}

/** `rows`: the result of `rowQuery`. */
export function rowPage<Row extends object>(
  list: RowList,
  args: PageArguments,
  rows: readonly Row[],
  totalCount: number,
) {
  const isBackwards = backwards(args);
  const size = sizeOf(list, args);
  const found = rows.slice(0, size);
  if (isBackwards) found.reverse();
  const cut = Math.max(0, found.length - (args.last ?? size));
  const edges = found.slice(cut).map((node) => ({ cursor: cursorOf(placeOf(list, node), orderOf(list)), node }));
  const hasMore = rows.length > size;
  return {
    args,
    edges,
    pageInfo: {
      hasNextPage: isBackwards ? args.before != null : hasMore,
      hasPreviousPage: isBackwards ? hasMore : cut > 0 || args.after != null || (args.offset ?? 0) > 0,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    totalCount,
  };
}

const backwards = ({ first, last, before }: PageArguments) => first == null && (last != null || before != null);

function sizeOf({ pageSize = { most: MAX_PAGE, usual: DEFAULT_PAGE } }: RowList, args: PageArguments): number {
  const { first, last } = checkedPage(args);
  return Math.min(first ?? last ?? pageSize.usual, pageSize.most);
}

const selectionOf = ({ key, column }: RowList) => ({ [key]: true, ...(column !== undefined && { [column]: true }) });

const orderOf = ({ kind, column, direction }: RowList) => ({
  field: column === undefined ? kind : `${kind}.${column}`,
  direction,
});

function placeOf({ key, column }: RowList, row: object): Place {
  const { [key]: last, [column ?? '']: value } = row as Readonly<Record<string, string | number | Date>>;
  return { value: value instanceof Date ? value.getTime() : (value ?? null), key: String(last) };
}

/** The condition of the rows after or before a cursor, whose row need not exist, or of its key. Errors: INVALID. */
function beyond(list: RowList, path: 'after' | 'before', cursor: string | null | undefined): object {
  if (cursor == null) return {};
  const { key, keyType, column, columnType, direction } = list;
  const place = placeIn(cursor, orderOf(list), path);
  const last = typedValue(keyType === 'number' ? Number(place.key) : place.key, keyType);
  const value = column === undefined ? null : typedValue(place.value, columnType);
  if (last === undefined || value === undefined) throw invalid([{ path, reason: 'is not a cursor of this list' }]);
  const operator = (path === 'after') === (direction === 'asc') ? 'gt' : 'lt';
  const bound = { [operator]: last };
  if (column === undefined) return bound;
  return { OR: [{ [column]: { [operator]: value } }, { [column]: value, [key]: bound }] };
}

/** `undefined` for what the column cannot contain, which the databases would refuse. */
function typedValue(value: unknown, type: 'time' | 'number' | undefined): string | number | Date | undefined {
  if (type === undefined) return typeof value === 'string' && !value.includes('\0') ? value : undefined;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) return undefined;
  if (type === 'time') return value < MAX_TIME ? new Date(value) : undefined;
  return value < MAX_INT ? value : undefined;
}

const MAX_TIME = Date.UTC(9999);
const MAX_INT = 2 ** 31;
