import type { BridgeApi } from '../../data-plane/bridges/model/bridge-kind.ts';
import type {
  BridgeConnectionState,
  BridgeConnectionStatus,
  BridgeLoop,
  BridgeRejection,
} from '../../data-plane/bridges/model/bridge-status.ts';
import { type Fields, integerOf, isFields, timeOf } from '../../protocol/control/fields.ts';
import type { ControlProvider } from '../../protocol/control/plugin.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { SysBridge } from './sys-bridges.ts';

export interface BridgeView {
  /** Identifies the bridge at its broker, also in paths of REST. Bridges of other brokers may have the same key. */
  readonly key: string;
  readonly name: string;
  readonly broker: BrokerRecord;
  readonly provider: ControlProvider;
  readonly isActive: boolean;
  /** Its control API; `null` for a bridge of Mosquitto's configuration file, of which only `sys` is known. */
  readonly api: BridgeApi | null;
  readonly sys: SysBridge | null;
}

const SYS_PREFIX = 'connection-';

export const sysBridgeKey = ({ remoteClientId }: SysBridge): string => `${SYS_PREFIX}${remoteClientId}`;

export const remoteClientIdOf = (key: string): string | null =>
  key.startsWith(SYS_PREFIX) ? key.slice(SYS_PREFIX.length) : null;

/** A connection of a bridge. Values that its provider does not report are `null`. */
export type BridgeConnectionView = { readonly name: string; readonly isConnected: boolean } & {
  readonly [Key in Exclude<keyof BridgeConnectionStatus, 'connectionName' | 'isConnected'>]: Exclude<
    BridgeConnectionStatus[Key],
    undefined
  > | null;
};

const STATES: ReadonlySet<unknown> = new Set<BridgeConnectionState>([
  'INACTIVE',
  'CONNECTING',
  'CONNECTED',
  'UNAUTHORISED',
  'UNREACHABLE',
  'FAILED',
]);
const MAX_CONNECTIONS = 1_000;
const MAX_TEXT = 2_000;

/** Parses the status of any provider. Drops invalid values, and connections without a name. */
export function readConnections(status: unknown): BridgeConnectionView[] {
  const list: readonly unknown[] = Array.isArray(status) ? status : isFields(status) ? listIn(status) : [];
  return list.slice(0, MAX_CONNECTIONS).flatMap((entry) => {
    const name = isFields(entry) ? textOf(entry.connectionName ?? entry.name) : null;
    return name === null ? [] : [connectionOf(name, entry as Fields)];
  });
}

const listIn = ({ connections }: Fields): readonly unknown[] => (Array.isArray(connections) ? connections : []);

function connectionOf(name: string, fields: Fields): BridgeConnectionView {
  const isConnected = fields.isConnected === true;
  const { state, since } = fields;
  return {
    name,
    isConnected,
    state: STATES.has(state) ? (state as BridgeConnectionState) : isConnected ? 'CONNECTED' : null,
    since: timeOf(since),
    error: textOf(fields.error ?? fields.errorMessage ?? fields.message),
    queuedMessages: countOf(fields.queuedMessages),
    queuedBytes: countOf(fields.queuedBytes),
    received: countOf(fields.received),
    delivered: countOf(fields.delivered),
    dropped: countOf(fields.dropped),
    returned: countOf(fields.returned),
    loop: loopOf(fields.loop),
    rejected: countOf(fields.rejected),
    lastRejection: rejectionOf(fields.lastRejection),
  };
}

function loopOf(value: unknown): BridgeLoop | null {
  if (!isFields(value)) return null;
  const [topic, since, { perSecond, isStopped }] = [textOf(value.topic), timeOf(value.since), value];
  if (topic === null || since === null || typeof perSecond !== 'number' || !Number.isFinite(perSecond)) return null;
  return { topic, since, perSecond, isStopped: isStopped === true };
}

function rejectionOf(value: unknown): BridgeRejection | null {
  const at = isFields(value) ? timeOf(value.at) : null;
  const reason = isFields(value) ? textOf(value.reason) : null;
  return at === null || reason === null ? null : { at, reason };
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, MAX_TEXT) : null;

function countOf(value: unknown): number | null {
  const count = integerOf(value);
  return count === null || count < 0 ? null : count;
}

/** The status of a bridge from Mosquitto's configuration file, in the format of the other bridges. */
export const sysStatus = (
  { remoteClientId, name, isConnected, since, origin, address }: SysBridge,
  isLeft: boolean,
): Fields[] => [
  {
    connectionName: name ?? remoteClientId,
    isConnected,
    state: isConnected ? 'CONNECTED' : 'UNREACHABLE',
    ...(since === null ? {} : { since }),
    remoteClientId,
    origin,
    ...(address === null ? {} : { address }),
    ...(isLeft ? { isLeftover: true, error: LEFT } : {}),
  },
];

const LEFT = 'The broker does not try to connect it: probably a removed bridge, whose last state the broker retains';
