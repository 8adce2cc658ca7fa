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
import type { ProjectDirectory } from '../projects/project-directory.ts';
import type { StreamService } from '../streams/stream-service.ts';
import type { TopicService } from '../topic-tree/topic-service.ts';
import { ClusterDirectory } from './cluster-directory.ts';
import { ClusterKeepers } from './cluster-keepers.ts';
import { ClusterLive } from './cluster-live.ts';
import { ClusterService } from './cluster-service.ts';
import { ClusterStandIns } from './cluster-stand-ins.ts';
import { ClusterRows } from './dynsec/cluster-rows.ts';
import { DynsecDriver } from './dynsec/dynsec-driver.ts';
import { PasswordCopies } from './dynsec/password-copies.ts';
import { HaDriver } from './ha/ha-driver.ts';
import type { ClusterRecord } from './model/cluster.ts';
import { SeenClusters } from './seen-clusters.ts';
import { ClusterServing } from './serving/cluster-serving.ts';
import { removeSharedClusters } from './shared-clusters.ts';
import { StoredClusters } from './stored-clusters.ts';

export interface ClustersOptions {
  readonly storage: Pick<Storage, 'db' | 'changes' | 'leases'>;
  readonly sealer: Sealer;
  readonly brokers: BrokerService;
  readonly brokerCache: BrokerCache;
  readonly projects: ProjectDirectory;
  /** Those that this service runs beside brokers. */
  readonly bridges: Hosting;
  readonly audit: Pick<AuditService, 'record'>;
  readonly timeoutMs: number;
  readonly log: Logger;
}

/** What clusters work with, and which works with brokers itself. */
export interface ClusterParts {
  readonly runtimes: BrokerRuntimes;
  readonly access: AccessControlService;
  readonly clients: ClientService;
  readonly topics: TopicService;
  readonly streams: StreamService;
}

export interface ClusterServices {
  readonly clusters: SeenClusters;
  readonly clusterChanges: ClusterService;
  readonly clusterLive: ClusterLive;
}

interface Connected {
  readonly service: ClusterService;
  readonly runtimes: BrokerRuntimes;
  readonly keepers: ClusterKeepers;
  readonly ha: HaDriver;
  readonly dynsec: DynsecDriver;
  readonly rows: ClusterRows;
  readonly live: ClusterLive;
}

/** The parts of clusters, put together in two steps: links to brokers need to know of clusters, and what runs clusters needs links. */
export class Clusters {
  readonly #options: ClustersOptions;
  readonly #directory: ClusterDirectory;
  readonly #standIns: ClusterStandIns;
  readonly serving: ClusterServing;
  #connected: Connected | null = null;
  readonly #stops: Stop[] = [];

  constructor(options: ClustersOptions) {
    const { storage, brokerCache, bridges, timeoutMs, log } = options;
    this.#options = options;
    this.#directory = new ClusterDirectory({ db: storage.db, changes: storage.changes, log });
    this.#standIns = new ClusterStandIns({ directory: this.#directory, brokers: brokerCache });
    this.serving = new ClusterServing({
      directory: this.#directory,
      brokers: brokerCache,
      bridges,
      streamMutex: this.#mutex('the streams of this cluster', 'cluster-streams', timeoutMs),
      timeoutMs,
    });
  }

  async load(): Promise<void> {
    const { storage, brokers, audit, log } = this.#options;
    const directory = this.#directory;
    await directory.load();
    const stored = new StoredClusters({ db: storage.db, directory, brokers });
    await removeSharedClusters({ directory, stored, audit, log });
  }

  /** For BrokerRuntimes. */
  readonly standInOf = (broker: BrokerRecord): BrokerRecord | null => this.#standIns.of(broker);

  /** For BrokerService. */
  around(brokerId: string): BrokerCluster | null {
    const entry = this.#directory.get(brokerId);
    const cluster = entry ?? this.#directory.ofNode(brokerId);
    if (cluster === null) return null;
    const isEntry = entry !== null;
    return { name: cluster.name, isEntry, isSentPasswords: !isEntry && this.#keepsPasswords(cluster) };
  }

  /** Whether passwords that are set on the cluster are stored, and sent to nodes that join. */
  readonly #keepsPasswords = ({ keeper, projectId }: ClusterRecord): boolean =>
    keeper === 'GATEWAY' && this.#options.projects.get(projectId)?.clusterPasswords === true;

  /** For AccessControlService. */
  readonly sharedAccessOf = (broker: BrokerRecord): SharedAccess | null =>
    this.#connected?.dynsec.sharedAccess(broker) ?? null;

  /** For AccessControlService: the cluster by which alone the access control of a node changes. */
  readonly keeperOf = ({ id }: BrokerRecord): ClusterRecord | null => {
    const cluster = this.#directory.ofNode(id);
    return cluster?.keeper === 'GATEWAY' ? cluster : null;
  };

  connect({ runtimes, access, clients, topics, streams }: ClusterParts): ClusterServices {
    this.serving.connect({ runtimes, clients, topics, streams });
    const { storage, sealer, brokers, brokerCache, timeoutMs, log } = this.#options;
    const { db } = storage;
    const directory = this.#directory;
    const rows = new ClusterRows({ db, directory, sealer });
    const ha = new HaDriver({ directory, brokers: brokerCache, runtimes });
    const dynsec = new DynsecDriver({
      directory,
      brokers: brokerCache,
      runtimes,
      access,
      rows,
      passwordCopies: new PasswordCopies({ runtimes, sealer }),
      // A write waits for those before it, of which each may take long.
      mutex: this.#mutex('this cluster', 'cluster', timeoutMs * 6),
      keepsPasswords: this.#keepsPasswords,
      log,
    });
    const keepers = new ClusterKeepers({
      drivers: { BROKER: ha, GATEWAY: dynsec },
      brokers: brokerCache,
      runtimes,
    });
    const stored = new StoredClusters({ db, directory, brokers });
    const mutex = this.#mutex('the nodes of this cluster', 'cluster-nodes', timeoutMs * 6);
    const service = new ClusterService({
      directory,
      stored,
      brokerCache,
      keepers,
      mutex,
      sealer,
      keepsPasswords: this.#keepsPasswords,
      log,
    });
    const clusters = new SeenClusters({ directory, keepers, reachedBy: (cluster) => this.#standIns.taken(cluster) });
    const onFault = (error: unknown) => log.error({ err: error }, 'clusters could not be followed');
    const live = new ClusterLive({ directory, keepers, onFault });
    this.#connected = { service, runtimes, keepers, ha, dynsec, rows, live };
    return { clusters, clusterChanges: service, clusterLive: live };
  }

  /** From here on clusters are followed, and kept together. */
  start(): void {
    if (this.#connected === null) return;
    const { service, runtimes, keepers, ha, dynsec, rows } = this.#connected;
    const { projects, log } = this.#options;
    const stop = projects.onChange((after, before) => {
      if (after === null || after.clusterPasswords || before?.clusterPasswords !== true) return;
      const ids = this.#directory.ofProject(after.id).map(({ id }) => id);
      rows.forgetPasswords(ids).catch((error: unknown) => {
        log.error({ err: error, projectId: after.id }, 'kept passwords of clusters could not be erased');
      });
    });
    this.#stops.push(stop);
    this.#standIns.start(keepers, runtimes);
    ha.start();
    dynsec.start();
    this.serving.start();
    service.removeUnmade().catch((error: unknown) => {
      log.error({ err: error }, 'clusters whose making was interrupted could not be removed');
    });
  }

  #mutex(name: string, prefix: string, timeoutMs: number): LeasedMutex {
    return new LeasedMutex({ leases: this.#options.storage.leases, name, prefix, timeoutMs });
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    this.#standIns.close();
    this.serving.close();
    this.#connected?.live.close();
    this.#connected?.ha.close();
    this.#connected?.dynsec.close();
    await this.#directory.close();
  }
}
