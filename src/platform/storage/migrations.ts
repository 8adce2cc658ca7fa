/**
 * Selects the migrations that a database still needs, recorded like by Prisma Migrate:
 * https://github.com/prisma/prisma-engines/blob/main/schema-engine/ARCHITECTURE.md
 *
 * Errors: ServiceError INTERNAL_ERROR if a migration failed earlier, was edited after it was applied, or is unknown.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '../errors.ts';
import type { Engine } from './database.ts';

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export interface MigrationRecord {
  readonly migration_name: string;
  readonly checksum: string;
  readonly finished_at: unknown;
  readonly rolled_back_at: unknown;
}

/** Folder of the migrations. The relative path is the same from src/platform/storage and dist/platform/storage. */
export function migrationsFolder(engine: Engine): string {
  return fileURLToPath(new URL(`../../../prisma/migrations/${engine}/`, import.meta.url));
}

export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
    .map((name) => {
      // A checkout on Windows may have changed the line endings.
      const sql = readFileSync(`${folder}/${name}/migration.sql`, 'utf8').replaceAll('\r\n', '\n');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}

export function pendingMigrations(known: readonly Migration[], records: readonly MigrationRecord[]): Migration[] {
  const applied = new Set<string>();
  for (const { migration_name: name, checksum, finished_at } of records.filter((row) => row.rolled_back_at === null)) {
    const migration = known.find((candidate) => candidate.name === name);
    if (finished_at === null) {
      throw refused(
        `Migration ${name} failed on this database and may be partly applied`,
        'Repair the database and record it with `prisma migrate resolve`, or restore a backup.',
      );
    }
    if (!migration) {
      throw refused(
        `This database has migration ${name}, which this version does not know`,
        'It was used by a newer version: start that version, or restore a backup from before the upgrade.',
      );
    }
    if (migration.checksum !== checksum) {
      throw refused(
        `Migration ${name} was edited after it was applied to this database`,
        'Restore the file, and make the change in a new migration.',
      );
    }
    applied.add(name);
  }
  return known.filter(({ name }) => !applied.has(name));
}

export function migrationFailed(name: string, cause: unknown): ServiceError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ServiceError('INTERNAL_ERROR', `Migration ${name} failed and was rolled back: ${reason}`, { cause });
}

function refused(problem: string, advice: string): ServiceError {
  return new ServiceError('INTERNAL_ERROR', `${problem}. ${advice}`);
}
