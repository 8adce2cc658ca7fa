/**
 * Selects the migrations that a database still needs, recorded like by Prisma Migrate:
 * https://github.com/prisma/prisma-engines/blob/main/schema-engine/ARCHITECTURE.md
 *
 * The first migration replaces all that came before it. A database with all of those has its tables, so that only the
 * record changes.
 *
 * Errors: ServiceError INTERNAL_ERROR if a migration failed earlier, was edited after it was applied, or is unknown and
 * not an expanding one of a newer version.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { messageOf, ServiceError } from '../../errors.ts';
import type { Engine } from '../database.ts';

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
  /** Last one of the migrations that this one replaces, and the state of a database with all of them. */
  readonly replaces?: { readonly last: string; readonly state: string } | undefined;
}

export interface MigrationRecord {
  readonly migration_name: string;
  readonly checksum: string;
  readonly finished_at: unknown;
  readonly rolled_back_at: unknown;
}

/** The first line of a migration that replaces others. */
const REPLACES = /^-- Replaces the migrations until (?<last>\w+), whose state is (?<state>[0-9a-f]{64})\.\n/;
/** The last build with the migrations that were replaced. */
const LAST_BUILD_BEFORE = 'b7741b12';

/** Folder of the migrations. The relative path is the same from src/platform/storage and dist/platform/storage. */
export function migrationsFolder(engine: Engine): string {
  return fileURLToPath(new URL(`../../../../prisma/migrations/${engine}/`, import.meta.url));
}

export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
    .map((name) => {
      // A checkout on Windows may have changed the line endings.
      const sql = readFileSync(`${folder}/${name}/migration.sql`, 'utf8').replaceAll('\r\n', '\n');
      return { name, sql, checksum: sha256(sql), replaces: REPLACES.exec(sql)?.groups as Migration['replaces'] };
    });
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export function pendingMigrations(known: readonly Migration[], records: readonly MigrationRecord[]): Migration[] {
  const applied = records.filter((row) => row.rolled_back_at === null);
  for (const { migration_name: name, finished_at } of applied) {
    if (finished_at !== null) continue;
    throw refused(
      `Migration ${name} failed on this database and may be partly applied`,
      'Repair the database and record it with `prisma migrate resolve`, or restore a backup.',
    );
  }
  const names = new Set(applied.map((row) => row.migration_name));
  const [first, ...later] = known;
  if (first?.replaces && names.size > 0 && !names.has(first.name)) return [onlyRecorded(first, applied), ...later];
  for (const { migration_name: name, checksum } of applied) {
    const migration = known.find((candidate) => candidate.name === name);
    if (!migration) {
      if (isExpanding(name) && name > (known.at(-1)?.name ?? '')) continue;
      throw refused(
        `This database has migration ${name}, which this version does not know and cannot work with`,
        'It was used by a newer version: start that version, or restore a backup from before the upgrade.',
      );
    }
    if (migration.checksum !== checksum) {
      throw refused(
        `Migration ${name} was edited after it was applied to this database`,
        'Restore the file, and make the change in a new migration.',
      );
    }
  }
  return known.filter(({ name }) => !names.has(name));
}

/** Whether processes that do not know the migration work with its tables, so that versions can run side by side. */
const isExpanding = (name: string): boolean => /^\d{4}_expand_/.test(name);

/** Replaces the records of a database that has all migrations which `migration` replaces. */
function onlyRecorded(migration: Migration, applied: readonly MigrationRecord[]): Migration {
  const rows = applied.map(({ migration_name: name, checksum }) => `${name} ${checksum}\n`).sort();
  if (sha256(rows.join('')) === migration.replaces?.state) {
    return { ...migration, sql: 'DELETE FROM _prisma_migrations' };
  }
  throw refused(
    `This database lacks some of the migrations that ${migration.name} replaces, up to ${migration.replaces?.last}`,
    `Start the service of commit ${LAST_BUILD_BEFORE} once, which applies them, and then this version.`,
  );
}

export function migrationFailed(name: string, cause: unknown): ServiceError {
  const reason = messageOf(cause);
  return new ServiceError('INTERNAL_ERROR', `Migration ${name} failed and was rolled back: ${reason}`, { cause });
}

function refused(problem: string, advice: string): ServiceError {
  return new ServiceError('INTERNAL_ERROR', `${problem}. ${advice}`);
}
