import { Listeners } from '../../../platform/listeners.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import type { Bridge } from '../model/bridge.ts';
import type { BridgeConnectionStatus } from '../model/bridge-status.ts';
import type { QueueStore } from '../queue/queue-store.ts';
import { type BridgeOptions, queueStore } from './bridge-options.ts';

/** Minimum interval between events that report only counters, in milliseconds. */
const COUNTS_MS = 500;

export abstract class BaseBridge<Config> implements Bridge<Config> {
  protected readonly options: BridgeOptions;
  protected readonly queues: QueueStore;
  readonly #queue = new ConcurrencyLimit({ maxRunning: 1 });
  readonly #listeners = new Listeners();
  #countsTimer: NodeJS.Timeout | null = null;
  #isFirst = true;
  #isClosed = false;

  constructor(options: BridgeOptions) {
    this.options = options;
    this.queues = queueStore(options);
  }

  abstract status(): readonly BridgeConnectionStatus[];
  protected abstract queuesOf(config: Config): readonly string[];
  protected abstract applyNext(config: Config): Promise<void>;
  protected abstract closeAll(discard: boolean): Promise<void>;

  apply(config: Config): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#isClosed) return;
      const removes = this.#isFirst && !this.options.keepsOtherQueues;
      // If the queues cannot be opened, the connections report the reason.
      this.#isFirst = removes && !(await this.queues.removeOthers(this.queuesOf(config)));
      await this.applyNext(config);
      this.changed('STATE');
    });
  }

  readonly onStatus = this.#listeners.add;

  close({ discard }: { readonly discard: boolean }): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      this.#listeners.clear();
      if (this.#countsTimer) clearTimeout(this.#countsTimer);
      await this.closeAll(discard);
      await this.queues.close({ discard });
    });
  }

  protected changed(part: 'STATE' | 'COUNTS'): void {
    if (this.#isClosed) return;
    if (part === 'COUNTS') {
      this.#countsTimer ??= setTimeout(() => this.changed('STATE'), COUNTS_MS);
      return;
    }
    if (this.#countsTimer) clearTimeout(this.#countsTimer);
    this.#countsTimer = null;
    this.#listeners.notify();
  }
}
