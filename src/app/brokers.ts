import { hostname } from 'node:os';
import type { AuditService } from '../domains/audit/audit-service.ts';
import { BrokerRuntimes } from '../domains/brokers/broker-runtimes.ts';
import { BrokerService } from '../domains/brokers/broker-service.ts';
import { BrokerTests } from '../domains/brokers/broker-tests.ts';
import { leadsToOwnBroker } from '../domains/brokers/own-listeners.ts';
import { clientControlPlugin } from '../domains/clients/control/client-control-plugin.ts';
import { inspectPluginFactory } from '../domains/clients/inspect/inspect-plugin.ts';
import { UnreadLogLines } from '../domains/clients/unread-log-lines.ts';
import { ClusterMembership } from '../domains/clusters/cluster-membership.ts';
import { ClusterStore } from '../domains/clusters/cluster-store.ts';
import { ContactNodes } from '../domains/clusters/contact-nodes.ts';
import { refusalsPlugin } from '../domains/refusals/refusals-plugin.ts';
import { topicPayloadsOf } from '../domains/topic-tree/hosting/topic-payloads.ts';
import { CloudBrokers } from '../engines/cloud-brokers/cloud-brokers.ts';
import { CloudEngines } from '../engines/cloud-brokers/cloud-engines.ts';
import { embeddedSettingsOf } from '../engines/cloud-brokers/embedded-settings.ts';
import { MqttRefusals } from '../engines/cloud-brokers/mqtt-refusals.ts';
import type { Config } from '../platform/config/config.ts';
import { TestLimit } from '../platform/limits/test-limit.ts';
import { licensePlugin } from '../protocol/apis/license.ts';
import type { HostedCalls } from '../protocol/hosting/hosted-calls.ts';
import { connectionAttempts } from '../protocol/mqtt/connection-attempts.ts';
import type { Foundation } from './foundation.ts';

export const MIB = 1_048_576;

/** Whether this process runs the brokers of its data folder. */
export const runsBrokers = ({ embeddedBroker, role }: Config): boolean => embeddedBroker && role !== 'api';

interface BrokersOptions {
  readonly audit: AuditService;
  readonly calls: HostedCalls | null;
  readonly embeddedWorker: URL | undefined;
}

/** The brokers: their rows, those that this service runs, and the links to all of them. Nothing is connected yet. */
export function openBrokers(foundation: Foundation, { audit, calls, embeddedWorker }: BrokersOptions) {
  const { config, log, closers, storage, folderId, sealer, caches } = foundation;
  const { dataDir, brokerTimeoutMs: timeoutMs } = config;
  const { db, changes, leases, engine: databaseEngine } = storage;
  const { projects, brokers: brokerCache, clusters: cache } = caches;
  const membership = new ClusterMembership({ cache, brokers: brokerCache, projects });
  const contactNodes = new ContactNodes({ cache, brokers: brokerCache });
  const isOwnBroker = leadsToOwnBroker(brokerCache);
  const inside = 'NONE' as const;
  const rules = { filesDir: config.brokerFilesDir, allowedHosts: config.brokerAllowedHosts, inside, isOwnBroker };
  const brokers = new BrokerService({
    db,
    changes,
    brokers: brokerCache,
    sealer,
    rules,
    maxPerProject: config.maxBrokersPerProject,
    clusterOf: membership.clusterOf,
  });
  const testLimit = new TestLimit();
  const brokerTests = new BrokerTests({ brokers, sealer, rules, timeoutMs, limit: testLimit });
  const clusterStore = new ClusterStore({ db, cache, brokers });
  const topicPayloads = (brokerId: string) => topicPayloadsOf(brokerId, brokerCache, projects);
  const mqttRefusals = new MqttRefusals({ brokerCache: brokerCache, audit, log });
  const cloudBrokers = new CloudBrokers({
    leases,
    db,
    brokers,
    brokerCache: brokerCache,
    sealer,
    engines: new CloudEngines({
      host: config.mqttHost,
      advertisedHost: config.mqttAdvertisedHost,
      workerUrl: embeddedWorker,
      streamStorageBytes: config.streamStorageMaxMb * MIB,
      topicTreeBytes: config.topicTreeMaxMb * MIB,
      settingsOf: (id) => embeddedSettingsOf(id, topicPayloads(id), brokerCache),
      refusals: mqttRefusals,
      mosquitto: {
        binary: config.mosquittoBinary,
        plugin: config.mosquittoDynsecPlugin,
        searchPath: process.env.PATH ?? '',
      },
      log,
    }),
    databaseEngine,
    calls,
    dataDir,
    folderId,
    isRunner: runsBrokers(config),
    maxBrokers: config.maxCloudBrokers,
    maxPerProject: config.maxCloudBrokersPerProject,
    log,
  });
  connectionAttempts.setMaximum(config.maxConnectionAttempts);
  const runtimes = closers.keep(
    new BrokerRuntimes({
      brokers: brokerCache,
      sealer,
      rules,
      timeoutMs,
      maxLinks: config.maxBrokerLinks,
      ownerOf: (projectId) => {
        const project = projects.get(projectId);
        return project?.ownerUserId ?? project?.ownerOrganizationId ?? projectId;
      },
      standInOf: contactNodes.resolve,
      host: hostname(),
      log,
    }),
  );
  const unreadLogLines = new UnreadLogLines();
  runtimes.onRuntime(({ id }, change) => {
    if (change === 'CLOSING') unreadLogLines.remove(id);
  });
  runtimes.addPlugins(({ id }) => ({
    plugins: [
      inspectPluginFactory({ onUnreadLine: () => unreadLogLines.add(id) }),
      clientControlPlugin,
      refusalsPlugin,
      licensePlugin,
    ],
    clientIds: [],
  }));
  runtimes.addPlugins(({ id }) => cloudBrokers.pluginsFor(id));
  return {
    membership,
    contactNodes,
    clusterStore,
    isOwnBroker,
    topicPayloads,
    brokers,
    brokerTests,
    testLimit,
    cloudBrokers,
    mqttRefusals,
    unreadLogLines,
    runtimes,
  };
}
