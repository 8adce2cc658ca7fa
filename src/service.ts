import { join } from 'node:path';
import type { Logger } from 'pino';
import { AccessControlService } from './access-control/access-control-service.ts';
import { AuthService } from './auth/auth-service.ts';
import type { Viewer } from './auth/viewer.ts';
import { BrokerDirectory } from './brokers/broker-directory.ts';
import { BrokerMetricsService } from './brokers/broker-metrics-service.ts';
import { BrokerRuntimes } from './brokers/broker-runtimes.ts';
import { BrokerService } from './brokers/broker-service.ts';
import { CloudBrokers } from './brokers/cloud-brokers.ts';
import { licensePlugin } from './brokers/license-plugin.ts';
import { ClientService } from './clients/client-service.ts';
import { clientControlPlugin } from './clients/control/client-control-plugin.ts';
import { ClientControlService } from './clients/control/client-control-service.ts';
import { inspectPlugin } from './clients/inspect/inspect-plugin.ts';
import { OwnConnections } from './clients/own-connections.ts';
import type { Config } from './config.ts';
import type { RequestContext } from './context.ts';
import { contextMaker } from './context-maker.ts';
import { forOrigins } from './cross-origin.ts';
import { ensureFirstBroker, mqttReport, unusedPorts } from './first-broker.ts';
import { DEFAULT_LIMITS } from './graphql/limits.ts';
import { compileOperation } from './graphql/operations.ts';
import { schema } from './graphql/schema.ts';
import { createGraphqlServer } from './graphql/server.ts';
import { startHttpServer } from './http-server.ts';
import { MessageService } from './messages/message-service.ts';
import { Metrics } from './metrics.ts';
import { openOperatorDoor, type RunOperation } from './operator-door.ts';
import { ProjectDirectory } from './projects/project-directory.ts';
import { ProjectService } from './projects/project-service.ts';
import { apiRoutes } from './rest/api-routes.ts';
import { authorizeRoute } from './rest/authorize.ts';
import { apiDocuments } from './rest/documents.ts';
import { createRestServer } from './rest/router.ts';
import type { Services } from './services.ts';
import { openSealer } from './storage/sealed.ts';
import { openStorage, type Storage } from './storage/storage.ts';
import { StreamHosting } from './streams/hosting/stream-hosting.ts';
import { WorkerEngines } from './streams/hosting/worker-engines.ts';
import { StreamService } from './streams/stream-service.ts';
import { TokenService } from './tokens/token-service.ts';
import { OrganisationService } from './users/organisation-service.ts';
import { UserService } from './users/user-service.ts';
import { VERSION } from './version.ts';

export interface ServiceParts {
  readonly log: Logger;
  /** Compiled worker of the embedded broker, where it is not beside its module (tests run from the sources). */
  readonly embeddedWorker?: URL;
  /** Compiled worker of the streams beside brokers, likewise. */
  readonly streamWorker?: URL;
}

/** What the start message tells. */
export interface StartReport {
  readonly url: string;
  readonly mqtt: {
    readonly url: string;
    readonly wsUrl: string | null;
    readonly username: string;
    readonly passwordFile: string;
  } | null;
  /** The listener's port was taken, so another one is used. */
  readonly mqttPortWanted: number | null;
  /** Settings of ports that the first broker was made without, `MQTT_PORT=1884`; it keeps those that it has. */
  readonly unusedPorts: readonly string[];
  /** Only when it was generated just now. */
  readonly rootPassword: { readonly email: string; readonly generated: string } | null;
}

export interface RunningService {
  readonly port: number;
  readonly report: StartReport;
  readonly services: Services;
  readonly storage: Storage;
  close(): Promise<void>;
}

/** Everything that works without a network: storage, services, and operations on the graph as the operator. */
export interface ServiceCore {
  readonly storage: Storage;
  readonly services: Services;
  readonly cloudBrokers: CloudBrokers;
  readonly brokerDirectory: BrokerDirectory;
  readonly streamHosting: StreamHosting;
  readonly runAsOperator: RunOperation;
  close(): Promise<void>;
}

/** Collects what has to be undone, last opened first; a failure half-way and a stop take the same road. */
class Closers {
  readonly #closers: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  readonly close = async (): Promise<void> => {
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) await close();
  };
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
  { log, embeddedWorker, streamWorker }: ServiceParts,
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
    await Promise.all([projectDirectory.load(), brokerDirectory.load()]);

    const rules = { filesDir: config.brokerFilesDir, allowedHosts: config.brokerAllowedHosts };
    const auth = new AuthService({ db, changes, log });
    closers.add(() => auth.close());
    projectDirectory.onRemove(({ id }) => auth.projectRemoved(id));
    const users = new UserService({ db, changes });
    const brokers = new BrokerService({ db, changes, directory: brokerDirectory, sealer, rules });
    const streamStorageBytes = config.streamStorageMaxMb * 1_048_576;
    const streamsFolder = join(dataDir, 'streams');
    const engines = new WorkerEngines({
      folder: streamsFolder,
      maxBytes: streamStorageBytes,
      workerUrl: streamWorker,
      log,
    });
    closers.add(() => engines.close());
    const streamHosting = new StreamHosting({
      storage,
      brokers: brokerDirectory,
      engines,
      folder: streamsFolder,
      timeoutMs: config.brokerTimeoutMs,
      log,
    });
    closers.add(() => streamHosting.close());
    await streamHosting.load();
    const runtimes = new BrokerRuntimes({
      directory: brokerDirectory,
      sealer,
      rules,
      timeoutMs: config.brokerTimeoutMs,
      maxLinks: config.maxBrokerLinks,
      beside: (link) => {
        const { plugins, clientIds } = streamHosting.beside(link);
        return { plugins: [inspectPlugin, clientControlPlugin, licensePlugin, ...plugins], clientIds };
      },
      log,
    });
    closers.add(() => runtimes.close());
    const metrics = new BrokerMetricsService({ runtimes, directory: brokerDirectory });
    closers.add(() => metrics.close());
    const own = new OwnConnections(runtimes);
    const clients = new ClientService({ runtimes, directory: brokerDirectory, own });
    closers.add(() => clients.close());
    const messages = new MessageService({ runtimes, directory: brokerDirectory, timeoutMs: config.brokerTimeoutMs });
    closers.add(() => messages.close());
    const accessControl = new AccessControlService({ runtimes, clients });
    closers.add(() => accessControl.close());
    const streams = new StreamService({
      runtimes,
      directory: brokerDirectory,
      onFault: (error) => log.error({ err: error }, 'streams could not be followed'),
    });
    closers.add(() => streams.close());
    const cloudBrokers = new CloudBrokers({
      db,
      brokers,
      directory: brokerDirectory,
      sealer,
      dataDir,
      host: config.mqttHost,
      workerUrl: embeddedWorker,
      streamStorageBytes,
      log,
    });
    const services: Services = {
      auth,
      users,
      organisations: new OrganisationService({ db, changes, users }),
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
      runtimes,
      metrics,
      clients,
      clientControl: new ClientControlService({ runtimes, clients, own }),
      messages,
      accessControl,
      streams,
    };
    const operator: RequestContext = { viewer: OPERATOR, requestId: 'operator', address: 'operator', db, services };
    return {
      storage,
      services,
      cloudBrokers,
      brokerDirectory,
      streamHosting,
      runAsOperator: async (document, variables) => compileOperation(schema, document).execute(operator, variables),
      close: closers.close,
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** Builds, wires and starts everything; answers when HTTP listens and the brokers run here are up. */
export async function startService(config: Config, parts: ServiceParts): Promise<RunningService> {
  const closers = new Closers();
  const { log } = parts;
  try {
    const core = await startCore(config, parts);
    closers.add(core.close);
    const { services, storage, cloudBrokers, brokerDirectory, streamHosting, runAsOperator } = core;
    // Before anything is made: a start that a taken port stops must not have used up what is shown once.
    const { host, port, maxConnections } = config;
    const onFull = () => log.warn({ maxConnections }, 'connections are refused: there are as many as MAX_CONNECTIONS');
    const http = await startHttpServer({ host, port, maxConnections, onFull });
    closers.add(http.close);
    const rootPassword = await services.users.ensureRootAdmin(config.rootEmail, config.rootPassword);
    const first = config.embeddedBroker ? await ensureFirstBroker(config, core) : null;
    if (config.embeddedBroker) {
      closers.add(() => cloudBrokers.close());
      await cloudBrokers.start();
    } else if (storage.engine === 'sqlite') {
      // On PostgreSQL another process may run them.
      await cloudBrokers.noteStopped();
    }
    // Before the brokers that run here: their end is no news of a lost connection.
    closers.add(() => services.runtimes.close());
    streamHosting.start(services.runtimes);
    await services.runtimes.start();

    const contextFor = contextMaker(services, storage.db, config);
    const graphql = createGraphqlServer({
      schema,
      contextFor,
      log,
      limits: { ...DEFAULT_LIMITS, cost: config.maxQueryCost, depth: config.maxQueryDepth },
      introspection: config.introspection,
      maxBodyBytes: config.maxBodyBytes,
      corsOrigins: config.corsOrigins,
    });
    const rest = createRestServer<RequestContext>({
      routes: apiRoutes,
      schema,
      contextFor,
      authorize: authorizeRoute,
      compileOperation,
      log,
      maxBodyBytes: config.maxBodyBytes,
      tokenInQuery: config.tokenInQuery,
      documents: apiDocuments(apiRoutes, { version: VERSION }),
    });
    const metrics = new Metrics({
      brokers: function* () {
        for (const { id } of brokerDirectory.all()) yield { isConnected: services.runtimes.isConnected(id) };
      },
      subscriptions: () => services.auth.guardCount,
      streams: () =>
        services.streams.totals(
          brokerDirectory.all().filter(({ id }) => streamHosting.runs(id) || cloudBrokers.runningPorts(id) !== null),
        ),
    });
    http.serve({
      graphql,
      rest: forOrigins(config.corsOrigins, 'GET, HEAD, POST, PUT, DELETE', rest),
      metrics,
      ready: () => storage.ping(),
      log,
    });
    closers.add(http.close);
    // First of all: the HTTP server waits for every socket, and a WebSocket would never leave by itself.
    closers.add(() => graphql.close());
    const door = await openOperatorDoor(config.dataDir, runAsOperator);
    closers.add(door.close);

    const ports = first && cloudBrokers.runningPorts(first.id);
    return {
      port: http.port,
      services,
      storage,
      report: {
        url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${http.port}`,
        mqtt: first && ports && mqttReport(config, first.id, ports),
        mqttPortWanted: ports && first.mqttPort !== 0 && first.mqttPort !== ports.mqtt ? first.mqttPort : null,
        unusedPorts: first ? unusedPorts(config, first) : [],
        rootPassword,
      },
      close: closers.close,
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}
