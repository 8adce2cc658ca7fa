/** Connections to PostgreSQL. Error messages never contain the password. */
import pg, { type ClientConfig } from 'pg';
import { ServiceError } from '../errors.ts';
import { within } from '../scheduling/within.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 5_000;

/** Errors: ServiceError INVALID. */
export function postgresqlConfig(databaseUrl: string): ClientConfig {
  const url = URL.canParse(databaseUrl) ? new URL(databaseUrl) : null;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw unusable('must be a PostgreSQL URL: postgresql://user:password@host:5432/name');
  }
  const schema = url.searchParams.get('schema');
  if (schema !== null && schema !== 'public') {
    throw unusable('contains a schema: remove it, only the schema "public" is supported');
  }
  url.searchParams.delete('schema');
  return {
    connectionString: url.href,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'brokergraph',
  };
}

const unusable = (reason: string): ServiceError => new ServiceError('INVALID', `DATABASE_URL ${reason}`);

/** Opens a connection, which the caller closes. Errors: ServiceError INTERNAL_ERROR. */
export async function connectPostgresql(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client(postgresqlConfig(databaseUrl));
  try {
    await client.connect();
    return client;
  } catch (error) {
    const message = `Cannot connect to PostgreSQL at ${addressOf(client)}: ${reason(error)}`;
    throw new ServiceError('INTERNAL_ERROR', message, { cause: error });
  }
}

/** Errors: those of the query; an Error after RESPONSE_TIMEOUT_MS, which may mean a dead connection. */
export const query = (client: pg.Client, sql: string, values?: unknown[]): Promise<pg.QueryResult> => {
  const tooLate = () => new Error(`no response within ${RESPONSE_TIMEOUT_MS} ms`);
  return within(RESPONSE_TIMEOUT_MS, client.query(sql, values), tooLate);
};

function addressOf({ host, port, database }: pg.Client): string {
  return `${host}:${port}/${database ?? ''}`;
}

/** A host with several addresses fails with an AggregateError, which has no message. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join('; ');
  return error instanceof Error ? error.message : String(error);
}
