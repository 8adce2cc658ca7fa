import { Worker } from 'node:worker_threads';
import { ServiceError } from '../../errors.ts';
import type { StreamReport } from '../model/stream-report.ts';
import type { EngineAnswer, EngineMethod, EngineOptions, ServiceMessage, WorkerMessage } from './worker-protocol.ts';

/** What is used of a logger; pino's shape. */
export interface WorkerLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

export interface ThreadOptions {
  readonly workerUrl: URL;
  readonly maxHeapMegabytes: number;
  readonly log: WorkerLog;
  onChange(engine: number, id: string, report: StreamReport): void;
  /** An engine could not be opened. */
  onFailed(engine: number, reason: string): void;
  /** Once; with the reason, unless `end` was called. What waited was rejected before. */
  onEnd(reason: string | null): void;
}

const END_TIMEOUT_MS = 10_000;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: ServiceError): void;
}

/** One run of the thread of the streams, and the calls that it has not answered yet. */
export class WorkerThread {
  readonly #options: ThreadOptions;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #lastCall = 0;
  #isEnding = false;
  #isOver = false;

  constructor(options: ThreadOptions) {
    this.#options = options;
    this.#worker = new Worker(options.workerUrl, {
      name: 'streams',
      // It needs neither, and what the process was given may be secret or meant for the main thread.
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: options.maxHeapMegabytes, maxYoungGenerationSizeMb: 32 },
    });
    let reason = '';
    this.#worker.on('error', (error) => {
      reason = error.message;
    });
    this.#worker.on('message', (message: WorkerMessage) => this.#received(message));
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#over(this.#isEnding ? null : reason || `it ended with code ${code}`);
        resolve();
      });
    });
  }

  open(engine: number, options: EngineOptions): void {
    this.#send({ type: 'open', engine, options });
  }

  /** Errors: those of the method; BROKER_UNREACHABLE where the thread ended before it answered. */
  call<Method extends EngineMethod>(
    engine: number,
    method: Method,
    args: readonly unknown[],
  ): Promise<EngineAnswer<Method>> {
    return this.#ask((call) => ({ type: 'call', engine, call, method, args })) as Promise<EngineAnswer<Method>>;
  }

  async close(engine: number, forGood: boolean): Promise<void> {
    await this.#ask((call) => ({ type: 'close', engine, call, forGood }));
  }

  /** For when its engines are closed. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#send({ type: 'end' });
    const timer = setTimeout(() => void this.#worker.terminate(), END_TIMEOUT_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  #ask(message: (call: number) => ServiceMessage): Promise<unknown> {
    if (this.#isOver) return Promise.reject(gone(null));
    this.#lastCall += 1;
    const call = this.#lastCall;
    return new Promise((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject });
      this.#send(message(call));
    });
  }

  #send(message: ServiceMessage): void {
    this.#worker.postMessage(message);
  }

  #received(message: WorkerMessage): void {
    const { log, onChange, onFailed } = this.#options;
    if (message.type === 'log') log[message.level](message.fields, message.text);
    else if (message.type === 'changed') onChange(message.engine, message.id, message.report);
    else if (message.type === 'failed') onFailed(message.engine, message.reason);
    else {
      const waiting = this.#waiting.get(message.call);
      this.#waiting.delete(message.call);
      if (message.type === 'answer') waiting?.resolve(message.value);
      else waiting?.reject(new ServiceError(message.refusal.code, message.refusal.message, message.refusal));
    }
  }

  #over(reason: string | null): void {
    this.#isOver = true;
    for (const { reject } of this.#waiting.values()) reject(gone(reason));
    this.#waiting.clear();
    this.#options.onEnd(reason);
  }
}

const gone = (reason: string | null): ServiceError =>
  new ServiceError('BROKER_UNREACHABLE', `What runs streams has ended${reason === null ? '' : `: ${reason}`}`);
