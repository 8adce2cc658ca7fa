import { isDeepStrictEqual } from 'node:util';
import { BaseBridge } from '../hosting/base-bridge.ts';
import { type BridgeOptions, bridgeClientId } from '../hosting/bridge-options.ts';
import type { BridgeConnectionStatus } from '../model/bridge-status.ts';
import type { SinkConnectionConfig } from './sink.ts';
import { SinkConnection, type SinkKind } from './sink-connection.ts';

interface SinkBridgeConfig<Config extends SinkConnectionConfig> {
  readonly connections: readonly Config[];
}

/** A bridge from the broker to sinks, with one SinkConnection for each connection of its configuration, by name. */
export class SinkBridge<Config extends SinkConnectionConfig> extends BaseBridge<SinkBridgeConfig<Config>> {
  readonly #kind: SinkKind<Config>;
  #connections: ReadonlyMap<string, SinkConnection<Config>> = new Map();

  constructor(options: BridgeOptions, kind: SinkKind<Config>) {
    super(options);
    this.#kind = kind;
  }

  status(): readonly BridgeConnectionStatus[] {
    return [...this.#connections.values()].map(({ status }) => status);
  }

  protected queuesOf({ connections }: SinkBridgeConfig<Config>): readonly string[] {
    return connections.map(({ name }) => name);
  }

  protected async closeAll(discard: boolean): Promise<void> {
    const connections = [...this.#connections.values()];
    this.#connections = new Map();
    await Promise.all(connections.map((connection) => connection.close({ discard })));
  }

  protected async applyNext({ connections }: SinkBridgeConfig<Config>): Promise<void> {
    const before = this.#connections;
    const gone = [...before].filter(([name]) => !connections.some((config) => config.name === name));
    const after = await this.#openAll(connections);
    this.#connections = after;
    await Promise.all(gone.map(([, connection]) => connection.close({ discard: true })));
    for (const config of connections) {
      const connection = after.get(config.name);
      const isAsBefore = before.has(config.name) && isDeepStrictEqual(connection?.config, config);
      if (!isAsBefore) await connection?.configure(config);
    }
  }

  /** The connections by name. Errors: that of a queue that cannot be opened; those opened with it are then closed. */
  async #openAll(configs: readonly Config[]): Promise<ReadonlyMap<string, SinkConnection<Config>>> {
    const before = this.#connections;
    const results = await Promise.allSettled(
      configs.map(async (config) => [config.name, before.get(config.name) ?? (await this.#create(config))] as const),
    );
    const opened = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed === undefined) return new Map(opened);
    const created = opened.filter(([name]) => !before.has(name));
    await Promise.all(created.map(([, connection]) => connection.close({ discard: false })));
    throw failed.reason;
  }

  async #create(config: Config): Promise<SinkConnection<Config>> {
    const { local, onFault } = this.options;
    const { name } = config;
    return new SinkConnection(
      {
        name,
        kind: this.#kind,
        session: { ...local, clientId: bridgeClientId(this.options, name, 16), onFault },
        log: await this.queues.open(name),
        onChange: (part) => this.changed(part),
        onFault,
      },
      config,
    );
  }
}
