import type { TestPostgres } from './postgres.ts';
import { startTestService, type TestService } from './service.ts';

/** Starts services on one new PostgreSQL database. They share nothing else, as processes on several machines. */
export async function startTestServices(
  postgres: TestPostgres,
  count: number,
  env: Record<string, string> = {},
): Promise<readonly TestService[]> {
  const shared = {
    ...env,
    DATABASE_URL: await postgres.createDatabase(),
    SECRET_KEY: 'the same key for all of the processes',
  };
  const first = await startTestService({ env: shared });
  const others = Array.from({ length: count - 1 }, () => startTestService({ env: shared }));
  return [first, ...(await Promise.all(others))];
}
