import { describe } from 'vitest';
import type { Engine } from '../../src/platform/storage/database.ts';
import { type TestPostgres, UNAVAILABLE, usePostgres } from './postgres.ts';

/** The same tests on each engine; those on PostgreSQL are skipped, with the reason in their title, where there is none. */
export function describeEngines(tests: (engine: Engine, postgres: TestPostgres) => void): void {
  const postgres = usePostgres();
  describe('on SQLite', () => tests('sqlite', postgres));
  if (postgres.available) describe('on PostgreSQL', () => tests('postgresql', postgres));
  else describe.skip(`on PostgreSQL (${UNAVAILABLE})`, () => tests('postgresql', postgres));
}
