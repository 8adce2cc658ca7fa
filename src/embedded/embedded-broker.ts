import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { ListenerWanted, RunningBroker, RunningState } from '../brokers/broker-engine.ts';
import type { TopicPayloads } from '../topic-tree/hosting/kept-payloads.ts';
import type { ClusterOptions, ServiceMessage, WorkerMessage, WorkerOptions } from './worker-protocol.ts';

/** What is used of a logger; pino's shape. */
export interface BrokerLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

export interface EmbeddedBrokerOptions {
  readonly id: string;
  /** Belongs to this broker alone; created when missing. */
  readonly folder: string;
  /** Port 0: any free one. A taken port: the next free one. */
  readonly listeners: readonly ListenerWanted[];
  /** The account of the service, which exists and may do everything from each start on; the folder holds its hash only. */
  readonly administrator: { readonly username: string; readonly password: string };
  /** The product's version, told on `$SYS/broker/version`. */
  readonly version?: string;
  /** The compiled worker; by default the one beside this file. */
  readonly workerUrl?: URL;
  readonly log: BrokerLog;
  /** STARTING -> RUNNING | FAILED; FAILED -> STARTING after a pause; any -> STOPPED by `close()`. Each change once. `error` with FAILED. */
  readonly onState?: (state: RunningState, error?: string) => void;
  /** Heap limit of the worker in MiB; 512. Beyond it the broker fails and starts anew. */
  readonly maxHeapMegabytes?: number;
  /** How often `$SYS` statistics are published, in milliseconds; 10,000. */
  readonly sysIntervalMs?: number;
  /** Bound on what the stored messages of its streams take on disk; 10 GiB. */
  readonly streamStorageBytes?: number;
  /** Bound on what its recorded topics take in memory; 512 MiB. */
  readonly topicTreeBytes?: number;
  /** Whether payloads of its topics are kept; always. */
  readonly topicPayloads?: TopicPayloads;
  /** Missing: a broker by itself. */
  readonly cluster?: ClusterOptions | undefined;
}

/** Resolves when the broker listens; rejects when it cannot start the first time. Afterwards it is kept running. */
export async function startEmbeddedBroker(options: EmbeddedBrokerOptions): Promise<RunningBroker> {
  const supervisor = new BrokerSupervisor(options);
  await supervisor.start();
  return supervisor;
}

const CLOSE_TIMEOUT_MS = 5_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A broker that ran this long failed for a new reason, so the pauses start small again. */
const STEADY_MS = 60_000;

interface RunningWorker {
  readonly thread: Worker;
  /** Resolves with the reason when the thread ended. */
  readonly ended: Promise<string>;
}

class BrokerSupervisor implements RunningBroker {
  readonly #options: EmbeddedBrokerOptions;
  #listeners: readonly ListenerWanted[];
  #thread: Worker | null = null;
  #closing = new AbortController();
  #supervision: Promise<void> = Promise.resolve();
  #closed: Promise<void> | null = null;

  constructor(options: EmbeddedBrokerOptions) {
    this.#options = options;
    this.#listeners = options.listeners;
  }

  get listeners(): readonly ListenerWanted[] {
    return this.#listeners;
  }

  async start(): Promise<void> {
    this.#supervision = this.#supervise(await this.#run());
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    const thread = this.#thread;
    if (thread) {
      const message: ServiceMessage = { type: 'close' };
      thread.postMessage(message);
      const timer = setTimeout(() => void thread.terminate(), CLOSE_TIMEOUT_MS);
      await this.#supervision;
      clearTimeout(timer);
    }
    await this.#supervision;
    this.#options.onState?.('STOPPED');
  }

  async #supervise(first: RunningWorker): Promise<void> {
    let running: RunningWorker | null = first;
    let pauseMs = FIRST_PAUSE_MS;
    while (running) {
      const startedAt = Date.now();
      const reason = await running.ended;
      if (this.#closing.signal.aborted) return;
      if (Date.now() - startedAt > STEADY_MS) pauseMs = FIRST_PAUSE_MS;
      this.#failed(reason);
      running = null;
      while (!running && !this.#closing.signal.aborted) {
        await delay(pauseMs, undefined, { signal: this.#closing.signal }).catch(() => {});
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        if (this.#closing.signal.aborted) return;
        running = await this.#run().catch(() => null);
      }
    }
  }

  #failed(reason: string): void {
    const { id, log, onState } = this.#options;
    log.error({ broker: id, reason }, 'embedded broker failed');
    onState?.('FAILED', reason);
  }

  async #run(): Promise<RunningWorker> {
    const { id, folder, administrator, version = '0', log, onState, workerUrl, topicPayloads } = this.#options;
    onState?.('STARTING');
    const workerData: WorkerOptions = {
      id,
      folder,
      version,
      listeners: this.#listeners,
      administrator,
      sysIntervalMs: this.#options.sysIntervalMs ?? 10_000,
      streamStorageBytes: this.#options.streamStorageBytes ?? 10 * 1_024 ** 3,
      topicTreeBytes: this.#options.topicTreeBytes ?? 512 * 1_024 ** 2,
      topicPayloads: topicPayloads?.areKept() ?? true,
      cluster: this.#options.cluster,
    };
    const thread = new Worker(workerUrl ?? new URL('./worker.js', import.meta.url), {
      name: `broker ${id}`,
      workerData,
      // It needs neither, and what the process was given may be secret or meant for the main thread.
      env: {},
      execArgv: [],
      // A small young generation keeps an idle broker small; measured throughput does not change.
      resourceLimits: { maxOldGenerationSizeMb: this.#options.maxHeapMegabytes ?? 512, maxYoungGenerationSizeMb: 16 },
    });
    this.#thread = thread;
    const unwatch = topicPayloads?.watch(() => {
      const message: ServiceMessage = { type: 'topicPayloads', areKept: topicPayloads.areKept() };
      thread.postMessage(message);
    });
    let reason = '';
    const ended = new Promise<string>((resolve) => {
      thread.on('error', (error) => {
        reason = error.message;
      });
      thread.once('exit', (code) => {
        if (this.#thread === thread) this.#thread = null;
        unwatch?.();
        resolve(reason || `the broker's thread ended with code ${code}`);
      });
    });
    const listeners = await new Promise<readonly ListenerWanted[] | null>((resolve) => {
      void ended.then(() => resolve(null));
      thread.on('message', (message: WorkerMessage) => {
        if (message.type === 'running') resolve(message.listeners);
        else if (message.type === 'failed') reason = message.reason;
        else if (message.type === 'log') log[message.level]({ broker: id, reason: message.reason }, message.text);
      });
    });
    if (!listeners) {
      const why = await ended;
      this.#failed(why);
      throw new Error(`the embedded broker did not start: ${why}`);
    }
    this.#listeners = listeners;
    onState?.('RUNNING');
    log.info({ broker: id, ports: listeners.map(({ port }) => port) }, 'embedded broker listens');
    return { thread, ended };
  }
}
