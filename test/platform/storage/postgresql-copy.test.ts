import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { getDatamodel } from '../../../src/generated/pothos.ts';
import * as enums from '../../../src/generated/sqlite/enums.ts';
import type { Database } from '../../../src/platform/storage/database.ts';
import { connectPostgresql } from '../../../src/platform/storage/postgresql/postgresql-connection.ts';
import { copyRows, requireUnused, SqliteRows } from '../../../src/platform/storage/postgresql/postgresql-copy.ts';
import { openTestStorage, temporaryFolder } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';

const postgres = usePostgres();
const { models } = getDatamodel().datamodel;
const names = Object.keys(models);
const forever = new AbortController().signal;

/** Texts that JSON, PostgreSQL or a list of values could change. */
const TEXT = 'ü "quoted" \\n \\u0041 {1,2} NULL \'\u0001\u2028😀\n\t';
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  Boolean: [true, false],
  DateTime: [new Date('2026-02-28T23:59:59.999Z'), new Date('1969-12-31T00:00:00.001Z')],
  Int: [2_147_483_647, -2_147_483_648],
  Float: [0.1, -1.5e300],
  // Counts, which JSON can contain.
  BigInt: [9_007_199_254_740_991n, -9_007_199_254_740_991n],
};

type Fields = (typeof models)[string]['fields'];
// biome-ignore lint/suspicious/noExplicitAny: each model has a client of its own type.
const clientOf = (db: Database, model: string): any =>
  (db as unknown as Record<string, unknown>)[model.charAt(0).toLowerCase() + model.slice(1)];

const relationOf = (fields: Fields, name: string) =>
  fields.find((field) => field.kind === 'object' && field.relationFromFields?.includes(name));

/** The value of a column in the row `n` of its model. Columns that refer to a row have the id of the row `n`. */
function cellOf(model: string, name: string, n: number): unknown {
  const { fields } = models[model] ?? { fields: [] };
  const field = fields.find((one) => one.name === name);
  if (!field) throw new Error(`${model} has no ${name}`);
  const relation = relationOf(fields, name);
  if (relation) return cellOf(relation.type, 'id', n);
  if (field.kind === 'enum') return Object.values((enums as Record<string, object>)[field.type] ?? {})[n];
  const known = VALUES[field.type];
  return known ? known[n] : `${model} ${name} ${n} ${TEXT}`;
}

/** A row with all values, and a row whose optional values are null. */
const rowOf = (model: string, n: number) =>
  Object.fromEntries(
    (models[model]?.fields ?? [])
      .filter(({ kind }) => kind !== 'object')
      .map(({ name, isRequired }) => [name, n === 1 && !isRequired ? null : cellOf(model, name, n)]),
  );

async function fill(db: Database): Promise<void> {
  const seen = new Set<string>();
  const add = async (model: string) => {
    if (seen.has(model)) return;
    seen.add(model);
    for (const { type, relationFromFields } of models[model]?.fields ?? []) {
      if ((relationFromFields?.length ?? 0) > 0) await add(type);
    }
    await clientOf(db, model).createMany({ data: [rowOf(model, 0), rowOf(model, 1)] });
  };
  for (const model of names) await add(model);
}

async function rowsOf(db: Database, model: string): Promise<string[]> {
  const rows: object[] = await clientOf(db, model).findMany();
  return rows
    .map((row) => JSON.stringify(row, (_name, value) => (typeof value === 'bigint' ? `${value}n` : value)))
    .sort();
}

/** A filled SQLite database, and a PostgreSQL database with empty tables. */
async function world() {
  const dataDir = temporaryFolder();
  const from = await openTestStorage({ dataDir, databaseUrl: undefined });
  const url = await postgres.createDatabase();
  const to = await openTestStorage({ databaseUrl: url });
  const target = await connectPostgresql(url, 'test');
  onTestFinished(() => target.end());
  const file = new Sqlite(join(dataDir, 'brokergraph.db'));
  onTestFinished(() => void file.close());
  return { from: from.db, to: to.db, target, file, source: new SqliteRows(file) };
}

const tablesOf = async (target: Client) => {
  const { rows } = await target.query(
    `SELECT table_name, string_agg(column_name, ' ') FILTER (WHERE is_identity = 'YES' OR column_default LIKE 'nextval%')
       AS counted FROM information_schema.columns WHERE table_schema = 'public' GROUP BY 1 ORDER BY 1`,
  );
  return rows as { readonly table_name: string; readonly counted: string | null }[];
};

describe.skipIf(!postgres.available)(`to PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  test('every row of every model is the same afterwards', async () => {
    const { from, to, target, source } = await world();
    await fill(from);
    const copied = await copyRows(source, target, forever);
    expect(copied.map(({ rows }) => rows)).toEqual(names.map(() => 2));
    for (const model of names) expect(await rowsOf(to, model), model).toEqual(await rowsOf(from, model));

    const tables = await tablesOf(target);
    expect(copied.map(({ table }) => table).sort()).toEqual(
      tables.map(({ table_name }) => table_name).filter((name) => name !== '_prisma_migrations'),
    );
    // The next number of such a column would have to be copied, too.
    expect(tables.filter(({ counted }) => counted !== null)).toEqual([]);
  });

  test('more rows than one statement takes are copied, and a row of any size', async () => {
    const { from, to, target, source } = await world();
    const note = 'x'.repeat(5 * 1_048_576);
    const user = (n: number) => ({ id: `usr_${n}`, email: `${n}@example.com`, name: n === 7 ? note : `person ${n}` });
    await from.user.createMany({ data: Array.from({ length: 2_500 }, (_, n) => user(n)) });
    await copyRows(source, target, forever);
    expect(await to.user.count()).toBe(2_500);
    expect((await to.user.findUniqueOrThrow({ where: { id: 'usr_7' } })).name).toBe(note);
  });

  test('a database with a row is refused, whatever its table, and remains as it is; an empty one is not', async () => {
    const { from, to, target, source } = await world();
    await fill(from);
    await requireUnused(target, source.tables);
    await to.organization.create({ data: { id: 'org_1', name: 'theirs' } });
    await expect(requireUnused(target, source.tables)).rejects.toMatchObject({ code: 'IN_USE' });
    const refusal = copyRows(source, target, forever);
    await expect(refusal).rejects.toMatchObject({
      code: 'IN_USE',
      message: expect.stringContaining('Organisation: 1'),
    });
    expect([await to.user.count(), await to.organization.count()]).toEqual([0, 1]);
    await to.organization.deleteMany();
    await copyRows(source, target, forever);
    expect(await to.organization.count()).toBe(2);
  });

  test('after a failure or a stop all tables are empty, and the copy may be repeated', async () => {
    const { from, to, target, source, file } = await world();
    await fill(from);
    // PostgreSQL has no such text. This table is one of the last.
    file.exec(`UPDATE "ProjectToken" SET "name" = 'a' || char(0) || 'b' WHERE "id" LIKE '% 1 %'`);
    const failure = copyRows(source, target, forever);
    await expect(failure).rejects.toMatchObject({
      code: 'INTERNAL_ERROR',
      message: expect.stringContaining('ProjectToken'),
    });
    await expect(copyRows(source, target, AbortSignal.abort())).rejects.toThrow('aborted');
    for (const model of names) expect(await clientOf(to, model).count(), model).toBe(0);
    file.exec(`UPDATE "ProjectToken" SET "name" = 'b' WHERE "id" LIKE '% 1 %'`);
    await copyRows(source, target, forever);
    expect(await to.projectToken.count()).toBe(2);
  });
});
