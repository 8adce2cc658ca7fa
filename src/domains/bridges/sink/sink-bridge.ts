import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeOptions } from '../hosting/bridge-options.ts';
import type { Bridge } from '../model/bridge.ts';
import type { BridgeConnectionStatus } from '../model/bridge-status.ts';
import { removeOtherQueues } from '../queue/queue-file.ts';
import type { SinkConnectionConfig } from './sink.ts';
import { SinkConnection, type SinkKind } from './sink-connection.ts';

/** Minimum interval between events that report only counters, in milliseconds. */
const COUNTS_MS = 500;

interface SinkBridgeConfig<Config extends SinkConnectionConfig> {
  readonly connections: readonly Config[];
}

/** A bridge from the broker to sinks, with one SinkConnection for each connection of its configuration, by name. */
export class SinkBridge<Config extends SinkConnectionConfig> implements Bridge<SinkBridgeConfig<Config>> {
  readonly #options: BridgeOptions;
  readonly #kind: SinkKind<Config>;
  readonly #listeners = new Set<() => void>();
  #connections: ReadonlyMap<string, SinkConnection<Config>> = new Map();
  #isFirst = true;
  #countsTimer: NodeJS.Timeout | null = null;
  /** Configurations are applied one after the other; never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: BridgeOptions, kind: SinkKind<Config>) {
    this.#options = options;
    this.#kind = kind;
  }

  apply(config: SinkBridgeConfig<Config>): Promise<void> {
    return this.#inOrder(() => this.#apply(config));
  }

  status(): readonly BridgeConnectionStatus[] {
    return [...this.#connections.values()].map(({ status }) => status);
  }

  onStatus(listener: () => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close({ discard }: { readonly discard: boolean }): Promise<void> {
    return this.#inOrder(async () => {
      this.#isClosed = true;
      this.#listeners.clear();
      if (this.#countsTimer) clearTimeout(this.#countsTimer);
      this.#countsTimer = null;
      const connections = [...this.#connections.values()];
      this.#connections = new Map();
      await Promise.all(connections.map((connection) => connection.close({ discard })));
      if (discard) removeOtherQueues(this.#options.folder, []);
    });
  }

  async #apply({ connections }: SinkBridgeConfig<Config>): Promise<void> {
    if (this.#isClosed) return;
    const names = connections.map(({ name }) => name);
    const before = this.#connections;
    const gone = [...before].filter(([name]) => !names.includes(name));
    const after = new Map(
      connections.map((config) => [config.name, before.get(config.name) ?? this.#create(config)] as const),
    );
    this.#connections = after;
    await Promise.all(gone.map(([, connection]) => connection.close({ discard: true })));
    if (this.#isFirst) removeOtherQueues(this.#options.folder, names);
    this.#isFirst = false;
    for (const config of connections) {
      const connection = after.get(config.name);
      const isAsBefore = before.has(config.name) && isDeepStrictEqual(connection?.config, config);
      if (!isAsBefore) await connection?.configure(config);
    }
    this.#changed(true);
  }

  #create(config: Config): SinkConnection<Config> {
    const { brokerId, bridgeId, local, folder, storage, onFault } = this.#options;
    const { name } = config;
    const key = createHash('sha256').update(`${bridgeId}\n${name}`).digest('hex').slice(0, 16);
    return new SinkConnection(
      {
        name,
        kind: this.#kind,
        session: { ...local, clientId: `brokergraph-${brokerId}-bridge-${key}`, onFault },
        folder,
        storage,
        onChange: (isState) => this.#changed(isState),
        onFault,
      },
      config,
    );
  }

  #changed(isState: boolean): void {
    if (this.#isClosed) return;
    if (!isState) {
      this.#countsTimer ??= setTimeout(() => this.#changed(true), COUNTS_MS);
      return;
    }
    if (this.#countsTimer) clearTimeout(this.#countsTimer);
    this.#countsTimer = null;
    for (const listener of [...this.#listeners]) listener();
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
