import { join } from 'node:path';
import type { BrokerLinkOptions } from '../../mqtt/broker-link.ts';
import type { StreamEngine } from '../model/stream-engine.ts';
import { WorkerEngine } from './worker-engine.ts';
import type { EngineOptions } from './worker-protocol.ts';
import { type WorkerLog, WorkerThread } from './worker-thread.ts';

export interface WorkerEnginesOptions {
  /** Of all stored messages, with a folder for each broker. */
  readonly folder: string;
  /** Of a broker's stored messages on disk. */
  readonly maxBytes: number;
  /** The compiled worker; by default the one beside this file. */
  readonly workerUrl?: URL | undefined;
  readonly log: WorkerLog;
  /** Heap limit of the thread in MiB; 512. Beyond it the thread ends and starts anew. */
  readonly maxHeapMegabytes?: number;
  /** How long the thread waits for a stream when there is none any more; 60,000. */
  readonly lingerMs?: number;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A thread that ran this long failed for a new reason, so the pauses start small again. */
const STEADY_MS = 60_000;

/**
 * The engines of all streams beside remote brokers, in one thread: NONE -> RUNNING with the first stream -> NONE some time after the last; RUNNING ->
 * DOWN when it ends by itself (a bug, memory at its limit) -> RUNNING after a pause that doubles.
 */
export class WorkerEngines {
  readonly #options: WorkerEnginesOptions;
  readonly #engines = new Set<WorkerEngine>();
  /** Those that have something in the thread, or will have. */
  readonly #used = new Set<WorkerEngine>();
  #thread: WorkerThread | null = null;
  #startedAt = 0;
  #down: string | null = null;
  #pauseMs = FIRST_PAUSE_MS;
  #restart: NodeJS.Timeout | null = null;
  #lingering: NodeJS.Timeout | null = null;
  #ending: Promise<void> = Promise.resolve();
  #lastNumber = 0;
  #isClosed = false;

  constructor(options: WorkerEnginesOptions) {
    this.#options = options;
  }

  /** Nothing happens until a stream is put. One at a time for each broker, or one after the other. */
  open(brokerId: string, link: BrokerLinkOptions): StreamEngine {
    const engine: WorkerEngine = new WorkerEngine(
      {
        thread: () => (this.#down === null ? this.#running() : { down: this.#down }),
        nextNumber: () => {
          this.#lastNumber += 1;
          return this.#lastNumber;
        },
        onUse: (used, isUsed) => this.#use(used, isUsed),
        onClosed: (closed) => this.#engines.delete(closed),
      },
      this.#engineOptions(brokerId, link),
    );
    this.#engines.add(engine);
    return engine;
  }

  /** Safe to call twice. All that was taken is on disk when it resolves; what was not waits at its broker. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#restart) clearTimeout(this.#restart);
    this.#restart = null;
    await Promise.all([...this.#engines].map((engine) => engine.close()));
    this.#endThread();
    await this.#ending;
  }

  #running(): WorkerThread {
    this.#thread ??= this.#start();
    return this.#thread;
  }

  #start(): WorkerThread {
    const { workerUrl, log, maxHeapMegabytes = 512 } = this.#options;
    this.#startedAt = Date.now();
    const thread: WorkerThread = new WorkerThread({
      workerUrl: workerUrl ?? new URL('./stream-worker.js', import.meta.url),
      maxHeapMegabytes,
      log,
      onChange: (number, id, report) => {
        for (const engine of this.#used) if (engine.number === number) engine.changed(id, report);
      },
      onFailed: (number, reason) => {
        for (const engine of this.#used) if (engine.number === number) engine.failed(reason);
      },
      onEnd: (reason) => {
        if (this.#thread === thread) this.#lost(reason ?? 'it was ended');
      },
    });
    return thread;
  }

  #lost(reason: string): void {
    this.#thread = null;
    if (this.#isClosed) return;
    this.#options.log.error({ reason }, 'the thread of the streams failed');
    if (Date.now() - this.#startedAt > STEADY_MS) this.#pauseMs = FIRST_PAUSE_MS;
    const down = `What runs streams has ended and is started again: ${reason}`;
    this.#down = down;
    this.#restart = setTimeout(() => this.#startAgain(), this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    for (const engine of this.#used) engine.threadEnded(down);
  }

  #startAgain(): void {
    this.#restart = null;
    this.#down = null;
    if (this.#used.size === 0) return;
    const thread = this.#running();
    this.#options.log.info({}, 'the thread of the streams is started again');
    for (const engine of this.#used) engine.threadStarted(thread);
  }

  #use(engine: WorkerEngine, isUsed: boolean): void {
    if (this.#lingering) clearTimeout(this.#lingering);
    this.#lingering = null;
    if (isUsed) this.#used.add(engine);
    else this.#used.delete(engine);
    if (this.#used.size > 0 || this.#thread === null) return;
    this.#lingering = setTimeout(() => this.#endThread(), this.#options.lingerMs ?? 60_000).unref();
  }

  #endThread(): void {
    if (this.#lingering) clearTimeout(this.#lingering);
    this.#lingering = null;
    const thread = this.#thread;
    this.#thread = null;
    if (thread) this.#ending = Promise.all([this.#ending, thread.end()]).then(() => undefined);
  }

  /** What can be told to another thread. */
  #engineOptions(brokerId: string, link: BrokerLinkOptions): EngineOptions {
    const { folder, maxBytes } = this.#options;
    const { onFault: _, clientId: _own, sessionExpirySeconds: _short, isLasting: __, ...session } = link;
    return {
      brokerId,
      session: { ...session, clientId: `brokergraph-${brokerId}-streams` },
      folder: join(folder, brokerId),
      maxBytes,
    };
  }
}
