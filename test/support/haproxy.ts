import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './database.ts';
import { endProcess } from './end-process.ts';
import { freePort } from './free-port.ts';
import { accepts } from './mosquitto.ts';

/** Debian installs HAProxy in /usr/sbin, which PATH of a normal user may not contain. */
export const HAPROXY = ['/usr/sbin', ...(process.env.PATH ?? '').split(':')]
  .map((folder) => join(folder, 'haproxy'))
  .find((path) => existsSync(path));

export const HAPROXY_MISSING = 'HAProxy is not installed (Debian: apt-get install haproxy)';
export const hasHaproxy = HAPROXY !== undefined;

const SERVER = /^ {4}server (\S+) \S+$/gm;

/**
 * Starts a real HAProxy with `deploy/haproxy.cfg` in front of ports of this machine, and returns its URL. Only the
 * addresses, the number of servers and what `change` changes differ from the file. After the test it is stopped.
 */
export async function startHaproxy(
  ports: readonly number[],
  change: (settings: string) => string = (settings) => settings,
): Promise<string> {
  if (HAPROXY === undefined) throw new Error(HAPROXY_MISSING);
  const port = await freePort();
  const servers = ports.map((upstream) => `127.0.0.1:${upstream}`);
  const file = join(temporaryFolder(), 'haproxy.cfg');
  writeFileSync(file, change(balancerSettings(`127.0.0.1:${port}`, servers)));
  const haproxy = spawn(HAPROXY, ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  haproxy.stderr?.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  onTestFinished(() => endProcess(haproxy, 'SIGTERM'));
  const exit = once(haproxy, 'exit').then(() => {
    throw new Error(`HAProxy did not start:\n${said}`);
  });
  // After the start, the exit of HAProxy is not a failure.
  exit.catch(() => {});
  await Promise.race([accepts(port), exit]);
  return `http://127.0.0.1:${port}`;
}

/** The text of `deploy/haproxy.cfg` with these addresses. */
export function balancerSettings(bind: string, servers: readonly string[]): string {
  const settings = readFileSync(new URL('../../deploy/haproxy.cfg', import.meta.url), 'utf8');
  const rest = [...servers];
  return settings.replace(':8080', bind).replaceAll(SERVER, (_line, name: string) => {
    const server = rest.shift();
    return server === undefined ? '' : `    server ${name} ${server}`;
  });
}
