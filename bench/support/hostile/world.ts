/** A product with a healthy client, and the credentials and address of attackers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { rssOf } from '../memory.ts';
import { prefer } from '../prefer.ts';
import { SERVE, startProduct } from '../product.ts';
import { type Health, startHealthy } from './healthy.ts';
import type { Target } from './input.ts';
import { type Stall, ThreadWatch } from './thread-watch.ts';

const SAMPLE_MS = 25;
const SETTLE_MS = 20_000;
const HEALTHY = { username: 'healthy', password: 'healthy password' };
const DEVICE = { username: 'device', password: 'device password' };
const STREAM = { select: [{ source: '[a]', target: '[b]' }], where: [{ operator: '>', left: '[a]', right: 1 }] };
const ALL = ['PUBLISH_CLIENT_SEND', 'PUBLISH_CLIENT_RECEIVE', 'SUBSCRIBE_PATTERN', 'UNSUBSCRIBE_PATTERN'];

export interface Observed {
  readonly health: Health;
  /** The longest stall of each thread's event loop. */
  readonly stalls: readonly Stall[];
  readonly peakMb: number;
  /** Threads that failed, for example `broker 1`. */
  readonly failed: readonly string[];
  /** Whether the process exited. */
  readonly hasEnded: boolean;
}

export interface World {
  readonly target: Target;
  rssMb(): number;
  reset(): Promise<void>;
  /** Waits at most SETTLE_MS until the service and each thread respond. Returns the figures since `reset`. */
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
  const threads = new ThreadWatch(product.process.stdio[3] as Readable);
  await threads.tasksOf('streams');
  const tasks = await threads.tasksOf('main', 'broker');
  const healthy = await startHealthy({ host, httpPort, mqttPort, projectId, brokerId, token, tasks, ...HEALTHY });

  let [peakMb, hasEnded] = [0, false];
  const sampling = setInterval(() => {
    peakMb = Math.max(peakMb, rssOf(pid));
  }, SAMPLE_MS);
  product.process.once('exit', () => {
    hasEnded = true;
  });
  return {
    target,
    rssMb: () => rssOf(pid),
    reset: async () => {
      await healthy.health();
      threads.reset();
      peakMb = rssOf(pid);
    },
    observed: async () => {
      if (!hasEnded) await Promise.all([responds(product.url), threads.alive(SETTLE_MS)]);
      return { health: await healthy.health(), ...threads.observed(), peakMb, hasEnded };
    },
    close: async () => {
      clearInterval(sampling);
      healthy.close();
      if (!hasEnded) await product.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function responds(url: string): Promise<void> {
  await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(SETTLE_MS) }).catch(() => undefined);
}

interface Prepared {
  readonly createToken: { readonly secret: string };
  readonly addBroker: { readonly broker: { readonly id: string } };
  readonly broker: { readonly isConnected: boolean };
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
    const { data, errors } = (await response.json()) as { data: Prepared; errors?: object };
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
  // Streams of an embedded broker run in its thread. Those of this broker, which is the same one, have their own.
  const { addBroker } = await graph('mutation ($i: AddBrokerInput!) { addBroker(input: $i) { broker { id } } }', {
    i: { projectId, name: 'remote', url: `mqtt://127.0.0.1:${mqttPort}`, ...DEVICE },
  });
  const id = addBroker.broker.id;
  while (!(await graph('query ($id: ID!) { broker(id: $id) { isConnected } }', { id })).broker.isConnected)
    await delay(SAMPLE_MS);
  const stream = { name: 'stream', sourceTopic: 'stream/#', targetTopic: 'streamed', query: STREAM };
  await graph('mutation ($i: CreateStreamInput!) { createStream(input: $i) { __typename } }', {
    i: { ...stream, brokerId: id },
  });
  const target: Target = {
    host: '127.0.0.1',
    httpPort: Number(new URL(url).port),
    mqttPort,
    projectId,
    brokerId,
    viewer: await token('viewer', {}),
    restricted: await token('restricted', { type: 'RESTRICTED', brokerIds: [brokerId] }),
    projectAdmin: await token('admin', { role: 'ADMIN' }),
    admin,
    device: DEVICE,
    from: process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1',
  };
  return { target, token: await token('healthy', { role: 'ADMIN' }) };
}
