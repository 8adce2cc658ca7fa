import { isDeepStrictEqual } from 'node:util';
import { BaseBridge } from '../hosting/base-bridge.ts';
import type { BridgeOptions } from '../hosting/bridge-options.ts';
import type { Bridge } from '../model/bridge.ts';
import type { BridgeConnectionStatus } from '../model/bridge-status.ts';
import type { MqttBridgeConfig, MqttConnectionConfig } from './mqtt-bridge-config.ts';
import { queueNames, RunningConnection } from './running-connection.ts';

const REOPEN_MS = 30_000;

/**
 * Starts a bridge that connects one broker with others. Messages of QoS 1 and 2 are acknowledged at the source when the
 * target has them, or when they are on disk. Runs in a worker thread, because it waits for the disk.
 */
export function startMqttBridge(options: BridgeOptions): Bridge<MqttBridgeConfig> {
  return new MqttBridge(options);
}

class MqttBridge extends BaseBridge<MqttBridgeConfig> {
  #connections: readonly RunningConnection[] = [];
  #reopen: NodeJS.Timeout | undefined;

  status(): readonly BridgeConnectionStatus[] {
    return this.#connections.map((connection) => connection.status());
  }

  protected queuesOf({ connections }: MqttBridgeConfig): readonly string[] {
    return connections.flatMap(queueNames);
  }

  protected async closeAll(discard: boolean): Promise<void> {
    clearTimeout(this.#reopen);
    await Promise.all(
      this.#connections.map((each) => each.close({ discardSessions: discard, discardQueues: discard, next: null })),
    );
  }

  protected async applyNext(config: MqttBridgeConfig): Promise<void> {
    const { connections } = config;
    clearTimeout(this.#reopen);
    const names = new Map(connections.map((each) => [each.name, each]));
    const kept = new Map<string, RunningConnection>();
    const earlier = new Map<string, RunningConnection['earlier']>();
    await Promise.all(
      this.#connections.map(async (running) => {
        const next = names.get(running.config.name) ?? null;
        if (
          next !== null &&
          !running.isFailed &&
          isDeepStrictEqual(connectionSettings(next), connectionSettings(running.config))
        ) {
          running.setBounds(next);
          kept.set(next.name, running);
          return;
        }
        // When it is closed, the client ids can be used again.
        const discardSessions = next === null || next.active === false;
        await running.close({ discardSessions, discardQueues: next === null, next });
        if (next !== null) earlier.set(next.name, running.earlier);
      }),
    );
    this.#connections = await Promise.all(
      connections.map((config) => kept.get(config.name) ?? this.#start(config, earlier.get(config.name) ?? [])),
    );
    if (this.#connections.some(({ isFailed }) => isFailed)) {
      this.#reopen = setTimeout(() => void this.apply(config), REOPEN_MS);
    }
  }

  #start(config: MqttConnectionConfig, earlier: RunningConnection['earlier']): Promise<RunningConnection> {
    return RunningConnection.open({
      bridge: this.options,
      queues: this.queues,
      config,
      earlier,
      onState: () => this.changed('STATE'),
      onCount: () => this.changed('COUNTS'),
    });
  }
}

const connectionSettings = ({ queue: _, ...others }: MqttConnectionConfig) => others;
