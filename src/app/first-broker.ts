import type { BrokerRecord } from '../domains/brokers/broker-cache.ts';
import { ADMINISTRATOR } from '../engines/cloud-brokers/cloud-broker-entries.ts';
import { passwordFile } from '../engines/cloud-brokers/cloud-brokers.ts';
import type { Services } from '../gateway/context.ts';
import type { ListenerProtocol } from '../generated/sqlite/client.ts';
import type { Config } from '../platform/config/config.ts';
import { SETTINGS } from '../platform/config/settings.ts';
import { LeasedMutex } from '../platform/scheduling/leased-mutex.ts';
import type { ListenerWanted } from '../protocol/hosting/broker-engine.ts';
import type { Parts } from './parts.ts';

const TIMEOUT_MS = 60_000;

/**
 * Creates a first project with a broker, so that the first start shows everything working. If several processes start
 * for the first time together, one process creates them. Returns whether the broker may be new. Errors: IN_USE.
 */
export async function ensureFirstBroker(config: Config, parts: Parts): Promise<boolean> {
  const { db, leases } = parts.storage;
  if ((await db.project.count()) > 0) return false;
  const mutex = new LeasedMutex({ leases, name: 'the first broker', prefix: 'first', timeoutMs: TIMEOUT_MS });
  await mutex.run('broker', async () => {
    if ((await db.project.count()) === 0) await createFirst(config, parts);
  });
  return true;
}

/** Gives a new first broker free ports instead of configured ones that are in use, so that it runs. */
export async function moveBusyPorts({ id, listeners }: BrokerRecord, { cloudBrokers }: Services): Promise<void> {
  for (let moved = 0; moved < listeners.length; moved += 1) {
    const busy = listeners.find(({ port }) => cloudBrokers.problemOf(id)?.includes(`port ${port} is in use by `));
    if (busy === undefined) return;
    await cloudBrokers.changeListeners(id, { update: busy.number, port: 0 }, true);
    await cloudBrokers.settled(id);
  }
}

async function createFirst(config: Config, { services, storage }: Parts): Promise<void> {
  const root = await storage.db.user.findFirst({ where: { isRoot: true }, orderBy: { id: 'asc' } });
  if (root === null) return;
  const project = await services.projects.createFor({ name: 'First project', description: '' }, root.id);
  const listeners = wantedPorts(config).flatMap(({ protocol, tls, port }) =>
    port === null ? [] : [{ protocol, tls, port, requireCertificate: false }],
  );
  await services.cloudBrokers.createFirst({ projectId: project.id, listeners, issuedTo: root.email });
}

interface WantedPort {
  readonly env: string;
  readonly protocol: ListenerProtocol;
  readonly tls: boolean;
  readonly port: number | null;
}

const wantedPorts = ({ mqttPort, mqttWsPort, mqttTlsPort, mqttWssPort }: Config): readonly WantedPort[] => [
  { env: SETTINGS.mqttPort.env, protocol: 'MQTT', tls: false, port: mqttPort },
  { env: SETTINGS.mqttWsPort.env, protocol: 'WEBSOCKET', tls: false, port: mqttWsPort },
  { env: SETTINGS.mqttTlsPort.env, protocol: 'MQTT', tls: true, port: mqttTlsPort },
  { env: SETTINGS.mqttWssPort.env, protocol: 'WEBSOCKET', tls: true, port: mqttWssPort },
];

/**
 * Returns the port settings that differ from the ports of an existing first broker, such as `MQTT_PORT=1884`: an
 * existing broker keeps its ports. A setting of 0 accepts any port. A default setting requests no missing listener.
 */
function unusedPorts(config: Config, { listeners }: BrokerRecord): string[] {
  return wantedPorts(config).flatMap(({ env, protocol, tls, port: set }) => {
    const made = listeners.find((listener) => listener.protocol === protocol && listener.tls === tls)?.port;
    if (set === 0 || set === null || set === made) return [];
    return made === undefined && env === SETTINGS.mqttTlsPort.env && isDefault(set) ? [] : [`${env}=${set}`];
  });
}

/** Brokers of earlier versions have no TLS listener, and the default setting is no request for one. */
const isDefault = (port: number): boolean => String(port) === SETTINGS.mqttTlsPort.fallback;

function mqttReport({ dataDir, mqttAdvertisedHost }: Config, brokerId: string, listeners: readonly ListenerWanted[]) {
  const urls = { MQTT: ['mqtt', 'mqtts'], WEBSOCKET: ['ws', 'wss'] } as const;
  const url = (protocol: ListenerProtocol, tls: boolean): string | null => {
    const found = listeners.find((listener) => listener.protocol === protocol && listener.tls === tls);
    if (found === undefined) return null;
    const host = mqttAdvertisedHost ?? found.host;
    return `${urls[protocol][tls ? 1 : 0]}://${host.includes(':') ? `[${host}]` : host}:${found.port}`;
  };
  return {
    url: url('MQTT', false) ?? '',
    wsUrl: url('WEBSOCKET', false),
    tlsUrls: [url('MQTT', true), url('WEBSOCKET', true)].filter((one) => one !== null),
    username: ADMINISTRATOR,
    passwordFile: passwordFile(dataDir, brokerId),
  };
}

/** The facts about the first broker, which is `null` if this process does not run one. */
export function brokerReport(config: Config, first: BrokerRecord | null, { cloudBrokers }: Services) {
  const listeners = first && cloudBrokers.listenersOf(first.id);
  return {
    /** Why the first broker does not run; `null` if it does. */
    mqttProblem: first && cloudBrokers.problemOf(first.id),
    mqtt: first && listeners && mqttReport(config, first.id, listeners),
    /** Port settings that an existing first broker does not follow, such as `MQTT_PORT=1884`. */
    unusedPorts: first ? unusedPorts(config, first) : [],
  };
}

/** The facts of the start message. */
export interface StartReport extends ReturnType<typeof brokerReport> {
  readonly url: string;
  /** `null` unless this start generated the password. */
  readonly rootPassword: { readonly email: string; readonly generated: string } | null;
  /**
   * The only user who may sign in with a password of this service (LOCAL_LOGIN=off). `canSignIn` is true if the user is
   * a root administrator with a password. `null` if all users may sign in with passwords.
   */
  readonly passwordsOnlyFor: { readonly email: string; readonly canSignIn: boolean } | null;
}
