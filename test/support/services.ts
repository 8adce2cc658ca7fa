import type { TestPostgres } from './postgres.ts';
import { startTestService, type TestService, type TestServiceOptions } from './service.ts';

/** Starts services on one new PostgreSQL database. They share nothing else, as processes on several machines. */
export async function startTestServices(
  postgres: TestPostgres,
  count: number,
  env: Record<string, string> = {},
  options: Omit<TestServiceOptions, 'env' | 'dataDir'> = {},
): Promise<readonly TestService[]> {
  const shared = {
    ...env,
    DATABASE_URL: await postgres.createDatabase(),
    // As 32 bytes in base64, because a key in words is derived with scrypt at each start: 0.14 CPU s.
    SECRET_KEY: 'the-same-key-for-all-of-the-processes-here-',
  };
  const first = await startTestService({ ...options, env: shared });
  const others = Array.from({ length: count - 1 }, () => startTestService({ ...options, env: shared }));
  return [first, ...(await Promise.all(others))];
}
