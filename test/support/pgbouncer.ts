import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './database.ts';
import { freePort } from './free-port.ts';
import { accepts } from './mosquitto.ts';
import { clusterOwner } from './postgres.ts';

const PROGRAM = '/usr/sbin/pgbouncer';
export const hasPgbouncer = existsSync(PROGRAM);
export const PGBOUNCER_MISSING = 'PgBouncer is not installed (Debian: apt-get install pgbouncer)';

/** Starts a real PgBouncer before the server of a database, and returns the URL of the database there. */
export async function startPgbouncer(
  databaseUrl: string,
  mode: 'session' | 'transaction' | 'statement',
  settings: Readonly<Record<string, string | number>> = {},
): Promise<string> {
  const url = new URL(databaseUrl);
  const port = await freePort();
  // PgBouncer refuses to run as root.
  const owner = clusterOwner();
  const folder = temporaryFolder();
  if (owner) chownSync(folder, owner.uid, owner.gid);
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    ...settings,
  };
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    [
      '[databases]',
      `* = host=${url.hostname} port=${url.port} user=${url.username}`,
      '[pgbouncer]',
      ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
    ].join('\n'),
  );
  const pgbouncer = spawn(PROGRAM, [file], { ...owner, cwd: folder, stdio: 'ignore' });
  const exit = once(pgbouncer, 'exit');
  onTestFinished(async () => {
    pgbouncer.kill('SIGQUIT');
    await exit;
  });
  const failed = exit.then(() => Promise.reject(new Error('PgBouncer did not start')));
  await Promise.race([accepts(port), failed]);
  // Its exit after the test is not a failure.
  failed.catch(() => undefined);
  url.port = String(port);
  return url.href;
}
