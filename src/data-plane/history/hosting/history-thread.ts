import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../../platform/errors.ts';
import { Backoff, type BackoffTimes } from '../../../platform/scheduling/backoff.ts';
import { WorkerHost, type WorkerHostOptions } from '../../../protocol/hosting/worker-host.ts';
import type { WorkerInstance } from '../../../protocol/hosting/worker-instance.ts';
import type { HistoryModule, HistoryQueries } from '../model/history-module.ts';
import type { HistoryState } from '../model/history-state.ts';
import type { ModuleBatch } from '../store/history-core.ts';
import { byModule, HistoryQueue } from './history-queue.ts';

export interface HistorySetup {
  /** A file of SQLite, or PostgreSQL. */
  readonly place: { readonly file: string; readonly minFreeBytes: number } | { readonly databaseUrl: string };
  readonly keepMs: number;
  readonly maxBytes: number;
}

export interface HistoryCalls {
  write(batches: readonly ModuleBatch[]): Promise<Pick<HistoryState, 'problem' | 'code'>>;
  query(module: string, name: string, args: unknown): Promise<unknown>;
  /** Derives rows and deletes old ones now instead of within a minute. */
  maintain(now?: number): Promise<void>;
}

export type HistoryEvent = HistoryState;

/** One module of the history, as the main thread uses it. */
export interface HistoryHandle<Arrival, Queries extends HistoryQueries> {
  /**
   * Writes it soon. Never fails: what cannot be written is dropped, the oldest first, and becomes a gap. `at`: epoch
   * milliseconds; what has expired is ignored, and what is more than a day ahead is lost. `bytes`: about its size in
   * memory.
   */
  insert(arrival: Arrival, at: number, bytes: number): void;
  /** Errors: those of the query; BROKER_UNREACHABLE while the thread is restarted. */
  query<Name extends keyof Queries & string>(
    name: Name,
    args: Parameters<Queries[Name]>[1],
  ): Promise<Awaited<ReturnType<Queries[Name]>>>;
  /** See HistoryState. */
  oldest(): number | null;
}

interface HistoryThreadOptions extends Omit<WorkerHostOptions, 'name' | 'workerUrl'>, HistorySetup {
  readonly workerUrl?: URL | undefined;
}

/** What waits to be written. */
const QUEUE_BYTES = 16 * 1_048_576;
const BATCH = 2_000;
const FLUSH_MS = 250;
/** Clocks of brokers may be wrong. */
const MAX_AHEAD_MS = 24 * 60 * 60_000;
const BACKOFF: BackoffTimes = { firstMs: 500, longestMs: 10_000 };
/** How long `close` waits for what is not written yet. */
const CLOSE_MS = 3_000;
const HEAP_MEGABYTES = 256;
/** Much memory would save little time: most objects are rows, which live as long as their batch. */
const YOUNG_MEGABYTES = 4;

/**
 * The history of brokers, written and read in a worker thread. What arrives is written in batches, one after the other,
 * each FLUSH_MS after its first arrival. A batch that could not be written is repeated; one whose values the database
 * refuses is halved, down to the arrival that is the cause.
 */
export class HistoryThread extends WorkerHost<HistorySetup, HistoryCalls, HistoryEvent> {
  readonly #instance: WorkerInstance<HistorySetup, HistoryCalls, HistoryEvent>;
  readonly #queue: HistoryQueue;
  readonly keepMs: number;
  readonly maxBytes: number;
  readonly #retried = new AbortController();
  #state: HistoryState = { problem: null, code: null, bytes: null, oldest: null };
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #queries = 0;

  constructor({ workerUrl, place, keepMs, maxBytes, ...options }: HistoryThreadOptions) {
    super({
      maxHeapMegabytes: HEAP_MEGABYTES,
      maxYoungMegabytes: YOUNG_MEGABYTES,
      ...options,
      name: 'history',
      workerUrl: workerUrl ?? new URL('./history-worker.js', import.meta.url),
    });
    this.#queue = new HistoryQueue(QUEUE_BYTES);
    this.keepMs = keepMs;
    this.maxBytes = maxBytes;
    this.#instance = this.open({
      name: 'history',
      setup: { place, keepMs, maxBytes },
      restore: async () => undefined,
      onEvent: (state) => {
        if (state.problem !== null && state.problem !== this.#state.problem) options.log.warn({}, state.problem);
        if (state.problem === null && this.#state.problem !== null)
          options.log.info({}, 'The history is written again');
        this.#state = state;
      },
    });
  }

  get state(): HistoryState {
    const { downReason } = this.#instance;
    return downReason === null ? this.#state : { ...this.#state, problem: downReason, code: 'UNAVAILABLE' };
  }

  /** Arrivals that wait to be written; and since the start those that were dropped, and queries. */
  get counts(): { readonly waiting: number; readonly dropped: number; readonly queries: number } {
    return { waiting: this.#queue.size, dropped: this.#queue.dropped, queries: this.#queries };
  }

  module<Arrival, Queries extends HistoryQueries>(
    name: HistoryModule<Arrival, Queries>['name'],
  ): HistoryHandle<Arrival, Queries> {
    return {
      oldest: () => this.state.oldest,
      insert: (arrival, at, bytes) => {
        const now = Date.now();
        if (at < now - this.keepMs) return;
        if (at <= now + MAX_AHEAD_MS)
          this.#queue.add({ module: name, arrival, at, bytes }, this.state.code ?? 'QUEUE_FULL');
        else this.#queue.lose(name, now);
        this.#schedule();
      },
      query: async (query, args) => {
        this.#queries += 1;
        await this.#instance.start();
        return (await this.#instance.call('query', name, query, args)) as never;
      },
    };
  }

  /** Derives rows and deletes old ones, which otherwise happens once a minute. */
  async maintain(now?: number): Promise<void> {
    await this.#instance.start();
    await this.#instance.call('maintain', now);
  }

  /** Writes what waits. */
  async flush(): Promise<void> {
    await this.#writing;
    await this.#write();
  }

  override async close(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#retried.abort();
    const late = new AbortController();
    const flushed = this.flush().catch(() => undefined);
    await Promise.race([flushed, delay(CLOSE_MS, undefined, late).catch(() => undefined)]);
    late.abort();
    await super.close();
  }

  #schedule(): void {
    if (this.#timer !== null || this.#writing !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#write();
    }, FLUSH_MS).unref();
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
      if (this.#queue.size > 0 && !this.#retried.signal.aborted) this.#schedule();
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const backoff = new Backoff(BACKOFF);
    let size = BATCH;
    for (let batch = this.#queue.take(size); batch !== null; batch = this.#queue.take(size)) {
      const { problem, code } = await this.#send(byModule(batch));
      if (problem === null) {
        backoff.reset();
        size = Math.min(BATCH, 2 * size);
        continue;
      }
      if (code === 'REFUSED') {
        this.#queue.refused(batch);
        size = Math.max(1, batch.taken.length >> 1);
        continue;
      }
      this.#queue.putBack(batch, code ?? 'UNAVAILABLE');
      if (this.#retried.signal.aborted) return;
      await delay(backoff.next(), undefined, { signal: this.#retried.signal, ref: false }).catch(() => undefined);
    }
  }

  async #send(batches: readonly ModuleBatch[]): Promise<Pick<HistoryState, 'problem' | 'code'>> {
    try {
      await this.#instance.start();
      return await this.#instance.call('write', batches);
    } catch (error) {
      return { problem: messageOf(error), code: 'UNAVAILABLE' };
    }
  }
}
