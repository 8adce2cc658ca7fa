import { Listeners } from '../../../platform/listeners.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import { WorkerHost, type WorkerHostOptions } from '../../../protocol/hosting/worker-host.ts';
import type { WorkerInstance } from '../../../protocol/hosting/worker-instance.ts';
import type { Bridge } from '../model/bridge.ts';
import { connectionsOf } from '../model/bridge-kind.ts';
import { type BridgeConnectionStatus, NO_COUNTS } from '../model/bridge-status.ts';
import type { BridgeOptions } from './bridge-options.ts';

export interface BridgeSetup extends Omit<BridgeOptions, 'onFault' | 'onLoop' | 'storage' | 'database'> {
  /** Where queues are stored. Default: files in the folder. */
  readonly databaseUrl?: string | undefined;
}
export type BridgeCalls = Pick<Bridge, 'apply'>;
export type BridgeEvent = readonly BridgeConnectionStatus[];

interface BridgeThreadOptions extends Omit<WorkerHostOptions, 'name' | 'workerUrl'> {
  readonly workerUrl?: URL | undefined;
}

export class BridgeThread extends WorkerHost<BridgeSetup, BridgeCalls, BridgeEvent> {
  constructor({ workerUrl, ...options }: BridgeThreadOptions) {
    super({ ...options, name: 'bridges', workerUrl: workerUrl ?? new URL('./bridge-worker.js', import.meta.url) });
  }

  /** Nothing runs until a configuration with connections is applied. */
  openBridge(setup: BridgeSetup): Bridge {
    return new ThreadBridge(this, setup);
  }
}

/**
 * One bridge. It runs in the thread while it has connections, and is discarded there with the last one.
 *
 * While the bridge or its thread is down, all connections are FAILED with the reason. Errors of `apply`:
 * BROKER_UNREACHABLE after `close`.
 */
class ThreadBridge implements Bridge {
  readonly #instance: WorkerInstance<BridgeSetup, BridgeCalls, BridgeEvent>;
  readonly #listeners = new Listeners();
  #config: unknown = null;
  #status: readonly BridgeConnectionStatus[] = [];

  constructor(thread: BridgeThread, setup: BridgeSetup) {
    this.#instance = thread.open({
      name: 'bridge',
      setup,
      restore: () => this.#apply(),
      onEvent: (status) => this.#changed(status),
      onDown: (reason) => this.#changed(failedStatus(this.#config, this.#status, reason)),
    });
  }

  async apply(config: unknown): Promise<void> {
    this.#instance.assertOpen();
    this.#config = config;
    if (connectionsOf(config).length === 0 && !this.#instance.isWanted) return;
    this.#instance.forgetFailure();
    const { isRunning, downReason } = this.#instance;
    if (isRunning) await this.#apply();
    else await this.#instance.start();
    if (downReason !== null) this.#changed(failedStatus(config, this.#status, downReason));
  }

  status(): readonly BridgeConnectionStatus[] {
    return this.#status;
  }

  readonly onStatus = this.#listeners.add;

  async close({ discard }: { readonly discard: boolean }): Promise<void> {
    this.#listeners.clear();
    await this.#instance.close(discard);
  }

  async #apply(): Promise<void> {
    try {
      await this.#instance.call('apply', this.#config);
    } catch {
      return;
    }
    if (connectionsOf(this.#config).length === 0) this.#instance.stop(true);
  }

  #changed(status: readonly BridgeConnectionStatus[]): void {
    this.#status = status;
    this.#listeners.notify();
  }
}

type Counts = Pick<BridgeConnectionStatus, keyof typeof NO_COUNTS | 'error' | 'lastRejection'>;

function failedStatus(
  config: unknown,
  last: readonly BridgeConnectionStatus[],
  error: string,
): BridgeConnectionStatus[] {
  const lastByName = new Map(last.map((status) => [status.connectionName, status]));
  return namedConnections(config).map(({ name, active }) => {
    const known = lastByName.get(name);
    const { error: _last, ...counts }: Counts = known ?? NO_COUNTS;
    const state = active === false ? 'INACTIVE' : 'FAILED';
    return {
      connectionName: name,
      ...counts,
      isConnected: false,
      state,
      since: known?.state === state ? known.since : Date.now(),
      ...(state === 'FAILED' ? { error } : {}),
    };
  });
}

const namedConnections = (config: unknown) =>
  connectionsOf(config)
    .filter(isFields)
    .map(({ name, active }) => ({ name: String(name), active }));
