import type { Logger } from 'pino';
import { ServiceError } from '../../platform/errors.ts';
import type { AuditService } from '../audit/audit-service.ts';
import type { ClusterDirectory } from './cluster-directory.ts';
import type { StoredClusters } from './stored-clusters.ts';

export interface SharedClustersOptions {
  readonly directory: ClusterDirectory;
  readonly stored: StoredClusters;
  readonly audit: Pick<AuditService, 'record'>;
  readonly log: Logger;
}

/**
 * Removes clusters of embedded brokers that shared sessions and messages, which this service could create before version 0.2. Their nodes
 * run as brokers of their own from then on. Each removal is logged and audited.
 */
export async function removeSharedClusters({ directory, stored, audit, log }: SharedClustersOptions): Promise<void> {
  for (const { id, projectId, name, mode, keeper, nodes } of directory.all()) {
    if (keeper !== 'GATEWAY' || mode === 'DYNSEC') continue;
    try {
      await stored.remove(id);
    } catch (error) {
      // Another process removed it.
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') continue;
      throw error;
    }
    const brokers = nodes.map(({ brokerId }) => brokerId);
    log.warn({ clusterId: id, name, mode, brokers }, 'removed a cluster of embedded brokers; its nodes run alone now');
    await audit.record({
      operation: 'deleteCluster',
      projectId,
      target: { kind: 'cluster', id },
      before: { name, mode, nodes: nodes.map(({ nodeId, brokerId }) => ({ nodeId, brokerId })) },
      result: 'DONE',
    });
  }
}
