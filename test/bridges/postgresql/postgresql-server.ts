import pg from 'pg';
import { onTestFinished } from 'vitest';

/** A client of the test's own, ended with the test. */
export async function connectDatabase(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // Tests stop servers.
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}
