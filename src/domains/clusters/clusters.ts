import type { Logger } from 'pino';
import { LeasedMutex } from '../../platform/scheduling/leased-mutex.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import type { ControlApi } from '../../protocol/control/envelope.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import type { AccessControlService } from '../access-control/access-control-service.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ClientService } from '../clients/client-service.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import type { StreamService } from '../streams/stream-service.ts';
import type { TopicService } from '../topic-tree/topic-service.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { ClusterDrivers } from './cluster-drivers.ts';
import { ClusterLive } from './cluster-live.ts';
import type { ClusterMembership } from './cluster-membership.ts';
import { ClusterQueries } from './cluster-queries.ts';
import { ClusterService } from './cluster-service.ts';
import type { ClusterStore } from './cluster-store.ts';
import type { ContactNodes } from './contact-nodes.ts';
import { DynsecDriver } from './dynsec/dynsec-driver.ts';
import { PasswordCopies } from './dynsec/password-copies.ts';
import { SyncStore } from './dynsec/sync-store.ts';
import { HaDriver } from './ha/ha-driver.ts';
import { ClusterServing } from './serving/cluster-serving.ts';

interface ClustersOptions {
  readonly storage: Pick<Storage, 'db' | 'changes' | 'leases'>;
  readonly sealer: Sealer;
  readonly cache: ClusterCache;
  readonly membership: ClusterMembership;
  readonly contactNodes: ContactNodes;
  readonly store: ClusterStore;
  readonly brokerCache: BrokerCache;
  readonly projects: ProjectCache;
  readonly runtimes: BrokerRuntimes;
  readonly access: AccessControlService;
  readonly clients: ClientService;
  readonly topics: TopicService;
  readonly streams: StreamService;
  /** The APIs of bridges that the gateway runs for brokers without bridges of their own. */
  readonly bridgeApis: readonly ControlApi[];
  readonly timeoutMs: number;
  readonly log: Logger;
}

interface ClusterServices {
  readonly clusters: ClusterQueries;
  readonly clusterChanges: ClusterService;
  readonly clusterLive: ClusterLive;
}

/** The clusters of brokers: their drivers, the plugins that serve their entries, and the services of the graph. */
export class Clusters {
  readonly services: ClusterServices;
  readonly #options: ClustersOptions;
  readonly #serving: ClusterServing;
  readonly #syncStore: SyncStore;
  readonly #ha: HaDriver;
  readonly #dynsec: DynsecDriver;
  readonly #drivers: ClusterDrivers;
  #stop: Stop = () => undefined;

  constructor(options: ClustersOptions) {
    const { storage, sealer, cache, membership, contactNodes, brokerCache: brokers, runtimes, access, log } = options;
    const { clients, topics, streams, bridgeApis, store, timeoutMs } = options;
    this.#options = options;
    const mutex = (name: string, prefix: string, waitMs: number) =>
      new LeasedMutex({ leases: storage.leases, name, prefix, timeoutMs: waitMs });
    this.#serving = new ClusterServing({
      cache,
      brokers,
      runtimes,
      clients,
      topics,
      streams,
      bridgeApis,
      streamMutex: mutex('the streams of this cluster', 'cluster-streams', timeoutMs),
      timeoutMs,
    });
    const { storesPasswords } = membership;
    this.#syncStore = new SyncStore({ db: storage.db, cache, sealer });
    this.#ha = new HaDriver({ cache, brokers, runtimes });
    this.#dynsec = new DynsecDriver({
      cache,
      brokers,
      runtimes,
      access,
      store: this.#syncStore,
      passwordCopies: new PasswordCopies({ runtimes, sealer }),
      // A write waits for earlier writes, and each of them may take long.
      mutex: mutex('this cluster', 'cluster', timeoutMs * 6),
      storesPasswords,
      log,
    });
    access.share({
      sharedOf: (broker) => this.#dynsec.sharedAccess(broker),
      isNode: ({ id }) => cache.ofNode(id)?.keeper === 'GATEWAY',
    });
    this.#drivers = new ClusterDrivers({ drivers: { BROKER: this.#ha, GATEWAY: this.#dynsec }, brokers, runtimes });
    const onFault = (error: unknown) => log.error({ err: error }, 'could not update the live status of clusters');
    const drivers = this.#drivers;
    this.services = {
      clusters: new ClusterQueries({ cache, drivers, contactNodeOf: (cluster) => contactNodes.of(cluster) }),
      clusterChanges: new ClusterService({
        cache,
        store,
        brokerCache: brokers,
        drivers,
        mutex: mutex('the nodes of this cluster', 'cluster-nodes', timeoutMs * 6),
        sealer,
        storesPasswords,
        log,
      }),
      clusterLive: new ClusterLive({ cache, drivers, onFault }),
    };
  }

  /** Starts to monitor and synchronize clusters. Call it before links to brokers are opened. */
  start(): void {
    const { cache, contactNodes, projects, runtimes, log } = this.#options;
    this.#stop = projects.onChange((after, before) => {
      if (after === null || after.clusterPasswords || before?.clusterPasswords !== true) return;
      const ids = cache.ofProject(after.id).map(({ id }) => id);
      this.#syncStore.deletePasswords(ids).catch((error: unknown) => {
        log.error({ err: error, projectId: after.id }, 'could not delete the stored passwords of clusters');
      });
    });
    contactNodes.start(this.#drivers, runtimes);
    this.#ha.start();
    this.#dynsec.start();
    this.#serving.start();
    this.services.clusterChanges.removeIncomplete().catch((error: unknown) => {
      log.error({ err: error }, 'could not remove incomplete clusters');
    });
  }

  close(): void {
    this.#stop();
    this.#options.contactNodes.close();
    this.#serving.close();
    this.services.clusterLive.close();
    this.#ha.close();
    this.#dynsec.close();
  }
}
