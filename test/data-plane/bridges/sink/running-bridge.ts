import type { MqttClient } from 'mqtt';
import { expect, onTestFinished } from 'vitest';
import type { BridgeOptions } from '../../../../src/data-plane/bridges/hosting/bridge-options.ts';
import type { Bridge } from '../../../../src/data-plane/bridges/model/bridge.ts';
import type { BridgeConnectionStatus } from '../../../../src/data-plane/bridges/model/bridge-status.ts';

export interface RunningBridge<Config> {
  readonly bridge: Bridge<Config>;
  /** Resolves with the first status of the first connection that satisfies the condition. */
  until(condition: (status: BridgeConnectionStatus) => boolean): Promise<BridgeConnectionStatus>;
  /** Of the first connection. */
  status(): BridgeConnectionStatus;
}

export const bridgeOptions = (bridgeId: string, url: string, folder: string): BridgeOptions => ({
  brokerId: 'plant',
  bridgeId,
  local: { id: 'plant', url, timeoutMs: 30_000 },
  rules: { allowedHosts: [] },
  folder,
  onFault: (error) => expect.fail(`A fault: ${error}`),
});

/** A bridge of the broker, closed when the test ends. */
export async function runBridge<Config>(
  start: (options: BridgeOptions) => Bridge<Config>,
  options: BridgeOptions,
  config: Config,
): Promise<RunningBridge<Config>> {
  const bridge = start(options);
  onTestFinished(() => bridge.close({ discard: false }));
  await bridge.apply(config);
  const status = () => {
    const [first] = bridge.status();
    if (first === undefined) throw new Error('The bridge has no connection');
    return first;
  };
  const until = (condition: (status: BridgeConnectionStatus) => boolean) =>
    new Promise<BridgeConnectionStatus>((resolve) => {
      const look = () => {
        if (!condition(status())) return;
        stop();
        resolve(status());
      };
      const stop = bridge.onStatus(look);
      look();
    });
  return { bridge, until, status };
}

/** All of them, acknowledged. */
export async function publishAll(
  client: MqttClient,
  messages: readonly (readonly [topic: string, payload: string | Buffer])[],
): Promise<void> {
  await Promise.all(messages.map(([topic, payload]) => client.publishAsync(topic, payload, { qos: 1 })));
}
