import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import { onTestFinished } from 'vitest';
import { clientControlPlugin } from '../../../../src/domains/clients/control/client-control-plugin.ts';
import { inspectPluginFactory } from '../../../../src/domains/clients/inspect/inspect-plugin.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import type { BrokerLink } from '../../../../src/protocol/mqtt/broker-link.ts';
import type { BrokerLinkOptions } from '../../../../src/protocol/mqtt/link-options.ts';
import { connectedLink } from '../../../support/link.ts';
import {
  ADMIN,
  FOLLOWED_LOG,
  type Mosquitto,
  type MosquittoOptions,
  startMosquitto,
} from '../../../support/mosquitto.ts';

export interface FollowedMosquitto {
  readonly broker: Mosquitto;
  readonly link: BrokerLink;
  readonly controls: BrokerControls;
  /** A device with one of ACCOUNTS, which may do everything. */
  device(clientId: string, options?: IClientOptions): Promise<MqttClient>;
}

/** Each has its own name as its password. */
const ACCOUNTS = ['u1', 'u2'] as const;

/** What follows a broker and controls its clients, as the service has them. */
export async function follow(options: Partial<BrokerLinkOptions> & { readonly url: string }) {
  const link = await connectedLink(options);
  const controls = new BrokerControls(link, {
    timeoutMs: 30_000,
    silenceMs: 100,
    plugins: [inspectPluginFactory({ lineTimeoutMs: 2_000 }), clientControlPlugin],
    onFault: (error) => {
      throw error;
    },
  });
  onTestFinished(() => controls.close());
  await controls.capability('cedalo/client-control');
  return { link, controls };
}

/** A Mosquitto with dynamic security whose log is followed. `before` runs with accounts, before following. */
export async function startFollowed(
  options: MosquittoOptions = {},
  before: (broker: Mosquitto) => unknown = () => undefined,
): Promise<FollowedMosquitto> {
  const broker = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG, ...options });
  if (!options.tls) await addAccounts(broker);
  await before(broker);
  const { link, controls } = await follow({ url: broker.url, ...ADMIN });
  const device = (clientId: string, more: IClientOptions = {}) =>
    broker.client({ clientId, username: 'u1', password: more.username?.toString() ?? 'u1', ...more });
  return { broker, link, controls, device };
}

async function addAccounts(broker: Mosquitto): Promise<void> {
  const admin = await connectedLink({ url: broker.url, ...ADMIN });
  const controls = new BrokerControls(admin, { timeoutMs: 30_000, silenceMs: 100 });
  const acls = ['publishClientSend', 'publishClientReceive', 'subscribePattern'].map((acltype) => ({
    acltype,
    topic: '#',
    allow: true,
  }));
  await controls.call('dynamic-security', 'createRole', { rolename: 'device', acls });
  for (const username of ACCOUNTS) {
    await controls.call('dynamic-security', 'createClient', { username, password: username });
    await controls.call('dynamic-security', 'addClientRole', { username, rolename: 'device' });
  }
  await controls.close();
  await admin.close();
}

/** A client that hears what waits in its session. */
interface Returned {
  readonly client: MqttClient;
  readonly sessionPresent: boolean;
  /** Payloads, oldest first. */
  readonly messages: string[];
}

export async function comeBack(url: string, options: IClientOptions): Promise<Returned> {
  const client = connect(url, { reconnectPeriod: 0, ...options });
  client.on('error', () => undefined);
  onTestFinished(async () => {
    await client.endAsync(true);
  });
  const messages: string[] = [];
  client.on('message', (_topic, payload) => messages.push(payload.toString()));
  const sessionPresent = await new Promise<boolean>((resolve, reject) => {
    client.once('connect', (packet) => resolve(packet.sessionPresent));
    client.once('close', () => reject(new Error('closed')));
  });
  return { client, sessionPresent, messages };
}

export const closed = (client: MqttClient) => new Promise<void>((resolve) => client.once('close', () => resolve()));

/** Whether the connection is the one of before: clients of these tests never connect again by themselves. */
export async function isUp(client: MqttClient): Promise<boolean> {
  if (!client.connected) return false;
  await client.publishAsync('still/there', '', { qos: 1 });
  return client.connected;
}
