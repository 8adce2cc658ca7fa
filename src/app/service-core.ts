import { join } from 'node:path';
import type { Logger } from 'pino';
import { AccessControlService } from '../domains/access-control/access-control-service.ts';
import { AuditService } from '../domains/audit/audit-service.ts';
import { openBridges } from '../domains/bridges/bridges.ts';
import type { BrokerCache } from '../domains/brokers/broker-cache.ts';
import { BrokerMetricsService } from '../domains/brokers/broker-metrics-service.ts';
import { BrokerRuntimes } from '../domains/brokers/broker-runtimes.ts';
import { BrokerService } from '../domains/brokers/broker-service.ts';
import { licensePlugin } from '../domains/brokers/license-plugin.ts';
import type { CertificateCache } from '../domains/certificates/certificate-cache.ts';
import { openCertificates } from '../domains/certificates/certificates.ts';
import { openClients } from '../domains/clients/clients.ts';
import { clientControlPlugin } from '../domains/clients/control/client-control-plugin.ts';
import { inspectPlugin } from '../domains/clients/inspect/inspect-plugin.ts';
import { Clusters } from '../domains/clusters/clusters.ts';
import { MessageService } from '../domains/messages/message-service.ts';
import { ProjectService } from '../domains/projects/project-service.ts';
import { checkSecretKey } from '../domains/secrets/key-check.ts';
import { SecretRotator } from '../domains/secrets/secret-rotation.ts';
import { SignIn } from '../domains/sign-in/sign-in.ts';
import { openStreams } from '../domains/streams/streams.ts';
import { TokenService } from '../domains/tokens/token-service.ts';
import { openTopicTrees } from '../domains/topic-tree/topic-trees.ts';
import { OrganisationService } from '../domains/users/organisation-service.ts';
import { OwnershipLimit } from '../domains/users/ownership-limit.ts';
import { UserService } from '../domains/users/user-service.ts';
import { CloudBrokers } from '../engines/cloud-brokers/cloud-brokers.ts';
import { CloudEngines } from '../engines/cloud-brokers/cloud-engines.ts';
import { MqttRefusals } from '../engines/cloud-brokers/mqtt-refusals.ts';
import type { Services } from '../gateway/context.ts';
import { Closers } from '../platform/closers.ts';
import type { Config } from '../platform/config/config.ts';
import { openSealer } from '../platform/storage/sealed.ts';
import { openStorage, type Storage } from '../platform/storage/storage.ts';
import { mergeGatewayPlugins } from '../protocol/hosting/gateway-plugins.ts';
import { HostedCalls } from '../protocol/hosting/hosted-calls.ts';
import type { Hosting } from '../protocol/hosting/hosting.ts';
import { isLocalHost } from '../protocol/network/allowed-hosts.ts';
import { loadCaches } from './caches.ts';
import { asOperator } from './operator/as-operator.ts';
import type { RunOperation } from './operator/operator-socket.ts';

export interface ServiceParts {
  readonly log: Logger;
  /** The compiled worker of the embedded broker. Default: the worker next to its module. Tests run from the sources. */
  readonly embeddedWorker?: URL;
  /** The compiled worker of hosted streams, with the same default. */
  readonly streamWorker?: URL;
  /** The compiled worker of hosted bridges, with the same default. */
  readonly bridgeWorker?: URL;
  /** The compiled worker of hosted topic recorders, with the same default. */
  readonly topicWorker?: URL;
}

/** Everything that works without a network: storage, services, and operations on the graph as the operator. */
export interface ServiceCore {
  readonly storage: Storage;
  readonly services: Services;
  readonly cloudBrokers: CloudBrokers;
  readonly mqttRefusals: MqttRefusals;
  readonly brokerCache: BrokerCache;
  readonly certificateCache: CertificateCache;
  readonly streamHosting: Hosting;
  readonly bridgeHosting: Hosting;
  /** Starts the hosted plugins and the supervision of clusters. */
  readonly startHosting: () => void;
  readonly signIn: SignIn;
  /** Refuses a key that no stored secret can be opened with. Errors: INVALID. */
  readonly checkSecretKey: () => Promise<void>;
  readonly runAsOperator: RunOperation;
  close(): Promise<void>;
}

const MIB = 1_048_576;

/** Errors: ServiceError IN_USE when another process owns the data folder. */
export async function startCore(
  config: Config,
  { log, embeddedWorker, streamWorker, bridgeWorker, topicWorker }: ServiceParts,
): Promise<ServiceCore> {
  const closers = new Closers();
  try {
    const {
      dataDir,
      databaseUrl,
      secretKey,
      secretKeyPrevious,
      brokerAllowedHosts,
      brokerTimeoutMs: timeoutMs,
    } = config;
    const storage = closers.keep(await openStorage({ dataDir, databaseUrl, log }));
    const { db, changes } = storage;
    const sealer = openSealer({ dataDir, secretKey, previousSecretKey: secretKeyPrevious });
    const shared = { storage, sealer, closers, log };
    const caches = await loadCaches(shared);
    const { projects: projectCache, brokers: brokerCache, certificates: certificateCache } = caches;

    const retentionDays = config.auditRetentionDays;
    const audit = closers.keep(new AuditService({ db, sealer, dataDir, retentionDays, ...caches, log }));
    await audit.start();
    const signIn = new SignIn({ ...shared, config, audit, projects: projectCache });
    const users = new UserService({ db, changes, signInMethods: signIn.methods });
    const ownership = new OwnershipLimit({ db, limit: config.maxProjectsPerUser });

    // In development the service listens on this machine only, and so do the brokers.
    const insideBrokers = isLocalHost(config.host) ? 'LOCAL' : 'NONE';
    const rules = { filesDir: config.brokerFilesDir, allowedHosts: brokerAllowedHosts, inside: insideBrokers } as const;
    const brokers = new BrokerService({
      db,
      changes,
      brokers: brokerCache,
      sealer,
      rules,
      maxPerProject: config.maxBrokersPerProject,
      clusterOf: (brokerId) => clusters.clusterOf(brokerId),
    });

    const calls = storage.engine === 'postgresql' ? new HostedCalls({ db, changes, sealer, timeoutMs, log }) : null;
    closers.add(() => calls?.close());
    const hosting = { ...shared, brokers: brokerCache, calls };
    const streamStorageBytes = config.streamStorageMaxMb * MIB;
    const topicTreeBytes = config.topicTreeMaxMb * MIB;
    const streams = await openStreams({
      ...hosting,
      folder: join(dataDir, 'streams'),
      maxBytes: streamStorageBytes,
      workerUrl: streamWorker,
    });
    const bridges = await openBridges({
      ...hosting,
      rules: {
        allowedHosts: brokerAllowedHosts,
        inside: 'NONE',
        insideBrokers,
        storageMaxBytes: config.bridgeStorageMaxMb * MIB,
      },
      folder: join(dataDir, 'bridges'),
      workerUrl: bridgeWorker,
    });
    const topicTrees = await openTopicTrees({
      ...hosting,
      projects: projectCache,
      maxBytes: topicTreeBytes,
      workerUrl: topicWorker,
    });

    const mqttRefusals = new MqttRefusals({ directory: brokerCache, audit, log });
    const cloudBrokers = new CloudBrokers({
      db,
      brokers,
      directory: brokerCache,
      sealer,
      engines: new CloudEngines({
        host: config.mqttHost,
        workerUrl: embeddedWorker,
        streamStorageBytes,
        topicTreeBytes,
        topicPayloadsOf: topicTrees.payloadsOf,
        refusals: mqttRefusals,
        mosquitto: {
          binary: config.mosquittoBinary,
          plugin: config.mosquittoDynsecPlugin,
          searchPath: process.env.PATH ?? '',
        },
        log,
      }),
      dataDir,
      maxBrokers: config.maxCloudBrokers,
      maxPerProject: config.maxCloudBrokersPerProject,
      log,
    });
    const clusters = closers.keep(
      new Clusters({
        ...shared,
        brokers,
        brokerCache,
        projects: projectCache,
        bridges: bridges.hosting,
        audit,
        timeoutMs,
      }),
    );
    await clusters.load();

    const hostings = [streams.hosting, bridges.hosting, topicTrees.hosting];
    const runtimes = closers.keep(
      new BrokerRuntimes({
        brokers: brokerCache,
        sealer,
        rules,
        timeoutMs,
        maxLinks: config.maxBrokerLinks,
        ownerOf: (projectId) => {
          const owner = projectCache.get(projectId)?.owner;
          return owner?.userId ?? owner?.organisationId ?? projectId;
        },
        gatewayPlugins: (link) => {
          const ofEach = { plugins: [inspectPlugin, clientControlPlugin, licensePlugin], clientIds: [] };
          const single = () => [
            cloudBrokers.pluginsFor(link.id),
            ...hostings.map((hosting) => hosting.pluginsFor(link)),
          ];
          return clusters.serving.pluginsFor(link) ?? mergeGatewayPlugins([ofEach, ...single()]);
        },
        standInOf: clusters.contactNodeOf,
        log,
      }),
    );

    const ofBrokers = { runtimes, brokers: brokerCache };
    const metrics = closers.keep(new BrokerMetricsService(ofBrokers));
    const { clients, clientControl } = openClients({ ...ofBrokers, closers });
    const messages = closers.keep(
      new MessageService({
        ...ofBrokers,
        refusalOf: (broker) => clusters.serving.refusalOf(broker, 'a tail'),
        timeoutMs,
      }),
    );
    const accessControl = closers.keep(
      new AccessControlService({
        runtimes,
        clients,
        sharedOf: clusters.sharedAccessOf,
        sharedBy: clusters.managingClusterOf,
      }),
    );
    const streamService = streams.connect(runtimes);
    const bridgeService = bridges.connect(runtimes, {
      refusalOf: (broker) => clusters.serving.refusalOf(broker, 'a bridge'),
    });
    const topics = topicTrees.connect(runtimes, { nodesOf: (broker) => clusters.serving.topicNodesOf(broker) });

    const services: Services = {
      audit,
      secrets: new SecretRotator({ db, sealer, audit }),
      ...signIn.services,
      users,
      organisations: new OrganisationService({ db, changes, users, ownership }),
      projects: new ProjectService({
        db,
        changes,
        cache: projectCache,
        users,
        ownership,
        strictRoles: config.strictRoles,
        // The database deleted the rows of the project's brokers. This closes their runtimes.
        afterRemove: (projectId) => brokers.projectRemoved(projectId),
      }),
      tokens: new TokenService({ db, changes }),
      brokers,
      cloudBrokers,
      runtimes,
      metrics,
      ...openCertificates({
        ...shared,
        cache: certificateCache,
        brokerCache,
        brokers,
        runtimes,
        timeoutMs,
      }),
      clients,
      clientControl,
      messages,
      accessControl,
      streams: streamService,
      bridges: bridgeService,
      topics,
      ...clusters.connect({ runtimes, access: accessControl, clients, topics, streams: streamService }),
    };
    return {
      storage,
      services,
      cloudBrokers,
      mqttRefusals,
      brokerCache,
      certificateCache,
      streamHosting: streams.hosting,
      bridgeHosting: bridges.hosting,
      startHosting: () => {
        for (const hosting of hostings) hosting.start(runtimes);
        clusters.start();
      },
      signIn,
      checkSecretKey: () => checkSecretKey(db, sealer, log),
      runAsOperator: asOperator(db, services),
      close: closers.close,
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}
