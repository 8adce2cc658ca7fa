import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { clusterOwner, findPostgresPrograms, readiness } from '../postgres.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { Host } from './network.ts';

const USER = 'brokergraph';

export interface PostgresOptions {
  /** Whether commits wait for the disk. Default: false. */
  readonly durable?: boolean;
  /** Value of `synchronous_standby_names`. Default: no synchronous standby. */
  readonly synchronousStandbys?: string;
  /** Further environment of the server. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A PostgreSQL server on a host, on port 5432. */
export interface PostgresServer {
  readonly host: Host;
  /** URL of the database at the host's address, or a service address. */
  url(address?: string): string;
  /** Runs statements in a connection of their own, and returns the rows of the last one. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** Immediate shutdown: connections are closed without a farewell. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Starts a streaming replica on another host. Its name for `synchronous_standby_names` is the name of the host. */
  startReplica(host: Host): Promise<PostgresServer>;
  /** For a server that was started without. */
  setSynchronousStandbys(names: string): Promise<void>;
  /** Resolves when the server accepts writes. */
  promote(): Promise<void>;
}

export async function startPostgres(host: Host, options: PostgresOptions = {}): Promise<PostgresServer> {
  const data = dataFolder();
  asOwner('initdb', ['-D', data, '-U', USER, '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']);
  const lines = ['host all all 10.0.0.0/8 trust', 'host replication all 10.0.0.0/8 trust'];
  appendFileSync(join(data, 'pg_hba.conf'), `${lines.join('\n')}\n`);
  return startOn(host, data, options);
}

async function startOn(host: Host, data: string, options: PostgresOptions): Promise<PostgresServer> {
  const { durable = false, synchronousStandbys = '', env = {} } = options;
  const settings = {
    listen_addresses: '*',
    unix_socket_directories: '',
    max_connections: 200,
    fsync: durable ? 'on' : 'off',
    ...(synchronousStandbys === '' ? {} : { synchronous_standby_names: synchronousStandbys }),
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let server: ChildProcess | null = null;
  const start = async () => {
    const [program, ...before] = ownerCommand('postgres');
    server = host.spawn(program, [...before, '-D', data, ...args], {
      cwd: data,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    });
    const failure = await readiness(server);
    if (failure !== null) throw new Error(`PostgreSQL did not start:\n${failure}`);
  };
  const kill = async () => {
    if (server === null || server.exitCode !== null) return;
    const exit = once(server, 'exit');
    server.kill('SIGQUIT');
    await exit;
  };
  onTestFinished(kill);
  await start();
  const url = (address = host.address) => `postgresql://${USER}@${address}:5432/postgres`;
  const sql = (text: string) => runSql(url(), text);
  return {
    host,
    url,
    sql,
    kill,
    start,
    startReplica: async (other) => {
      const copy = dataFolder();
      const source = `host=${host.address} port=5432 user=${USER} application_name=${other.name}`;
      const backup = ['-d', source, '-D', copy, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'];
      asOwner('pg_basebackup', backup);
      return startOn(other, copy, { ...options, synchronousStandbys: '', env: {} });
    },
    setSynchronousStandbys: async (names) => {
      await sql(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      await sql('SELECT pg_reload_conf()');
    },
    promote: async () => {
      await sql('SELECT pg_promote(true, 60)');
    },
  };
}

async function runSql(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    const result: pg.QueryResult | pg.QueryResult[] = await client.query(text);
    return (Array.isArray(result) ? result.at(-1) : result)?.rows ?? [];
  } finally {
    await client.end();
  }
}

function dataFolder(): string {
  const folder = temporaryFolder();
  const owner = clusterOwner();
  if (owner) chownSync(folder, owner.uid, owner.gid);
  return join(folder, 'data');
}

/** The server refuses to run as root. */
function ownerCommand(program: 'initdb' | 'postgres' | 'pg_basebackup'): [string, ...string[]] {
  const folder = findPostgresPrograms();
  if (folder === null) throw new Error('PostgreSQL is not installed');
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', join(folder, program)];
}

function asOwner(program: 'initdb' | 'pg_basebackup', args: readonly string[]): void {
  const [command, ...before] = ownerCommand(program);
  execFileSync(command, [...before, ...args], { stdio: 'pipe', cwd: tmpdir() });
}
