import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { KindCounts, RecordedTopic, RecorderStatus, TopicChanges } from '../model/topic-recorder.ts';

/** How many topics there are, and which became different. */
export interface TopicChange extends KindCounts {
  /** This service to the broker; while not, what was told last stays. */
  readonly isConnected: boolean;
  /** Of the recording; null: not told yet. */
  readonly recording: Pick<RecorderStatus, 'state' | 'reason'> | null;
  readonly added: readonly RecordedTopic[];
  readonly changed: readonly RecordedTopic[];
  readonly expired: readonly string[];
  readonly addedLeftOut: number;
  readonly changedLeftOut: number;
  readonly expiredLeftOut: number;
}

export type TopicEvent = BroadcastEvent<TopicChange, TopicChange>;

export interface TopicFeedOptions {
  /** What happened since an answer before. Errors: of a broker that cannot be asked. */
  readonly ask: (since: string | null) => Promise<TopicChanges>;
  /** How the recording is. Errors: as `ask`. */
  readonly status: () => Promise<Pick<RecorderStatus, 'state' | 'reason'>>;
  readonly isConnected: () => boolean;
  /** Nobody has watched for a while; it may be closed. */
  readonly onIdle: () => void;
  /** A bug that concerns no caller. */
  readonly onFault: (error: unknown) => void;
}

/** At most two events a second. */
const TICK_MS = 500;
/** An answer that takes long is asked for in this many times as long, and in so much time at most. */
const REST = 4;
const LONGEST_REST_MS = 5_000;
/** Rights are withdrawn and granted seldom. */
const STATUS_MS = 5_000;
/** What nobody watches is kept for so long, for those who come back. */
const IDLE_TICKS = 20;
/** Changes kept for those who read slowly or come back, and characters of topics and payloads that they have together. */
const MAX_KEPT = 240;
const MAX_KEPT_CHARACTERS = 4_000_000;

const NO_LISTS = { added: [], changed: [], expired: [], addedLeftOut: 0, changedLeftOut: 0, expiredLeftOut: 0 };

/**
 * What becomes different among the topics of one kind below one prefix, for everybody who follows it. Asked for while somebody
 * watches, and by whatever serves the broker's topics at the time: connections and their settings may change meanwhile.
 */
export class TopicFeed {
  readonly #options: TopicFeedOptions;
  readonly #broadcast: Broadcast<TopicChange, TopicChange>;
  readonly #ticker: NodeJS.Timeout;
  #state: TopicChange = { isConnected: false, recording: null, count: 0, leftOut: 0, isTruncated: false, ...NO_LISTS };
  /** Of the last answer; null: none yet. */
  #cursor: string | null = null;
  #asking: Promise<void> | null = null;
  #idleTicks = 0;
  /** Those who wait for the first answer. */
  #arriving = 0;
  /** `performance.now()`, of both. */
  #nextAt = 0;
  #nextStatusAt = 0;

  constructor(options: TopicFeedOptions) {
    this.#options = options;
    this.#broadcast = new Broadcast(() => ({ ...this.#state, ...NO_LISTS }), {
      history: MAX_KEPT,
      maxWeight: MAX_KEPT_CHARACTERS,
      weigh: charactersOf,
    });
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    this.#ticker.unref();
  }

  /** The counts now, then each change. Errors: of a broker that cannot be asked. */
  async watch(options: SubscriberOptions): Promise<LiveSource<TopicEvent>> {
    this.#arriving += 1;
    try {
      if (this.#cursor === null || this.#nextAt <= performance.now()) await this.#look();
      return this.#broadcast.subscribe(options);
    } finally {
      this.#arriving -= 1;
    }
  }

  /** Nobody watches, or is about to. */
  get isIdle(): boolean {
    return this.#broadcast.subscriberCount + this.#arriving === 0;
  }

  /** Ends the streams of all who watch. */
  close(error?: unknown): void {
    clearInterval(this.#ticker);
    this.#broadcast.close(error);
  }

  #tick(): void {
    this.#idleTicks = this.isIdle ? this.#idleTicks + 1 : 0;
    if (this.#idleTicks > IDLE_TICKS) this.#options.onIdle();
    if (this.#broadcast.subscriberCount === 0 || this.#nextAt > performance.now()) return;
    this.#look().catch((error: unknown) => {
      // Of a broker that cannot be asked, what was told last stays.
      if (!(error instanceof ServiceError)) this.#options.onFault(error);
      else this.#tell({ ...this.#state, ...NO_LISTS });
    });
  }

  /** One look at a time, for all who wait for it. */
  #look(): Promise<void> {
    this.#asking ??= this.#lookNow().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #lookNow(): Promise<void> {
    const begun = performance.now();
    const since = this.#cursor;
    try {
      const { cursor, isContinued, counts, ...lists } = await this.#options.ask(since);
      const recording = await this.#recording();
      this.#cursor = cursor;
      const state = { ...this.#state, ...counts, ...lists, recording };
      if (since !== null && isContinued) this.#tell(state);
      else this.#begin(state);
    } finally {
      // The first answer waits for the recording to begin: that says nothing of the next.
      const rest = since === null ? 0 : Math.min(LONGEST_REST_MS, (performance.now() - begun) * REST);
      // A little less than a tick, which may be early.
      this.#nextAt = begun + Math.max(TICK_MS * 0.9, rest);
    }
  }

  async #recording(): Promise<TopicChange['recording']> {
    if (this.#nextStatusAt > performance.now()) return this.#state.recording;
    const { state, reason } = await this.#options.status();
    this.#nextStatusAt = performance.now() + STATUS_MS;
    return { state, reason };
  }

  /** What was told before leads to this no more. */
  #begin(state: TopicChange): void {
    this.#state = { ...state, ...NO_LISTS, isConnected: this.#options.isConnected() };
    this.#broadcast.reset();
  }

  #tell(change: TopicChange): void {
    const isConnected = this.#options.isConnected();
    const before = this.#state;
    const isSame =
      isConnected === before.isConnected &&
      change.recording?.state === before.recording?.state &&
      change.recording?.reason === before.recording?.reason &&
      change.count === before.count &&
      change.leftOut === before.leftOut &&
      change.isTruncated === before.isTruncated;
    if (isSame && change.added.length + change.changed.length + change.expired.length === 0) return;
    this.#state = { ...change, isConnected };
    this.#broadcast.publish(this.#state);
  }
}

function charactersOf({ added, changed, expired }: TopicChange): number {
  let characters = 100;
  for (const list of [added, changed]) {
    for (const { topic, payload } of list) characters += 100 + topic.length + (payload?.data.length ?? 0);
  }
  for (const topic of expired) characters += topic.length;
  return characters;
}
