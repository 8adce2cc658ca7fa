import type { AccessAction } from '../../../protocol/apis/access-control/access-explanation.ts';
import type { ReadingTimeLimit } from '../../../protocol/mqtt/reading-time-limit.ts';
import type { ClientRegistry } from '../clients/client-registry.ts';
import type { Connection } from '../clients/connection.ts';
import type { AccessControl } from '../connecting/access.ts';
import type { RefusedConnect } from '../connecting/connect-refusal.ts';
import type { BrokerLimits } from '../limits.ts';
import type { PublishTap } from '../publishing/publish-tap.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { Fault, Faults } from './faults.ts';

/** A denied publish, subscription or end of a subscription. */
export interface DeniedTopic {
  readonly action: Exclude<AccessAction, 'RECEIVE'>;
  readonly topic: string;
  readonly cause: 'FORBIDDEN' | 'TOO_MANY';
  /** `null` if the client gets none. */
  readonly reasonCode: number | null;
}

interface ReservedClientIds {
  readonly prefix: string;
  readonly username: string;
}

/** Why a connection was closed. */
export interface ProtocolError {
  /** Reason code of MQTT 5. */
  readonly reasonCode: number;
  readonly rule: string | null;
  /** The topic name or filter that is not valid. Absent or `null` if something else is not. */
  readonly topic?: string | null;
  /** Whether the client uses TLS on a listener without TLS. */
  readonly isTls?: boolean;
}

export interface BrokerCoreOptions {
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly access: AccessControl;
  readonly limits: BrokerLimits;
  /** The client ids that only the account of this service may use. Default: none. */
  readonly reserved?: ReservedClientIds;
  /** Whether a session belongs to the account that created it. Default: never. */
  readonly bindsSessions?: () => boolean;
  readonly serveControl: (connection: Connection, topic: string, payload: Uint8Array) => Promise<void>;
  readonly onProblem: (problem: string, error: Error) => void;
  readonly onRefused?: (connection: Connection, refused: RefusedConnect) => void;
  /** Called before the first connection is closed because the second one has its client id. */
  readonly onTakenOver?: (closed: Connection, by: Connection) => void;
  /** Called when a client has been admitted. */
  readonly onConnected?: (connection: Connection) => void;
  /** Called when a connection has been closed, also of a client that was not admitted. */
  readonly onClosed?: (connection: Connection) => void;
  /** Called for each accepted publish of a client, except control requests, with its payload bytes. */
  readonly onPublished?: (clientId: string, topic: string, bytes: number) => void;
  readonly onDenied?: (connection: Connection, denied: DeniedTopic) => void;
  readonly onProtocolError?: (connection: Connection, error: ProtocolError) => void;
  readonly onFault: (fault: Fault) => void;
}

/** What the parts of a broker core share. */
export interface CoreParts extends BrokerCoreOptions {
  readonly faults: Faults;
  readonly time: ReadingTimeLimit;
  readonly tap: PublishTap;
}
