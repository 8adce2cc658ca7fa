/** Connections to PostgreSQL. Error messages never contain the password. */
import type { Socket } from 'node:net';
import pg, { type ClientConfig, type PoolConfig } from 'pg';
import { messageOf, ServiceError } from '../../errors.ts';
import { keepCertificate, tlsProblem } from '../../network/tls-failure.ts';
import { within } from '../../scheduling/within.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** For a new connection, or for one that is free. */
const POOL_TIMEOUT_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 15_000;
/** Longer than STATEMENT_TIMEOUT_MS, so that a server that responds reports a slow statement itself. */
const SILENCE_TIMEOUT_MS = 20_000;
/** The default of Linux is two hours. A client that only waits for a response would notice no earlier. */
const KEEP_ALIVE_MS = 15_000;
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * The settings of a session on which values and statements depend. A server, a database and a role may have other
 * defaults. Not in the startup packet, because connection poolers refuse some of them there.
 */
export const SESSION_SETTINGS = `SET DateStyle = ISO; SET IntervalStyle = postgres; SET TimeZone = 'UTC';
  SET client_encoding = UTF8; SET standard_conforming_strings = on; SET bytea_output = hex;
  SET default_transaction_isolation = 'read committed'; SET statement_timeout = 0`;

/**
 * The pool of queries. The server cancels a statement after STATEMENT_TIMEOUT_MS, and ends a transaction that is idle
 * as long, so that a lost process does not keep its row locks. A connection on which nothing arrives for
 * SILENCE_TIMEOUT_MS is closed, and its query fails: without this limit it would wait until TCP gives up, for 15
 * minutes. Errors: ServiceError INVALID.
 */
export function poolConfig(databaseUrl: string): PoolConfig {
  return {
    ...postgresqlConfig(databaseUrl),
    connectionTimeoutMillis: POOL_TIMEOUT_MS,
    onConnect: async (client) => {
      client.on('error', ignoreLoss);
      const stream = (client as pg.Client).connection.stream as Socket;
      const silent = () => stream.destroy(new Error(`no response from the database within ${SILENCE_TIMEOUT_MS} ms`));
      stream.setTimeout(SILENCE_TIMEOUT_MS, silent);
      await client.query(`${SESSION_SETTINGS}; SET statement_timeout = ${STATEMENT_TIMEOUT_MS};
        SET idle_in_transaction_session_timeout = ${STATEMENT_TIMEOUT_MS}`);
    },
  };
}

/** The host may be a parameter: `postgresql://user@/name?host=/var/run/postgresql`. Errors: ServiceError INVALID. */
export function postgresqlUrl(databaseUrl: string): URL {
  const text = databaseUrl.replace(/^(\w+:\/\/[^/?#]*@)(?=\/.*[?&]host=)/, '$1localhost');
  if (!/^postgres(ql)?:\/\//.test(text)) {
    throw unusable('must be a PostgreSQL URL: postgresql://user:password@host:5432/name');
  }
  if (URL.canParse(text)) return new URL(text);
  throw unusable(
    'is not a valid URL. Encode special characters of the password: # is %23, / is %2F, @ is %40, % is %25',
  );
}

/** Errors: ServiceError INVALID. */
export function postgresqlConfig(databaseUrl: string): ClientConfig {
  const url = postgresqlUrl(databaseUrl);
  const schema = url.searchParams.get('schema');
  if (schema !== null && schema !== 'public') {
    throw unusable('contains a schema: remove it, only the schema "public" is supported');
  }
  url.searchParams.delete('schema');
  return {
    connectionString: url.href,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: 'brokergraph',
  };
}

export const unusable = (reason: string): ServiceError => new ServiceError('INVALID', `DATABASE_URL ${reason}`);

/**
 * Opens a connection, which the caller closes. `purpose` is shown to administrators of the server. Errors: ServiceError
 * INTERNAL_ERROR, DATABASE_UNAVAILABLE if the server accepts the connection and does not respond.
 */
export async function connectPostgresql(databaseUrl: string, purpose: string, Client = pg.Client): Promise<pg.Client> {
  const client = new Client({ ...postgresqlConfig(databaseUrl), application_name: `brokergraph ${purpose}` });
  client.on('error', ignoreLoss);
  client.connection.once('sslconnect', () => keepCertificate(client.connection.stream));
  try {
    await client.connect();
    await within(CONNECT_TIMEOUT_MS, client.query(SESSION_SETTINGS), () => silent(client));
    return client;
  } catch (error) {
    client.connection.stream.destroy();
    if (error instanceof ServiceError) throw error;
    const message = `Cannot connect to PostgreSQL at ${addressOf(client)}: ${reason(error)}`;
    throw new ServiceError('INTERNAL_ERROR', message, { cause: error });
  }
}

function silent(client: pg.Client): ServiceError {
  const seconds = CONNECT_TIMEOUT_MS / 1_000;
  return new ServiceError(
    'DATABASE_UNAVAILABLE',
    `PostgreSQL at ${addressOf(client)}: no response within ${seconds} s`,
  );
}

/** Closes a connection, within CLOSE_TIMEOUT_MS also if the server does not respond. Never rejects. */
export async function closePostgresql(client: pg.Client): Promise<void> {
  const late = () => new Error('the server did not end the connection in time');
  await within(CLOSE_TIMEOUT_MS, client.end(), late).catch(() => client.connection.stream.destroy());
}

/**
 * Whether a statement may succeed when it is repeated: the connection was lost, or SQLSTATE has one of the classes 08
 * (connection), 40 (rollback), 53 (resources), 55 (state) and 57 (operator, restart, time-out).
 */
export function isTemporary(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return /^(08|40|53|55|57)/.test(error.code ?? '');
  return error instanceof Error && !(error instanceof TypeError || error instanceof RangeError);
}

/**
 * The event of a lost connection would end the process or the thread if it had no listener. The pending query, or the
 * next one, fails with the same error.
 */
const ignoreLoss = (): void => undefined;

function addressOf({ host, port, database }: pg.Client): string {
  return `${host}:${port}/${database ?? ''}`;
}

/** A host with several addresses fails with an AggregateError, which has no message. */
function reason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reason).join('; ');
  return tlsProblem(error, SERVER) ?? messageOf(error);
}

const SERVER = { name: 'the database', ca: '"sslrootcert" of the URL' } as const;
