import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Host } from './network.ts';
import { Numbers } from './numbers.ts';
import type { ServiceOnHost } from './service-on-host.ts';

const PROJECT = 'mutation { createProject(input: { name: "Embedded" }) { project { id } } }';
const CREATE = 'mutation ($input: CreateCloudBrokerInput!) { createCloudBroker(input: $input) { broker { id } } }';
const BROKER = 'query ($id: ID!) { broker(id: $id) { url isConnected } }';

const PERIOD_MS = 500;

/** Settings with which a process runs brokers that the other hosts reach. */
export const embeddedBrokersOn = ({ address }: Host): Record<string, string> => ({
  EMBEDDED_BROKER: 'on',
  MQTT_HOST: '0.0.0.0',
  MQTT_ADVERTISED_HOST: address,
  MQTT_PORT: '0',
  MQTT_WS_PORT: '0',
  MQTT_TLS_PORT: 'off',
});

/**
 * Creates an embedded broker for each process, through the first one. At each, one device publishes numbers, which
 * another one with a persistent session receives. Both connect again when the broker was down.
 */
export async function startEmbeddedDevices(services: readonly ServiceOnHost[]): Promise<Numbers[]> {
  const [first] = services as [ServiceOnHost];
  const projectId = (await first.graphql(PROJECT)).createProject.project.id;
  const devices: Numbers[] = [];
  for (const { host } of services) {
    const input = { projectId, name: `embedded ${host.name}` };
    const { id } = (await first.graphql(CREATE, { input })).createCloudBroker.broker;
    const about = async () => (await first.graphql(BROKER, { id })).broker;
    await expect.poll(about).toMatchObject({ isConnected: true });
    const { url } = await about();
    const client = { username: 'admin', password: passwordOf(services, id), clean: false, reconnectPeriod: 500 };
    devices.push(
      await Numbers.start({
        from: { url, topic: 'd', client: { ...client, clientId: 'sender' } },
        to: { url, topic: 'd', client: { ...client, clientId: 'receiver' } },
        periodMs: PERIOD_MS,
      }),
    );
  }
  return devices;
}

/** In the data folder of the process that was chosen for the broker. */
function passwordOf(services: readonly ServiceOnHost[], id: string): string {
  const files = services.map(({ dataDir }) => join(dataDir, 'brokers', id, 'password'));
  const file = files.find((each) => existsSync(each));
  if (file === undefined) throw new Error(`no process has the broker ${id}`);
  return readFileSync(file, 'utf8').trim();
}
