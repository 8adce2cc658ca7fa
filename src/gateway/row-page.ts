import { checkedPage, type PageArguments } from './paging.ts';

export interface RowQuery {
  readonly take: number;
  readonly skip: number;
  readonly cursor?: { readonly id?: string | undefined } | undefined;
}

/**
 * Options of `findMany` for a page of the rows that match `where`, sorted by id. The cursor becomes a condition on the
 * id: Prisma's own cursor finds nothing once its row is deleted. Errors: INVALID.
 */
export function rowPage<Query extends RowQuery, Where extends object>(
  { cursor, take, skip, ...query }: Query,
  args: PageArguments,
  where: Where,
) {
  checkedPage(args);
  const id = cursor?.id;
  const beyond = id === undefined ? {} : { id: take < 0 ? { lt: id } : { gt: id } };
  const skipped = (id === undefined ? skip : skip - 1) + (args.offset ?? 0);
  return { ...query, take, skip: skipped, where: { AND: [where, beyond] }, orderBy: { id: 'asc' } as const };
}
