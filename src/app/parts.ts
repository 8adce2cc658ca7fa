import { join } from 'node:path';
import type { Logger } from 'pino';
import type { HistoryThread } from '../data-plane/history/hosting/history-thread.ts';
import { AccessControlService } from '../domains/access-control/access-control-service.ts';
import { AccountCopies } from '../domains/access-control/account-copies.ts';
import { PasswordCopies } from '../domains/access-control/writing/password-copies.ts';
import { AuditService } from '../domains/audit/audit-service.ts';
import { Bridges } from '../domains/bridges/bridges.ts';
import type { BrokerRecord } from '../domains/brokers/broker-cache.ts';
import { BrokerMetricsService } from '../domains/brokers/broker-metrics-service.ts';
import { CertificateService } from '../domains/certificates/certificate-service.ts';
import { CertificateDeployer } from '../domains/certificates/deployment/certificate-deployer.ts';
import type { ClientGroups } from '../domains/clients/client-groups.ts';
import { openClients } from '../domains/clients/clients.ts';
import { openClusters } from '../domains/clusters/clusters.ts';
import { ClientEventService } from '../domains/history/client-events/client-event-service.ts';
import { earlierRefusalsOf, eventHistoryOf } from '../domains/history/client-events/client-events.ts';
import { EventRecorder } from '../domains/history/client-events/event-recorder.ts';
import { TrafficService } from '../domains/history/traffic/traffic-service.ts';
import { JobService } from '../domains/jobs/job-service.ts';
import { JobStore } from '../domains/jobs/job-store.ts';
import { MessageService } from '../domains/messages/message-service.ts';
import { openPublished } from '../domains/messages/published-messages.ts';
import { openNotifications } from '../domains/notifications/notifications.ts';
import { ProblemService } from '../domains/problems/problem-service.ts';
import { ProjectService } from '../domains/projects/project-service.ts';
import { RefusalService } from '../domains/refusals/refusal-service.ts';
import { SecretRotator } from '../domains/secrets/secret-rotation.ts';
import { SignIn } from '../domains/sign-in/sign-in.ts';
import { Streams } from '../domains/streams/streams.ts';
import { TokenService } from '../domains/tokens/token-service.ts';
import { TopicTrees } from '../domains/topic-tree/topic-trees.ts';
import { OrganizationService } from '../domains/users/organization-service.ts';
import { OwnershipLimit } from '../domains/users/ownership-limit.ts';
import { UserService } from '../domains/users/user-service.ts';
import { DEFAULT_LIMITS } from '../gateway/graphql/limits.ts';
import type { Closers } from '../platform/closers.ts';
import type { Config } from '../platform/config/config.ts';
import { HostedCalls } from '../protocol/hosting/hosted-calls.ts';
import type { Placement } from '../protocol/hosting/placement/placement.ts';
import { MIB, openBrokers } from './brokers.ts';
import { type Foundation, openFoundation } from './foundation.ts';
import { openHistory, openMetricsHistory } from './history.ts';
import { openProcesses } from './processes.ts';

type WorkerName = 'embeddedWorker' | 'streamWorker' | 'bridgeWorker' | 'topicWorker' | 'historyWorker';

/** The compiled workers are by default next to their modules. Tests run from the sources and name others. */
export interface ServiceOptions extends Readonly<Partial<Record<WorkerName, URL>>> {
  readonly log: Logger;
}

export type Parts = Awaited<ReturnType<typeof openParts>>;

/**
 * Creates every part, each after those that it uses. No port is open, no broker is connected, and nothing runs by
 * itself. The command line uses parts without starting them. Errors: IN_USE (another process owns the data folder).
 */
export async function openParts(config: Config, options: ServiceOptions, closers: Closers) {
  const foundation = await openFoundation(config, options.log, closers);
  const people = await openPeople(foundation);
  const { storage, sealer, caches } = foundation;
  const { db, changes } = storage;
  const calls = openCalls(foundation);
  const { embeddedWorker } = options;
  const history = openHistory(foundation, options.historyWorker);
  const fleet = openBrokers(foundation, { audit: people.audit, calls, embeddedWorker });
  const processes = openProcesses(foundation, fleet);
  const { placement } = processes;
  const features = openFeatures(foundation, fleet, { ...options, calls, placement, history });
  const { audit, signIn, users, ownership, organizations, tokens } = people;
  const { brokers, brokerTests, cloudBrokers, runtimes, mqttRefusals, unreadLogLines } = fleet;
  const { streams, bridges, topicTrees, clusters, ...services } = features;
  const problems = closers.keep(new ProblemService({ db, changes, projects: caches.projects, log: options.log }));
  await problems.load();
  const notifications = openNotifications({
    ...config,
    ...caches,
    storage,
    sealer,
    problems,
    publishing: services.publishing,
    openSchema: () => import('./schema.ts').then(({ schema }) => schema),
    limits: { ...DEFAULT_LIMITS, cost: config.maxQueryCost, depth: config.maxQueryDepth },
    log: options.log,
  });
  const all = {
    ...services,
    history,
    ...signIn.services,
    ...clusters.services,
    audit,
    secrets: new SecretRotator({ db, sealer, audit }),
    processes: processes.service,
    problems,
    ...notifications.services,
    users,
    organizations,
    tokens,
    projects: new ProjectService({
      db,
      changes,
      cache: caches.projects,
      users,
      ownership,
      strictRoles: config.strictRoles,
      // The database deleted the rows of the project's brokers. This closes their runtimes.
      afterRemove: (projectId) => brokers.projectRemoved(projectId),
    }),
    brokers,
    brokerTests,
    cloudBrokers,
    runtimes,
    streams: streams.service,
    bridges: bridges.service,
    bridgeTests: bridges.tests,
    topics: topicTrees.service,
  };
  const hosted = { streams, bridges, topicTrees };
  return {
    services: all,
    storage,
    sealer,
    caches,
    signIn,
    mqttRefusals,
    unreadLogLines,
    ...hosted,
    clusters,
    processes,
    history,
    notifications: notifications.runner,
  };
}

/** Who uses the service and what they did: users, organizations, signing in, tokens, and the audit log. */
async function openPeople(foundation: Foundation) {
  const { config, log, closers, storage, sealer, caches } = foundation;
  const { dataDir, auditRetentionDays: retentionDays } = config;
  const { db, engine, leases, changes } = storage;
  const audit = closers.keep(new AuditService({ db, engine, leases, sealer, dataDir, retentionDays, ...caches, log }));
  await audit.start();
  const signIn = await SignIn.open({ ...foundation, audit, projects: caches.projects });
  const users = new UserService({ db, changes, signInMethods: signIn.methods });
  const ownership = new OwnershipLimit({ db, limit: config.maxProjectsPerUser });
  const organizations = new OrganizationService({ db, changes, users, ownership });
  return { audit, signIn, users, ownership, organizations, tokens: new TokenService({ db, changes }) };
}

/** Calls between the processes on one database; `null` with SQLite, where there is only one. */
function openCalls({ config, log, closers, storage, sealer }: Foundation): HostedCalls | null {
  const { db, changes, engine } = storage;
  if (engine === 'sqlite') return null;
  return closers.keep(new HostedCalls({ db, changes, sealer, timeoutMs: config.brokerTimeoutMs, log }));
}

interface FeaturesOptions extends ServiceOptions {
  readonly placement: Placement;
  readonly calls: HostedCalls | null;
  readonly history: HistoryThread;
}

/** What users do with brokers: clients, messages, access control, streams, bridges, topics, clusters, certificates. */
function openFeatures(
  { config, log, closers, storage, sealer, caches }: Foundation,
  fleet: ReturnType<typeof openBrokers>,
  { streamWorker, bridgeWorker, topicWorker, placement, calls, history }: FeaturesOptions,
) {
  const { dataDir, databaseUrl, brokerTimeoutMs: timeoutMs } = config;
  const { runtimes, membership, contactNodes, clusterStore } = fleet;
  const { brokers, projects } = caches;
  const ofBrokers = { runtimes, brokers };
  const supportOf = (feature: string) => ({
    requireSupport: (broker: BrokerRecord) => membership.requireSupport(broker, feature),
  });

  const metrics = closers.keep(new BrokerMetricsService(ofBrokers));
  const metricsHistory = openMetricsHistory({ history, metrics, runtimes, placement, closers });
  // Access control uses the clients, so it exists only after them.
  const groups: ClientGroups = { find: (broker, groupName) => accessControl.group(broker, groupName) };
  const { clients, clientControl, own } = openClients({ ...ofBrokers, groups, closers });
  const messages = closers.keep(new MessageService({ ...ofBrokers, ...supportOf('a tail'), timeoutMs }));
  const events = eventHistoryOf(history);
  const refusals = closers.keep(
    new RefusalService({
      ...ofBrokers,
      ...supportOf('a list of refusals'),
      earlier: earlierRefusalsOf(events, sealer, (err) => log.warn({ err }, 'earlier refusals cannot be read')),
      onFault: (err) => log.error({ err }, 'refusals cannot be followed'),
    }),
  );
  const accessControl = closers.keep(new AccessControlService({ ...ofBrokers, clients, log }));
  const passwordCopies = new PasswordCopies({ runtimes, sealer });
  const { db, changes } = storage;
  const jobs = new JobStore({ db, changes, log });
  const jobService = closers.keep(new JobService({ store: jobs, changes, brokers: fleet.brokers, log }));
  const ofMessages = { ...ofBrokers, storage, jobs, access: accessControl, supportOf, timeoutMs, closers, log };
  const published = openPublished(ofMessages);

  const hosting = { ...ofBrokers, storage, placement, calls, log };
  const streamFolder = join(dataDir, 'streams');
  const streams = closers.keep(
    new Streams({
      ...hosting,
      jobs,
      place: databaseUrl === undefined ? { folder: streamFolder } : { databaseUrl, formerFolder: streamFolder },
      maxBytes: config.streamStorageMaxMb * MIB,
      workerUrl: streamWorker,
    }),
  );
  const bridges = closers.keep(
    new Bridges({
      ...hosting,
      sealer,
      rules: {
        allowedHosts: config.brokerAllowedHosts,
        inside: 'NONE',
        storageMaxBytes: config.bridgeStorageMaxMb * MIB,
      },
      isOwnBroker: fleet.isOwnBroker,
      testLimit: fleet.testLimit,
      timeoutMs,
      ...supportOf('a bridge'),
      folder: join(dataDir, 'bridges'),
      databaseUrl,
      workerUrl: bridgeWorker,
    }),
  );
  const topicTrees = closers.keep(
    new TopicTrees({
      ...hosting,
      projects,
      payloadsOf: fleet.topicPayloads,
      nodesOf: membership.topicNodesOf,
      maxBytes: config.topicTreeMaxMb * MIB,
      workerUrl: topicWorker,
    }),
  );
  const clusters = closers.keep(
    openClusters({
      ...ofBrokers,
      storage,
      sealer,
      cache: caches.clusters,
      membership,
      contactNodes,
      store: clusterStore,
      projects,
      access: accessControl,
      passwordCopies,
      clients,
      topics: topicTrees.service,
      streams: streams.service,
      bridgeApis: bridges.apis,
      timeoutMs,
      log,
    }),
  );
  closers.keep(
    new EventRecorder({
      ...ofBrokers,
      history: events,
      sealer,
      placement,
      clients,
      refusals,
      isOwn: (clientId) => own.has(clientId),
      onFault: (err) => log.error({ err }, 'events of clients cannot be recorded'),
    }),
  );
  const { certificates: cache } = caches;
  return {
    metrics,
    clientEvents: new ClientEventService(events, db, sealer),
    metricsHistory,
    traffic: new TrafficService(runtimes),
    jobs: jobService,
    clients,
    clientControl,
    messages,
    ...published,
    refusals,
    accessControl,
    accountCopies: new AccountCopies({ access: accessControl, passwordCopies }),
    certificates: new CertificateService({ db, cache, brokers, sealer }),
    certificateDeployer: new CertificateDeployer({
      storage,
      cache,
      brokers: fleet.brokers,
      runtimes,
      sealer,
      timeoutMs,
    }),
    streams,
    bridges,
    topicTrees,
    clusters,
  };
}
