import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './database.ts';
import { endProcess } from './end-process.ts';
import { freePort } from './free-port.ts';
import { accepts } from './mosquitto.ts';

/** Debian installs nginx in /usr/sbin, which PATH of a normal user may not contain. */
const PROGRAM = ['/usr/sbin', ...(process.env.PATH ?? '').split(':')]
  .map((folder) => join(folder, 'nginx'))
  .find((path) => existsSync(path));

export const NGINX_MISSING = 'nginx is not installed (Debian: apt-get install nginx)';
export const hasNginx = PROGRAM !== undefined;

/**
 * Starts a real nginx as a proxy of `upstream` (`http://127.0.0.1:<port>`) on a free port of loopback, and returns its
 * URL. The configuration contains the settings of Debian's nginx.conf and the result of `site`, like a file of
 * sites-enabled. The process is stopped after the test.
 */
export async function startNginx(
  upstream: string,
  site: (listen: string, upstream: string) => string,
): Promise<string> {
  if (PROGRAM === undefined) throw new Error(NGINX_MISSING);
  const folder = temporaryFolder();
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const lines = [
    // Without this line, nginx started as root uses an account that cannot read the temporary folder.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'daemon off;',
    'worker_processes 1;',
    `pid ${folder}/nginx.pid;`,
    'events { worker_connections 768; }',
    'http {',
    'sendfile on; tcp_nopush on; types_hash_max_size 2048; default_type application/octet-stream;',
    'access_log off; gzip on;',
    ...temporary.map((name) => `${name}_temp_path ${folder}/${name};`),
    site(`127.0.0.1:${port}`, upstream),
    '}',
  ];
  writeFileSync(join(folder, 'nginx.conf'), lines.join('\n'));
  const nginx = spawn(PROGRAM, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  nginx.stderr?.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  onTestFinished(() => endProcess(nginx, 'SIGTERM'));
  const exit = once(nginx, 'exit').then(() => {
    throw new Error(`nginx did not start:\n${said}`);
  });
  // After the start, the exit of nginx is not a failure.
  exit.catch(() => {});
  await Promise.race([accepts(port), exit]);
  return `http://127.0.0.1:${port}`;
}
