import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../../platform/errors.ts';
import type { BrokerLink } from '../../../protocol/mqtt/broker-link.ts';
import type { LeasedLink } from '../../../protocol/mqtt/leased-link.ts';
import { whenConnected } from '../../../protocol/mqtt/when-connected.ts';
import { type DeletionCounts, DeletionEntries, type DeletionEntry, type TopicResult } from './deletion-entries.ts';
import type { Completeness, RetainedRequest } from './retained-readings.ts';

/** READING: looks for messages. WAITING: for the broker to be connected again, or for a process that continues. */
export type DeletionState = 'READING' | 'DELETING' | 'WAITING' | 'DONE' | 'FAILED';

export interface DeletionRequest {
  /** `null`: the topics are given. */
  readonly filter: string | null;
  readonly topics: readonly string[];
  readonly isDryRun: boolean;
}

export interface DeletionProgress {
  readonly jobId: string;
  readonly state: DeletionState;
  readonly isDryRun: boolean;
  readonly filter: string | null;
  readonly counts: DeletionCounts;
  readonly total: number;
  /** Whether all messages that match are known, and the result of each deletion was read again. */
  readonly isComplete: boolean;
  /** Number of times that the connection was lost. */
  readonly interruptions: number;
  readonly problem: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** Empty until the end. At most MAX_RESULTS. */
  readonly results: readonly TopicResult[];
}

/** What an earlier process has found out. */
export interface ContinuedDeletion {
  /** Topics that were deleted, in a deletion by filter. */
  readonly deleted: number;
  /** The given topics without a message at the start, as positions in the list. `null`: they were not read yet. */
  readonly notFound: readonly number[] | null;
  readonly interruptions: number;
}

interface DeletionOptions extends DeletionRequest {
  readonly jobId: string;
  readonly startedAt: number;
  /** `null`: the deletion starts. */
  readonly continued: ContinuedDeletion | null;
  readonly timeoutMs: number;
  read(request: RetainedRequest): Promise<Completeness>;
  /** The connection that publishes. Errors: those of an unreachable broker. */
  link(): Promise<LeasedLink>;
  explained(error: ServiceError, topic: string, clientId: string): Promise<ServiceError>;
  isStopped(): boolean;
  /** `isNewState` is false for single deletions. */
  onProgress(isNewState: boolean): void;
}

/** Unacknowledged deletions. */
const WINDOW = 500;
const MAX_ROUNDS = 12;
/** How long a deletion waits for a broker that is not connected. */
const RECONNECT_MS = 60_000;
const RETRY_MS = 500;
const MAX_MS = 15 * 60_000;
const NOTHING = Buffer.alloc(0);

/**
 * Deletes retained messages: publishes an empty one on each topic, reads again, and repeats until none is left. An
 * acknowledged deletion alone proves nothing: MQTT 3.1.1 brokers also acknowledge what they do not allow, and a broker
 * that is killed may restore what it had saved before. So only a reading that misses a message counts it as deleted.
 *
 * A deletion that another process has begun starts with a reading, too. What that process had deleted and not read
 * again is then counted if the topics were given, and not if they were found by a filter.
 */
export class RetainedDeletion {
  readonly #options: DeletionOptions;
  readonly #entries: DeletionEntries;
  #state: DeletionState = 'READING';
  #isComplete = false;
  #interruptions: number;
  #isFirstRead = false;
  #problem: string | null = null;
  #endedAt: number | null = null;

  constructor(options: DeletionOptions) {
    this.#options = options;
    const { continued, filter, isDryRun } = options;
    this.#entries = new DeletionEntries(isDryRun, filter === null ? 0 : (continued?.deleted ?? 0));
    this.#interruptions = continued?.interruptions ?? 0;
  }

  progress(): DeletionProgress {
    const { jobId, isDryRun, filter, startedAt } = this.#options;
    return {
      jobId,
      state: this.#state,
      isDryRun,
      filter,
      counts: this.#entries.counts(),
      total: this.#entries.total,
      isComplete: this.#isComplete,
      interruptions: this.#interruptions,
      problem: this.#problem,
      startedAt,
      endedAt: this.#endedAt,
      results: this.#endedAt === null ? [] : this.#entries.results(),
    };
  }

  /** The given topics that had no message at the start, as positions in the list. `null` before they were read. */
  get notFound(): readonly number[] | null {
    if (!this.#isFirstRead) return this.#options.continued?.notFound ?? null;
    return this.#options.topics.flatMap((topic, place) => (this.#entries.isNotFound(topic) ? [place] : []));
  }

  /** Errors: those of the first reading; nothing was deleted then. Later ones are in the progress. */
  async run(): Promise<DeletionProgress> {
    if (this.#options.continued !== null) return this.#tried(async () => this.#work(await this.#continue()));
    const isComplete = await this.#readFirst();
    return this.#tried(() => this.#work(isComplete));
  }

  /** Deletes what the first reading has found. `isComplete`: whether that has found all. */
  async #work(isComplete: boolean): Promise<DeletionProgress> {
    const { isDryRun, startedAt, continued } = this.#options;
    let isAllKnown = isComplete && !this.#entries.isFull;
    if (isDryRun) return this.#end('DONE', isAllKnown);
    let isVerified = isComplete;
    let isLeft = this.#entries.evaluate(1, isComplete) || (continued !== null && !isComplete);
    for (let round = 0; isLeft && round < MAX_ROUNDS && Date.now() < startedAt + MAX_MS; round += 1) {
      isVerified = false;
      await this.#deleteFound();
      const from = this.#entries.reading + 1;
      const isReadingComplete = await this.#persist(() => this.#readAgain(!isAllKnown));
      isLeft = this.#entries.evaluate(from, isReadingComplete);
      isVerified = isReadingComplete;
      isAllKnown = (isAllKnown || isReadingComplete) && !this.#entries.isFull;
      // What the reading missed may be acknowledged and not deleted.
      isLeft ||= !isReadingComplete;
    }
    return this.#end('DONE', isAllKnown && isVerified);
  }

  async #tried(work: () => Promise<DeletionProgress>): Promise<DeletionProgress> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#problem = error.message;
      return this.#end('FAILED', false);
    }
  }

  async #readFirst(): Promise<boolean> {
    const isComplete = await this.#readAgain(true);
    this.#entries.notFound(this.#options.topics);
    this.#isFirstRead = true;
    return isComplete;
  }

  /** The first reading in another process, whose connection to the broker may not be there yet. */
  async #continue(): Promise<boolean> {
    const { topics, isDryRun, continued } = this.#options;
    const known = continued?.notFound ?? null;
    if (known !== null && !isDryRun) {
      const missing = new Set(known.map((place) => topics[place] ?? ''));
      this.#entries.sent(topics.filter((topic) => !missing.has(topic)));
    }
    return this.#persist(() => this.#readFirst());
  }

  /** Returns whether the broker has sent all messages. */
  async #readAgain(isNew: boolean): Promise<boolean> {
    const { filter, topics } = this.#options;
    const completeness = await this.#options.read({
      filters: filter === null ? topics : [filter],
      begin: () => {
        this.#entries.beginReading();
        this.#become('READING');
        return { receive: ({ topic }) => this.#entries.found(topic, isNew) };
      },
    });
    return completeness === 'COMPLETE';
  }

  async #deleteFound(): Promise<void> {
    const isLost = await this.#persist(async () => {
      const link = await this.#options.link();
      const { session, release } = link.acquire();
      try {
        await whenConnected(session, this.#options.timeoutMs);
        this.#become('DELETING');
        return await this.#publishAll(session);
      } finally {
        release();
      }
    });
    if (isLost) this.#wait('The connection to the broker was lost');
  }

  /** Returns whether the connection was lost. Then some deletions may have been sent without an acknowledgement. */
  async #publishAll(session: BrokerLink): Promise<boolean> {
    const qos = Math.min(1, session.publishing?.maximumQos ?? 1) as 0 | 1;
    const entries = this.#entries.toDelete();
    const refused: (readonly [string, DeletionEntry])[] = [];
    let inFlight = 0;
    let isLost = false;
    let isPumping = false;
    await new Promise<void>((resolve) => {
      const settled = (topic: string, entry: DeletionEntry, error: ServiceError | null) => {
        inFlight -= 1;
        if (error === null) entry.state = qos === 0 ? 'SENT' : 'ACKNOWLEDGED';
        else if (error.status === 503) isLost = true;
        else {
          entry.state = 'REFUSED';
          entry.error = error;
          if (refused.length < EXPLAINED) refused.push([topic, entry]);
        }
        this.#options.onProgress(false);
        pump();
      };
      const pump = () => {
        // `send` may call back before it returns.
        if (isPumping) return;
        isPumping = true;
        while (inFlight < WINDOW && !isLost && !this.#options.isStopped()) {
          const next = entries.next();
          if (next.done) break;
          const [topic, entry] = next.value;
          entry.state = 'SENT';
          entry.attempts += 1;
          inFlight += 1;
          session.send(topic, NOTHING, { qos, retain: true }, (error) => settled(topic, entry, error));
        }
        isPumping = false;
        if (inFlight === 0) resolve();
      };
      pump();
    });
    for (const [topic, entry] of refused) {
      if (entry.error) entry.error = await this.#options.explained(entry.error, topic, session.clientId);
    }
    return isLost;
  }

  /** Repeats while the broker is unreachable, for at most RECONNECT_MS. */
  async #persist<T>(work: () => Promise<T>): Promise<T> {
    const end = Math.min(Date.now() + RECONNECT_MS, this.#options.startedAt + MAX_MS);
    for (;;) {
      if (this.#options.isStopped()) throw new ServiceError('BROKER_UNREACHABLE', 'This service is shutting down');
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof ServiceError) || error.status !== 503 || Date.now() > end) throw error;
        this.#wait(error.message);
        await delay(RETRY_MS);
      }
    }
  }

  #wait(problem: string): void {
    this.#problem = problem;
    if (this.#state === 'WAITING') return;
    this.#interruptions += 1;
    this.#become('WAITING');
  }

  #become(state: DeletionState): void {
    this.#state = state;
    if (state === 'DELETING' || state === 'DONE') this.#problem = null;
    this.#options.onProgress(true);
  }

  #end(state: 'DONE' | 'FAILED', isComplete: boolean): DeletionProgress {
    this.#isComplete = isComplete;
    this.#endedAt = Date.now();
    this.#become(state);
    return this.progress();
  }
}

/** Refusals whose deciding rule is looked up. */
const EXPLAINED = 100;
