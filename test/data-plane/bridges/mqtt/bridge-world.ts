import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial } from 'node:net';
import type { MqttClient } from 'mqtt';
import { onTestFinished } from 'vitest';
import type { BridgeOptions } from '../../../../src/data-plane/bridges/hosting/bridge-options.ts';
import type { Bridge } from '../../../../src/data-plane/bridges/model/bridge.ts';
import type { BridgeConnectionStatus } from '../../../../src/data-plane/bridges/model/bridge-status.ts';
import { startMqttBridge } from '../../../../src/data-plane/bridges/mqtt/mqtt-bridge.ts';
import type {
  MqttBridgeConfig,
  MqttConnectionConfig,
  TopicRule,
} from '../../../../src/data-plane/bridges/mqtt/mqtt-bridge-config.ts';
import type { HostedLinkOptions } from '../../../../src/protocol/hosting/hosted-link-options.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

export interface TestBridgeOptions {
  readonly local: Partial<HostedLinkOptions> & { readonly url: string };
  readonly brokerId?: string;
  readonly folder?: string;
  readonly allowedHosts?: readonly string[];
  readonly onLoop?: BridgeOptions['onLoop'];
}

/** A bridge without a configuration, closed when the test ends. */
export function startTestBridge({
  local,
  brokerId = 'test',
  folder = temporaryFolder(),
  allowedHosts = [],
  onLoop = () => {},
}: TestBridgeOptions) {
  const bridge = startMqttBridge({
    brokerId,
    bridgeId: 'mqtt-bridge',
    local: { id: brokerId, timeoutMs: 30_000, ...local },
    rules: { allowedHosts },
    folder,
    onLoop,
    onFault: (error) => {
      throw error;
    },
  });
  onTestFinished(() => bridge.close({ discard: false }));
  return bridge;
}

/** A bridge with one connection, connected. */
export async function connectedBridge(
  options: TestBridgeOptions,
  connection: Partial<MqttConnectionConfig> & { readonly url: string; readonly topics: readonly TopicRule[] },
): Promise<Bridge<MqttBridgeConfig>> {
  const bridge = startTestBridge(options);
  await bridge.apply({ connections: [{ name: 'test', ...connection }] });
  await statusOf(bridge, ({ state }) => state === 'CONNECTED');
  return bridge;
}

/** The status of its first connection, once it is so. */
export function statusOf(
  bridge: Bridge<MqttBridgeConfig>,
  isSo: (status: BridgeConnectionStatus) => boolean,
): Promise<BridgeConnectionStatus> {
  return new Promise((resolve) => {
    const look = () => {
      const [status] = bridge.status();
      if (status === undefined || !isSo(status)) return false;
      stop();
      resolve(status);
      return true;
    };
    const stop = bridge.onStatus(look);
    look();
  });
}

/** Subscribed to `filter` in the moment that it returns. */
export async function listen(client: MqttClient, filter: string) {
  const heard: { readonly topic: string; readonly text: string; readonly qos: number; readonly retain: boolean }[] = [];
  const packets: { readonly properties?: Record<string, unknown> }[] = [];
  let look = () => {};
  client.on('message', (topic, payload, packet) => {
    heard.push({ topic, text: payload.toString(), qos: packet.qos, retain: packet.retain });
    packets.push(packet as { properties?: Record<string, unknown> });
    look();
  });
  await client.subscribeAsync(filter, { qos: 2, rap: true } as { qos: 2 });
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      look = () => {
        if (isSo()) resolve();
      };
      look();
    });
  const text = (last: string) => until(() => heard.some((message) => message.text === last));
  return { heard, packets, until, text, texts: () => heard.map((message) => message.text) };
}

/** A broker with MQTT 3.1.1 only: it refuses MQTT 5 with CONNACK 1, and disconnects a client that sends `unwanted`. */
export async function withoutMqtt5(url: string, unwanted?: string): Promise<string> {
  const { port } = new URL(url);
  const server = createServer((incoming) => {
    incoming.on('error', () => undefined);
    incoming.once('data', (data) => {
      if (data[data.indexOf('MQTT') + 4] !== 4) {
        incoming.end(Buffer.from([0x20, 2, 0, 1]));
        return;
      }
      const outgoing = dial(Number(port), '127.0.0.1');
      outgoing.on('error', () => undefined);
      outgoing.on('close', () => incoming.destroy());
      incoming.on('close', () => outgoing.destroy());
      outgoing.write(data);
      incoming.on('data', (more) => {
        if (unwanted !== undefined && more.includes(unwanted)) incoming.destroy();
      });
      incoming.pipe(outgoing).pipe(incoming);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
