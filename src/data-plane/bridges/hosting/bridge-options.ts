import { createHash } from 'node:crypto';
import type { HostedLinkOptions } from '../../../protocol/hosting/hosted-link-options.ts';
import type { LogDatabase } from '../../log/postgresql/postgresql-logs.ts';
import type { BridgeRules } from '../model/bridge-kind.ts';
import type { BridgeLoop } from '../model/bridge-status.ts';
import { postgresqlQueues } from '../queue/postgresql-queues.ts';
import type { BrokerStorage } from '../queue/queue-storage.ts';
import { groupOf, type QueueStore } from '../queue/queue-store.ts';
import { sqliteQueues } from '../queue/sqlite-queues.ts';

export interface BridgeOptions {
  readonly brokerId: string;
  readonly bridgeId: string;
  readonly local: HostedLinkOptions;
  readonly rules: BridgeRules;
  /** For the file of queues; with `database`, for what was stored without it. */
  readonly folder: string;
  /** Default: queues are in a file. */
  readonly database?: LogDatabase;
  readonly storage?: BrokerStorage;
  /** Whether the first configuration may be outdated, so that queues that it does not name remain. Default: false. */
  readonly keepsOtherQueues?: boolean;
  readonly onFault: (error: unknown) => void;
  /** Called when messages begin to come back to a connection through another bridge. */
  readonly onLoop?: (loop: BridgeLoop & { readonly connection: string }) => void;
}

export function queueStore({ folder, database, storage, brokerId, bridgeId }: BridgeOptions): QueueStore {
  if (database === undefined) return sqliteQueues(groupOf(brokerId, bridgeId), folder, storage);
  return postgresqlQueues({ database, brokerId, bridgeId, storage, folder });
}

/**
 * The client id of a connection of a bridge to its broker; the same in each process that runs the bridge. `digits`: the
 * length of its hash.
 */
export function bridgeClientId({ brokerId, bridgeId }: BridgeOptions, connectionName: string, digits: number): string {
  const hash = createHash('sha256').update(`${bridgeId}\n${connectionName}`).digest('hex').slice(0, digits);
  return `brokergraph-${brokerId}-bridge-${hash}`;
}
