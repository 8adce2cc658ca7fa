import { ServiceError } from '../../../platform/errors.ts';
import { Backoff, type BackoffTimes } from '../../../platform/scheduling/backoff.ts';
import { after, attempt, type ValueOrPromise } from '../../../platform/value-or-promise.ts';
import type { LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { awayReason } from '../../../protocol/mqtt/when-connected.ts';
import { type StoredMessage, storedAt } from '../../log/log-message.ts';
import type { MessageLog } from '../../log/message-log.ts';
import { publishRefusal } from '../engine/refusals.ts';
import type {
  ReplayCheckpoint,
  ReplayJob,
  ReplayProgress,
  ReplayRequest,
  ReplayState,
} from '../model/stream-replay.ts';
import type { StreamSession } from '../model/stream-session.ts';
import type { ReplayClock } from './replay-clock.ts';
import { ReplayPace } from './replay-pace.ts';
import { ReplayPages } from './replay-pages.ts';

/** Maximum number of unacknowledged messages, and of their payload bytes; a single message may be larger. */
const WINDOW_MESSAGES = 512;
const WINDOW_BYTES = 1024 * 1024;
const TURN_MESSAGES = 256;
/** Wait in milliseconds after which the page is read again, because its messages may have expired. */
const FRESH_MS = 1_000;
/** Milliseconds until a publish is retried that was lost although the broker is connected. */
const RETRY_MS = 1_000;
/** Of pages that could not be read. */
const REREAD_BACKOFF: BackoffTimes = { firstMs: 500, longestMs: 30_000 };

const SUSPENDED = 'The replay continues when the streams of the broker run again';

/** A message that was published, or will be again. */
interface Sent {
  readonly message: StoredMessage;
  /** Number of messages of the replay before it. */
  readonly before: number;
}

interface ReplayOptions {
  readonly id: number;
  readonly request: ReplayRequest;
  /** `null`: it ends with its engine. */
  readonly job: ReplayJob | null;
  readonly log: MessageLog | null;
  readonly session: StreamSession;
  readonly clock: ReplayClock;
  qosOf(stored: 0 | 1 | 2): 0 | 1 | 2;
  onPublished(): void;
  onState(): void;
  onProgress(): void;
}

/**
 * One replay of stored messages: RUNNING <-> PAUSED (the broker is not connected, or the database does not respond) ->
 * DONE, STOPPED or FAILED (the broker refuses the topic, or the messages cannot be read). Messages that were not
 * acknowledged when the connection was lost are published again first. The time of a pause does not count, so that the
 * gaps between messages stay the same.
 *
 * With a job, another engine continues it at the last checkpoint that was stored: messages after it are published again
 * if they had been published. After `suspend` the checkpoint does not change, and nothing is published twice.
 */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #pace: ReplayPace;
  readonly #startedAt: number;
  #pages: ReplayPages | null = null;
  #total = 0;
  #state: ReplayState = 'RUNNING';
  #problem: string | null = null;
  #endedAt: number | null = null;
  #published = 0;
  #position: number | null = null;
  /** Published and not yet acknowledged, in order of publishing. */
  #inFlight = new Set<Sent>();
  #inFlightBytes = 0;
  #again: Sent[] = [];
  /** Number of the current connection. Results of earlier connections are ignored. */
  #round = 0;
  #pausedAt = 0;
  #isOpening = true;
  #isPumping = false;
  #isReading = false;
  /** Paused because a page could not be read. The broker still acknowledges what is in flight. */
  #isRereading = false;
  readonly #backoff = new Backoff(REREAD_BACKOFF);
  #suspending: Promise<void> | null = null;
  #onQuiet: () => void = () => undefined;
  #cancelWake: Stop | null = null;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#pace = new ReplayPace(options.request.speed);
    const { startedAt = Date.now(), checkpoint = null } = options.job?.continued ?? {};
    this.#startedAt = startedAt;
    this.#published = checkpoint?.published ?? 0;
    this.#total = checkpoint?.total ?? 0;
    if (checkpoint !== null && checkpoint.after !== null) this.#position = storedAt(checkpoint.after);
  }

  get isOver(): boolean {
    return this.#endedAt !== null;
  }

  start(): ValueOrPromise<void> {
    const { session } = this.#options;
    return after(this.#openPages(), (opened) => {
      this.#isOpening = false;
      if (this.isOver) return;
      this.#pages = opened;
      this.#total = opened?.total ?? 0;
      if (session.status.state !== 'CONNECTED') this.#pause(away(session.status));
      else {
        this.#options.onState();
        this.#pump();
      }
    });
  }

  stop(): void {
    if (!this.isOver) this.#end('STOPPED');
  }

  /** Publishes nothing more. Resolves when no acknowledgement is missing, or the broker is not connected. */
  suspend(): Promise<void> {
    this.#suspending ??= new Promise((resolve) => {
      const isWaiting = (this.#state === 'RUNNING' || this.#isRereading) && this.#inFlight.size > 0;
      this.#onQuiet = resolve;
      if (!this.isOver) this.#pause(SUSPENDED);
      if (!isWaiting) resolve();
    });
    return this.#suspending;
  }

  get #isSuspended(): boolean {
    return this.#suspending !== null;
  }

  linkChanged(status: LinkStatus): void {
    if (this.isOver || this.#isOpening) return;
    if (status.state !== 'CONNECTED') this.#onQuiet();
    if (this.#isSuspended) return;
    if (status.state !== 'CONNECTED') this.#pause(away(status));
    else this.#resume();
  }

  reread(): void {
    this.#pages?.forget();
    this.#pump();
  }

  progress(): ReplayProgress {
    const { id, request, job } = this.#options;
    return {
      id,
      jobId: job?.jobId ?? null,
      state: this.#state,
      request,
      published: this.#published,
      total: this.#total,
      position: this.#position,
      startedAt: this.#startedAt,
      endedAt: this.#endedAt,
      problem: this.#problem,
      checkpoint: this.#checkpoint(),
    };
  }

  #checkpoint(): ReplayCheckpoint | null {
    if (this.#isOpening) return this.#options.job?.continued?.checkpoint ?? null;
    const pages = this.#pages;
    if (pages === null) return null;
    const { newest, total, passed, taken } = pages;
    const [oldest = this.#again[0]] = this.#inFlight;
    if (oldest === undefined) return { newest, total, after: passed, published: taken };
    // `after` is exclusive, and ids are integers.
    const last = oldest.message.id + (this.#options.request.reverse ? 1 : -1);
    return { newest, total, after: last, published: oldest.before };
  }

  #openPages(): ValueOrPromise<ReplayPages | null> {
    const { log, request, job } = this.#options;
    if (log === null) return null;
    const checkpoint = job?.continued?.checkpoint ?? null;
    if (checkpoint !== null) return new ReplayPages(log, request, checkpoint);
    return attempt<ReplayPages | null>(
      () => ReplayPages.open(log, request),
      (error) => this.#unreadable(error as Error),
    );
  }

  #pump(): void {
    // A session may call `done` before its publish returns.
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      let count = 0;
      while (count < TURN_MESSAGES && this.#publishNext()) count += 1;
      if (count === TURN_MESSAGES) this.#wakeAfter(0);
    } finally {
      this.#isPumping = false;
    }
  }

  #publishNext(): boolean {
    if (this.#state !== 'RUNNING' || this.#isOpening) return false;
    if (this.#inFlight.size >= WINDOW_MESSAGES || this.#inFlightBytes >= WINDOW_BYTES) return false;
    const next = this.#again.shift() ?? this.#nextDue();
    if (next !== null) this.#publish(next);
    return next !== null;
  }

  #nextDue(): Sent | null {
    const pages = this.#pages;
    if (pages !== null && pages.next === null && !pages.isAtEnd) this.#readPage(pages);
    const message = pages?.next ?? null;
    if (message === null) {
      const isAtEnd = pages?.isAtEnd !== false;
      if (isAtEnd && !this.isOver && this.#inFlight.size === 0) this.#end('DONE');
      return null;
    }
    const wait = this.#pace.wait(message.id, this.#options.clock.now());
    if (wait > 0) {
      this.#wakeAfter(wait);
      return null;
    }
    const before = pages?.taken ?? 0;
    pages?.advance();
    return { message, before };
  }

  #readPage(pages: ReplayPages): void {
    if (this.#isReading) return;
    this.#isReading = true;
    const read = attempt<void>(
      () => after(pages.read(), () => this.#backoff.reset()),
      (error) => this.#notRead(error as Error),
    );
    void after(read, () => {
      this.#isReading = false;
      // Does nothing if the page was read synchronously, while it pumps.
      this.#pump();
    });
  }

  #publish(sent: Sent): void {
    const { session, request, qosOf } = this.#options;
    const { message } = sent;
    const round = this.#round;
    this.#inFlight.add(sent);
    this.#inFlightBytes += message.payload.length;
    session.publish(request.topic, message.payload, qosOf(message.qos), (error) => this.#settled(sent, round, error));
  }

  #settled(sent: Sent, round: number, error: ServiceError | null): void {
    if (round !== this.#round) return;
    if (error?.code === 'BROKER_UNREACHABLE') {
      if (!this.isOver) this.#lost(error);
      return;
    }
    const { message } = sent;
    if (this.#inFlight.delete(sent)) this.#inFlightBytes -= message.payload.length;
    if (error !== null) {
      if (!this.isOver) this.#end('FAILED', publishRefusal(error, this.#options.request.topic));
      return;
    }
    this.#published += 1;
    this.#position = storedAt(message.id);
    this.#options.onPublished();
    this.#options.onProgress();
    if (this.#inFlight.size === 0) this.#onQuiet();
    this.#pump();
  }

  #lost(error: ServiceError): void {
    this.#onQuiet();
    if (this.#isSuspended) return;
    this.#pause(error.message);
    if (this.#options.session.status.state === 'CONNECTED') this.#wakeAfter(RETRY_MS, () => this.#resume());
  }

  #pause(problem: string): void {
    if (this.#state === 'RUNNING') this.#pausedAt = this.#options.clock.now();
    else if (this.#problem === problem) return;
    this.#cancelWake?.();
    this.#isRereading = false;
    this.#state = 'PAUSED';
    this.#problem = problem;
    this.#options.onState();
  }

  #resume(): void {
    if (this.#isSuspended || this.#state !== 'PAUSED' || this.#options.session.status.state !== 'CONNECTED') return;
    this.#cancelWake?.();
    this.#round += 1;
    this.#again = [...this.#inFlight, ...this.#again];
    this.#inFlight.clear();
    this.#inFlightBytes = 0;
    this.#pages?.forget();
    this.#endPause();
  }

  #endPause(): void {
    this.#isRereading = false;
    this.#pace.shift(this.#options.clock.now() - this.#pausedAt);
    this.#state = 'RUNNING';
    this.#problem = null;
    this.#options.onState();
    this.#pump();
  }

  #notRead(error: Error): void {
    if (!(error instanceof ServiceError) || error.code !== 'DATABASE_UNAVAILABLE') {
      this.#unreadable(error);
      return;
    }
    // After another pause the page is read again in any case.
    if (this.#state !== 'RUNNING') return;
    this.#pause(`The stored messages cannot be read now: ${error.message}`);
    this.#isRereading = true;
    // Unlike after `#resume`, nothing is published again: messages in flight are acknowledged meanwhile.
    this.#wakeAfter(this.#backoff.next(), () => this.#endPause());
  }

  #end(state: ReplayState, problem: string | null = null): void {
    this.#cancelWake?.();
    this.#state = state;
    this.#problem = problem;
    this.#endedAt = Date.now();
    this.#inFlight.clear();
    this.#again = [];
    this.#pages = null;
    this.#onQuiet();
    this.#options.onState();
  }

  #wakeAfter(ms: number, call = () => this.#pump()): void {
    this.#cancelWake?.();
    this.#cancelWake = this.#options.clock.after(ms, () => {
      if (ms >= FRESH_MS) this.#pages?.forget();
      call();
    });
  }

  #unreadable(error: Error): null {
    if (!this.isOver) this.#end('FAILED', `The stored messages cannot be read: ${error.message}`);
    return null;
  }
}

const away = (status: LinkStatus): string =>
  awayReason(status, status.state === 'CLOSED' ? 'The link to the broker was closed' : 'The broker is not connected');
