import { Listeners } from '../../../platform/listeners.ts';
import { hostedLinkOptions } from '../../../protocol/hosting/hosted-link-options.ts';
import { WorkerHost, type WorkerHostOptions } from '../../../protocol/hosting/worker-host.ts';
import type { WorkerInstance } from '../../../protocol/hosting/worker-instance.ts';
import type { BrokerLinkOptions } from '../../../protocol/mqtt/link-options.ts';
import type { TimeBounds } from '../../log/log-message.ts';
import { StreamCounts } from '../engine/stream-counts.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { StreamEngine } from '../model/stream-engine.ts';
import { isReplaying, type ReplayJob, type ReplayProgress, type ReplayRequest } from '../model/stream-replay.ts';
import { NOTHING_STORED, type StreamReport } from '../model/stream-report.ts';
import type { StreamSessionOptions } from './mqtt-stream-session.ts';
import { ThreadReplays } from './thread-replays.ts';

/** Where messages are stored: files in a folder with a folder for each broker, or PostgreSQL. */
export type StorePlace = { readonly folder: string } | PostgresqlPlace;

export interface PostgresqlPlace {
  readonly databaseUrl: string;
  /** Where a process stored messages before it used PostgreSQL for them. They are moved at the start. */
  readonly formerFolder: string;
}

export interface EngineSetup {
  readonly brokerId: string;
  readonly session: Omit<StreamSessionOptions, 'onFault' | 'iterationBatch'>;
  readonly place: StorePlace;
  readonly maxBytes: number;
}

export type EngineCalls = Omit<StreamEngine, 'onChange' | 'close'>;

export interface EngineEvent {
  readonly id: string;
  readonly report: StreamReport;
}

export interface StreamThreadOptions extends Omit<WorkerHostOptions, 'name' | 'workerUrl'> {
  readonly place: StorePlace;
  readonly maxBytes: number;
  readonly workerUrl?: URL | undefined;
}

/** The client ids of an engine's connections; the second one publishes. The same after a restart. */
export const streamClientIds = (brokerId: string) =>
  [`brokergraph-${brokerId}-streams`, `brokergraph-${brokerId}-streams-out`] as const;

export class StreamThread extends WorkerHost<EngineSetup, EngineCalls, EngineEvent> {
  readonly #place: StorePlace;
  readonly #maxBytes: number;

  constructor({ place, maxBytes, workerUrl, ...options }: StreamThreadOptions) {
    super({ ...options, name: 'streams', workerUrl: workerUrl ?? new URL('./stream-worker.js', import.meta.url) });
    this.#place = place;
    this.#maxBytes = maxBytes;
  }

  /** Nothing runs until a stream is put. A broker has one open engine at a time. */
  openEngine(brokerId: string, link: BrokerLinkOptions): StreamEngine {
    const [clientId] = streamClientIds(brokerId);
    const session = { ...hostedLinkOptions(link), clientId };
    return new ThreadStreamEngine(this, { brokerId, session, place: this.#place, maxBytes: this.#maxBytes });
  }
}

/**
 * The streams of one broker. The engine runs in the thread while it has streams; when the last one is removed, the
 * broker deletes the session.
 *
 * While the engine or its thread is down, all streams are FAILED with the reason, and replays of jobs are PAUSED: they
 * continue after the restart, see ThreadReplays. Errors: those of StreamEngine; INTERNAL_ERROR for a bug.
 */
class ThreadStreamEngine implements StreamEngine {
  readonly #instance: WorkerInstance<EngineSetup, EngineCalls, EngineEvent>;
  readonly #definitions = new Map<string, StreamDefinition>();
  readonly #reports = new Map<string, StreamReport>();
  readonly #replays = new ThreadReplays();
  readonly #listeners = new Listeners<[id: string, report: StreamReport]>();

  constructor(thread: StreamThread, setup: EngineSetup) {
    this.#instance = thread.open({
      name: 'stream engine',
      setup,
      restore: () => this.#restore(),
      onEvent: ({ id, report }) => this.#changed(id, report),
      onDown: (reason) => {
        this.#replays.threadFailed(reason);
        for (const id of this.#definitions.keys()) this.#changed(id, this.#downReport(id, reason));
      },
    });
  }

  async put(id: string, definition: StreamDefinition): Promise<void> {
    this.#instance.assertOpen();
    void this.#instance.start();
    this.#definitions.set(id, definition);
    // `restore` puts it later, and until then its report has the reason.
    if (this.#instance.downReason !== null) return;
    try {
      await this.#instance.call('put', id, definition);
    } catch (error) {
      if (!this.#instance.hasFailed) throw error;
    }
  }

  async settled(id: string, withinMs: number): Promise<void> {
    if (this.#instance.isRunning) await this.#instance.call('settled', id, withinMs);
  }

  async remove(id: string): Promise<void> {
    this.#instance.assertOpen();
    if (!this.#definitions.has(id)) return;
    await this.#instance.call('remove', id);
    this.#definitions.delete(id);
    this.#reports.delete(id);
    this.#replays.remove(id);
    if (this.#definitions.size === 0) this.#instance.stop(true);
  }

  async removeOthers(ids: readonly string[]): Promise<void> {
    if (this.#instance.isRunning) await this.#instance.call('removeOthers', ids);
  }

  startReplay(id: string, request: ReplayRequest, job: ReplayJob | null = null): Promise<ReplayProgress> {
    return this.#instance.call('startReplay', id, request, job);
  }

  async stopReplay(id: string): Promise<boolean> {
    const report = this.#reports.get(id);
    const replay = this.#replays.get(id);
    if (this.#instance.downReason === null || report === undefined || replay === null) {
      return this.#instance.call('stopReplay', id);
    }
    this.#changed(id, { ...report, replay: { ...replay, state: 'STOPPED', endedAt: Date.now(), problem: null } });
    return true;
  }

  async suspendReplays(): Promise<ReadonlyMap<string, ReplayProgress>> {
    return this.#instance.isRunning ? this.#instance.call('suspendReplays') : new Map();
  }

  clear(id: string, bounds: TimeBounds): Promise<number> {
    return this.#instance.call('clear', id, bounds);
  }

  async report(ids: readonly string[] = [...this.#definitions.keys()]): Promise<ReadonlyMap<string, StreamReport>> {
    this.#instance.assertOpen();
    if (this.#definitions.size === 0) return new Map();
    const { downReason } = this.#instance;
    if (downReason === null) return this.#instance.call('report', ids);
    const known = ids.filter((id) => this.#definitions.has(id));
    return new Map(known.map((id) => [id, this.#downReport(id, downReason)]));
  }

  readonly onChange = this.#listeners.add;

  /** Messages that are not processed remain in the session at the broker. */
  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#instance.close(false);
  }

  async #restore(): Promise<void> {
    const puts = [...this.#definitions].map(([id, definition]) => this.#instance.call('put', id, definition));
    await Promise.allSettled(puts);
    const replays = this.#replays.all.map(([id, replay]) => {
      const { jobId, request } = replay;
      return jobId === null ? undefined : this.startReplay(id, request, { jobId, continued: replay });
    });
    await Promise.allSettled(replays);
  }

  #downReport(id: string, problem: string): StreamReport {
    const known = this.#reports.get(id) ?? unknownReport();
    const replay = this.#replays.get(id) ?? failedReplay(known.replay, problem);
    return { ...known, state: 'FAILED', problem, replay };
  }

  #changed(id: string, reported: StreamReport): void {
    if (!this.#definitions.has(id)) return;
    // A restarted engine has no replay until `restore` continues it.
    const replay = reported.replay ?? this.#replays.get(id);
    const report = { ...reported, replay };
    this.#reports.set(id, report);
    this.#replays.report(id, replay);
    this.#listeners.notify(id, report);
  }
}

const failedReplay = (replay: ReplayProgress | null, problem: string): ReplayProgress | null =>
  isReplaying(replay) ? { ...replay, state: 'FAILED', endedAt: Date.now(), problem } : replay;

const unknownReport = (): StreamReport => ({
  state: 'FAILED',
  problem: null,
  counters: new StreamCounts(Date.now()).snapshot(),
  storage: NOTHING_STORED,
  replay: null,
});
