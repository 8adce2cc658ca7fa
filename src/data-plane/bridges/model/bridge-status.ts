import type { LinkState } from '../../../protocol/mqtt/broker-session.ts';

/**
 * INACTIVE: switched off in the configuration. FAILED: it cannot work with this configuration; `error` has the reason,
 * and attempts continue if the cause may pass.
 */
export type BridgeConnectionState = 'INACTIVE' | 'CONNECTING' | 'CONNECTED' | 'UNAUTHORISED' | 'UNREACHABLE' | 'FAILED';

/** The control API of bridges has another spelling than the links, and REST returns its status unchanged. */
export const stateOfLink = <State extends LinkState>(state: State) =>
  (state === 'UNAUTHORIZED' ? 'UNAUTHORISED' : state) as Exclude<State, 'UNAUTHORIZED'> | 'UNAUTHORISED';

export interface BridgeRejection {
  readonly at: number;
  readonly reason: string;
}

/** Messages that come back to a connection again and again, changed at most by a prefix. */
export interface BridgeLoop {
  /** Of the message by which it was noticed. */
  readonly topic: string;
  /** Epoch milliseconds. */
  readonly since: number;
  /** Messages that came back, on average over the last 10 seconds. */
  readonly perSecond: number;
  /** Whether they are dropped. */
  readonly isStopped: boolean;
}

export const describeLoop = ({ topic, perSecond, isStopped }: BridgeLoop): string => {
  const remedy = isStopped ? 'they are dropped' : 'set "stopsLoops", or use prefixes that lead to other topics';
  return `"${topic}": equal messages come back ${perSecond} times a second, probably through another bridge; ${remedy}`;
};

/**
 * The status of one connection of a bridge; `getStatus` returns an array of these. `connectionName`, `queuedMessages`
 * and `isConnected` are the names that bridges of commercial brokers use. Counters start when the bridge starts in this
 * process.
 */
export interface BridgeConnectionStatus {
  readonly connectionName: string;
  readonly isConnected: boolean;
  readonly state: BridgeConnectionState;
  readonly since: number;
  readonly error?: string;
  readonly queuedMessages: number;
  readonly queuedBytes: number;
  readonly received: number;
  readonly delivered: number;
  /** Messages dropped because the queue was full, they expired in it (MQTT 5), or they came back in a loop. */
  readonly dropped: number;
  readonly lastRejection?: BridgeRejection;
  /** Messages of loops that came back; they are forwarded again, or counted in `dropped` as well. */
  readonly returned: number;
  readonly loop?: BridgeLoop;
  /** Messages that cannot be delivered. The kind of bridge defines whether they are stored elsewhere. */
  readonly rejected: number;
}

export const NO_COUNTS = {
  queuedMessages: 0,
  queuedBytes: 0,
  received: 0,
  delivered: 0,
  dropped: 0,
  returned: 0,
  rejected: 0,
} as const satisfies Partial<BridgeConnectionStatus>;
