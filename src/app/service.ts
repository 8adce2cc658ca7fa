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

/** The facts of the start message. */
export interface StartReport {
  readonly url: string;
  readonly mqtt: {
    readonly url: string;
    readonly wsUrl: string | null;
    /** Addresses of the TLS listeners. */
    readonly tlsUrls: readonly string[];
    readonly username: string;
    readonly passwordFile: string;
  } | null;
  /** The configured port if it was in use, so that the broker has another one; otherwise `null`. */
  readonly mqttPortWanted: number | null;
  /** Port settings that an existing first broker does not follow, such as `MQTT_PORT=1884`. */
  readonly unusedPorts: readonly string[];
  /** `null` unless this start generated the password. */
  readonly rootPassword: { readonly email: string; readonly generated: string } | null;
  /**
   * The only user who may sign in with a password of this service (LOCAL_LOGIN=off). `canSignIn` is true if the user is
   * a root administrator with a password. `null` if all users may sign in with passwords.
   */
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

/** Creates and starts all parts. Resolves when HTTP listens and the brokers of this service run. */
export async function startService(config: Config, parts: ServiceParts): Promise<RunningService> {
  const closers = new Closers();
  const { log } = parts;
  try {
    const core = await startCore(config, parts);
    closers.add(core.close);
    await core.checkSecretKey();
    const { services, storage, cloudBrokers, startHosting, signIn, runAsOperator } = core;
    // The port is taken first: a start that fails for its port must not use up the password that is shown once.
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
      // With PostgreSQL another process may run these brokers.
      await cloudBrokers.noteStopped();
    }
    // Links close before the brokers of this service, so that no link reports a lost connection.
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
    // WebSockets close before the HTTP server, which waits for every socket.
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

/** One network may use half of a budget, and that half must have room for two bodies of the largest size. */
function trafficOf({ maxRequestsMb, maxResponsesMb, maxBodyBytes, trustProxy }: Config): Traffic {
  return new Traffic({
    maxRequestBytes: Math.max(maxRequestsMb * MB, 4 * maxBodyBytes),
    maxResponseBytes: maxResponsesMb * MB,
    callerOf: ({ headers, socket }) => callerOf(headers, socket.remoteAddress ?? '', trustProxy),
  });
}

/** Ends the password sessions of all other users. */
async function onlyPassword(email: string, { auth, users }: Services): Promise<StartReport['passwordsOnlyFor']> {
  const user = await users.findByEmail(email);
  await auth.sessions.endLocal(email.trim().toLowerCase());
  return { email, canSignIn: user?.isRoot === true && user.passwordHash !== null };
}
