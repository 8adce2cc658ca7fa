import { join, raw, sqltag as sql } from '@prisma/client/runtime/client';
import type { Database } from '../../platform/storage/database.ts';
import { capitalized } from '../../platform/text/capitalized.ts';
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

interface Readability {
  readonly column: SealedColumn;
  readonly hasReadable: boolean;
  readonly hasUnreadable: boolean;
}

/**
 * Whether columns have values with these prefixes, and others. One statement, which Prisma does not compile: sixteen
 * took a tenth of the processor time of a start.
 */
export async function readabilityOf(
  db: Database,
  columns: readonly SealedColumn[],
  prefixes: readonly string[],
): Promise<Readability[]> {
  const parts = columns.map(({ model, column }, index) => {
    const [table, name] = [raw(`"${capitalized(model)}"`), raw(`"${column}"`)];
    const isReadable = join(
      prefixes.map((prefix) => sql`${name} LIKE ${`${prefix}%`}`),
      ' OR ',
    );
    return sql`SELECT ${raw(String(index))} AS place,
      EXISTS (SELECT 1 FROM ${table} WHERE ${isReadable}) AS readable,
      EXISTS (SELECT 1 FROM ${table} WHERE NOT (${isReadable})) AS unreadable`;
  });
  const rows = await db.$queryRaw<{ place: number; readable: unknown; unreadable: unknown }[]>(
    join(parts, ' UNION ALL '),
  );
  return rows.flatMap(({ place, readable, unreadable }) => {
    const column = columns[Number(place)];
    return column === undefined ? [] : [{ column, hasReadable: Boolean(readable), hasUnreadable: Boolean(unreadable) }];
  });
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
