import type { BridgeConnectionStatus } from '../../../data-plane/bridges/model/bridge-status.ts';
import { namedNodeId, parseNamedNodeId } from '../../../gateway/named-node-id.ts';
import { errorStatements, type Statement, statement } from '../../../protocol/problems/problem-statements.ts';
import type { BridgeService } from '../../bridges/bridge-service.ts';
import { remoteClientIdOf } from '../../bridges/bridge-view.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import { type ProblemKind, readEveryMs } from '../model/problem-kinds.ts';
import type { BrokerSource } from '../model/problem-source.ts';
import type { Thresholds } from '../model/problem-thresholds.ts';
import { PolledReadings } from './polled-readings.ts';
import { RecentGrowth } from './recent-growth.ts';
import { isStopped } from './while-connected.ts';

interface BridgeSourceOptions {
  readonly bridges: BridgeService;
  /** Whether bridges of the broker run in this process. */
  readonly runs: (brokerId: string) => boolean;
  /** Whether bridges of the broker will run in this process, but do not yet. */
  readonly isPending: (brokerId: string) => boolean;
  readonly isConnected: (brokerId: string) => boolean;
  readonly brokers: BrokerCache;
}

interface Connection {
  readonly bridgeId: string;
  readonly status: BridgeConnectionStatus;
}

/** A loss is a fact for at least so long. */
const LOSS_MS = 10_000;
const KINDS = ['BRIDGE_DOWN', 'BRIDGE_QUEUE_FILLING', 'BRIDGE_DROPPING', 'BRIDGE_LOOP'] as const;
const DOWN: readonly string[] = ['UNREACHABLE', 'UNAUTHORISED', 'FAILED'] satisfies DownState[];
type DownState = 'UNREACHABLE' | 'UNAUTHORISED' | 'FAILED';

const isDown = (state: string): state is DownState => DOWN.includes(state);

/** Bridges that this process runs, by their reports, and bridges of Mosquitto's configuration file, by `$SYS`. */
export function bridgeSource({ bridges, runs, isPending, isConnected, brokers }: BridgeSourceOptions): BrokerSource {
  const losses = new Map<string, RecentGrowth>();
  const readings = new PolledReadings<readonly Connection[]>({
    everyMs: readEveryMs('BRIDGE_DOWN'),
    read: async (broker) => {
      const lost = losses.get(broker.id) ?? new RecentGrowth(() => readings.windowMs(LOSS_MS));
      losses.set(broker.id, lost);
      const connections = await bridges.hostedConnections(broker);
      lost.noteAll(connections.map((one) => [keyOf(one), one.status.dropped + one.status.rejected]));
      return connections;
    },
  });
  const stop = brokers.onRemove(({ id }) => void losses.delete(id));
  const ofFile = (broker: BrokerRecord): ProblemFact[] =>
    bridges
      .ofConfigurationFile(broker)
      .filter(({ isActive, sys }) => isActive && sys?.isConnected === false)
      .map(({ key, name }) => ({
        kind: 'BRIDGE_DOWN',
        subjectId: namedNodeId({ kind: 'bridge', brokerId: broker.id, name: key }),
        subjectName: name,
        statements: [statement('BRIDGE_OF_FILE_DOWN', { name })],
      }));
  return {
    kinds: KINDS,
    close: stop,
    refresh: () => readings.refresh(brokers.all().filter(({ id }) => runs(id))),
    of: (broker, thresholds) => {
      const { id } = broker;
      if (isStopped(broker)) return [];
      const hosted = runs(id) ? readings.of(id) : isPending(id) ? null : [];
      const facts = hosted?.flatMap((one) => {
        const messages = losses.get(id)?.of(keyOf(one)) ?? 0;
        const lost = { messages, seconds: Math.round(readings.windowMs(LOSS_MS) / 1_000) };
        return factsOf(broker, one, lost, thresholds);
      });
      // What `$SYS` said before the connection was lost may be wrong now.
      const ofSys = isConnected(id) ? ofFile(broker) : null;
      return {
        facts: [...(facts ?? []), ...(ofSys ?? [])],
        isUnknown: ({ subjectId }) => (isOfFile(subjectId) ? ofSys : hosted) === null,
      };
    },
  };
}

const isOfFile = (subjectId: string | null): boolean =>
  remoteClientIdOf(parseNamedNodeId(subjectId ?? '')?.name ?? '') !== null;

const keyOf = ({ bridgeId, status }: Connection): string => `${bridgeId} ${status.connectionName}`;

interface Lost {
  readonly messages: number;
  readonly seconds: number;
}

function factsOf(broker: BrokerRecord, connection: Connection, lost: Lost, thresholds: Thresholds): ProblemFact[] {
  const { bridgeId, status } = connection;
  const { connectionName, state, error, queuedMessages, loop, lastRejection } = status;
  const fact = (kind: ProblemKind, ...statements: readonly Statement[]): ProblemFact => ({
    kind,
    subjectId: namedNodeId({ kind: 'bridge', brokerId: broker.id, name: bridgeId }),
    subjectName: `${bridgeId}: ${connectionName}`,
    part: connectionName,
    statements,
  });
  const named = { name: connectionName, bridge: bridgeId };
  const facts: ProblemFact[] = [];
  if (isDown(state)) {
    facts.push(fact('BRIDGE_DOWN', statement(`CONNECTION_${state}`, named), ...errorStatements(error)));
  }
  if (queuedMessages > thresholds.bridgeQueuedMessages) {
    facts.push(fact('BRIDGE_QUEUE_FILLING', statement('CONNECTION_QUEUES', { ...named, count: queuedMessages })));
  }
  if (lost.messages > 0) {
    const { messages: count, seconds } = lost;
    const reason = lastRejection ? [statement('LAST_REJECTION', { error: lastRejection.reason })] : [];
    facts.push(fact('BRIDGE_DROPPING', statement('CONNECTION_DROPS', { ...named, seconds, count }), ...reason));
  }
  if (loop !== undefined) {
    facts.push(fact('BRIDGE_LOOP', statement('CONNECTION_LOOPS', { ...named, topic: loop.topic })));
  }
  return facts;
}
