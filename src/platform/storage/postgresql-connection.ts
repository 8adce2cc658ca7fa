/** How every connection to PostgreSQL is made, and what is said when it cannot be. Messages never hold the password. */
import pg, { type ClientConfig } from 'pg';
import { ServiceError } from '../errors.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/** Errors: ServiceError INVALID for a URL that is not one of PostgreSQL. */
export function postgresqlConfig(databaseUrl: string): ClientConfig {
  const url = URL.canParse(databaseUrl) ? new URL(databaseUrl) : null;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new ServiceError(
      'INVALID',
      'DATABASE_URL must be a PostgreSQL URL: postgresql://user:password@host:5432/name',
    );
  }
  const schema = url.searchParams.get('schema');
  if (schema !== null && schema !== 'public') {
    throw new ServiceError('INVALID', 'DATABASE_URL names a schema; only the schema "public" of a database is used');
  }
  url.searchParams.delete('schema');
  return {
    connectionString: url.href,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'brokergraph',
  };
}

/** A connection of its own, to be ended by the caller. Errors: ServiceError INTERNAL_ERROR when it cannot be made. */
export async function connectPostgresql(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client(postgresqlConfig(databaseUrl));
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw new ServiceError('INTERNAL_ERROR', `No connection to PostgreSQL at ${place(client)}: ${reason(error)}`, {
      cause: error,
    });
  }
}

function place({ host, port, database }: pg.Client): string {
  return `${host}:${port}/${database ?? ''}`;
}

/** A host with several addresses fails with one error for each, and none of its own words. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join('; ');
  return error instanceof Error ? error.message : String(error);
}
