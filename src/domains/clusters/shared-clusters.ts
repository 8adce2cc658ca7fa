import type { Logger } from 'pino';
import { swapClusterId } from '../../gateway/cluster-id.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { AuditService } from '../audit/audit-service.ts';
import type { ClusterCache } from './cluster-cache.ts';
import type { ClusterStore } from './cluster-store.ts';

interface SharedClustersOptions {
  readonly cache: ClusterCache;
  readonly store: ClusterStore;
  readonly audit: Pick<AuditService, 'record'>;
  readonly log: Logger;
}

/**
 * Removes clusters of embedded brokers that shared sessions and messages. Versions before 0.2 could create them. Their
 * nodes then run as separate brokers. Each removal is logged and audited.
 */
export async function removeSharedClusters({ cache, store, audit, log }: SharedClustersOptions): Promise<void> {
  for (const { id, projectId, name, mode, keeper, nodes } of cache.all()) {
    if (keeper !== 'GATEWAY' || mode === 'DYNSEC') continue;
    try {
      await store.remove(id);
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
      target: { kind: 'cluster', id: swapClusterId(id) },
      before: { name, mode, nodes: nodes.map(({ nodeId, brokerId }) => ({ nodeId, brokerId })) },
      result: 'DONE',
    });
  }
}
