import { describe } from 'vitest';
import type { Engine } from '../../src/platform/storage/database.ts';
import { type TestPostgres, UNAVAILABLE, usePostgres } from './postgres.ts';
import { suite } from './suite.ts';

/** Runs the same tests on each database. A short run uses only SQLite. Without PostgreSQL its tests are skipped. */
export function describeEngines(tests: (engine: Engine, postgres: TestPostgres) => void): void {
  const postgres = usePostgres();
  describe('on SQLite', () => tests('sqlite', postgres));
  if (suite === 'short') return;
  if (postgres.available) describe('on PostgreSQL', () => tests('postgresql', postgres));
  else describe.skip(`on PostgreSQL (${UNAVAILABLE})`, () => tests('postgresql', postgres));
}
