import type { Services } from '../gateway/context.ts';
import type { RefusalReason } from '../gateway/http/connections.ts';
import { startHttpServer } from '../gateway/http/http-server.ts';
import { KnownHosts } from '../gateway/http/known-hosts.ts';
import { startMetricsServer } from '../gateway/http/metrics-server.ts';
import { Traffic } from '../gateway/http/traffic.ts';
import { Closers } from '../platform/closers.ts';
import type { Config } from '../platform/config/config.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { callerOf } from './context-maker.ts';
import { ensureFirstBroker, mqttReport, unusedPorts } from './first-broker.ts';
import { httpEntries } from './http-entries.ts';
import { openOperatorSocket } from './operator/operator-socket.ts';
import { type ServiceParts, startCore } from './service-core.ts';

const MB = 1_048_576;

/** What the start message tells. */
export interface StartReport {
  readonly url: string;
  readonly mqtt: {
    readonly url: string;
    readonly wsUrl: string | null;
    /** Of listeners that need a certificate. */
    readonly tlsUrls: readonly string[];
    readonly username: string;
    readonly passwordFile: string;
  } | null;
  /** The listener's port was taken, so another one is used. */
  readonly mqttPortWanted: number | null;
  /** Settings of ports that the first broker was made without, `MQTT_PORT=1884`; it keeps those that it has. */
  readonly unusedPorts: readonly string[];
  /** Only when it was generated just now. */
  readonly rootPassword: { readonly email: string; readonly generated: string } | null;
  /** Passwords of this service are switched off but for this person; `canSignIn`: it is a root administrator with one. Null: they are on. */
  readonly passwordsOnlyFor: { readonly email: string; readonly canSignIn: boolean } | null;
}

export interface RunningService {
  readonly port: number;
  /** Port of the listener of METRICS_HOST; `null` if it is not set. */
  readonly metricsPort: number | null;
  readonly report: StartReport;
  readonly services: Services;
  readonly storage: Storage;
  close(): Promise<void>;
}

/** Builds, wires and starts everything; answers when HTTP listens and the brokers run here are up. */
export async function startService(config: Config, parts: ServiceParts): Promise<RunningService> {
  const closers = new Closers();
  const { log } = parts;
  try {
    const core = await startCore(config, parts);
    closers.add(core.close);
    await core.checkSecretKey();
    const { services, storage, cloudBrokers, startHosting, signIn, runAsOperator } = core;
    // Before anything is made: a start that a taken port stops must not have used up what is shown once.
    const { host, port, metricsHost, publicUrl, allowedHosts: allowed } = config;
    const knownHosts = new KnownHosts({ host, publicUrl, allowed });
    const traffic = trafficOf(config);
    const { maxConnections, maxConnectionsPerNetwork, trustProxy: isBehindProxy } = config;
    const bounds = { maxConnections, maxConnectionsPerNetwork, isBehindProxy };
    const onRefused = (reason: RefusalReason) =>
      log.warn(
        { maxConnections, maxConnectionsPerNetwork },
        `connections are refused: ${reason === 'FULL' ? 'MAX_CONNECTIONS' : 'MAX_CONNECTIONS_PER_NETWORK'} are open`,
      );
    const http = await startHttpServer({ host, port, ...bounds, onRefused, knownHosts, traffic });
    closers.add(http.close);
    const metricsServer = metricsHost && (await startMetricsServer(metricsHost, { publicUrl, allowed }));
    if (metricsServer) closers.add(metricsServer.close);
    const rootPassword = await services.users.ensureRootAdmin(config.rootEmail, config.rootPassword);
    const passwordsOnlyFor = config.localLogin ? null : await onlyPassword(config.rootEmail, services);
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
    startHosting();
    await services.runtimes.start();
    services.certificateExpiry.start();
    services.audit.startRetention();
    signIn.checks.start();
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${http.port}`;

    const { metricsEntry, ...entries } = httpEntries(config, core, {
      url,
      log,
      traffic,
      connections: http.connections,
    });
    metricsServer?.serve(metricsEntry);
    http.serve(metricsServer ? entries : { ...entries, metricsEntry });
    closers.add(http.close);
    // First of all: the HTTP server waits for every socket, and a WebSocket would never leave by itself.
    closers.add(() => entries.graphql.close());
    const door = await openOperatorSocket(config.dataDir, runAsOperator);
    closers.add(door.close);

    const listeners = first && cloudBrokers.listenersOf(first.id);
    const moved = first?.listeners.find(
      ({ number, protocol, tls, port }) =>
        protocol === 'MQTT' &&
        !tls &&
        port !== 0 &&
        listeners?.every((one) => one.number !== number || one.port !== port),
    );
    return {
      port: http.port,
      metricsPort: metricsServer?.port ?? null,
      services,
      storage,
      report: {
        url,
        mqtt: first && listeners && mqttReport(config, first.id, listeners),
        mqttPortWanted: moved?.port ?? null,
        unusedPorts: first ? unusedPorts(config, first) : [],
        rootPassword,
        passwordsOnlyFor,
      },
      close: closers.close,
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** One body of the largest size must fit, also in the half that one network may have. */
function trafficOf({ maxRequestsMb, maxResponsesMb, maxBodyBytes, trustProxy }: Config): Traffic {
  return new Traffic({
    maxRequestBytes: Math.max(maxRequestsMb * MB, 4 * maxBodyBytes),
    maxResponseBytes: maxResponsesMb * MB,
    callerOf: ({ headers, socket }) => callerOf(headers, socket.remoteAddress ?? '', trustProxy),
  });
}

/** Nobody else stays signed in by a password of this service, either. */
async function onlyPassword(email: string, { auth, users }: Services): Promise<StartReport['passwordsOnlyFor']> {
  const user = await users.findByEmail(email);
  await auth.sessions.endLocal(email.trim().toLowerCase());
  return { email, canSignIn: user?.isRoot === true && user.passwordHash !== null };
}
