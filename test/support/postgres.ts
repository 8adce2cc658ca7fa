/**
 * A PostgreSQL server for tests, with its data in a temporary folder, on a free port of 127.0.0.1. It is stopped after
 * the test file. fsync is off by default, because the data need not survive a power failure.
 *
 * TEST_POSTGRES_URL names another server. Its user must be allowed to create databases.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { freePort } from './free-port.ts';

const USER = 'brokergraph';
const START_ATTEMPTS = 5;

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

interface PostgresCluster {
  /** URL of the maintenance database. */
  readonly url: string;
  /** Kills the server, as a power failure does. Afterwards no process listens on its port. */
  kill(): Promise<void>;
  /** Starts the server on the same port with the same data. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

/** The folder of the newest installed server programs; `null` if there is none. Debian installs them outside PATH. */
export function findPostgresPrograms(): string | null {
  const versions = '/usr/lib/postgresql';
  const folders = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : [];
  const candidates = [
    ...folders.map((version) => join(versions, version, 'bin')),
    ...(process.env.PATH ?? '').split(':'),
  ];
  return (
    candidates.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres'))) ?? null
  );
}

export async function startCluster({ durable = false } = {}): Promise<PostgresCluster> {
  const programs = findPostgresPrograms();
  if (!programs) throw new Error('PostgreSQL is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-postgres-'));
  const owner = clusterOwner();
  if (owner) chownSync(folder, owner.uid, owner.gid);
  const data = join(folder, 'data');
  const initdb = ['-D', data, '-U', USER, '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  execFileSync(join(programs, 'initdb'), initdb, { ...owner, cwd: folder, stdio: 'pipe' });
  const program = join(programs, 'postgres');
  const first = await startServer(program, data, owner, durable);
  const { port } = first;
  let { server } = first;
  const removeAtExit = () => server.kill('SIGQUIT');
  process.once('exit', removeAtExit);
  const kill = async () => {
    if (server.exitCode !== null) return;
    const exit = once(server, 'exit');
    // Immediate shutdown: running queries are no longer needed.
    server.kill('SIGQUIT');
    await exit;
  };
  return {
    url: `postgresql://${USER}@127.0.0.1:${port}/postgres`,
    kill,
    startAgain: async () => {
      ({ server } = await startServer(program, data, owner, durable, port));
    },
    stop: async () => {
      process.removeListener('exit', removeAtExit);
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The user of Debian's package if this process runs as root, because the server refuses to run as root. */
export function clusterOwner(): Owner | null {
  if (process.getuid?.() !== 0) return null;
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

async function startServer(program: string, data: string, owner: Owner | null, durable: boolean, wanted?: number) {
  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? (await freePort());
    const settings = {
      listen_addresses: '127.0.0.1',
      port,
      unix_socket_directories: '',
      max_connections: 200,
      // What the service reads and writes must not depend on the defaults of a server.
      timezone: 'Asia/Kolkata',
      datestyle: 'ISO, DMY',
      intervalstyle: 'sql_standard',
      bytea_output: 'escape',
      standard_conforming_strings: 'off',
      fsync: durable ? 'on' : 'off',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = spawn(program, ['-D', data, ...args], { ...owner, cwd: data, stdio: ['ignore', 'ignore', 'pipe'] });
    const failure = await readiness(server);
    if (failure === null) return { server, port };
    // Another process may have taken the port since it was found free.
    if (attempt === START_ATTEMPTS) throw new Error(`PostgreSQL did not start:\n${failure}`);
  }
}

/** `null` when the server accepts connections; its log if it exited before. */
export async function readiness(server: ChildProcess): Promise<string | null> {
  if (!server.stderr) throw new Error('The server was started without its log');
  const said: string[] = [];
  for await (const line of createInterface({ input: server.stderr })) {
    if (/ready to accept (read-only )?connections/.test(line)) {
      server.stderr.resume();
      return null;
    }
    said.push(line);
  }
  return said.join('\n');
}

export interface TestPostgres {
  /** Whether tests can use a server. If not, they are skipped with UNAVAILABLE as the reason. */
  readonly available: boolean;
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
}

export const UNAVAILABLE = 'PostgreSQL is not installed (Debian: apt-get install postgresql)';

/** Starts one server for a test file, which calls this function at its top level. */
export function usePostgres(): TestPostgres {
  const named = process.env.TEST_POSTGRES_URL;
  const available = named !== undefined || findPostgresPrograms() !== null;
  let cluster: PostgresCluster | undefined;
  beforeAll(async () => {
    if (available && !named) cluster = await startCluster();
  });
  afterAll(() => cluster?.stop());
  return {
    available,
    createDatabase: () => {
      const server = named ?? cluster?.url;
      if (!server) throw new Error('The server runs only during the tests of the file');
      return createDatabase(server);
    },
  };
}

/** Creates a database on a server: empty, or a copy of another database there, which must have no connections. */
export async function createDatabase(serverUrl: string, copyOf?: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const template = copyOf === undefined ? '' : ` TEMPLATE ${new URL(copyOf).pathname.slice(1)}`;
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`CREATE DATABASE ${name}${template}`);
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
