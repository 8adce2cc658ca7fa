import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { BridgeService } from '../../../src/domains/bridges/bridge-service.ts';
import type { BrokerCache, BrokerRecord } from '../../../src/domains/brokers/broker-cache.ts';
import type { ClusterCache } from '../../../src/domains/clusters/cluster-cache.ts';
import type { ClusterQueries } from '../../../src/domains/clusters/cluster-queries.ts';
import type { NodeStatus } from '../../../src/domains/clusters/model/cluster.ts';
import { keyOf } from '../../../src/domains/problems/model/problem-fact.ts';
import type { ProblemKind } from '../../../src/domains/problems/model/problem-kinds.ts';
import type { BrokerSource } from '../../../src/domains/problems/model/problem-source.ts';
import { thresholdsOf } from '../../../src/domains/problems/model/problem-thresholds.ts';
import { SourceReader } from '../../../src/domains/problems/source-reader.ts';
import { bridgeSource } from '../../../src/domains/problems/sources/bridge-source.ts';
import { clusterSource } from '../../../src/domains/problems/sources/cluster-source.ts';
import { PROBLEM_CHANGED } from '../../../src/domains/problems/storage/problem-cache.ts';
import { namedNodeId } from '../../../src/gateway/named-node-id.ts';
import { newId } from '../../../src/platform/ids.ts';
import { ANYTHING } from '../../../src/platform/storage/changes/changes.ts';
import { freePort } from '../../support/free-port.ts';
import { connected, startTestService } from '../../support/service.ts';
import { problemsOf, SLOW } from './problem-world.ts';

const STOP = 'mutation ($id: ID!) { setTargetState(input: { brokerId: $id, targetState: INACTIVE }) { __typename } }';
/** Of the sources that read over the connection. */
const KINDS: readonly ProblemKind[] = [
  ...(['BRIDGE_DOWN', 'CAPABILITY_MISSING', 'CLIENT_FLOODING', 'CLIENT_ID_CONFLICT', 'LIST_INCOMPLETE'] as const),
  ...(['QUEUES_DROPPING', 'REFUSALS_RISING', 'RETAINED_LIMIT', 'STREAM_FAILING', 'STREAM_NOT_STORING'] as const),
];

test('a broker that is stopped on purpose has no problem, and one that is away has those that it had', async () => {
  const service = await startTestService({ embeddedBroker: true });
  const { projectId } = service;
  const { db, changes } = service.storage;
  const { id: ownId } = await db.broker.findFirstOrThrow();
  await connected(service, ownId);
  // As after a restart of the service: the broker was never connected.
  const url = `mqtt://127.0.0.1:${await freePort()}`;
  const path = `/api/projects/${projectId}/brokers`;
  const { id: awayId } = (await service.rest('POST', path, service.root, { name: 'away', url })).body;
  await service.graphql(STOP, { id: ownId });
  const rowsOf = (brokerId: string) =>
    KINDS.map((kind) => {
      const subjectId =
        kind === 'BRIDGE_DOWN' ? namedNodeId({ kind: 'bridge', brokerId, name: 'connection-up' }) : brokerId;
      const about = { kind, subjectId, subjectName: 'it', detail: '' };
      const key = keyOf(about, { projectId, brokerId });
      const at = new Date();
      const times = { openedAt: at, lastSeenAt: at };
      return { id: newId('problem'), ...about, severity: 'WARNING', projectId, brokerId, key, openKey: key, ...times };
    });
  await db.problem.createMany({ data: [awayId, ownId].flatMap(rowsOf) });
  await changes.announce(PROBLEM_CHANGED, ANYTHING);
  const openOf = async (brokerId: string) =>
    (await problemsOf(service, { brokerIds: [brokerId], kinds: KINDS })).map(({ kind }) => kind).sort();

  await expect.poll(() => openOf(ownId), SLOW).toEqual(KINDS);
  // Both were read equally often since then.
  await expect.poll(() => openOf(ownId), SLOW).toEqual([]);
  expect(await openOf(awayId)).toEqual(KINDS);
});

const BROKER = { id: newId('broker'), projectId: 'prj_1', name: 'plant', type: 'SELF_HOSTED', url: 'mqtt://x' };
const broker = BROKER as BrokerRecord;
const thresholds = thresholdsOf(null);
const brokers = { all: () => [broker], get: () => broker, onRemove: () => () => undefined } as unknown as BrokerCache;
const read = (source: BrokerSource) =>
  new SourceReader(pino({ level: 'silent' })).read({ projectId: 'prj_1', brokerId: broker.id }, [source], (one) =>
    one.of(broker, thresholds),
  );
const kindsOf = (source: BrokerSource) => [...read(source).facts.values()].map(({ kind }) => kind);

test('while a broker is away, only its bridges of the configuration file are not known', async () => {
  const idOf = (name: string) => namedNodeId({ kind: 'bridge', brokerId: broker.id, name });
  const status = { connectionName: 'one', state: 'CONNECTED', dropped: 0, rejected: 0, queuedMessages: 0 };
  const ofFile = { key: 'connection-up', name: 'up', isActive: true, sys: { isConnected: false } };
  let [isConnected, runs, isPending] = [true, true, false];
  const source = bridgeSource({
    bridges: {
      hostedConnections: async () => [{ bridgeId: 'mqtt-bridge', status }],
      ofConfigurationFile: () => [ofFile],
    } as unknown as BridgeService,
    runs: () => runs,
    isPending: () => isPending,
    isConnected: () => isConnected,
    brokers,
  });
  const unknown = () =>
    ['connection-up', 'mqtt-bridge'].filter((name) =>
      read(source).isUnknown({ kind: 'BRIDGE_DOWN', subjectId: idOf(name) }),
    );
  expect([kindsOf(source), unknown()]).toEqual([['BRIDGE_DOWN'], ['mqtt-bridge']]);
  void source.refresh?.();
  await expect.poll(unknown).toEqual([]);
  isConnected = false;
  expect([kindsOf(source), unknown()]).toEqual([[], ['connection-up']]);
  // The bridges of the service were deleted.
  runs = false;
  expect([kindsOf(source), unknown()]).toEqual([[], ['connection-up']]);
  // They do not run yet.
  isPending = true;
  expect([kindsOf(source), unknown()]).toEqual([[], ['connection-up', 'mqtt-bridge']]);
});

test('a node that cannot be compared with its cluster may differ from it as before', async () => {
  const idOf = (nodeId: number) => namedNodeId({ kind: 'clusterNode', brokerId: broker.id, name: String(nodeId) });
  const nodeOf = (nodeId: number, isReachable: boolean, state: string) =>
    ({ nodeId, isReachable, sync: { state, differenceCount: 1 } }) as unknown as NodeStatus;
  const nodes = [
    ...[nodeOf(1, true, 'DRIFTED'), nodeOf(2, true, 'UNKNOWN'), nodeOf(3, false, 'UNKNOWN')],
    ...[nodeOf(4, false, 'BEHIND'), nodeOf(5, true, 'EQUAL')],
  ];
  const source = clusterSource({
    clusters: { status: async () => ({ state: 'DEGRADED', nodes }) } as unknown as ClusterQueries,
    cache: { all: () => [broker], get: () => ({ nodes: [] }) } as unknown as ClusterCache,
    brokers,
  });
  void source.refresh?.();
  await expect.poll(() => kindsOf(source)).toEqual(['CLUSTER_DRIFTED', 'CLUSTER_NODE_DOWN', 'CLUSTER_NODE_DOWN']);
  const unknown = (kind: ProblemKind) =>
    [1, 2, 3, 4, 5, 6].filter((id) => read(source).isUnknown({ kind, subjectId: idOf(id) }));
  expect([unknown('CLUSTER_DRIFTED'), unknown('CLUSTER_NODE_DOWN')]).toEqual([[2, 3, 4], []]);
});
