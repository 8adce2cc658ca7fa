import { join } from 'node:path';
import type { Logger } from 'pino';
import { AccessControlService } from './access-control/access-control-service.ts';
import { AuditService } from './audit/audit-service.ts';
import { AuthService } from './auth/auth-service.ts';
import type { Viewer } from './auth/viewer.ts';
import { BridgeService } from './bridges/bridge-service.ts';
import { BridgeHosting } from './bridges/hosting/bridge-hosting.ts';
import { BRIDGE_KINDS } from './bridges/hosting/bridge-kinds.ts';
import { BridgeThread } from './bridges/hosting/bridge-thread.ts';
import { BrokerDirectory } from './brokers/broker-directory.ts';
import { BrokerMetricsService } from './brokers/broker-metrics-service.ts';
import { BrokerRuntimes } from './brokers/broker-runtimes.ts';
import { BrokerService } from './brokers/broker-service.ts';
import { licensePlugin } from './brokers/license-plugin.ts';
import { CertificateDirectory } from './certificates/certificate-directory.ts';
import { CertificateService } from './certificates/certificate-service.ts';
import { CertificateDeployer } from './certificates/deployment/certificate-deployer.ts';
import { CertificateExpiry } from './certificates/expiry/certificate-expiry.ts';
import { ListenerService } from './certificates/listener-service.ts';
import { ClientService } from './clients/client-service.ts';
import { clientControlPlugin } from './clients/control/client-control-plugin.ts';
import { ClientControlService } from './clients/control/client-control-service.ts';
import { inspectPlugin } from './clients/inspect/inspect-plugin.ts';
import { OwnConnections } from './clients/own-connections.ts';
import { Closers } from './closers.ts';
import { CloudBrokers } from './cloud-brokers/cloud-brokers.ts';
import { CloudEngines } from './cloud-brokers/cloud-engines.ts';
import { Clusters } from './clusters/clusters.ts';
import type { Config } from './config.ts';
import type { RequestContext } from './context.ts';
import { compileOperation } from './graphql/operations.ts';
import { schema } from './graphql/schema.ts';
import { allBeside } from './hosting/beside.ts';
import { HostedCalls } from './hosting/hosted-calls.ts';
import { MessageService } from './messages/message-service.ts';
import type { RunOperation } from './operator-door.ts';
import { ProjectDirectory } from './projects/project-directory.ts';
import { ProjectService } from './projects/project-service.ts';
import type { Services } from './services.ts';
import { SignInRuleService } from './sign-in/rules/sign-in-rule-service.ts';
import { SignIn } from './sign-in/sign-in.ts';
import { SignInService } from './sign-in/sign-in-service.ts';
import { openSealer } from './storage/sealed.ts';
import { openStorage, type Storage } from './storage/storage.ts';
import { StreamHosting } from './streams/hosting/stream-hosting.ts';
import { WorkerEngines } from './streams/hosting/worker-engines.ts';
import { StreamService } from './streams/stream-service.ts';
import { TokenService } from './tokens/token-service.ts';
import { KeptPayloads } from './topic-tree/hosting/kept-payloads.ts';
import { TopicThread } from './topic-tree/hosting/topic-thread.ts';
import { TopicTreeHosting } from './topic-tree/hosting/topic-tree-hosting.ts';
import { TopicService } from './topic-tree/topic-service.ts';
import { OrganisationService } from './users/organisation-service.ts';
import { UserService } from './users/user-service.ts';

export interface ServiceParts {
  readonly log: Logger;
  /** Compiled worker of the embedded broker, where it is not beside its module (tests run from the sources). */
  readonly embeddedWorker?: URL;
  /** Compiled worker of the streams beside brokers, likewise. */
  readonly streamWorker?: URL;
  /** That of the bridges beside brokers, likewise. */
  readonly bridgeWorker?: URL;
  /** That of the recorders of topics beside brokers, likewise. */
  readonly topicWorker?: URL;
}

/** Everything that works without a network: storage, services, and operations on the graph as the operator. */
export interface ServiceCore {
  readonly storage: Storage;
  readonly services: Services;
  readonly cloudBrokers: CloudBrokers;
  readonly brokerDirectory: BrokerDirectory;
  readonly certificateDirectory: CertificateDirectory;
  readonly streamHosting: StreamHosting;
  readonly bridgeHosting: BridgeHosting;
  readonly topicTreeHosting: TopicTreeHosting;
  readonly clusters: Clusters;
  readonly signIn: SignIn;
  readonly runAsOperator: RunOperation;
  close(): Promise<void>;
}

/** The operator of the machine: whoever owns the data folder. */
const OPERATOR: Viewer = {
  kind: 'OPERATOR',
  id: 'operator',
  name: 'operator',
  credentialId: 'operator',
  expiresAt: Number.POSITIVE_INFINITY,
  isRootAdmin: true,
  projectRoles: new Map(),
  brokers: null,
};

/** Errors: ServiceError IN_USE when another process owns the data folder. */
export async function startCore(
  config: Config,
  { log, embeddedWorker, streamWorker, bridgeWorker, topicWorker }: ServiceParts,
): Promise<ServiceCore> {
  const closers = new Closers();
  try {
    const { dataDir, databaseUrl, secretKey } = config;
    const storage = await openStorage({ dataDir, databaseUrl, log });
    closers.add(() => storage.close());
    const { db, changes } = storage;
    const sealer = openSealer({ dataDir, secretKey });

    const projectDirectory = new ProjectDirectory({ db, changes, log });
    closers.add(() => projectDirectory.close());
    const brokerDirectory = new BrokerDirectory({ db, changes, log });
    closers.add(() => brokerDirectory.close());
    const certificateDirectory = new CertificateDirectory({ db, changes, log });
    closers.add(() => certificateDirectory.close());
    await Promise.all([projectDirectory.load(), brokerDirectory.load(), certificateDirectory.load()]);
    projectDirectory.onRemove(({ id }) => certificateDirectory.projectRemoved(id));

    const audit = new AuditService({
      db,
      sealer,
      dataDir,
      retentionDays: config.auditRetentionDays,
      projects: projectDirectory,
      brokers: brokerDirectory,
      certificates: certificateDirectory,
      log,
    });
    closers.add(() => audit.close());
    await audit.start();

    const rules = { filesDir: config.brokerFilesDir, allowedHosts: config.brokerAllowedHosts };
    const onlyEmail = config.localLogin ? null : config.rootEmail;
    const signIn = new SignIn({ storage, sealer, config, audit, log });
    closers.add(() => signIn.checks.close());
    const auth = new AuthService({ db, changes, sealer, log, onlyEmail, directory: signIn.directory });
    closers.add(() => auth.close());
    projectDirectory.onRemove(({ id }) => auth.projectRemoved(id));
    const users = new UserService({ db, changes });
    const brokers = new BrokerService({
      db,
      changes,
      directory: brokerDirectory,
      sealer,
      rules,
      clusterOf: (brokerId) => clusters.around(brokerId),
    });
    const streamStorageBytes = config.streamStorageMaxMb * 1_048_576;
    const streamsFolder = join(dataDir, 'streams');
    const engines = new WorkerEngines({
      folder: streamsFolder,
      maxBytes: streamStorageBytes,
      workerUrl: streamWorker,
      log,
    });
    closers.add(() => engines.close());
    const timeoutMs = config.brokerTimeoutMs;
    const calls = storage.engine === 'postgresql' ? new HostedCalls({ db, changes, sealer, timeoutMs, log }) : null;
    closers.add(() => calls?.close());
    const streamHosting = new StreamHosting({
      storage,
      brokers: brokerDirectory,
      engines,
      folder: streamsFolder,
      calls,
      log,
    });
    closers.add(() => streamHosting.close());
    await streamHosting.load();
    const bridgeThread = new BridgeThread({ workerUrl: bridgeWorker, log });
    closers.add(() => bridgeThread.close());
    const { brokerAllowedHosts } = config;
    const bridgeHosting = new BridgeHosting({
      storage,
      sealer,
      kinds: BRIDGE_KINDS,
      brokers: brokerDirectory,
      thread: bridgeThread,
      rules: { allowedHosts: brokerAllowedHosts.length === 0 ? null : brokerAllowedHosts },
      folder: join(dataDir, 'bridges'),
      calls,
      log,
    });
    closers.add(() => bridgeHosting.close());
    await bridgeHosting.load();
    const topicThread = new TopicThread({ workerUrl: topicWorker, log });
    closers.add(() => topicThread.close());
    const topicTreeBytes = config.topicTreeMaxMb * 1_048_576;
    const topicPayloads = new KeptPayloads(brokerDirectory, projectDirectory);
    const topicTreeHosting = new TopicTreeHosting({
      storage,
      brokers: brokerDirectory,
      payloads: topicPayloads,
      thread: topicThread,
      maxBytes: topicTreeBytes,
      calls,
      log,
    });
    closers.add(() => topicTreeHosting.close());
    await topicTreeHosting.load();
    const cloudBrokers = new CloudBrokers({
      db,
      brokers,
      directory: brokerDirectory,
      sealer,
      engines: new CloudEngines({
        host: config.mqttHost,
        workerUrl: embeddedWorker,
        streamStorageBytes,
        topicTreeBytes,
        topicPayloads,
        redisUrl: config.redisUrl,
        mosquitto: {
          binary: config.mosquittoBinary,
          plugin: config.mosquittoDynsecPlugin,
          searchPath: process.env.PATH ?? '',
        },
        log,
      }),
      memberships: {
        of: (brokerId) => clusters.memberships.of(brokerId),
        onChange: (listener) => clusters.memberships.onChange(listener),
      },
      dataDir,
      maxBrokers: config.maxCloudBrokers,
      log,
    });
    const clusters = new Clusters({
      storage,
      sealer,
      brokers,
      brokerDirectory,
      projects: projectDirectory,
      bridgeApis: BRIDGE_KINDS.map(({ api }) => api),
      cloudBrokers,
      redisUrl: config.redisUrl,
      timeoutMs,
      log,
    });
    closers.add(() => clusters.close());
    await clusters.load();
    const runtimes = new BrokerRuntimes({
      directory: brokerDirectory,
      sealer,
      rules,
      timeoutMs: config.brokerTimeoutMs,
      maxLinks: config.maxBrokerLinks,
      beside: (link) => {
        const instead = clusters.serving.beside(link.id);
        if (instead !== null) {
          const bridges = clusters.serving.hasBridges(link.id) ? [bridgeHosting.beside(link)] : [];
          return allBeside([{ plugins: [licensePlugin], clientIds: [] }, instead, ...bridges]);
        }
        return allBeside([
          {
            plugins: [inspectPlugin, clientControlPlugin, licensePlugin, ...cloudBrokers.pluginsBeside(link.id)],
            clientIds: [],
          },
          streamHosting.beside(link),
          bridgeHosting.beside(link),
          topicTreeHosting.beside(link),
        ]);
      },
      standInOf: clusters.standInOf,
      log,
    });
    closers.add(() => runtimes.close());
    const metrics = new BrokerMetricsService({ runtimes, directory: brokerDirectory });
    closers.add(() => metrics.close());
    const own = new OwnConnections(runtimes);
    const clients = new ClientService({ runtimes, directory: brokerDirectory, own });
    closers.add(() => clients.close());
    const messages = new MessageService({
      runtimes,
      directory: brokerDirectory,
      refusalOf: (broker) => clusters.serving.refusalOf(broker, 'a tail'),
      timeoutMs: config.brokerTimeoutMs,
    });
    closers.add(() => messages.close());
    const accessControl = new AccessControlService({
      runtimes,
      clients,
      sharedOf: clusters.sharedAccessOf,
      sharedBy: clusters.keeperOf,
    });
    closers.add(() => accessControl.close());
    const streams = new StreamService({
      runtimes,
      directory: brokerDirectory,
      onFault: (error) => log.error({ err: error }, 'streams could not be followed'),
    });
    closers.add(() => streams.close());
    const bridges = new BridgeService({
      runtimes,
      directory: brokerDirectory,
      kinds: BRIDGE_KINDS,
      refusalOf: (broker) => clusters.serving.refusalOf(broker, 'a bridge'),
      onFault: (error) => log.error({ err: error }, 'bridges could not be followed'),
    });
    closers.add(() => bridges.close());
    const topics = new TopicService({
      runtimes,
      directory: brokerDirectory,
      projects: projectDirectory,
      nodesOf: (broker) => clusters.serving.topicNodesOf(broker),
      onFault: (error) => log.error({ err: error }, 'topics could not be followed'),
    });
    closers.add(() => topics.close());
    const { service: clusterService, live: clusterLive } = clusters.connect({
      runtimes,
      access: accessControl,
      clients,
      topics,
      streams,
    });
    const certificates = new CertificateService({
      db,
      directory: certificateDirectory,
      brokers: brokerDirectory,
      sealer,
    });
    const certificateExpiry = new CertificateExpiry({ directory: certificateDirectory, log });
    closers.add(async () => certificateExpiry.close());
    const services: Services = {
      audit,
      auth,
      users,
      organisations: new OrganisationService({ db, changes, users }),
      signIn: new SignInService({
        db,
        attempts: signIn.attempts,
        sessions: auth.sessions,
        checks: signIn.checks,
        offers: { local: config.localLogin, ldap: signIn.directory !== null, openIdConnect: signIn.oidc !== null },
      }),
      signInRules: new SignInRuleService({
        db,
        changes,
        groupsClaims: { sso: config.oidcGroupsClaim, ldap: 'groups' },
      }),
      projects: new ProjectService({
        db,
        changes,
        directory: projectDirectory,
        users,
        // The rows of its brokers went with it; this ends what runs for them.
        afterRemove: (projectId) => brokers.projectRemoved(projectId),
      }),
      tokens: new TokenService({ db, changes }),
      brokers,
      cloudBrokers,
      runtimes,
      metrics,
      certificates,
      certificateDeployer: new CertificateDeployer({
        storage,
        directory: certificateDirectory,
        brokers,
        runtimes,
        sealer,
        timeoutMs: config.brokerTimeoutMs,
      }),
      certificateExpiry,
      listeners: new ListenerService(runtimes, certificates),
      clients,
      clientControl: new ClientControlService({ runtimes, clients, own }),
      messages,
      accessControl,
      streams,
      bridges,
      topics,
      clusters: clusterService,
      clusterLive,
    };
    const operator: RequestContext = {
      viewer: OPERATOR,
      requestId: 'operator',
      address: 'operator',
      via: 'OPERATOR',
      db,
      services,
    };
    return {
      storage,
      services,
      cloudBrokers,
      brokerDirectory,
      certificateDirectory,
      streamHosting,
      bridgeHosting,
      topicTreeHosting,
      clusters,
      signIn,
      runAsOperator: async (document, variables) => compileOperation(schema, document).execute(operator, variables),
      close: closers.close,
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}
