import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { accepts } from './mosquitto.ts';
import { hasPgbouncer, PGBOUNCER, PGBOUNCER_MISSING } from './pgbouncer-program.ts';
import { clusterOwner } from './postgres.ts';

type PoolMode = 'session' | 'transaction' | 'statement';
type Settings = Readonly<Record<string, string | number>>;

/** As `openPgbouncer`, until the test ends. */
export async function startPgbouncer(databaseUrl: string, mode: PoolMode, settings: Settings = {}): Promise<string> {
  const { url, close } = await openPgbouncer(databaseUrl, mode, settings);
  onTestFinished(close);
  return url;
}

/** Starts a real PgBouncer before the server of a database, and returns the URL of the database there. */
export async function openPgbouncer(databaseUrl: string, mode: PoolMode, settings: Settings) {
  if (!hasPgbouncer) throw new Error(PGBOUNCER_MISSING);
  const url = new URL(databaseUrl);
  const port = await freePort();
  // PgBouncer refuses to run as root.
  const owner = clusterOwner();
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-pgbouncer-'));
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
  const pgbouncer = spawn(PGBOUNCER, [file], { ...owner, cwd: folder, stdio: 'ignore' });
  const exit = once(pgbouncer, 'exit');
  const close = async () => {
    pgbouncer.kill('SIGQUIT');
    await exit;
    rmSync(folder, { recursive: true, force: true });
  };
  const failed = exit.then(() => Promise.reject(new Error('PgBouncer did not start')));
  await Promise.race([accepts(port), failed]);
  // Its exit after the test is not a failure.
  failed.catch(() => undefined);
  url.port = String(port);
  return { url: url.href, close };
}
