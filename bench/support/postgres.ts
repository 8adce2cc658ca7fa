/** Starts the installed PostgreSQL (Debian) with a new cluster on a free port of loopback, by default as it comes. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-port.ts';

const VERSIONS = '/usr/lib/postgresql';

export interface Postgres {
  readonly url: string;
  /** Processor time of the server with its child processes, in milliseconds. */
  cpuMs(): number;
  close(): Promise<void>;
}

/** `more`: settings, such as `max_connections=400`. */
export async function startPostgres(parent: string, more: readonly string[] = []): Promise<Postgres> {
  const folder = join(parent, 'postgres');
  mkdirSync(folder);
  const [newest = ''] = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a)) : [];
  const programs = join(VERSIONS, newest, 'bin');
  // The server refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  const owner = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  if (isRoot) {
    chownSync(parent, idOf('-u'), idOf('-g'));
    chownSync(folder, idOf('-u'), idOf('-g'));
  }
  const data = join(folder, 'data');
  const initdb = ['-D', data, '-U', 'bench', '--auth=trust', '--encoding=UTF8', '--locale=C'];
  execFileSync(join(programs, 'initdb'), initdb, { ...owner, cwd: folder, stdio: 'ignore' });
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, 'unix_socket_directories=', ...more];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const server = spawn(join(programs, 'postgres'), args, { ...owner, cwd: data, stdio: ['ignore', 'ignore', 'pipe'] });
  const close = async () => {
    if (server.exitCode !== null) return;
    const exit = once(server, 'exit');
    server.kill('SIGQUIT');
    await exit;
  };
  for await (const line of createInterface({ input: server.stderr })) {
    if (!line.includes('ready to accept connections')) continue;
    server.stderr.resume();
    return { url: `postgresql://bench@127.0.0.1:${port}/postgres`, cpuMs: () => cpuMsOf(server.pid ?? 0), close };
  }
  throw new Error('PostgreSQL did not start');
}

/** Ticks of `/proc/<pid>/stat` (proc(5)) are 10 ms. Ended children count in the fields of their parent. */
function cpuMsOf(server: number): number {
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) /);
        return [{ pid: Number(pid), fields: rest.split(' ').map(Number) }];
      } catch {
        return [];
      }
    });
  const own = stats.filter(({ pid, fields }) => pid === server || fields[1] === server);
  return own.reduce((sum, { fields }) => sum + fields.slice(11, 15).reduce((ticks, tick) => ticks + tick, 0) * 10, 0);
}
