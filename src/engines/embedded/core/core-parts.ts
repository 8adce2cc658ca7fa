import type { ReadingTime } from '../../../protocol/mqtt/reading-time.ts';
import type { AccessControl } from '../access.ts';
import type { BrokerLimits } from '../limits.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { BrokerClient } from './broker-client.ts';
import type { ClientRegistry } from './client-registry.ts';
import type { RefusalReason } from './connect-refusal.ts';
import type { Connection } from './connection.ts';
import type { Fault, Faults } from './faults.ts';
import type { PublishTap } from './publish-tap.ts';

export interface BrokerCoreOptions {
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly access: AccessControl;
  readonly limits: BrokerLimits;
  readonly serveControl: (client: BrokerClient, topic: string, payload: Uint8Array) => Promise<void>;
  readonly onProblem: (problem: string, error: Error) => void;
  readonly onRefused?: (connection: Connection, username: string | null, reason: RefusalReason) => void;
  readonly onFault: (fault: Fault) => void;
}

/** What the parts of a broker core share. */
export interface CoreParts extends BrokerCoreOptions {
  readonly faults: Faults;
  readonly time: ReadingTime;
  readonly tap: PublishTap;
}
