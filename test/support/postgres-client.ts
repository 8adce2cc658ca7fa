import pg from 'pg';
import { onTestFinished } from 'vitest';

/** A connection to PostgreSQL that is closed after the test. Its loss is not an error. */
export async function openPostgresClient(connectionString: string, name?: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, application_name: name });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => void client.connection.stream.destroy());
  return client;
}

/** Ends the sessions that have leases, as a restart of the server does. */
export async function endLeaseSessions(databaseUrl: string): Promise<void> {
  const client = await openPostgresClient(databaseUrl);
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
}
