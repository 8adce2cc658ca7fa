import { Worker } from 'node:worker_threads';
import { ServiceError } from '../../platform/errors.ts';
import type { ServiceMessage, ThreadMessage } from './thread-protocol.ts';

/** What is used of a logger; pino's shape. */
export interface WorkerLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

export interface ThreadOptions<News> {
  /** What it runs, as `streams`. */
  readonly name: string;
  readonly workerUrl: URL;
  readonly maxHeapMegabytes: number;
  readonly log: WorkerLog;
  onNews(news: News): void;
  /** Once; with the reason, unless `end` was called. What waited was rejected before. */
  onEnd(reason: string | null): void;
}

const END_TIMEOUT_MS = 10_000;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: ServiceError): void;
}

/** One run of a thread that does work for the service, and the questions that it has not answered yet. */
export class WorkerThread<Order, Question, News> {
  readonly #options: ThreadOptions<News>;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #lastCall = 0;
  #isEnding = false;
  #isOver = false;

  constructor(options: ThreadOptions<News>) {
    this.#options = options;
    this.#worker = new Worker(options.workerUrl, {
      name: options.name,
      // It needs neither, and what the process was given may be secret or meant for the main thread.
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: options.maxHeapMegabytes, maxYoungGenerationSizeMb: 32 },
    });
    let reason = '';
    this.#worker.on('error', (error) => {
      reason = error.message;
    });
    this.#worker.on('message', (message: ThreadMessage<News>) => this.#received(message));
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#over(this.#isEnding ? null : reason || `it ended with code ${code}`);
        resolve();
      });
    });
  }

  order(order: Order): void {
    this.#send({ type: 'order', order });
  }

  /** Errors: those of the work; BROKER_UNREACHABLE where the thread ended before it answered. */
  ask(question: Question): Promise<unknown> {
    if (this.#isOver) return Promise.reject(this.#gone(null));
    this.#lastCall += 1;
    const call = this.#lastCall;
    return new Promise((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject });
      this.#send({ type: 'ask', call, question });
    });
  }

  /** For when what it runs is closed. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#send({ type: 'end' });
    const timer = setTimeout(() => void this.#worker.terminate(), END_TIMEOUT_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  #send(message: ServiceMessage<Order, Question>): void {
    this.#worker.postMessage(message);
  }

  #received(message: ThreadMessage<News>): void {
    const { log, onNews } = this.#options;
    if (message.type === 'log') log[message.level](message.fields, message.text);
    else if (message.type === 'news') onNews(message.news);
    else {
      const waiting = this.#waiting.get(message.call);
      this.#waiting.delete(message.call);
      if (message.type === 'answer') waiting?.resolve(message.value);
      else waiting?.reject(new ServiceError(message.refusal.code, message.refusal.message, message.refusal));
    }
  }

  #over(reason: string | null): void {
    this.#isOver = true;
    for (const { reject } of this.#waiting.values()) reject(this.#gone(reason));
    this.#waiting.clear();
    this.#options.onEnd(reason);
  }

  #gone(reason: string | null): ServiceError {
    const { name } = this.#options;
    const text = `What runs ${name} has ended`;
    return new ServiceError('BROKER_UNREACHABLE', reason === null ? text : `${text}: ${reason}`);
  }
}
