/** A product with a healthy client, and the credentials and address of attackers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rssOf } from '../memory.ts';
import { prefer } from '../prefer.ts';
import { SERVE, startProduct } from '../product.ts';
import { type Health, startHealthy } from './healthy.ts';
import type { Target } from './input.ts';

const SAMPLE_MS = 25;
const SETTLE_MS = 20_000;
const HEALTHY = { username: 'healthy', password: 'healthy password' };
const DEVICE = { username: 'device', password: 'device password' };
const ALL = ['PUBLISH_CLIENT_SEND', 'PUBLISH_CLIENT_RECEIVE', 'SUBSCRIBE_PATTERN', 'UNSUBSCRIBE_PATTERN'];

export interface Observed {
  readonly health: Health;
  /** Longest stall of the main thread's event loop in milliseconds. */
  readonly stallMs: number;
  /** Longest stall without the time in which the thread waited for a processor. */
  readonly ownStallMs: number;
  readonly peakMb: number;
  /** Whether the process exited. */
  readonly hasEnded: boolean;
}

export interface World {
  readonly target: Target;
  rssMb(): number;
  /** Resets all figures. */
  reset(): Promise<void>;
  /** Waits at most SETTLE_MS until the service responds, and returns the figures since `reset`. */
  observed(): Promise<Observed>;
  close(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const dataDir = mkdtempSync(join(tmpdir(), 'brokergraph-hostile-'));
  const [node = '', ...rest] = SERVE;
  const monitor = fileURLToPath(new URL('./loop-monitor.js', import.meta.url));
  const product = await startProduct(dataDir, [node, '--import', monitor, ...rest]);
  const pid = product.process.pid ?? 0;
  prefer(pid);
  const admin = await product.login();
  const { target, token } = await prepare(product.url, product.mqttPort, admin);
  const { host, httpPort, mqttPort, projectId, brokerId } = target;
  const healthy = await startHealthy({ host, httpPort, mqttPort, projectId, brokerId, token, ...HEALTHY });

  let [stallMs, ownStallMs, peakMb, hasEnded] = [0, 0, 0, false];
  const sampling = setInterval(() => {
    peakMb = Math.max(peakMb, rssOf(pid));
  }, SAMPLE_MS);
  product.process.once('exit', () => {
    hasEnded = true;
  });
  product.process.stdio[3]?.on('data', (data: Buffer) => {
    for (const line of data.toString().trim().split('\n')) {
      const [stall = 0, waited = 0] = line.split(' ').map(Number);
      stallMs = Math.max(stallMs, stall);
      ownStallMs = Math.max(ownStallMs, stall - waited);
    }
  });
  return {
    target,
    rssMb: () => rssOf(pid),
    reset: async () => {
      await healthy.health();
      [stallMs, ownStallMs, peakMb] = [0, 0, rssOf(pid)];
    },
    observed: async () => {
      const isSettled = await responds(product.url);
      if (!isSettled && !hasEnded) stallMs = Math.max(stallMs, SETTLE_MS);
      // The next timer of the event loop reports the last stall.
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { health: await healthy.health(), stallMs, ownStallMs, peakMb, hasEnded };
    },
    close: async () => {
      clearInterval(sampling);
      healthy.close();
      if (!hasEnded) await product.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function responds(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(SETTLE_MS) })).ok;
  } catch {
    return false;
  }
}

/**
 * The healthy client has its own token, because operations of the administrator are serial, for example adding
 * brokers.
 */
async function prepare(
  url: string,
  mqttPort: number,
  admin: string,
): Promise<{ readonly target: Target; readonly token: string }> {
  const graph = async (query: string, variables: object) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await response.json()) as { data: { createToken: { secret: string } }; errors?: object };
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const firstOf = async (path: string): Promise<string> => {
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${admin}` } });
    const [first] = (await response.json()) as { id: string }[];
    if (first === undefined) throw new Error(`${path} is empty`);
    return first.id;
  };
  const projectId = await firstOf('/api/projects');
  const brokerId = await firstOf(`/api/projects/${projectId}/brokers`);
  const token = async (name: string, more: object): Promise<string> => {
    const query = 'mutation ($i: CreateTokenInput!) { createToken(input: $i) { secret } }';
    const { createToken } = await graph(query, { i: { projectId, name, role: 'VIEWER', ...more } });
    return createToken.secret;
  };
  const acls = ALL.map((aclType) => ({ aclType, topic: '#', allow: true, priority: 0 }));
  await graph('mutation ($i: CreateAccessRoleInput!) { createAccessRole(input: $i) { role { id } } }', {
    i: { brokerId, change: { roleName: 'everything', acls } },
  });
  for (const account of [HEALTHY, DEVICE])
    await graph('mutation ($i: CreateAccountInput!) { createAccount(input: $i) { account { id } } }', {
      i: { brokerId, change: { ...account, roles: [{ roleName: 'everything' }] } },
    });
  const target: Target = {
    host: '127.0.0.1',
    httpPort: Number(new URL(url).port),
    mqttPort,
    projectId,
    brokerId,
    viewer: await token('viewer', {}),
    restricted: await token('restricted', { type: 'RESTRICTED', brokerIds: [brokerId] }),
    admin,
    device: DEVICE,
    from: process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1',
  };
  return { target, token: await token('healthy', { role: 'ADMIN' }) };
}
