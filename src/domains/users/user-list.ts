import type { Prisma } from '../../generated/sqlite/client.ts';
import { invalid } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';

export interface UserFilter {
  /** Part of the address, in either case, or of the name as it is written. */
  readonly text?: string | null | undefined;
  readonly isRootAdmin?: boolean | null | undefined;
  readonly verified?: boolean | null | undefined;
}

export type UserSortField = 'CREATED_AT' | 'NAME' | 'EMAIL';

/** Found by a text at most; whoever looks for one person is more exact. */
const MAX_FOUND = 10_000;

/** Errors: INVALID for a text that is too long, or fits too many. */
export async function whereOf(db: Database, filter: UserFilter): Promise<Prisma.UserWhereInput> {
  const { text, isRootAdmin, verified } = filter;
  const issues = textIssues('filter.text', text, { max: MAX_NAME });
  if (issues.length > 0) throw invalid(issues);
  return {
    ...(isRootAdmin == null ? {} : { isRoot: isRootAdmin }),
    ...(verified == null ? {} : { verified }),
    ...(text ? { id: { in: await idsWith(db, text) } } : {}),
  };
}

/** By `replace`, since `%` and `_` mean something to LIKE, which each engine escapes in its own way. */
async function idsWith(db: Database, text: string): Promise<string[]> {
  const lower = text.toLowerCase();
  const rows = await db.$queryRaw<
    { id: string }[]
  >`SELECT "id" FROM "User" WHERE replace("email", ${lower}, '') <> "email" OR replace("name", ${text}, '') <> "name" LIMIT ${MAX_FOUND + 1}`;
  if (rows.length > MAX_FOUND) {
    throw invalid([{ path: 'filter.text', reason: `fits more than ${MAX_FOUND} people: say more of it` }]);
  }
  return rows.map(({ id }) => id);
}

/** Ids sort by time of creation, and no two are the same. */
export function orderOf(field: UserSortField, order: 'asc' | 'desc'): Prisma.UserOrderByWithRelationInput[] {
  if (field === 'CREATED_AT') return [{ id: order }];
  return [field === 'NAME' ? { name: order } : { email: order }, { id: order }];
}
