import { ServiceError } from '../../platform/errors.ts';
import type { Callable } from './worker-messages.ts';

export interface InstanceOptions<Setup, Event> {
  readonly name: string;
  readonly setup: Setup;
  /** Calls that bring a new instance to the wanted state. Called after each creation. */
  readonly restore: () => Promise<void>;
  readonly onEvent: (event: Event) => void;
  /** The instance does not run until `restore` is called. */
  readonly onDown?: (reason: string) => void;
}

export interface InstanceHost<Setup, Api extends Callable<Api>, Event> {
  /** Why there is no thread until the next restart; `null` if there is one, or it can be started. */
  readonly downReason: string | null;
  want(instance: WorkerInstance<Setup, Api, Event>, isWanted: boolean): void;
  create(instance: WorkerInstance<Setup, Api, Event>, setup: Setup): number;
  /** Errors: those of the method; BROKER_UNREACHABLE if the thread exits before the result. */
  call(instance: number, method: string, args: readonly unknown[]): Promise<unknown>;
  remove(instance: number, discard: boolean): Promise<void>;
}

const RETRY_MS = 30_000;

/**
 * One instance of a WorkerHost, as its owner sees it. While it is wanted, it is created and restored again after an
 * exit of the thread, and RETRY_MS after a failure of its own. Until then `downReason` has the reason.
 */
export class WorkerInstance<Setup, Api extends Callable<Api>, Event> {
  readonly #host: InstanceHost<Setup, Api, Event>;
  readonly #options: InstanceOptions<Setup, Event>;
  readonly #onClosed: () => void;
  #number: number | null = null;
  #failure: { readonly reason: string; readonly retry: NodeJS.Timeout } | null = null;
  isWanted = false;
  #isClosed = false;
  #closing: Promise<unknown> = Promise.resolve();

  constructor(host: InstanceHost<Setup, Api, Event>, options: InstanceOptions<Setup, Event>, onClosed: () => void) {
    this.#host = host;
    this.#options = options;
    this.#onClosed = onClosed;
  }

  get isRunning(): boolean {
    return this.#number !== null;
  }

  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  get downReason(): string | null {
    return this.#failure?.reason ?? this.#host.downReason;
  }

  assertOpen(): void {
    if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', `The ${this.#options.name} was closed`);
  }

  /** Creates it in the thread, unless it runs or is down; resolves when it is restored. */
  async start(): Promise<void> {
    this.assertOpen();
    this.isWanted = true;
    this.#host.want(this, true);
    if (this.#number !== null || this.downReason !== null) return;
    this.#number = this.#host.create(this, this.#options.setup);
    await this.#options.restore();
  }

  /** Errors: those of the method; BROKER_UNREACHABLE if it does not run; INTERNAL_ERROR for a bug in the thread. */
  async call<Method extends keyof Api & string>(
    method: Method,
    ...args: Parameters<Api[Method]>
  ): Promise<Awaited<ReturnType<Api[Method]>>> {
    this.assertOpen();
    if (this.#number === null) {
      const reason = this.downReason ?? `The ${this.#options.name} does not run`;
      throw new ServiceError('BROKER_UNREACHABLE', reason);
    }
    return (await this.#host.call(this.#number, method, args)) as Awaited<ReturnType<Api[Method]>>;
  }

  /** Closes it in the thread. `discard`: nothing is to remain at a broker or on disk. */
  stop(discard: boolean): void {
    this.isWanted = false;
    this.forgetFailure();
    this.#leave(discard);
    this.#closing = this.#closing.then(() => {
      // It may have been started again meanwhile.
      if (!this.isWanted) this.#host.want(this, false);
    });
  }

  async close(discard: boolean): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.stop(discard);
      this.#onClosed();
    }
    await this.#closing;
  }

  /** The instance failed, not the thread. It is closed, and created again after RETRY_MS. */
  failed(reason: string): void {
    this.#leave(false);
    const retry = setTimeout(() => {
      this.#failure = null;
      this.restart();
    }, RETRY_MS).unref();
    this.#failure = { reason: `The ${this.#options.name} cannot run: ${reason}`, retry };
    this.#options.onDown?.(this.#failure.reason);
  }

  /** The next `start` does not wait for the retry. */
  forgetFailure(): void {
    if (this.#failure) clearTimeout(this.#failure.retry);
    this.#failure = null;
  }

  received(event: Event): void {
    this.#options.onEvent(event);
  }

  threadExited(reason: string): void {
    this.#number = null;
    this.#options.onDown?.(this.#failure?.reason ?? reason);
  }

  restart(): void {
    // A restart that fails is repeated by the next one.
    if (this.isWanted) this.start().catch(() => undefined);
  }

  #leave(discard: boolean): void {
    if (this.#number === null) return;
    const removed = this.#host.remove(this.#number, discard);
    this.#number = null;
    this.#closing = Promise.all([this.#closing, removed]);
  }
}
