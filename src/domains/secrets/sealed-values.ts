import type { Database } from '../../platform/storage/database.ts';
import type { RowKey, SealedColumn } from './sealed-columns.ts';

export interface SealedValue {
  readonly key: RowKey;
  readonly sealed: string;
  readonly updatedAt: Date | undefined;
}

/** The used methods of a Prisma model. Column names are data, so the types of Prisma cannot check them. */
interface Table {
  findMany(args: object): Promise<Readonly<Record<string, string | Date>>[]>;
  updateMany(args: object): Update;
  deleteMany(args: object): Update;
}
type Update = ReturnType<Database['user']['updateMany']>;

// Each model has these methods and columns: a test reads and replaces values of each entry of SEALED_COLUMNS.
const tableOf = (db: Database, { model }: SealedColumn): Table => db[model] as unknown as Table;

/** By primary key, at most `take` after the row `after`. */
export async function valuesWithout(
  db: Database,
  column: SealedColumn,
  prefixes: readonly string[],
  { after, take }: { readonly after: RowKey | null; readonly take: number },
): Promise<SealedValue[]> {
  const { column: name, primaryKey, hasUpdatedAt = false } = column;
  // Values are never empty, so this excludes null. Prisma does not accept a null condition on a required column.
  const conditions = [{ [name]: { gt: '' } }, ...prefixes.map((startsWith) => ({ NOT: { [name]: { startsWith } } }))];
  const columns = [...primaryKey, name, ...(hasUpdatedAt ? ['updatedAt'] : [])];
  const rows = await tableOf(db, column).findMany({
    where: { AND: after === null ? conditions : [...conditions, isAfter(primaryKey, after)] },
    orderBy: primaryKey.map((part) => ({ [part]: 'asc' })),
    select: Object.fromEntries(columns.map((each) => [each, true])),
    take,
  });
  return rows.map((row) => ({
    key: Object.fromEntries(primaryKey.map((part) => [part, String(row[part])])),
    sealed: String(row[name]),
    updatedAt: row.updatedAt instanceof Date ? row.updatedAt : undefined,
  }));
}

export async function hasValueWith(db: Database, column: SealedColumn, prefixes: readonly string[]): Promise<boolean> {
  const { column: name } = column;
  const found = await tableOf(db, column).findMany({
    where: { OR: prefixes.map((startsWith) => ({ [name]: { startsWith } })) },
    select: { [name]: true },
    take: 1,
  });
  return found.length > 0;
}

/** Replaces a value unless it was changed since it was read. `updatedAt` does not change: users see the same row. */
export function replaceValue(db: Database, column: SealedColumn, value: SealedValue, sealed: string): Update {
  const { key, sealed: before, updatedAt } = value;
  const data = { [column.column]: sealed, ...(updatedAt && { updatedAt }) };
  return tableOf(db, column).updateMany({ where: { ...key, [column.column]: before }, data });
}

/** According to `ifLost`, unless the value was changed since it was read. */
export function discardValue(db: Database, column: SealedColumn, { key, sealed }: SealedValue): Update {
  const table = tableOf(db, column);
  const where = { ...key, [column.column]: sealed };
  return column.ifLost === 'DELETED'
    ? table.deleteMany({ where })
    : table.updateMany({ where, data: { [column.column]: null } });
}

const isAfter = (primaryKey: readonly string[], key: RowKey): object => ({
  OR: primaryKey.map((part, index) => ({
    ...Object.fromEntries(primaryKey.slice(0, index).map((earlier) => [earlier, key[earlier]])),
    [part]: { gt: key[part] },
  })),
});
