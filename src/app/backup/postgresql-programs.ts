import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { Client } from 'pg';
import { ServiceError } from '../../platform/errors.ts';
import {
  closePostgresql,
  connectPostgresql,
  postgresqlUrl,
} from '../../platform/storage/postgresql/postgresql-connection.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

interface Programs {
  readonly databaseUrl: string;
  /** With PATH. */
  readonly env: Environment;
}

/** Writes the database to a file, in pg_dump's custom format, as of one moment. Errors: ServiceError INTERNAL_ERROR. */
export async function dumpDatabase(programs: Programs, file: string): Promise<void> {
  const options = ['--format=custom', '--no-owner', '--no-privileges', `--file=${file}`];
  await run('pg_dump', options, programs.env, programs.databaseUrl);
}

/** Restores such a file to an empty database, in one transaction. Errors: ServiceError INTERNAL_ERROR. */
export async function restoreDatabase(programs: Programs, file: string): Promise<void> {
  const options = ['--single-transaction', '--exit-on-error', '--no-owner', '--no-privileges'];
  await run('pg_restore', [...options, file], programs.env, programs.databaseUrl);
}

/** Errors: ServiceError IN_USE if the database has a table; INTERNAL_ERROR. */
export async function requireEmptyDatabase(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind IN ('r', 'p') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' LIMIT 1`,
    );
    if (rows[0] === undefined) return;
    const advice = 'Create an empty database, and set DATABASE_URL to it';
    throw new ServiceError('IN_USE', `The database ${client.database} has tables (${rows[0].name}). ${advice}`);
  });
}

/** Errors: ServiceError INVALID if the program is missing or older than the server; INTERNAL_ERROR. */
export async function requireProgram(program: 'pg_dump' | 'pg_restore', { databaseUrl, env }: Programs): Promise<void> {
  const server = await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num');
    return Math.floor(Number(rows[0]?.server_version_num) / 10_000);
  });
  const output = await run(program, ['--version'], env);
  const version = Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1]);
  if (version >= server) return;
  const advice = `Put the one of PostgreSQL ${server} into PATH`;
  throw new ServiceError('INVALID', `${program} in PATH has version ${version}, the server ${server}. ${advice}`);
}

/** The connection is closed before a program runs, because it would be idle for long, and servers end such sessions. */
async function withClient<T>(databaseUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectPostgresql(databaseUrl, 'backup');
  try {
    return await work(client);
  } finally {
    await closePostgresql(client);
  }
}

/** Returns the output. The password is not an argument, because all users of a machine can read arguments. */
async function run(program: string, args: readonly string[], env: Environment, databaseUrl?: string) {
  const url = databaseUrl === undefined ? null : postgresqlUrl(databaseUrl);
  const password = decodeURIComponent(url?.password ?? '');
  if (url) {
    url.password = '';
    url.searchParams.delete('schema');
  }
  const connection = url ? ['--no-password', `--dbname=${url.href}`] : [];
  const child = spawn(program, [...connection, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: password === '' ? env : { ...env, PGPASSWORD: password },
  });
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  try {
    const [code, output, errors] = await Promise.all([exit, text(child.stdout), text(child.stderr)]);
    if (code === 0) return output;
    throw new ServiceError('INTERNAL_ERROR', `${program} failed: ${errors.trim()}`);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    const advice = 'Install the client programs of PostgreSQL';
    throw new ServiceError('INVALID', `There is no ${program} in PATH. ${advice}`, { cause });
  }
}
