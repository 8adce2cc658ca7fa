import { ServiceError } from '../../../platform/errors.ts';
import type { ThreadDown, ThreadUser } from '../../../protocol/hosting/kept-thread.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { StreamEngine, TimeBounds } from '../model/stream-engine.ts';
import type { ReplayProgress, ReplayRequest } from '../model/stream-replay.ts';
import type { StreamReport } from '../model/stream-report.ts';
import { failedReport } from './failed-report.ts';
import type {
  EngineAnswer,
  EngineKeptThread,
  EngineMethod,
  EngineNews,
  EngineOptions,
  EngineThread,
} from './worker-protocol.ts';

/** Until what could not be opened is tried again. */
const REOPEN_MS = 30_000;

/**
 * The streams of one broker as they run in the thread of the streams. In that thread there is something of it while a stream is put: with the
 * last one the broker is told to forget the session.
 *
 * While the thread is down its streams are FAILED with the reason; all that is put is put again when it is back.
 * Errors: those of StreamEngine; INTERNAL_ERROR for a bug.
 */
export class WorkerEngine implements StreamEngine, ThreadUser<EngineThread, EngineNews> {
  readonly #kept: EngineKeptThread;
  readonly #options: EngineOptions;
  readonly #onClosed: () => void;
  readonly #put = new Map<string, StreamDefinition>();
  /** As they were told last. */
  readonly #reports = new Map<string, StreamReport>();
  readonly #listeners = new Set<(id: string, report: StreamReport) => void>();
  /** What there is of it in the thread. */
  #open: { readonly number: number; readonly thread: EngineThread } | null = null;
  /** It could not be opened, and is not tried again yet. */
  #failure: { readonly reason: string; readonly retry: NodeJS.Timeout } | null = null;
  #ending: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(kept: EngineKeptThread, options: EngineOptions, onClosed: () => void) {
    this.#kept = kept;
    this.#options = options;
    this.#onClosed = onClosed;
  }

  async put(id: string, definition: StreamDefinition): Promise<void> {
    this.#assertOpen();
    this.#put.set(id, definition);
    this.#kept.use(this, true);
    const wasOpen = this.#open !== null;
    const thread = this.#thread();
    // It is put when there is something to put it to, and its report says that it is not yet.
    if ('down' in thread) return;
    try {
      if (wasOpen) await this.#call('put', id, definition);
      else await this.#begin(thread, id);
    } catch (error) {
      if (this.#failure === null) throw error;
    }
  }

  async settled(id: string, withinMs: number): Promise<void> {
    if (this.#open !== null) await this.#call('settled', id, withinMs);
  }

  async remove(id: string): Promise<void> {
    this.#assertOpen();
    if (!this.#put.has(id)) return;
    await this.#call('remove', id);
    this.#put.delete(id);
    this.#reports.delete(id);
    if (this.#put.size === 0) this.#end(true);
  }

  async startReplay(id: string, request: ReplayRequest): Promise<ReplayProgress> {
    return this.#call('startReplay', id, request);
  }

  async stopReplay(id: string): Promise<boolean> {
    return this.#call('stopReplay', id);
  }

  async clear(id: string, bounds: TimeBounds): Promise<number> {
    return this.#call('clear', id, bounds);
  }

  async report(ids?: readonly string[]): Promise<ReadonlyMap<string, StreamReport>> {
    this.#assertOpen();
    if (this.#put.size === 0) return new Map();
    const thread = this.#thread();
    if (!('down' in thread)) return this.#call('report', ids);
    const wanted = (ids ?? [...this.#put.keys()]).filter((id) => this.#put.has(id));
    return new Map(wanted.map((id) => [id, failedReport(this.#reports.get(id), thread.down)]));
  }

  onChange(listener: (id: string, report: StreamReport) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What is not worked off waits at the broker for the next one. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#listeners.clear();
      this.#end(false);
      this.#onClosed();
    }
    await this.#ending;
  }

  told(news: EngineNews): void {
    if (this.#open?.number !== news.engine) return;
    if (news.type === 'changed') this.#changed(news.id, news.report);
    else this.#failed(news.reason);
  }

  /** The thread is gone, and with it what was in it. */
  threadEnded(reason: string): void {
    this.#open = null;
    for (const id of this.#put.keys()) this.#changed(id, failedReport(this.#reports.get(id), reason));
  }

  /** There is a thread again. */
  threadStarted(thread: EngineThread): void {
    if (this.#isClosed || this.#put.size === 0 || this.#open !== null || this.#failure !== null) return;
    // Another end of the thread has it put again.
    this.#begin(thread, null).catch(() => undefined);
  }

  #changed(id: string, report: StreamReport): void {
    if (!this.#put.has(id)) return;
    this.#reports.set(id, report);
    for (const listener of [...this.#listeners]) listener(id, report);
  }

  /** The thread is there, and what it needs for this one is not. */
  #failed(reason: string): void {
    const retry = setTimeout(() => {
      this.#failure = null;
      const thread = this.#kept.current();
      if (!('down' in thread)) this.threadStarted(thread);
    }, REOPEN_MS).unref();
    this.#failure = { reason: `Streams cannot run on the broker: ${reason}`, retry };
    this.threadEnded(this.#failure.reason);
  }

  #thread(): EngineThread | ThreadDown {
    return this.#failure === null ? this.#kept.current() : { down: this.#failure.reason };
  }

  /** All that is put; resolves with the one that is waited for. */
  async #begin(thread: EngineThread, waitFor: string | null): Promise<void> {
    const number = this.#kept.numberFor(this);
    this.#open = { number, thread };
    thread.order({ engine: number, options: this.#options });
    const puts = [...this.#put].map(async ([id, definition]) => {
      const put = thread.ask({ type: 'call', engine: number, method: 'put', args: [id, definition] });
      await (waitFor === null || id === waitFor ? put : put.catch(() => undefined));
    });
    await Promise.all(puts);
  }

  #end(forGood: boolean): void {
    const open = this.#open;
    this.#open = null;
    if (this.#failure) clearTimeout(this.#failure.retry);
    this.#failure = null;
    if (open === null) {
      this.#kept.use(this, false);
      return;
    }
    const before = this.#ending;
    // An end of the thread is an end of it, too.
    const closed = open.thread.ask({ type: 'close', engine: open.number, forGood }).catch(() => undefined);
    this.#ending = Promise.all([before, closed]).then(() => {
      // Something may have been put meanwhile that waits for a thread.
      if (this.#isClosed || this.#put.size === 0) this.#kept.use(this, false);
    });
  }

  async #call<Method extends EngineMethod>(method: Method, ...args: readonly unknown[]): Promise<EngineAnswer<Method>> {
    this.#assertOpen();
    if (this.#open !== null) {
      const { thread, number } = this.#open;
      return (await thread.ask({ type: 'call', engine: number, method, args })) as EngineAnswer<Method>;
    }
    const thread = this.#put.size === 0 ? null : this.#thread();
    const reason = thread !== null && 'down' in thread ? thread.down : 'There is no stream on the broker';
    throw new ServiceError('BROKER_UNREACHABLE', reason);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', 'The streams of the broker were closed');
  }
}
