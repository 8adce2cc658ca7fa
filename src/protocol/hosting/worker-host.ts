import { ServiceError } from '../../platform/errors.ts';
import { Backoff } from '../../platform/scheduling/backoff.ts';
import { type InstanceHost, type InstanceOptions, WorkerInstance } from './worker-instance.ts';
import type { Callable, FromWorker, ToWorker } from './worker-messages.ts';
import { RESTART_BACKOFF, startWorkerThread, type WorkerThread } from './worker-thread.ts';

interface WorkerLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

export interface WorkerHostOptions {
  readonly name: string;
  readonly workerUrl: URL;
  readonly log: WorkerLog;
  /** Heap limit of the thread in MiB. Default: 512. Beyond it the thread exits and is restarted. */
  readonly maxHeapMegabytes?: number | undefined;
  /** Heap of new objects in MiB. Default: 32. */
  readonly maxYoungMegabytes?: number | undefined;
  /** How long the thread lives after its last instance. Default: 60,000 ms. */
  readonly lingerMs?: number | undefined;
}

interface Pending {
  readonly thread: object;
  resolve(value: unknown): void;
  reject(error: ServiceError): void;
}

const DEFAULT_HEAP_MEGABYTES = 512;
const YOUNG_MEGABYTES = 32;
const EXIT_TIMEOUT_MS = 10_000;

/**
 * A worker thread that runs instances, such as the stream engines of all brokers, while at least one is wanted.
 *
 * NONE -> RUNNING -> NONE `lingerMs` after the last instance. RUNNING -> DOWN if the thread exits (a bug, or the heap
 * limit) -> RUNNING after a pause, see RESTART_BACKOFF. Instances are then created again and restored.
 */
export class WorkerHost<Setup, Api extends Callable<Api>, Event> implements InstanceHost<Setup, Api, Event> {
  readonly #options: WorkerHostOptions;
  readonly #instances = new Set<WorkerInstance<Setup, Api, Event>>();
  readonly #wanted = new Set<WorkerInstance<Setup, Api, Event>>();
  readonly #byNumber = new Map<number, WorkerInstance<Setup, Api, Event>>();
  readonly #pending = new Map<number, Pending>();
  readonly #backoff = new Backoff(RESTART_BACKOFF);
  #thread: WorkerThread<ToWorker<Setup>> | null = null;
  #startedAt = 0;
  downReason: string | null = null;
  #restart: NodeJS.Timeout | null = null;
  #linger: NodeJS.Timeout | null = null;
  #exiting: Promise<unknown> = Promise.resolve();
  #lastNumber = 0;

  constructor(options: WorkerHostOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#thread !== null;
  }

  open(options: InstanceOptions<Setup, Event>): WorkerInstance<Setup, Api, Event> {
    const instance: WorkerInstance<Setup, Api, Event> = new WorkerInstance(this, options, () =>
      this.#instances.delete(instance),
    );
    this.#instances.add(instance);
    return instance;
  }

  async close(): Promise<void> {
    this.#thread?.send({ type: 'closing' });
    await Promise.all([...this.#instances].map((instance) => instance.close(false)));
    if (this.#restart) clearTimeout(this.#restart);
    this.#exit();
    await this.#exiting;
  }

  want(instance: WorkerInstance<Setup, Api, Event>, isWanted: boolean): void {
    if (this.#linger) clearTimeout(this.#linger);
    this.#linger = null;
    if (isWanted) this.#wanted.add(instance);
    else this.#wanted.delete(instance);
    if (this.#wanted.size > 0 || this.#thread === null) return;
    this.#linger = setTimeout(() => this.#exit(), this.#options.lingerMs ?? 60_000).unref();
  }

  create(instance: WorkerInstance<Setup, Api, Event>, setup: Setup): number {
    this.#thread ??= this.#start();
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    this.#byNumber.set(number, instance);
    this.#thread.send({ type: 'create', instance: number, setup });
    return number;
  }

  call(instance: number, method: string, args: readonly unknown[]): Promise<unknown> {
    return this.#request((call) => ({ type: 'call', call, instance, method, args }));
  }

  async remove(instance: number, discard: boolean): Promise<void> {
    this.#byNumber.delete(instance);
    await this.#request((call) => ({ type: 'close', call, instance, discard })).catch(() => undefined);
  }

  #request(messageOf: (call: number) => ToWorker<Setup>): Promise<unknown> {
    const thread = this.#thread;
    if (thread === null) return Promise.reject(this.#unreachable('it does not run'));
    this.#lastNumber += 1;
    const call = this.#lastNumber;
    return new Promise((resolve, reject) => {
      this.#pending.set(call, { thread, resolve, reject });
      thread.send(messageOf(call));
    });
  }

  #start(): WorkerThread<ToWorker<Setup>> {
    const { name, workerUrl, maxHeapMegabytes = DEFAULT_HEAP_MEGABYTES } = this.#options;
    const { maxYoungMegabytes = YOUNG_MEGABYTES } = this.#options;
    this.#startedAt = Date.now();
    const thread = startWorkerThread<ToWorker<Setup>, FromWorker<Event>>({
      name,
      workerUrl,
      maxHeapMegabytes,
      maxYoungMegabytes,
      onMessage: (message) => this.#received(message),
    });
    void thread.exited.then(({ reason }) => this.#exited(thread, reason));
    return thread;
  }

  #received(message: FromWorker<Event>): void {
    if (message.type === 'log') this.#options.log[message.level](message.fields, message.text);
    else if (message.type === 'event') this.#byNumber.get(message.instance)?.received(message.event);
    else if (message.type === 'failed') this.#byNumber.get(message.instance)?.failed(message.reason);
    else {
      const pending = this.#pending.get(message.call);
      this.#pending.delete(message.call);
      if (message.type === 'result') pending?.resolve(message.value);
      else pending?.reject(new ServiceError(message.error.code, message.error.message, message.error));
    }
  }

  #exited(thread: WorkerThread<ToWorker<Setup>>, reason: string): void {
    for (const [call, pending] of this.#pending) {
      if (pending.thread !== thread) continue;
      this.#pending.delete(call);
      pending.reject(this.#unreachable(reason));
    }
    if (this.#thread !== thread) return;
    this.#thread = null;
    this.#byNumber.clear();
    const { name, log } = this.#options;
    log.error({ reason }, `the worker thread of ${name} failed`);
    this.downReason = `The worker thread of ${name} exited and is being restarted: ${reason}`;
    const pauseMs = this.#backoff.nextAfterRun(Date.now() - this.#startedAt);
    this.#restart = setTimeout(() => this.#startAgain(), pauseMs);
    for (const instance of [...this.#wanted]) instance.threadExited(this.downReason);
  }

  #startAgain(): void {
    this.#restart = null;
    this.downReason = null;
    if (this.#wanted.size === 0) return;
    const { name, log } = this.#options;
    log.info({}, `the worker thread of ${name} is restarted`);
    for (const instance of [...this.#wanted]) instance.restart();
  }

  #exit(): void {
    if (this.#linger) clearTimeout(this.#linger);
    this.#linger = null;
    const thread = this.#thread;
    if (thread === null) return;
    this.#thread = null;
    thread.send({ type: 'exit' });
    const timer = setTimeout(() => {
      const { name, log } = this.#options;
      log.warn(
        { seconds: EXIT_TIMEOUT_MS / 1_000 },
        `the worker thread of ${name} did not end in time, and is terminated`,
      );
      thread.terminate();
    }, EXIT_TIMEOUT_MS);
    const exited = thread.exited.then(() => clearTimeout(timer));
    this.#exiting = Promise.all([this.#exiting, exited]);
  }

  #unreachable(reason: string): ServiceError {
    return new ServiceError('BROKER_UNREACHABLE', `The worker thread of ${this.#options.name} exited: ${reason}`);
  }
}
