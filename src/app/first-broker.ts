import type { BrokerCache, BrokerRecord } from '../domains/brokers/broker-cache.ts';
import type { ListenerWanted } from '../domains/brokers/broker-engine.ts';
import { ADMINISTRATOR, passwordFile } from '../engines/cloud-brokers/cloud-brokers.ts';
import type { Services } from '../gateway/context.ts';
import type { ListenerProtocol } from '../generated/sqlite/client.ts';
import type { Config } from '../platform/config/config.ts';
import { SETTINGS } from '../platform/config/settings.ts';
import { LeasedMutex } from '../platform/scheduling/leased-mutex.ts';
import type { Storage } from '../platform/storage/storage.ts';

interface FirstBrokerParts {
  readonly services: Pick<Services, 'projects' | 'cloudBrokers'>;
  readonly storage: Pick<Storage, 'db' | 'leases'>;
  readonly brokerCache: BrokerCache;
}

/** Longest wait for another process that creates the broker. */
const TIMEOUT_MS = 60_000;

/**
 * Creates a first project with a broker, so that the first start shows everything working. If several processes start
 * for the first time together, one process creates them and the others return `null`. Errors: IN_USE.
 */
export async function ensureFirstBroker(config: Config, parts: FirstBrokerParts): Promise<BrokerRecord | null> {
  const { db, leases } = parts.storage;
  for (const broker of parts.brokerCache.all()) if (broker.type === 'CLOUD') return broker;
  if ((await db.project.count()) > 0) return null;
  const mutex = new LeasedMutex({ leases, name: 'the first broker', prefix: 'first', timeoutMs: TIMEOUT_MS });
  return mutex.run('broker', async () => ((await db.project.count()) > 0 ? null : createFirst(config, parts)));
}

async function createFirst(config: Config, { services, storage }: FirstBrokerParts): Promise<BrokerRecord | null> {
  const root = await storage.db.user.findFirst({ where: { isRoot: true }, orderBy: { id: 'asc' } });
  if (root === null) return null;
  const project = await services.projects.createFor({ name: 'First project', description: '' }, root.id);
  const listeners = wantedPorts(config).flatMap(({ protocol, tls, port }) =>
    port === null ? [] : [{ protocol, tls, port, requireCertificate: false }],
  );
  return services.cloudBrokers.createFirst({ projectId: project.id, listeners, issuedTo: root.email });
}

interface WantedPort {
  readonly env: string;
  readonly protocol: ListenerProtocol;
  readonly tls: boolean;
  /** `null` if the setting switches the listener off. */
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
export function unusedPorts(config: Config, { listeners }: BrokerRecord): string[] {
  return wantedPorts(config).flatMap(({ env, protocol, tls, port: set }) => {
    const made = listeners.find((listener) => listener.protocol === protocol && listener.tls === tls)?.port;
    if (set === 0 || set === null || set === made) return [];
    return made === undefined && env === SETTINGS.mqttTlsPort.env && isDefault(set) ? [] : [`${env}=${set}`];
  });
}

/** Brokers of earlier versions have no TLS listener, and the default setting is no request for one. */
const isDefault = (port: number): boolean => String(port) === SETTINGS.mqttTlsPort.fallback;

/** The addresses of the first broker and its administrator, for the start message. */
export function mqttReport({ dataDir }: Config, brokerId: string, listeners: readonly ListenerWanted[]) {
  const urls = { MQTT: ['mqtt', 'mqtts'], WEBSOCKET: ['ws', 'wss'] } as const;
  const url = (protocol: ListenerProtocol, tls: boolean): string | null => {
    const found = listeners.find((listener) => listener.protocol === protocol && listener.tls === tls);
    if (found === undefined) return null;
    const host = found.host.includes(':') ? `[${found.host}]` : found.host;
    return `${urls[protocol][tls ? 1 : 0]}://${host}:${found.port}`;
  };
  return {
    url: url('MQTT', false) ?? '',
    wsUrl: url('WEBSOCKET', false),
    tlsUrls: [url('MQTT', true), url('WEBSOCKET', true)].filter((one) => one !== null),
    username: ADMINISTRATOR,
    passwordFile: passwordFile(dataDir, brokerId),
  };
}
