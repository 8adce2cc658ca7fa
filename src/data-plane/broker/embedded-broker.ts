import { setTimeout as delay } from 'node:timers/promises';
import { BUILD } from '../../platform/build.ts';
import { Backoff } from '../../platform/scheduling/backoff.ts';
import type { ListenerWanted, RunningBroker, RunningState } from '../../protocol/hosting/broker-engine.ts';
import {
  RESTART_BACKOFF,
  startWorkerThread,
  type ThreadExit,
  type WorkerThread,
} from '../../protocol/hosting/worker-thread.ts';
import type { Fault } from './core/faults.ts';
import { FailureRecord } from './failure-record.ts';
import type { RefusalMessage } from './listening/refused-connects.ts';
import { DEFAULT_SETTINGS, type EmbeddedSettings } from './live-settings.ts';
import type { QuarantinedRecord } from './store/quarantine.ts';
import type { ServiceMessage, WorkerMessage, WorkerOptions } from './worker-protocol.ts';

export interface EmbeddedBrokerOptions {
  readonly id: string;
  readonly folder: string;
  readonly listeners: readonly ListenerWanted[];
  /** Account of the service. Each start restores it. The folder has only the hash of the password. */
  readonly administrator: { readonly username: string; readonly password: string };
  /** Default: `worker.js` in the folder of this file. */
  readonly workerUrl?: URL | undefined;
  readonly log: Readonly<Record<'info' | 'warn' | 'error', (fields: object, text: string) => void>>;
  /** STARTING -> RUNNING | FAILED (with `error`); FAILED -> STARTING after a pause; `close()` -> STOPPED. */
  readonly onState?: (state: RunningState, error?: string) => void;
  /** Called with counts of refused CONNECTs, at most once a second, and at the start and end of bursts of log-ins. */
  readonly onRefused?: (message: RefusalMessage) => void;
  readonly onFault?: (kind: Fault['kind']) => void;
  /** Heap limit in MiB. Beyond it the broker fails and restarts. Default: 512. */
  readonly maxHeapMegabytes?: number;
  /** Interval of the `$SYS` statistics in milliseconds. Default: 10,000. */
  readonly sysIntervalMs?: number;
  /** On disk. Default: 10 GiB. */
  readonly streamStorageBytes?: number | undefined;
  /** Limit of recorded topics in memory. Default: 512 MiB. */
  readonly topicTreeBytes?: number | undefined;
  /** Default: topic payloads are stored, and sessions are not bound to accounts. */
  readonly settings?: EmbeddedSettings | undefined;
}

/** Resolves when the broker listens. Rejects if the first start fails. Later failures restart the broker. */
export async function startEmbeddedBroker(options: EmbeddedBrokerOptions): Promise<RunningBroker> {
  const supervisor = new BrokerSupervisor(options);
  await supervisor.start();
  return supervisor;
}

const CLOSE_TIMEOUT_MS = 5_000;
/** A small young generation reduces the memory of an idle broker; the measured throughput does not change. */
const YOUNG_MEGABYTES = 16;
const MAX_NAMED = 3;

type BrokerThread = WorkerThread<ServiceMessage>;

class BrokerSupervisor implements RunningBroker {
  listeners: readonly ListenerWanted[];
  readonly #options: EmbeddedBrokerOptions;
  readonly #failures: FailureRecord;
  readonly #quarantined: QuarantinedRecord[] = [];
  #quarantinedCount = 0;
  diskFault: string | null = null;
  #thread: BrokerThread | null = null;
  #closing = new AbortController();
  #supervision: Promise<void> = Promise.resolve();
  #closed: Promise<void> | null = null;

  constructor(options: EmbeddedBrokerOptions) {
    this.#options = options;
    this.listeners = options.listeners;
    this.#failures = new FailureRecord(options.folder);
  }

  get notice(): string | null {
    if (this.diskFault === null) return this.#quarantineNotice;
    return `It cannot store: ${this.diskFault}. It serves only what need not be stored`;
  }

  get #quarantineNotice(): string | null {
    const count = this.#quarantinedCount;
    if (count === 0) return null;
    const named = this.#quarantined.map(({ name, reason }) => `${name}: ${reason}`);
    if (count > named.length) named.push(`and ${count - named.length} more`);
    return `It runs without ${count} stored record${count === 1 ? '' : 's'}, now in quarantine: ${named.join('; ')}`;
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
    thread?.send({ type: 'close' });
    const { id, log } = this.#options;
    const timer = setTimeout(() => {
      log.warn(
        { broker: id, seconds: CLOSE_TIMEOUT_MS / 1_000 },
        'embedded broker did not end in time, and is terminated',
      );
      thread?.terminate();
    }, CLOSE_TIMEOUT_MS);
    await this.#supervision;
    clearTimeout(timer);
    this.#failures.clear();
    this.#options.onState?.('STOPPED');
  }

  async #supervise(first: BrokerThread): Promise<void> {
    const { signal } = this.#closing;
    const backoff = new Backoff(RESTART_BACKOFF);
    let running: BrokerThread | null = first;
    for (;;) {
      let ranMs = 0;
      if (running) {
        const startedAt = Date.now();
        const end = await running.exited;
        if (signal.aborted) return;
        ranMs = Date.now() - startedAt;
        if (ranMs > RESTART_BACKOFF.steadyMs) this.#failures.clear();
        this.#failed(end);
      }
      await delay(backoff.nextAfterRun(ranMs), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      running = await this.#run().catch(() => null);
    }
  }

  #failed(end: ThreadExit): void {
    const { id, log, onState } = this.#options;
    const { reason, stack } = end;
    this.#failures.failed(end);
    log.error({ broker: id, reason, ...(stack && { stack }) }, 'embedded broker failed');
    onState?.('FAILED', reason);
  }

  #quarantine(record: QuarantinedRecord): void {
    const { id, log, onFault } = this.#options;
    onFault?.('record');
    this.#quarantinedCount += 1;
    if (this.#quarantined.length < MAX_NAMED) this.#quarantined.push(record);
    log.error({ broker: id, record: record.name, reason: record.reason }, 'a stored record was moved into quarantine');
  }

  #diskFault(reason: string | null): void {
    const { id, log, onState } = this.#options;
    this.diskFault = reason;
    if (reason === null) log.info({ broker: id }, 'embedded broker can store again');
    else log.error({ broker: id, reason }, 'embedded broker cannot store; it serves only what need not be stored');
    onState?.('RUNNING');
  }

  async #run(): Promise<BrokerThread> {
    const { id, folder, administrator, log, onState, workerUrl, settings } = this.#options;
    onState?.('STARTING');
    this.diskFault = null;
    const options: WorkerOptions = {
      id,
      folder,
      version: BUILD.version,
      listeners: this.listeners,
      administrator,
      sysIntervalMs: this.#options.sysIntervalMs ?? 10_000,
      streamStorageBytes: this.#options.streamStorageBytes ?? 10 * 1_024 ** 3,
      topicTreeBytes: this.#options.topicTreeBytes ?? 512 * 1_024 ** 2,
      settings: settings?.current() ?? DEFAULT_SETTINGS,
      suspicion: this.#failures.suspicion,
    };
    let failure: ThreadExit | null = null;
    let isRunning: (listeners: readonly ListenerWanted[]) => void = () => undefined;
    const running = new Promise<readonly ListenerWanted[]>((resolve) => {
      isRunning = resolve;
    });
    const started = startWorkerThread<ServiceMessage, WorkerMessage>({
      name: `broker ${id}`,
      workerUrl: workerUrl ?? new URL('./worker.js', import.meta.url),
      workerData: options,
      maxHeapMegabytes: this.#options.maxHeapMegabytes ?? 512,
      maxYoungMegabytes: YOUNG_MEGABYTES,
      onMessage: (message) => {
        if (message.type === 'running') isRunning(message.listeners);
        else if (message.type === 'refused' || message.type === 'refusedBurst') this.#options.onRefused?.(message);
        else if (message.type === 'failed') failure = { reason: message.reason, stack: message.stack };
        else if (message.type === 'fault') this.#options.onFault?.(message.kind);
        else if (message.type === 'diskFault') this.#diskFault(message.reason);
        else if (message.type === 'quarantined') this.#quarantine(message.record);
        else if (message.type === 'log') {
          const { level, text, reason, stack } = message;
          log[level]({ broker: id, reason, ...(stack && { stack }) }, text);
        }
      },
    });
    const stopFollowing = settings?.onChange(() => started.send({ type: 'settings', settings: settings.current() }));
    const thread: BrokerThread = {
      ...started,
      exited: started.exited.then((end) => {
        if (this.#thread === thread) this.#thread = null;
        stopFollowing?.();
        return failure ?? end;
      }),
    };
    this.#thread = thread;
    const listeners = await Promise.race([running, thread.exited.then(() => null)]);
    if (!listeners) {
      const end = await thread.exited;
      this.#failed(end);
      throw new Error(`the embedded broker did not start: ${end.reason}`);
    }
    this.listeners = listeners;
    onState?.('RUNNING');
    const ports = listeners.map(({ port }) => port);
    log.info({ broker: id, ports }, 'embedded broker listens');
    return thread;
  }
}
