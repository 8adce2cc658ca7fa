import pg from 'pg';
import { createDatabase } from './postgres.ts';

/**
 * The databases of a run with TEST_POOLER=session: behind the PgBouncer that global-setup.ts starts, with defaults that
 * no service may depend on. `copyOf`: see createDatabase; also a database behind the pooler.
 */
export async function pooledDatabase(server: string, copyOf?: string): Promise<string> {
  const { TEST_POOLER_URL: pooler } = process.env;
  if (!pooler) throw new Error('TEST_POOLER=session needs TEST_POOLER_URL');
  if (copyOf !== undefined) await administer(server, END_SESSIONS, [nameOf(copyOf)]);
  const url = new URL(await createDatabase(server, copyOf));
  const database = nameOf(url.href);
  await administer(server, `ALTER DATABASE ${database} SET DateStyle = 'SQL, DMY'`);
  await administer(server, `ALTER DATABASE ${database} SET TimeZone = 'Asia/Kolkata'`);
  url.host = new URL(pooler).host;
  return url.href;
}

/** The pooler keeps sessions for the next client, and a database that is copied must have none. */
const END_SESSIONS = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1';

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

async function administer(server: string, sql: string, values: readonly string[] = []): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(sql, [...values]);
  } finally {
    await client.end();
  }
}
