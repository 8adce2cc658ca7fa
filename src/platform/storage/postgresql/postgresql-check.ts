/**
 * Proves that a PostgreSQL has what the service needs, before anything is written to it. Errors: ServiceError INVALID
 * with what is missing, INTERNAL_ERROR if the server cannot be connected to.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Client } from 'pg';
import { within } from '../../scheduling/within.ts';
import type { StorageLog } from '../storage-log.ts';
import { closePostgresql, connectPostgresql, unusable } from './postgresql-connection.ts';

/** Connections of a start. */
const FEWEST_CONNECTIONS = 5;
/** The connections that a process may open, see docs/operation.md. */
const USED_CONNECTIONS = 20;
const RESPONSE_TIMEOUT_MS = 5_000;

interface Server {
  readonly version: string;
  /** Such as 150004 for 15.4. */
  readonly number: number;
  readonly encoding: string;
  readonly role: string;
  readonly database: string;
  readonly isStandby: boolean;
  /** First schema of `search_path` that exists. */
  readonly schema: string | null;
  readonly createsTables: boolean;
  /** Or the schema of stored messages exists. */
  readonly createsSchemas: boolean;
  /** Connections that are free, by the limits of the server, the database and the role. */
  readonly free: number;
}

const SERVER = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
  current_setting('server_encoding') AS encoding, current_user AS role, current_database() AS database,
  pg_is_in_recovery() AS "isStandby", current_schema() AS schema,
  has_schema_privilege(current_schema(), 'CREATE') AS "createsTables",
  to_regnamespace('messages') IS NOT NULL OR has_database_privilege(current_database(), 'CREATE') AS "createsSchemas",
  least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0) - count(*),
    CASE WHEN datconnlimit >= 0 THEN datconnlimit - count(*) FILTER (WHERE session.datid = pg_database.oid) END,
    CASE WHEN rolconnlimit >= 0 THEN rolconnlimit - count(*) FILTER (WHERE session.usesysid = pg_roles.oid) END
  )::int AS free
  FROM pg_database, pg_roles, pg_stat_activity AS session
  WHERE pg_database.datname = current_database() AND rolname = current_user AND session.datid IS NOT NULL
  GROUP BY datconnlimit, rolconnlimit`;

export async function checkPostgresql(databaseUrl: string, log: StorageLog): Promise<void> {
  const client = await connectPostgresql(databaseUrl, 'check');
  try {
    const { rows } = await inTime(client.query<Server>(SERVER));
    if (rows[0]) requireServer(rows[0], log);
    const other = await connectPostgresql(databaseUrl, 'check');
    try {
      await requireOwnSession(client, other);
      await requireNotifications(client, other);
    } finally {
      await closePostgresql(other);
    }
  } finally {
    await closePostgresql(client);
  }
}

function requireServer(server: Server, log: StorageLog): void {
  const { database, role, schema, free } = server;
  if (server.number < 140_000) throw unusable(`names PostgreSQL ${server.version}: version 14 or newer is required`);
  if (server.isStandby) throw unusable('names a standby, which accepts no writes: set it to the primary');
  if (server.encoding !== 'UTF8') {
    const advice = `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`;
    throw unusable(`names the database ${database} with encoding ${server.encoding}: UTF8 is required (${advice})`);
  }
  if (schema === null) throw unusable(`names a database without a schema in the search_path of the role ${role}`);
  if (!server.createsTables) {
    throw unusable(`has the role ${role}, which may not create tables: GRANT CREATE ON SCHEMA ${schema} TO "${role}"`);
  }
  if (!server.createsSchemas) {
    const grant = `GRANT CREATE ON DATABASE "${database}" TO "${role}"`;
    throw unusable(`has the role ${role}, which may not create the schema of stored messages: ${grant}`);
  }
  if (free < FEWEST_CONNECTIONS - 1) {
    throw unusable(`names a server with ${free} free connections: at least ${FEWEST_CONNECTIONS} are required`);
  }
  if (free < USED_CONNECTIONS) log.warn({ free, used: USED_CONNECTIONS }, 'The database has few free connections');
}

/** With a pooler that shares sessions, a connection gets another one for each transaction or statement. */
async function requireOwnSession(client: Client, other: Client): Promise<void> {
  const shared = unusable(
    'leads to a connection pooler that shares sessions, which loses locks and notifications: connect to PostgreSQL ' +
      'itself, or to a pooler that gives each connection a session (PgBouncer: pool_mode = session)',
  );
  const first = await backendOf(client);
  if ((await backendOf(other)) === first) throw shared;
  try {
    await inTime(other.query('BEGIN'));
  } catch {
    // A pooler that shares sessions between statements refuses transactions.
    throw shared;
  }
  const second = await backendOf(other);
  if (second === first || (await backendOf(client)) !== first) throw shared;
  await inTime(other.query('COMMIT'));
}

async function requireNotifications(client: Client, other: Client): Promise<void> {
  const channel = `brokergraph_check_${randomUUID().replaceAll('-', '')}`;
  const received = once(client, 'notification');
  await inTime(client.query(`LISTEN ${channel}`));
  await inTime(other.query(`NOTIFY ${channel}`));
  const lost = () => unusable('leads to a server or a pooler that does not deliver notifications (LISTEN)');
  await within(RESPONSE_TIMEOUT_MS, received, lost);
}

async function backendOf(client: Client): Promise<number | undefined> {
  const { rows } = await inTime(client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'));
  return rows[0]?.pid;
}

const inTime = <T>(work: Promise<T>): Promise<T> =>
  within(RESPONSE_TIMEOUT_MS, work, () => new Error('The database does not respond'));
