import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import type { TestService } from '../../support/service.ts';

export function databaseOf({ config }: TestService): Database.Database {
  const file = readdirSync(config.dataDir).find((name) => name.endsWith('.db')) ?? '';
  const database = new Database(join(config.dataDir, file));
  onTestFinished(() => void database.close());
  return database;
}

/**
 * Makes statements of the trigger fail until the returned function is called. The error is not a constraint violation,
 * which means a missing row.
 */
export function failing(service: TestService, when: string, name = 'failing'): () => void {
  const database = databaseOf(service);
  database.exec(`CREATE TRIGGER ${name} BEFORE ${when} BEGIN SELECT json('no JSON'); END`);
  return () => void database.exec(`DROP TRIGGER ${name}`);
}
