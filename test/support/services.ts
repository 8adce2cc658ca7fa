import type { TestPostgres } from './postgres.ts';
import { sharedDatabase, startTestService, type TestService, type TestServiceOptions } from './service.ts';

/** Starts services on one new PostgreSQL database. They share nothing else, as processes on several machines. */
export async function startTestServices(
  postgres: TestPostgres,
  count: number,
  env: Record<string, string> = {},
  options: Omit<TestServiceOptions, 'env' | 'dataDir'> = {},
): Promise<readonly TestService[]> {
  const shared = { ...env, DATABASE_URL: await sharedDatabase(postgres), SECRET_KEY: '5e'.repeat(32) };
  const first = await startTestService({ ...options, env: shared });
  const others = Array.from({ length: count - 1 }, () => startTestService({ ...options, env: shared }));
  return [first, ...(await Promise.all(others))];
}
