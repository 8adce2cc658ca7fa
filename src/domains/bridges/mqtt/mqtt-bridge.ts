import { isDeepStrictEqual } from 'node:util';
import { GroupCommit } from '../../../platform/scheduling/group-commit.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeOptions } from '../hosting/bridge-options.ts';
import type { Bridge } from '../model/bridge.ts';
import type { BridgeConnectionStatus } from '../model/bridge-status.ts';
import { removeOtherQueues } from '../queue/queue-file.ts';
import type { MqttBridgeConfig, MqttConnectionConfig } from './mqtt-bridge-config.ts';
import { queueNames, RunningConnection } from './running-connection.ts';

/** Minimum interval between events that report only counters, in milliseconds. */
const COUNTS_MS = 500;
/** Pause before a connection that failed to open is retried, in milliseconds. */
const REOPEN_MS = 30_000;

/**
 * Starts a bridge that connects one broker with others. Messages of QoS 1 and 2 are acknowledged at the source when the
 * target has them, or when they are on disk. Runs in a worker thread, because it waits for the disk.
 */
export function startMqttBridge(options: BridgeOptions): Bridge<MqttBridgeConfig> {
  return new MqttBridge(options);
}

class MqttBridge implements Bridge<MqttBridgeConfig> {
  readonly #options: BridgeOptions;
  readonly #groupCommit = new GroupCommit();
  readonly #listeners = new Set<() => void>();
  #connections: readonly RunningConnection[] = [];
  /** Configurations are applied one after the other. */
  #applying: Promise<void> = Promise.resolve();
  #reopen: NodeJS.Timeout | undefined;
  #isFirst = true;
  #isClosed = false;
  #counts: NodeJS.Timeout | null = null;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  apply(config: MqttBridgeConfig): Promise<void> {
    return this.#inTurn(() => this.#apply(config));
  }

  status(): readonly BridgeConnectionStatus[] {
    return this.#connections.map((connection) => connection.status());
  }

  onStatus(listener: () => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close({ discard }: { readonly discard: boolean }): Promise<void> {
    return this.#inTurn(async () => {
      this.#isClosed = true;
      if (this.#counts) clearTimeout(this.#counts);
      clearTimeout(this.#reopen);
      this.#listeners.clear();
      await Promise.all(
        this.#connections.map((each) => each.close({ discardSessions: discard, discardQueues: discard, next: null })),
      );
      if (discard) removeOtherQueues(this.#options.folder, []);
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#applying.then(() => (this.#isClosed ? undefined : work()));
    this.#applying = done.catch(() => undefined);
    return done;
  }

  async #apply(config: MqttBridgeConfig): Promise<void> {
    const { connections } = config;
    clearTimeout(this.#reopen);
    if (this.#isFirst) removeOtherQueues(this.#options.folder, connections.flatMap(queueNames));
    this.#isFirst = false;
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
    this.#connections = connections.map(
      (config) => kept.get(config.name) ?? this.#start(config, earlier.get(config.name) ?? []),
    );
    if (this.#connections.some(({ isFailed }) => isFailed)) {
      this.#reopen = setTimeout(() => void this.#inTurn(() => this.#apply(config)), REOPEN_MS);
    }
    this.#notify();
  }

  #start(config: MqttConnectionConfig, earlier: RunningConnection['earlier']): RunningConnection {
    return new RunningConnection({
      bridge: this.#options,
      config,
      earlier,
      groupCommit: this.#groupCommit,
      onState: () => this.#notify(),
      onCount: () => {
        this.#counts ??= setTimeout(() => this.#notify(), COUNTS_MS);
      },
    });
  }

  #notify(): void {
    if (this.#counts) clearTimeout(this.#counts);
    this.#counts = null;
    for (const listener of this.#listeners) listener();
  }
}

/** A change of these settings requires a new connection. */
const connectionSettings = ({ queue: _, ...others }: MqttConnectionConfig) => others;
