import { setTimeout as delay } from 'node:timers/promises';
import { checkSecretKey } from '../domains/secrets/key-check.ts';
import { AwayBrokers } from '../engines/cloud-brokers/away-brokers.ts';
import type { Services } from '../gateway/context.ts';
import { type FetchFacts, onlyHealth, onlyMetrics } from '../gateway/http/gateway.ts';
import { Closers } from '../platform/closers.ts';
import type { Config } from '../platform/config/config.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { runsBrokers } from './brokers.ts';
import { brokerReport, ensureFirstBroker, moveBusyPorts, type StartReport } from './first-broker.ts';
import { nodeRefusal } from './node-version.ts';
import { openOperatorSocket } from './operator/operator-socket.ts';
import { openParts, type Parts, type ServiceOptions } from './parts.ts';
import { HTTP, openPorts } from './ports.ts';
import { openProblemWatch } from './problems.ts';
import { Readiness } from './readiness.ts';

/** Maximum time to inform the other processes that this one stops. */
const LEAVE_MS = 3_000;
/** The brokers store their state, also if the database does not respond. */
const CLOUD_BROKERS_MS = 10_000;

export interface RunningService {
  readonly port: number;
  /** Port of the listener of METRICS_HOST; `null` if it is not set. */
  readonly metricsPort: number | null;
  readonly report: StartReport;
  readonly services: Services;
  readonly storage: Storage;
  /**
   * Responds to a request without a socket: the whole interface but WebSockets. Limits of connections and the check of
   * `Host` are those of the server that receives the request. Errors: the reason of an aborted request.
   */
  fetch(request: Request, facts?: FetchFacts): Promise<Response>;
  close(): Promise<void>;
}

/**
 * Creates and starts all parts, in this order; they are closed in reverse. Resolves when HTTP listens and the brokers
 * of this service run.
 */
export async function startService(config: Config, options: ServiceOptions): Promise<RunningService> {
  const refusal = nodeRefusal(process.versions.node);
  if (refusal !== null) throw new Error(refusal);
  const { log } = options;
  const closers = new Closers({ log });
  try {
    const parts = await openParts(config, options, closers);
    const { services, storage, sealer, signIn, streams, bridges, topicTrees, clusters, processes } = parts;
    await checkSecretKey(storage.db, sealer, log);
    // The port is taken first: a start that fails for its port must not use up the password that is shown once.
    const ports = await openPorts(config, log, closers);
    const { http, metrics, url } = ports;
    const rootPassword = await services.users.ensureRootAdmin(config.rootEmail, config.rootPassword);
    const passwordsOnlyFor = config.localLogin ? null : await endOtherPasswordSessions(config.rootEmail, services);
    const readiness = closers.keep(new Readiness({ ...config, storage, log }));
    // A broker's thread takes as long to start as the graph takes to load.
    const [first, { gateway, scrape, graphql, runAsOperator }] = await Promise.all([
      startCloudBrokers(config, parts, closers),
      import('./http-entries.ts').then(({ httpEntries }) => httpEntries(config, { ...parts, readiness }, ports, log)),
    ]);
    if (processes.table !== null) {
      await processes.table.open();
      closers.keep(processes.table);
      const { db, changes } = storage;
      closers.keep(new AwayBrokers({ db, changes, processes: processes.table, log }));
    }
    await Promise.all([streams.start(), bridges.start(), topicTrees.start()]);
    clusters.start();
    // Links close before the brokers of this service, so that no link reports a lost connection.
    closers.keep(services.runtimes);
    await services.runtimes.start();
    closers.keep(openProblemWatch(parts, { config, readiness, log })).start();
    closers.keep(parts.notifications).start({ db: storage.db, services });
    services.audit.startRetention();
    signIn.checks.start();

    const report = brokerReport(config, first, services);
    if (report.unusedPorts.length > 0) {
      log.warn({ settings: report.unusedPorts }, 'the first broker listens on other ports than these settings say');
    }
    metrics?.serve(onlyMetrics(scrape));
    http.serve(config.role === 'worker' ? onlyHealth(gateway) : gateway, log);
    closers.keep(http, HTTP);
    // WebSockets close before the HTTP server, which waits for every socket.
    closers.keep(graphql);
    closers.keep(await openOperatorSocket(config.dataDir, runAsOperator));
    if (config.role !== 'api') services.retainedDeletions.start(processes.table);
    // Before HTTP, which would wait for the responses, and before the links.
    closers.add(() => services.retainedDeletions.stop(), { name: 'RetainedDeletions' });
    closers.add(
      async () => {
        http.announceClose();
        const delayed = delay(config.shutdownDelayMs);
        await processes.table?.leave();
        await delayed;
      },
      { name: 'process', maxMs: config.shutdownDelayMs + LEAVE_MS },
    );
    return {
      port: http.port,
      metricsPort: metrics?.port ?? null,
      services,
      storage,
      fetch: (request, facts) => gateway.fetch(request, facts),
      report: { url, ...report, rootPassword, passwordsOnlyFor },
      close: closers.close,
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** Returns the first broker of this process. `null` if it does not run brokers. */
async function startCloudBrokers(config: Config, parts: Parts, closers: Closers) {
  const { cloudBrokers } = parts.services;
  if (runsBrokers(config)) {
    const isNew = await ensureFirstBroker(config, parts);
    closers.keep(cloudBrokers, { maxMs: CLOUD_BROKERS_MS });
    const first = await cloudBrokers.start();
    if (first !== null && isNew) await moveBusyPorts(first, parts.services);
    return first && parts.caches.brokers.get(first.id);
  }
  if (parts.storage.engine === 'sqlite') await cloudBrokers.noteStopped();
  return null;
}

async function endOtherPasswordSessions(
  email: string,
  { auth, users }: Services,
): Promise<StartReport['passwordsOnlyFor']> {
  const user = await users.findByEmail(email);
  await auth.sessions.endLocal(email.trim().toLowerCase());
  return { email, canSignIn: user?.isRoot === true && user.passwordHash !== null };
}
