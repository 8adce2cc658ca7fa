import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../../platform/errors.ts';
import type { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import type { LinkStatus } from '../../../protocol/mqtt/broker-session.ts';
import { awayReason } from '../../../protocol/mqtt/when-connected.ts';
import type { TimeBounds } from '../../log/log-message.ts';
import type { LogStore } from '../../log/log-store.ts';
import type { MessageLog } from '../../log/message-log.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { StreamQuery } from '../model/stream-query.ts';
import { type ReplayJob, type ReplayProgress, type ReplayRequest, replayQos } from '../model/stream-replay.ts';
import { NOTHING_STORED, type StreamReport, type StreamState, type StreamStorage } from '../model/stream-report.ts';
import type { StreamSession } from '../model/stream-session.ts';
import type { StreamProcessor } from '../query/stream-processor.ts';
import { Replay } from '../replay/replay.ts';
import type { ReplayClock } from '../replay/replay-clock.ts';
import type { Backlog } from './backlog.ts';
import { MessageFlow } from './message-flow.ts';
import { SourceSubscription } from './source-subscription.ts';
import { StreamCounts } from './stream-counts.ts';

export interface StreamSurroundings {
  readonly session: StreamSession;
  readonly store: LogStore;
  compile(query: StreamQuery): StreamProcessor;
  readonly backlog: Backlog;
  readonly subscribeLimit: ConcurrencyLimit;
  readonly clock: ReplayClock;
}

interface RunningStreamOptions extends StreamSurroundings {
  readonly id: string;
  readonly hasStored: boolean;
  onChange(): void;
  onProgress(): void;
}

/**
 * One running stream. A change of its definition applies to the messages received after it. Aggregates start again if
 * the query changed, or if the stream or its processing was switched off and on. Other changes keep the aggregates.
 * Counters start with this object. Changes of the definition do not interrupt a replay.
 */
export class RunningStream {
  readonly #options: RunningStreamOptions;
  readonly #counts = new StreamCounts(Date.now());
  readonly #source: SourceSubscription;
  #flow: MessageFlow | null = null;
  #definition: StreamDefinition;
  #compiled: { readonly query: StreamQuery; readonly processor: StreamProcessor } | null = null;
  #log: MessageLog | null = null;
  #replay: Replay | null = null;
  #fault: string | null = null;
  #storageProblem: string | null = null;
  readonly #waiting = new Set<() => void>();
  #notified = '';

  constructor(definition: StreamDefinition, options: RunningStreamOptions) {
    this.#options = options;
    this.#definition = definition;
    this.#source = new SourceSubscription({
      session: options.session,
      subscribeLimit: options.subscribeLimit,
      onChange: () => this.#stateMayHaveChanged(),
    });
  }

  async put(definition: StreamDefinition): Promise<void> {
    this.#definition = definition;
    this.#fault = null;
    const log = this.#logToStoreIn();
    const processor = this.#processorToRun();
    const { session, backlog } = this.#options;
    const flow = new MessageFlow({
      definition,
      processor,
      log,
      session,
      backlog,
      counts: this.#counts,
      onStored: (problem) => this.#stored(problem),
      onRefusal: this.#options.onProgress,
    });
    this.#flow = flow;
    const runs = definition.active && this.#fault === null;
    await this.#source.want(runs ? { filter: definition.sourceTopic, flow } : null);
    this.#stateMayHaveChanged();
  }

  /**
   * Resolves when the broker has granted or refused the source subscription, or after `withinMs`. Waits for the first
   * connection to a broker, but not for a reconnect.
   */
  settled(withinMs: number): Promise<void> {
    if (this.#isSettled()) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, withinMs);
      this.#waiting.add(done);
    });
  }

  async remove(): Promise<void> {
    this.#replay?.stop();
    this.#letGo();
    await this.#source.want(null);
    await this.#log?.remove();
    this.#log = null;
  }

  async startReplay(id: number, request: ReplayRequest, job: ReplayJob | null): Promise<ReplayProgress> {
    if (this.#replay?.isOver === false) throw new ServiceError('IN_USE', 'A replay of this stream is running');
    const { session, clock, onChange, onProgress } = this.#options;
    const replay = new Replay({
      id,
      request,
      job,
      log: this.#log,
      session,
      clock,
      qosOf: (stored) => replayQos(this.#definition.targetQos, stored),
      onPublished: () => {
        this.#counts.replayed += 1;
      },
      onState: onChange,
      onProgress,
    });
    this.#replay = replay;
    await replay.start();
    return replay.progress();
  }

  stopReplay(): boolean {
    const runs = this.#replay?.isOver === false;
    if (runs) this.#replay?.stop();
    return runs;
  }

  async suspendReplay(): Promise<void> {
    await this.#replay?.suspend();
  }

  async clear(bounds: TimeBounds): Promise<number> {
    const removed = (await this.#log?.clear(bounds)) ?? 0;
    if (removed > 0) this.#replay?.reread();
    this.#stateMayHaveChanged();
    return removed;
  }

  linkChanged(status: LinkStatus): void {
    this.#source.linkChanged();
    this.#replay?.linkChanged(status);
    this.#stateMayHaveChanged();
  }

  storageChanged(): void {
    if (this.#log !== null) this.#stateMayHaveChanged();
  }

  report(): StreamReport {
    return {
      ...this.#stateNow(),
      counters: this.#counts.snapshot(),
      storage: this.#storage(),
      replay: this.#replay?.progress() ?? null,
    };
  }

  /** Resolves when no acknowledgement of a replay is missing. */
  async close(): Promise<void> {
    this.#letGo();
    this.#source.close();
    await this.#replay?.suspend();
  }

  /** Returns `null` if nothing is to be stored now. Existing messages expire even if no more are stored. */
  #logToStoreIn(): MessageLog | null {
    const { store, id, hasStored } = this.#options;
    const { persist, ttl, active } = this.#definition;
    try {
      if (persist || hasStored) this.#log ??= store.log(id);
      this.#log?.setTtl(ttl);
    } catch (error) {
      this.#fault = `The messages cannot be stored: ${(error as Error).message}`;
    }
    this.#storageProblem = null;
    return persist && active ? this.#log : null;
  }

  #processorToRun(): StreamProcessor | null {
    const { active, process, query } = this.#definition;
    if (!active || !process) {
      this.#compiled = null;
      return null;
    }
    if (this.#compiled !== null && isDeepStrictEqual(this.#compiled.query, query)) return this.#compiled.processor;
    this.#compiled = null;
    try {
      this.#compiled = { query, processor: this.#options.compile(query) };
    } catch (error) {
      this.#fault = `The query cannot be compiled: ${(error as Error).message}`;
    }
    return this.#compiled?.processor ?? null;
  }

  #stored(problem: string | null): void {
    if (problem === this.#storageProblem) return;
    this.#storageProblem = problem;
    this.#stateMayHaveChanged();
  }

  #isSettled(): boolean {
    if (this.#stateNow().state !== 'WAITING') return true;
    const link = this.#options.session.status.state;
    return link === 'CONNECTED' ? this.#source.problem !== null : link !== 'CONNECTING';
  }

  #letGo(): void {
    for (const done of [...this.#waiting]) done();
  }

  #stateMayHaveChanged(): void {
    if (this.#waiting.size > 0 && this.#isSettled()) this.#letGo();
    const { state, problem } = this.#stateNow();
    const now = `${state} ${problem ?? ''}`;
    if (now === this.#notified) return;
    this.#notified = now;
    this.#options.onChange();
  }

  #stateNow(): { state: StreamState; problem: string | null } {
    const { status } = this.#options.session;
    const source = this.#source;
    if (!this.#definition.active) return { state: 'INACTIVE', problem: null };
    if (this.#fault !== null) return { state: 'FAILED', problem: this.#fault };
    if (status.state !== 'CONNECTED')
      return { state: 'WAITING', problem: awayReason(status, 'The broker is being connected to') };
    if (source.isRefused) return { state: 'REFUSED', problem: source.problem };
    if (!source.isSubscribed) return { state: 'WAITING', problem: source.problem ?? 'Its source is being subscribed' };
    const storage = this.#storage();
    const problems = [storage.problem, this.#flow?.refusal].filter((problem) => problem != null);
    return { state: storage.state === 'FAILED' ? 'FAILED' : 'RUNNING', problem: problems.join('; ') || null };
  }

  #storage(): StreamStorage {
    if (this.#log === null) return NOTHING_STORED;
    const storage = this.#log.storage();
    return this.#definition.persist ? storage : { ...storage, state: 'OFF', problem: null };
  }
}
