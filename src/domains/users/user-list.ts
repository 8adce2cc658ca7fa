import type { RowList } from '../../gateway/graphql/row-connection.ts';
import type { Prisma } from '../../generated/sqlite/client.ts';
import { invalid } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';

interface UserFilter {
  /** Part of the e-mail address (ignoring case) or of the name (exact case). */
  readonly text?: string | null | undefined;
  readonly isRootAdmin?: boolean | null | undefined;
  readonly isVerified?: boolean | null | undefined;
}

interface UserOrder {
  readonly field: 'CREATED_AT' | 'NAME' | 'EMAIL';
  readonly order: 'asc' | 'desc';
}

const MAX_FOUND = 10_000;

/** Errors: INVALID for a text that is too long or matches too many users. */
export async function whereOf(db: Database, filter: UserFilter): Promise<Prisma.UserWhereInput> {
  const { text, isRootAdmin, isVerified: verified } = filter;
  const issues = textIssues('filter.text', text, { max: MAX_NAME });
  if (issues.length > 0) throw invalid(issues);
  return {
    ...(isRootAdmin == null ? {} : { isRoot: isRootAdmin }),
    ...(verified == null ? {} : { verified }),
    ...(text ? { id: { in: await idsWith(db, text) } } : {}),
  };
}

/** Uses `replace`, because `%` and `_` are wildcards of LIKE, which SQLite and PostgreSQL escape differently. */
async function idsWith(db: Database, text: string): Promise<string[]> {
  const lower = text.toLowerCase();
  const rows = await db.$queryRaw<
    { id: string }[]
  >`SELECT "id" FROM "User" WHERE replace("email", ${lower}, '') <> "email" OR replace("name", ${text}, '') <> "name" LIMIT ${MAX_FOUND + 1}`;
  if (rows.length > MAX_FOUND) {
    throw invalid([{ path: 'filter.text', reason: `matches more than ${MAX_FOUND} users; use a longer text` }]);
  }
  return rows.map(({ id }) => id);
}

/** Ids sort by time of creation. */
export const usersBy = ({ field, order }: UserOrder): RowList => ({
  kind: 'User',
  key: 'id',
  ...(field !== 'CREATED_AT' && { column: field === 'NAME' ? 'name' : 'email' }),
  direction: order,
});
