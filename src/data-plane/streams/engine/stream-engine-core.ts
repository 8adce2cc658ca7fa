import { invalid, notFound, ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import { SerialQueues } from '../../../platform/scheduling/serial-queues.ts';
import { settledWithin } from '../../../platform/scheduling/within.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { topicProblem } from '../../../protocol/mqtt/topics.ts';
import type { TimeBounds } from '../../log/log-message.ts';
import type { LogStore } from '../../log/log-store.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { StreamEngine } from '../model/stream-engine.ts';
import type { StreamQuery } from '../model/stream-query.ts';
import type { ReplayJob, ReplayProgress, ReplayRequest } from '../model/stream-replay.ts';
import type { StreamReport } from '../model/stream-report.ts';
import type { StreamSession } from '../model/stream-session.ts';
import type { StreamProcessor } from '../query/stream-processor.ts';
import { REPLAY_CLOCK, type ReplayClock } from '../replay/replay-clock.ts';
import { Backlog } from './backlog.ts';
import { ChangeAnnouncer } from './change-announcer.ts';
import { RunningStream, type StreamSurroundings } from './running-stream.ts';

/** Maximum number of concurrent SUBSCRIBE requests: thousands of streams may start together. */
const SUBSCRIBING_AT_ONCE = 32;
const DRAIN_MS = 2_000;

export interface StreamEngineOptions {
  readonly session: StreamSession;
  readonly store: LogStore;
  compile(query: StreamQuery): StreamProcessor;
  /** Clock of replays. Default: the time of this process. */
  readonly clock?: ReplayClock;
}

/**
 * Runs the streams of one broker in the current thread. The caller owns session and store and closes them after this
 * object. Messages not finished at close are not acknowledged; the broker's subscriptions remain, so it redelivers
 * them.
 */
export class StreamEngineCore implements StreamEngine {
  readonly #store: LogStore;
  readonly #surroundings: StreamSurroundings;
  readonly #streams = new Map<string, RunningStream>();
  /** By stream id: removals, and later operations with the same id. */
  readonly #queues = new SerialQueues();
  /** Ids with stored messages at start whose streams were not put yet. */
  readonly #stored: Set<string>;
  readonly #changes = new ChangeAnnouncer((id) => this.#streams.get(id)?.report() ?? null);
  readonly #backlog: Backlog;
  readonly #stopStatus: Stop;
  #lastReplayId = 0;
  #isClosed = false;

  constructor({ session, store, compile, clock = REPLAY_CLOCK }: StreamEngineOptions) {
    this.#store = store;
    this.#backlog = new Backlog(session);
    const subscribeLimit = new ConcurrencyLimit({ maxRunning: SUBSCRIBING_AT_ONCE });
    this.#surroundings = { session, store, compile, clock, subscribeLimit, backlog: this.#backlog };
    this.#stored = new Set(store.ids());
    this.#stopStatus = session.onStatus((status) => {
      for (const stream of this.#streams.values()) stream.linkChanged(status);
    });
  }

  async put(id: string, definition: StreamDefinition): Promise<void> {
    this.#assertOpen();
    const put = () => this.#put(id, definition);
    await (this.#queues.isRunning(id) ? this.#queues.run(id, put) : put());
  }

  async settled(id: string, withinMs: number): Promise<void> {
    await this.#streams.get(id)?.settled(withinMs);
  }

  async remove(id: string): Promise<void> {
    this.#assertOpen();
    await this.#queues.run(id, () => this.#remove(id));
  }

  async removeOthers(ids: readonly string[]): Promise<void> {
    const others = [...this.#stored].filter((id) => !ids.includes(id));
    for (const id of others) await this.remove(id);
  }

  async startReplay(id: string, request: ReplayRequest, job: ReplayJob | null = null): Promise<ReplayProgress> {
    const stream = this.#stream(id);
    const reason = topicProblem(request.topic);
    if (reason !== null) throw invalid([{ path: '/topic', reason }]);
    // Grows with time, so that ids differ from those of an earlier process.
    this.#lastReplayId = Math.max(Date.now(), this.#lastReplayId + 1);
    return stream.startReplay(job?.continued?.id ?? this.#lastReplayId, request, job);
  }

  async stopReplay(id: string): Promise<boolean> {
    return this.#stream(id).stopReplay();
  }

  async suspendReplays(): Promise<ReadonlyMap<string, ReplayProgress>> {
    await settledWithin(
      DRAIN_MS,
      [...this.#streams.values()].map((stream) => stream.suspendReplay()),
    );
    const replays = new Map<string, ReplayProgress>();
    for (const [id, stream] of this.#streams) {
      const { replay } = stream.report();
      if (replay !== null) replays.set(id, replay);
    }
    return replays;
  }

  async clear(id: string, bounds: TimeBounds): Promise<number> {
    return this.#stream(id).clear(bounds);
  }

  async report(ids: readonly string[] = [...this.#streams.keys()]): Promise<ReadonlyMap<string, StreamReport>> {
    this.#assertOpen();
    const reports = new Map<string, StreamReport>();
    for (const id of ids) {
      const stream = this.#streams.get(id);
      if (stream !== undefined) reports.set(id, stream.report());
    }
    return reports;
  }

  onChange(listener: (id: string, report: StreamReport) => void): Stop {
    return this.#changes.onChange(listener);
  }

  /** The store has a problem, or no longer. */
  storageChanged(): void {
    for (const stream of this.#streams.values()) stream.storageChanged();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopStatus();
    this.#changes.close();
    const closed = [...this.#streams.values()].map((stream) => stream.close());
    await settledWithin(DRAIN_MS, [...closed, this.#backlog.drained(), this.#queues.idle()]);
  }

  async #put(id: string, definition: StreamDefinition): Promise<void> {
    this.#assertOpen();
    let stream = this.#streams.get(id);
    if (stream === undefined) {
      stream = new RunningStream(definition, {
        ...this.#surroundings,
        id,
        hasStored: this.#stored.delete(id),
        onChange: () => this.#changes.now(id),
        onProgress: () => this.#changes.soon(id),
      });
      this.#streams.set(id, stream);
    }
    await stream.put(definition);
  }

  async #remove(id: string): Promise<void> {
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      // The stream was not put since this engine started.
      if (this.#stored.delete(id)) await this.#store.log(id).remove();
      return;
    }
    // The end of its replay is reported before the stream is removed from the map.
    const removed = stream.remove();
    this.#streams.delete(id);
    await removed;
  }

  #stream(id: string): RunningStream {
    this.#assertOpen();
    const stream = this.#streams.get(id);
    if (stream === undefined) throw notFound('stream', id);
    return stream;
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', 'The streams of the broker were closed');
  }
}
