import type { LocalBroker } from '../../../protocol/hosting/local-broker.ts';
import type { BridgeRules } from '../model/bridge-kind.ts';
import type { BrokerStorage } from '../queue/queue-storage.ts';

/** What one kind of bridge beside one broker is started with; its configuration follows by `apply`. */
export interface BridgeOptions {
  readonly brokerId: string;
  /** The kind's id, as `mqtt-bridge`. */
  readonly bridgeId: string;
  readonly local: LocalBroker;
  readonly rules: BridgeRules;
  /** For queues and whatever else it keeps: of this broker and kind alone. Made by whoever writes there first. */
  readonly folder: string;
  /** What the queues of the broker's bridges take of the disk. Default: unlimited. */
  readonly storage?: BrokerStorage;
  /** A bug that concerns no caller. */
  readonly onFault: (error: unknown) => void;
}
