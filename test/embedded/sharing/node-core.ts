import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { AccessControl } from '../../../src/embedded/access.ts';
import { BrokerCore } from '../../../src/embedded/core/broker-core.ts';
import { ClientRegistry } from '../../../src/embedded/core/client-registry.ts';
import { type BrokerLimits, DEFAULT_BROKER_LIMITS, DEFAULT_STORE_LIMITS } from '../../../src/embedded/limits.ts';
import { startListener } from '../../../src/embedded/listening/listener.ts';
import { ClusterNode } from '../../../src/embedded/sharing/cluster-node.ts';
import type { LogTiming } from '../../../src/embedded/sharing/redis-log/log-options.ts';
import { snapshotOf } from '../../../src/embedded/sharing/snapshot.ts';
import { BrokerStore } from '../../../src/embedded/store/broker-store.ts';
import { listener, temporaryFolder } from '../embedded.ts';
import { eventually } from './nodes.ts';

/** Everybody may do everything, except publish below `forbidden/`. */
const ACCESS: AccessControl = {
  authenticate: async () => 'ACCEPTED',
  mayPublish: (_identity, topic) => !topic.startsWith('forbidden/'),
  maySubscribe: () => true,
  mayReceive: () => true,
  mayUnsubscribe: () => true,
};

export interface NodeCoreOptions {
  readonly redisUrl: string;
  readonly clusterId: string;
  readonly nodeId: number;
  readonly mode?: 'FULL' | 'HP';
  readonly folder?: string;
  readonly limits?: Partial<BrokerLimits>;
  readonly timing?: Partial<LogTiming>;
}

export type NodeCore = Awaited<ReturnType<typeof startNodeCore>>;

/** However busy the machine is, nobody is taken for lost: all of them are in this thread. */
const PATIENT: Partial<LogTiming> = { beat: 200, expiry: 60_000, vote: 60_000 };

/** The core of a node in this thread; node 1 is the seed. */
export async function startNodeCore(options: NodeCoreOptions) {
  const { redisUrl, clusterId, nodeId, mode = 'FULL', folder = temporaryFolder(), timing = PATIENT } = options;
  const problems: string[] = [];
  const ends: Error[] = [];
  const onProblem = (problem: string, error: unknown) =>
    problems.push(`${problem}: ${error instanceof Error ? error.message : error}`);
  const onEnd = (error: Error) => ends.push(error);
  const cluster = { clusterId, nodeId, mode, redisUrl, isSeed: nodeId === 1 };
  const node = await ClusterNode.open({ cluster, folder, onProblem, onEnd, timing });
  const store = new BrokerStore({ folder, limits: DEFAULT_STORE_LIMITS, onBroken: onEnd });
  const limits = { ...DEFAULT_BROKER_LIMITS, ...DEFAULT_STORE_LIMITS, ...options.limits };
  const registry = new ClientRegistry(store.sessions);
  const core = await BrokerCore.start({
    store,
    registry,
    access: ACCESS,
    limits,
    serveControl: async () => {},
    onProblem,
    join: (parts) => node.join(store, registry, limits, parts),
    isService: (clientId) => clientId.startsWith('own-'),
  });
  await node.begin();
  await core.resume();
  const onError = (error: Error) => {
    throw error;
  };
  const listening = await startListener(listener(), { ...limits, accept: core.accept, onError, onRefused: () => {} });
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= (async () => {
      listening.close();
      await core.close();
      await node.close();
      store.close();
    })();
    return stopped;
  };
  onTestFinished(stop);
  const mqttPort = listening.info.port;
  /** What it has in common with the others, as text. */
  const state = () =>
    [...snapshotOf(store.journal, store.queues.nextMessageId)].map(({ kind, about, payload }) =>
      JSON.stringify([kind, about, payload && Buffer.from(payload).toString('base64')]),
    );
  return { nodeId, node, core, store, registry, problems, ends, mqttPort, folder, state, stop };
}

/** As many nodes of a cluster of their own. */
export async function startCores(
  { url: redisUrl }: { readonly url: string },
  count: number,
  options: Partial<NodeCoreOptions> = {},
): Promise<readonly NodeCore[]> {
  const common = { redisUrl, clusterId: randomUUID(), ...options };
  const seed = await startNodeCore({ ...common, nodeId: 1 });
  const others = Array.from({ length: count - 1 }, (_, index) => startNodeCore({ ...common, nodeId: index + 2 }));
  return [seed, ...(await Promise.all(others))];
}

/** All of them have come equally far. */
export function settled(nodes: readonly NodeCore[]): Promise<true> {
  let before = '';
  return eventually(async () => {
    // What was asked for is in the log.
    await Promise.all(nodes.map(({ store }) => store.commit()));
    const positions = new Set(nodes.map(({ node }) => node.log.place.position));
    const [position = ''] = positions;
    const isSettled = positions.size === 1 && position === before;
    before = position;
    return isSettled;
  });
}
