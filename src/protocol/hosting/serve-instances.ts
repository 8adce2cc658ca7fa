import { parentPort } from 'node:worker_threads';
import { messageOf, ServiceError } from '../../platform/errors.ts';
import { connectionAttempts } from '../mqtt/connection-attempts.ts';
import type { Callable, FromWorker, ToWorker, WorkerError } from './worker-messages.ts';

export interface RunningInstance<Api> {
  readonly api: Api;
  /** `discard`: nothing is to remain at a broker or on disk. */
  close(discard: boolean): Promise<void>;
}

type ReportProblem = (level: 'warn' | 'error', fields: object, text: string) => void;

interface InstanceContext<Event> {
  emit(event: Event): void;
  /** The instance cannot run: the service closes it and creates it again after a pause. */
  fail(reason: string): void;
  /** Equal problems within a second are logged once, and at most 20 different ones. */
  readonly problem: ReportProblem;
}

export interface InstanceKind<Setup, Api, Event> {
  /** Instances with equal keys run one after the other. Default: all run at the same time. */
  readonly keyOf?: (setup: Setup) => string;
  readonly create: (
    setup: Setup,
    context: InstanceContext<Event>,
  ) => RunningInstance<Api> | Promise<RunningInstance<Api>>;
  /** Maximum duration of a close; then the next instance with the same key starts. Default: unlimited. */
  readonly closeTimeoutMs?: number;
  /** As `closeTimeoutMs`, with `discard`. Default: `closeTimeoutMs`. */
  readonly discardTimeoutMs?: number;
}

interface Known<Api> {
  readonly key: string;
  readonly running: Promise<RunningInstance<Api>>;
  /** Reject the calls in progress. */
  readonly calls: Set<(reason: ServiceError) => void>;
}

const MAX_RECENT = 20;
const RECENT_MS = 1_000;

/** Runs instances in this worker thread for the WorkerHost that started it. An uncaught error ends the thread. */
export function serveInstances<Setup, Api extends Callable<Api>, Event>(kind: InstanceKind<Setup, Api, Event>): void {
  const port = parentPort;
  if (!port) throw new Error('this module runs in a worker thread');
  const instances = new Instances(kind, (message) => port.postMessage(message));
  port.on('message', (message: ToWorker<Setup>) => {
    // All instances are closed. Whatever they share, such as a pool of connections, would keep the thread alive.
    if (message.type === 'exit') process.exit();
    if (message.type === 'closing') connectionAttempts.hold();
    else instances.receive(message);
  });
}

export class Instances<Setup, Api extends Callable<Api>, Event> {
  readonly #kind: InstanceKind<Setup, Api, Event>;
  readonly #send: (message: FromWorker<Event>) => void;
  readonly #known = new Map<number, Known<Api>>();
  readonly #closing = new Map<string, Promise<void>>();
  readonly #recent = new Set<string>();

  constructor(kind: InstanceKind<Setup, Api, Event>, send: (message: FromWorker<Event>) => void) {
    this.#kind = kind;
    this.#send = send;
  }

  receive(message: Exclude<ToWorker<Setup>, { type: 'closing' | 'exit' }>): void {
    if (message.type === 'create') {
      this.#create(message.instance, message.setup);
      return;
    }
    const { call, instance } = message;
    const done =
      message.type === 'close'
        ? this.#close(instance, message.discard)
        : this.#call(instance, message.method, message.args);
    done.then(
      (value) => this.#send({ type: 'result', call, value }),
      (error: unknown) => this.#send({ type: 'error', call, error: this.#errorOf(error) }),
    );
  }

  #create(instance: number, setup: Setup): void {
    const { keyOf = () => String(instance), create } = this.#kind;
    const key = keyOf(setup);
    const context: InstanceContext<Event> = {
      emit: (event) => this.#send({ type: 'event', instance, event }),
      fail: (reason) => this.#send({ type: 'failed', instance, reason }),
      problem: this.#problem,
    };
    const closed = this.#closing.get(key) ?? Promise.resolve();
    const running = closed.then(() => create(setup, context));
    this.#known.set(instance, { key, running, calls: new Set() });
    running.catch((error: unknown) => {
      this.#known.delete(instance);
      this.#problem('error', { instance: key, reason: reasonOf(error) }, 'an instance could not be created');
      context.fail(messageOf(error));
    });
  }

  async #call(instance: number, method: string, args: readonly unknown[]): Promise<unknown> {
    const known = this.#known.get(instance);
    const running = await known?.running.catch(() => undefined);
    if (known === undefined || running === undefined) throw new ServiceError('BROKER_UNREACHABLE', 'It does not run');
    const api: Readonly<Record<string, (...given: never[]) => unknown>> = running.api;
    const result = api[method]?.(...(args as never[]));
    if (!(result instanceof Promise)) return result;
    return new Promise((resolve, reject) => {
      known.calls.add(reject);
      result.then(resolve, reject).finally(() => known.calls.delete(reject));
    });
  }

  async #close(instance: number, discard: boolean): Promise<void> {
    const known = this.#known.get(instance);
    if (known === undefined) return;
    this.#known.delete(instance);
    const { key, running, calls } = known;
    const closed = running.then(
      (one) => one.close(discard),
      () => undefined,
    );
    const done = this.#withinTimeout(closed, key, discard);
    const settled = done
      .catch(() => undefined)
      .then(() => {
        if (this.#closing.get(key) === settled) this.#closing.delete(key);
      });
    this.#closing.set(key, settled);
    await settled;
    for (const reject of calls) reject(new ServiceError('BROKER_UNREACHABLE', 'It was closed'));
    await done;
  }

  #withinTimeout(closed: Promise<void>, key: string, discard: boolean): Promise<void> {
    const { closeTimeoutMs, discardTimeoutMs = closeTimeoutMs } = this.#kind;
    const timeoutMs = discard ? discardTimeoutMs : closeTimeoutMs;
    if (timeoutMs === undefined) return closed;
    let timer: NodeJS.Timeout;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.#problem('error', { instance: key }, 'an instance did not close in time');
        resolve();
      }, timeoutMs);
    });
    return Promise.race([closed, timeout]).finally(() => clearTimeout(timer));
  }

  readonly #problem: ReportProblem = (level, fields, text) => {
    const key = `${text} ${JSON.stringify(fields)}`;
    if (this.#recent.has(key) || this.#recent.size > MAX_RECENT) return;
    this.#recent.add(key);
    setTimeout(() => this.#recent.delete(key), RECENT_MS).unref();
    this.#send({ type: 'log', level, fields, text });
  };

  #errorOf(error: unknown): WorkerError {
    if (error instanceof ServiceError) {
      const { code, message, info } = error;
      return info ? { code, message, info } : { code, message };
    }
    this.#problem('error', { reason: reasonOf(error) }, 'a call failed in the worker thread');
    return { code: 'INTERNAL_ERROR', message: 'The command failed' };
  }
}

export const reasonOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
