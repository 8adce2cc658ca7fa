import { describe } from 'vitest';
import type { Engine } from '../../src/platform/storage/database.ts';
import { type TestPostgres, UNAVAILABLE, usePostgres } from './postgres.ts';
import { suite } from './suite.ts';

/** Runs the same tests on each database. Only a run of all tests uses PostgreSQL, if it is installed. */
export function describeEngines(tests: (engine: Engine, postgres: TestPostgres) => void): void {
  const postgres = usePostgres();
  describe('on SQLite', () => tests('sqlite', postgres));
  if (suite !== 'all') return;
  if (postgres.available) describe('on PostgreSQL', () => tests('postgresql', postgres));
  else describe.skip(`on PostgreSQL (${UNAVAILABLE})`, () => tests('postgresql', postgres));
}
