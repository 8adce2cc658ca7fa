import type { Logger } from 'pino';
import type { CloudBrokers } from '../../cloud-brokers/cloud-brokers.ts';
import type { Stop } from '../../mqtt/broker-session.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import { type ClusterRecord, isShared } from '../model/cluster.ts';

export interface LeftLogsOptions {
  readonly directory: ClusterDirectory;
  readonly cloudBrokers: Pick<CloudBrokers, 'settled'>;
  /** Erases what the nodes of a cluster shared. */
  readonly erase: (clusterId: string) => Promise<void>;
  readonly log: Logger;
}

/** Erases what the nodes of a deleted cluster shared, once none of them runs as its node any more: it would begin anew with what it has. */
export function eraseLeftLogs(options: LeftLogsOptions): Stop {
  const { directory, log } = options;
  return directory.onRemove((cluster) => {
    if (!isShared(cluster)) return;
    erase(cluster, options).catch((error: unknown) => {
      log.error({ err: error, clusterId: cluster.id }, 'what the nodes of a deleted cluster shared is left in Redis');
    });
  });
}

async function erase({ id, nodes }: ClusterRecord, { cloudBrokers, erase: remove }: LeftLogsOptions): Promise<void> {
  const settled = await Promise.all(nodes.map(({ brokerId }) => cloudBrokers.settled(brokerId)));
  // Otherwise it is done where they run.
  if (settled.every((runsHere) => runsHere)) await remove(id);
}
