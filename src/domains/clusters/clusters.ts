import type { Logger } from 'pino';
import { LeasedMutex } from '../../platform/scheduling/leased-mutex.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import type { Hosting } from '../../protocol/hosting/hosting.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import type { AccessControlService, SharedAccess } from '../access-control/access-control-service.ts';
import type { AuditService } from '../audit/audit-service.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { BrokerCluster, BrokerService } from '../brokers/broker-service.ts';
import type { ClientService } from '../clients/client-service.ts';
import type { ProjectCache } from '../projects/project-cache.ts';
import type { StreamService } from '../streams/stream-service.ts';
import type { TopicService } from '../topic-tree/topic-service.ts';
import { ClusterCache } from './cluster-cache.ts';
import { ClusterDrivers } from './cluster-drivers.ts';
import { ClusterLive } from './cluster-live.ts';
import { ClusterQueries } from './cluster-queries.ts';
import { ClusterService } from './cluster-service.ts';
import { ClusterStore } from './cluster-store.ts';
import { ContactNodes } from './contact-nodes.ts';
import { DynsecDriver } from './dynsec/dynsec-driver.ts';
import { PasswordCopies } from './dynsec/password-copies.ts';
import { SyncStore } from './dynsec/sync-store.ts';
import { HaDriver } from './ha/ha-driver.ts';
import type { ClusterRecord } from './model/cluster.ts';
import { ClusterServing } from './serving/cluster-serving.ts';
import { removeSharedClusters } from './shared-clusters.ts';

interface ClustersOptions {
  readonly storage: Pick<Storage, 'db' | 'changes' | 'leases'>;
  readonly sealer: Sealer;
  readonly brokers: BrokerService;
  readonly brokerCache: BrokerCache;
  readonly projects: ProjectCache;
  /** Bridges that the gateway runs for brokers without bridges of their own. */
  readonly bridges: Hosting;
  readonly audit: Pick<AuditService, 'record'>;
  readonly timeoutMs: number;
  readonly log: Logger;
}

/** Services that clusters use. They need `BrokerRuntimes`, which needs `Clusters`, so `connect` receives them. */
interface ClusterParts {
  readonly runtimes: BrokerRuntimes;
  readonly access: AccessControlService;
  readonly clients: ClientService;
  readonly topics: TopicService;
  readonly streams: StreamService;
}

interface ClusterServices {
  readonly clusters: ClusterQueries;
  readonly clusterChanges: ClusterService;
  readonly clusterLive: ClusterLive;
}

interface Connected {
  readonly service: ClusterService;
  readonly runtimes: BrokerRuntimes;
  readonly drivers: ClusterDrivers;
  readonly ha: HaDriver;
  readonly dynsec: DynsecDriver;
  readonly syncStore: SyncStore;
  readonly live: ClusterLive;
}

/** Composes the cluster domain in two steps, because broker connections and clusters need each other. */
export class Clusters {
  readonly #options: ClustersOptions;
  readonly #cache: ClusterCache;
  readonly #contactNodes: ContactNodes;
  readonly serving: ClusterServing;
  #connected: Connected | null = null;
  readonly #stops: Stop[] = [];

  constructor(options: ClustersOptions) {
    const { storage, brokerCache, bridges, timeoutMs, log } = options;
    this.#options = options;
    this.#cache = new ClusterCache({ db: storage.db, changes: storage.changes, log });
    this.#contactNodes = new ContactNodes({ cache: this.#cache, brokers: brokerCache });
    this.serving = new ClusterServing({
      cache: this.#cache,
      brokers: brokerCache,
      bridges,
      streamMutex: this.#mutex('the streams of this cluster', 'cluster-streams', timeoutMs),
      timeoutMs,
    });
  }

  async load(): Promise<void> {
    const { storage, brokers, audit, log } = this.#options;
    const cache = this.#cache;
    await cache.load();
    const store = new ClusterStore({ db: storage.db, cache, brokers });
    await removeSharedClusters({ cache, store, audit, log });
  }

  /** Broker entry to connect to, for `BrokerRuntimes`. `null` if it represents a cluster without nodes. */
  readonly contactNodeOf = (broker: BrokerRecord): BrokerRecord | null => this.#contactNodes.resolve(broker);

  /** The cluster that an entry represents or is a node of, for `BrokerService`. `null`: neither. */
  clusterOf(brokerId: string): BrokerCluster | null {
    const entry = this.#cache.get(brokerId);
    const cluster = entry ?? this.#cache.ofNode(brokerId);
    if (cluster === null) return null;
    const isEntry = entry !== null;
    return { name: cluster.name, isEntry, isSentPasswords: !isEntry && this.#storesPasswords(cluster) };
  }

  /** Whether the service stores passwords that are set on the cluster, and sends them to nodes that join. */
  readonly #storesPasswords = ({ keeper, projectId }: ClusterRecord): boolean =>
    keeper === 'GATEWAY' && this.#options.projects.get(projectId)?.clusterPasswords === true;

  /**
   * Access control of a synchronized cluster, for `AccessControlService`. `null`: the entry represents no such cluster.
   */
  readonly sharedAccessOf = (broker: BrokerRecord): SharedAccess | null =>
    this.#connected?.dynsec.sharedAccess(broker) ?? null;

  /**
   * The cluster through which the access control of a node must be changed, for `AccessControlService`. `null`: none.
   */
  readonly managingClusterOf = ({ id }: BrokerRecord): ClusterRecord | null => {
    const cluster = this.#cache.ofNode(id);
    return cluster?.keeper === 'GATEWAY' ? cluster : null;
  };

  connect({ runtimes, access, clients, topics, streams }: ClusterParts): ClusterServices {
    this.serving.connect({ runtimes, clients, topics, streams });
    const { storage, sealer, brokers, brokerCache, timeoutMs, log } = this.#options;
    const { db } = storage;
    const cache = this.#cache;
    const syncStore = new SyncStore({ db, cache, sealer });
    const ha = new HaDriver({ cache, brokers: brokerCache, runtimes });
    const dynsec = new DynsecDriver({
      cache,
      brokers: brokerCache,
      runtimes,
      access,
      store: syncStore,
      passwordCopies: new PasswordCopies({ runtimes, sealer }),
      // A write waits for earlier writes, and each of them may take long.
      mutex: this.#mutex('this cluster', 'cluster', timeoutMs * 6),
      storesPasswords: this.#storesPasswords,
      log,
    });
    const drivers = new ClusterDrivers({
      drivers: { BROKER: ha, GATEWAY: dynsec },
      brokers: brokerCache,
      runtimes,
    });
    const store = new ClusterStore({ db, cache, brokers });
    const mutex = this.#mutex('the nodes of this cluster', 'cluster-nodes', timeoutMs * 6);
    const service = new ClusterService({
      cache,
      store,
      brokerCache,
      drivers,
      mutex,
      sealer,
      storesPasswords: this.#storesPasswords,
      log,
    });
    const clusters = new ClusterQueries({ cache, drivers, contactNodeOf: (cluster) => this.#contactNodes.of(cluster) });
    const onFault = (error: unknown) => log.error({ err: error }, 'could not update the live status of clusters');
    const live = new ClusterLive({ cache, drivers, onFault });
    this.#connected = { service, runtimes, drivers, ha, dynsec, syncStore, live };
    return { clusters, clusterChanges: service, clusterLive: live };
  }

  /** Starts to monitor and synchronize clusters. */
  start(): void {
    if (this.#connected === null) return;
    const { service, runtimes, drivers, ha, dynsec, syncStore } = this.#connected;
    const { projects, log } = this.#options;
    const stop = projects.onChange((after, before) => {
      if (after === null || after.clusterPasswords || before?.clusterPasswords !== true) return;
      const ids = this.#cache.ofProject(after.id).map(({ id }) => id);
      syncStore.deletePasswords(ids).catch((error: unknown) => {
        log.error({ err: error, projectId: after.id }, 'could not delete the stored passwords of clusters');
      });
    });
    this.#stops.push(stop);
    this.#contactNodes.start(drivers, runtimes);
    ha.start();
    dynsec.start();
    this.serving.start();
    service.removeIncomplete().catch((error: unknown) => {
      log.error({ err: error }, 'could not remove incomplete clusters');
    });
  }

  #mutex(name: string, prefix: string, timeoutMs: number): LeasedMutex {
    return new LeasedMutex({ leases: this.#options.storage.leases, name, prefix, timeoutMs });
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    this.#contactNodes.close();
    this.serving.close();
    this.#connected?.live.close();
    this.#connected?.ha.close();
    this.#connected?.dynsec.close();
    await this.#cache.close();
  }
}
