/** INACTIVE: switched off in its configuration. FAILED: it cannot work as it is configured; `error` says why, and attempts go on where that may pass. */
export type BridgeConnectionState = 'INACTIVE' | 'CONNECTING' | 'CONNECTED' | 'UNAUTHORISED' | 'UNREACHABLE' | 'FAILED';

/** A message that could not be delivered as it is. */
export interface BridgeRejection {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly reason: string;
}

/**
 * What one connection of a bridge tells. `getStatus` answers an array of these; `connectionName`, `queuedMessages` and `isConnected` are
 * the names that bridges of commercial brokers use. Counts are since the bridge was started in this process.
 */
export interface BridgeConnectionStatus {
  readonly connectionName: string;
  /** Both sides are: the broker it stands beside, and what it leads to. */
  readonly isConnected: boolean;
  readonly state: BridgeConnectionState;
  /** Epoch milliseconds of the last change of state. */
  readonly since: number;
  /** The last one, of the state that it is in; absent when there is none. */
  readonly error?: string;
  /** Taken and not yet delivered, in memory and on disk. */
  readonly queuedMessages: number;
  readonly queuedBytes: number;
  readonly received: number;
  readonly delivered: number;
  /** Not taken because the queue was full, or expired while they waited (MQTT 5). */
  readonly dropped: number;
  /** The last of `rejected`; absent when there was none. */
  readonly lastRejection?: BridgeRejection;
  /** Not to be delivered as they are (a payload that does not fit its table, an answer that says never again); set aside or gone, as the bridge says. */
  readonly rejected: number;
}
