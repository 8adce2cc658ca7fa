import type { Logger } from 'pino';
import { LeasedMutex } from '../../platform/scheduling/leased-mutex.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import type { AccessControlService } from '../access-control/access-control-service.ts';
import type { PasswordCopies } from '../access-control/writing/password-copies.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import { ClusterDrivers } from './cluster-drivers.ts';
import { ClusterLive } from './cluster-live.ts';
import type { ClusterMembership } from './cluster-membership.ts';
import { ClusterQueries } from './cluster-queries.ts';
import { ClusterService } from './cluster-service.ts';
import type { ClusterStore } from './cluster-store.ts';
import type { ContactNodes } from './contact-nodes.ts';
import { DynsecDriver } from './dynsec/dynsec-driver.ts';
import { SyncStore } from './dynsec/sync-store.ts';
import { HaDriver } from './ha/ha-driver.ts';
import { ClusterServing, type ClusterServingOptions } from './serving/cluster-serving.ts';

interface ClustersOptions extends Omit<ClusterServingOptions, 'streamMutex'> {
  readonly storage: Pick<Storage, 'db' | 'changes' | 'leases'>;
  readonly sealer: Sealer;
  readonly membership: ClusterMembership;
  readonly contactNodes: ContactNodes;
  readonly store: ClusterStore;
  readonly projects: ProjectCache;
  readonly access: AccessControlService;
  readonly passwordCopies: PasswordCopies;
  readonly log: Logger;
}

/** The clusters of brokers: their drivers, the plugins that serve their entries, and the services of the graph. */
export function openClusters(options: ClustersOptions) {
  const { storage, sealer, cache, contactNodes, projects, runtimes, access, timeoutMs, log } = options;
  const { storesPasswords } = options.membership;
  const mutex = (name: string, prefix: string, waitMs: number) =>
    new LeasedMutex({ leases: storage.leases, name, prefix, timeoutMs: waitMs });
  const streamMutex = mutex('the streams of this cluster', 'cluster-streams', timeoutMs);
  const serving = new ClusterServing({ ...options, streamMutex });
  const syncStore = new SyncStore({ db: storage.db, cache, sealer });
  const ha = new HaDriver(options);
  const dynsec = new DynsecDriver({
    ...options,
    store: syncStore,
    // A write waits for earlier writes, and each of them may take long.
    mutex: mutex('this cluster', 'cluster', timeoutMs * 6),
    storesPasswords,
  });
  access.share({
    sharedOf: (broker) => dynsec.sharedAccess(broker),
    isNode: ({ id }) => cache.ofNode(id)?.keeper === 'GATEWAY',
  });
  const drivers = new ClusterDrivers({ ...options, drivers: { BROKER: ha, GATEWAY: dynsec } });
  const nodesMutex = mutex('the nodes of this cluster', 'cluster-nodes', timeoutMs * 6);
  const clusterChanges = new ClusterService({ ...options, drivers, mutex: nodesMutex, storesPasswords });
  const clusterLive = new ClusterLive({ ...options, drivers });
  let stop: Stop = () => undefined;
  return {
    services: { clusters: new ClusterQueries({ ...options, drivers }), clusterChanges, clusterLive },

    /** Starts to monitor and synchronize clusters. Call it before links to brokers are opened. */
    start(): void {
      stop = projects.onChange((after, before) => {
        if (after === null || after.clusterPasswords || before?.clusterPasswords !== true) return;
        const ids = cache.ofProject(after.id).map(({ id }) => id);
        syncStore.deletePasswords(ids).catch((error: unknown) => {
          log.error({ err: error, projectId: after.id }, 'could not delete the stored passwords of clusters');
        });
      });
      contactNodes.start(drivers, runtimes);
      ha.start();
      dynsec.start();
      serving.start();
      clusterChanges.removeIncomplete().catch((error: unknown) => {
        log.error({ err: error }, 'could not remove incomplete clusters');
      });
    },

    close(): void {
      stop();
      for (const part of [contactNodes, serving, clusterLive, ha, dynsec]) part.close();
    },
  };
}
