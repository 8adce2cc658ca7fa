import pg from 'pg';
import { onTestFinished } from 'vitest';

/** A connection to PostgreSQL that is closed after the test. Its loss is not an error. */
export async function openPostgresClient(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => void client.connection.stream.destroy());
  return client;
}
