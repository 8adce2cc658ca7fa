import type { BrokerDirectory, BrokerRecord } from './brokers/broker-directory.ts';
import { ADMINISTRATOR, type CloudBrokers, passwordFile } from './brokers/cloud-brokers.ts';
import { type Config, SETTINGS } from './config.ts';
import type { Services } from './services.ts';
import type { Storage } from './storage/storage.ts';

export interface FirstBrokerParts {
  readonly services: Pick<Services, 'projects'>;
  readonly storage: Pick<Storage, 'db'>;
  readonly cloudBrokers: CloudBrokers;
  readonly brokerDirectory: BrokerDirectory;
}

/** A first project with an embedded broker in it, so that the first start already shows everything working. */
export async function ensureFirstBroker(
  config: Config,
  { services, storage, cloudBrokers, brokerDirectory }: FirstBrokerParts,
): Promise<BrokerRecord | null> {
  for (const broker of brokerDirectory.all()) if (broker.type === 'CLOUD') return broker;
  const root = await storage.db.user.findFirst({ where: { isRoot: true }, orderBy: { id: 'asc' } });
  if (root === null || (await storage.db.project.count()) > 0) return null;
  const project = await services.projects.createFor({ name: 'First project', description: '' }, root.id);
  const { mqttPort, mqttWsPort } = config;
  return cloudBrokers.createFirst({ projectId: project.id, mqttPort, mqttWsPort, issuedTo: root.email });
}

/**
 * Settings of ports that say something else than the broker was made with: `MQTT_PORT=1884`. They do not move it. 0 asks for no
 * port in particular, so that the one the broker has will do.
 */
export function unusedPorts(config: Config, { listeners }: BrokerRecord): string[] {
  const made = (wanted: 'MQTT' | 'WEBSOCKET') => listeners.find(({ protocol }) => protocol === wanted)?.port;
  const ports = [
    [SETTINGS.mqttPort.env, config.mqttPort, made('MQTT')],
    [SETTINGS.mqttWsPort.env, config.mqttWsPort, made('WEBSOCKET')],
  ] as const;
  return ports.flatMap(([env, set, port]) => (set === port || set === 0 ? [] : [`${env}=${set}`]));
}

/** Where it is reached, for the start message. */
export function mqttReport(
  { mqttHost, dataDir }: Config,
  brokerId: string,
  ports: { mqtt: number; ws: number | null },
) {
  const host = mqttHost.includes(':') ? `[${mqttHost}]` : mqttHost;
  return {
    url: `mqtt://${host}:${ports.mqtt}`,
    wsUrl: ports.ws === null ? null : `ws://${host}:${ports.ws}`,
    username: ADMINISTRATOR,
    passwordFile: passwordFile(dataDir, brokerId),
  };
}
