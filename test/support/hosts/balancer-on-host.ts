import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { temporaryFolder } from '../database.ts';
import { endProcess } from '../end-process.ts';
import { balancerSettings, HAPROXY, HAPROXY_MISSING } from '../haproxy.ts';
import type { Host } from './network.ts';
import type { ServiceOnHost } from './service-on-host.ts';

const PORT = 8080;

/** Starts HAProxy with `deploy/haproxy.cfg` on a host, in front of at most three processes. Returns its URL. */
export async function startBalancerOn(host: Host, services: readonly ServiceOnHost[]): Promise<string> {
  if (HAPROXY === undefined) throw new Error(HAPROXY_MISSING);
  const file = join(temporaryFolder(), 'haproxy.cfg');
  const servers = services.map(({ url }) => new URL(url).host);
  writeFileSync(file, balancerSettings(`${host.address}:${PORT}`, servers));
  const child = host.spawn(HAPROXY, ['-db', '-f', file], { stdio: 'ignore' });
  onTestFinished(() => endProcess(child, 'SIGKILL'));
  const url = `http://${host.address}:${PORT}`;
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isReady).toBe(true);
  return url;
}
