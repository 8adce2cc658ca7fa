/**
 * Migrations are named `NNNN_expand_…` or `NNNN_contract_…`. Processes of the previous version work with the tables
 * after an expand migration, so it removes and changes nothing that they use: see “Change stored data” in
 * CONTRIBUTING.md.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../stamps.mjs';

/** What follows the number in the name of a migration. */
export const NAME = /^(expand|contract)_[a-z0-9_]+$/;
/** The first migration creates the tables. */
const FIRST = '0001_schema';

/** How SQLite changes a table. The same change in the SQL for PostgreSQL shows what is lost. */
const REDEFINITION = /DROP TABLE "(\w+)";\s*ALTER TABLE "new_\1" RENAME TO "\1";/g;
/** Without a foreign key, only rows that it deleted with their owner remain; the new version deals with those. */
const FREED = /\bDROP CONSTRAINT "\w+_fkey"/g;
const NOT_SQL = /--.*$|'(?:[^']|'')*'|"[^"]*"/gm;
const ADDED_COLUMN = /\bADD COLUMN\b(?:\([^)]*\)|[^(),;])*/gi;
const DESTRUCTIVE = [
  ['drops something', /\bDROP\b/i],
  ['renames something', /\bRENAME\b/i],
  ['changes the type of a column', /\bALTER COLUMN\b[^,;]*\bTYPE\b/i],
  ['makes a column NOT NULL', /\bSET NOT NULL\b/i],
];

/** Why a migration must not have its name. `name` is without the number. */
export function faultsOf(name, sql) {
  if (!NAME.test(name)) return ['its name must be NNNN_expand_… or NNNN_contract_…, in lower case'];
  if (name.startsWith('contract_')) return [];
  const words = sql.replace(REDEFINITION, '').replace(FREED, '').replace(NOT_SQL, "''");
  const faults = DESTRUCTIVE.filter(([, pattern]) => pattern.test(words)).map(([what]) => what);
  const isRequired = ([column]) => /\bNOT NULL\b/i.test(column) && !/\b(DEFAULT|GENERATED)\b/i.test(column);
  if ([...words.matchAll(ADDED_COLUMN)].some(isRequired))
    faults.push('adds a column that is NOT NULL without a default');
  return faults.map((fault) => `an expand migration ${fault}, which processes of the previous version may use`);
}

export function migrationFaults() {
  const folder = join(root, 'prisma/migrations');
  return readdirSync(folder).flatMap((engine) =>
    readdirSync(join(folder, engine), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== FIRST)
      .flatMap(({ name }) => {
        const path = `prisma/migrations/${engine}/${name}/migration.sql`;
        const faults = faultsOf(name.replace(/^\d{4}_/, ''), readFileSync(join(root, path), 'utf8'));
        return faults.map((fault) => `${path}: ${fault}`);
      }),
  );
}
