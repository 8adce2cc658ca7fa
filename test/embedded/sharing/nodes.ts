import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { launchRedis, type Redis } from '../../support/redis.ts';
import { ADMINISTRATOR, collect, control, startTestBroker, type TestBroker, temporaryFolder } from '../embedded.ts';

export interface TestNode extends TestBroker {
  readonly nodeId: number;
  readonly folder: string;
  /** Where it has a process of its own: as a crash does. It is started again. */
  kill(): void;
}

export interface NodeOptions {
  readonly redis: Redis;
  readonly clusterId: string;
  readonly nodeId: number;
  readonly mode?: 'FULL' | 'HP';
  readonly folder?: string;
  readonly ownProcess?: boolean;
}

/** Node 1 is the seed. In a thread of this process, unless said otherwise. */
export async function startNode(options: NodeOptions): Promise<TestNode> {
  const { redis, clusterId, nodeId, mode = 'FULL', folder = temporaryFolder(), ownProcess = false } = options;
  const cluster = { clusterId, nodeId, mode, redisUrl: redis.url, isSeed: nodeId === 1 };
  const log = process.env.TEST_LOG ? (fields: object, text: string) => console.error(nodeId, text, fields) : () => {};
  const logs = { info: log, warn: log, error: log };
  const broker = await startTestBroker({ id: `node${nodeId}`, folder, cluster, ownProcess, log: logs });
  const kill = () => process.kill(Number(readFileSync(join(folder, 'broker.pid'), 'utf8')), 'SIGKILL');
  return { ...broker, nodeId, folder, kill };
}

/** As many nodes of a cluster of their own, the seed first. */
export async function startNodes(
  redis: Redis,
  count: number,
  options: Partial<NodeOptions> = {},
): Promise<readonly TestNode[]> {
  const clusterId = randomUUID();
  const seed = await startNode({ ...options, redis, clusterId, nodeId: 1 });
  const others = Array.from({ length: count - 1 }, (_, index) =>
    startNode({ ...options, redis, clusterId, nodeId: index + 2 }),
  );
  return [seed, ...(await Promise.all(others))];
}

/** One Redis for the tests of the file that calls it at its top level. */
export function useRedis(): () => Redis {
  let redis: Redis | undefined;
  beforeAll(async () => {
    redis = await launchRedis();
  });
  afterAll(() => redis?.stop());
  return () => {
    if (!redis) throw new Error('Redis runs only during the tests of the file');
    return redis;
  };
}

/** What the cluster API of a node says. */
export async function nodeOf(client: MqttClient): Promise<Record<string, unknown>> {
  const [response] = await control(client, 'brokergraph/cluster', { commands: [{ command: 'getNode' }] });
  return response?.data as Record<string, unknown>;
}

/** Polls: nothing tells. */
export async function eventually<T>(look: () => Promise<T | null | undefined | false>): Promise<T> {
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  for (;;) {
    const found = await look();
    if (found) return found;
    if (isOver) throw new Error('the test is over');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Connects and collects from the first message on. */
export function collectFrom(port: number, options: IClientOptions) {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, {
    ...ADMINISTRATOR,
    protocolVersion: 4,
    reconnectPeriod: 0,
    ...options,
  });
  client.on('error', () => {});
  onTestFinished(() => client.endAsync(true).then(() => {}));
  return { client, ...collect(client) };
}
