import { createHash } from 'node:crypto';
import type { LocalBroker } from '../../../protocol/hosting/local-broker.ts';
import type { BridgeRules } from '../model/bridge-kind.ts';
import type { BrokerStorage } from '../queue/queue-storage.ts';
import { fileQueues, type QueueStore } from '../queue/queue-store.ts';

export interface BridgeOptions {
  readonly brokerId: string;
  readonly bridgeId: string;
  readonly local: LocalBroker;
  readonly rules: BridgeRules;
  readonly folder: string;
  readonly storage?: BrokerStorage;
  readonly onFault: (error: unknown) => void;
}

export const queueStore = ({ folder, storage }: BridgeOptions): QueueStore => fileQueues(folder, storage);

/**
 * The client id of a connection of a bridge to its broker; the same in each process that runs the bridge. `digits`: the
 * length of its hash.
 */
export function bridgeClientId({ brokerId, bridgeId }: BridgeOptions, connectionName: string, digits: number): string {
  const hash = createHash('sha256').update(`${bridgeId}\n${connectionName}`).digest('hex').slice(0, digits);
  return `brokergraph-${brokerId}-bridge-${hash}`;
}
