import { isDeepStrictEqual } from 'node:util';
import {
  type KindCounts,
  NO_TOPIC_CHANGES,
  type RecorderStatus,
  type TopicChangeLists,
  type TopicChanges,
} from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { ServiceError } from '../../../platform/errors.ts';

export interface TopicChange extends KindCounts, TopicChangeLists {
  /** Whether this service is connected to the broker. While it is not, the last reported state stays. */
  readonly isConnected: boolean;
  readonly recording: Pick<RecorderStatus, 'state' | 'reason'> | null;
}

export type TopicEvent = BroadcastEvent<TopicChange, TopicChange>;

export interface TopicFeedOptions {
  readonly changes: (since: string | null) => Promise<TopicChanges>;
  readonly status: () => Promise<Pick<RecorderStatus, 'state' | 'reason'>>;
  readonly isConnected: () => boolean;
  /** Called when the feed has had no subscribers for some time. It may then be closed. */
  readonly onIdle: () => void;
  readonly onFault: (error: unknown) => void;
}

/** At most two events per second. */
const TICK_MS = 500;
/** After a slow request, the next one waits REST times its duration, at most LONGEST_REST_MS. */
const REST = 4;
const LONGEST_REST_MS = 5_000;
/** Permissions change seldom, so the state of the recording is requested less often than changes. */
const STATUS_MS = 5_000;
/** A feed without subscribers stays open for this time, for clients that reconnect. */
const IDLE_TICKS = 20;
/** Bounds of the history for slow and reconnecting subscribers: changes, and characters of topics and payloads. */
const MAX_KEPT = 240;
const MAX_KEPT_CHARACTERS = 4_000_000;

/**
 * The changes of topics of one kind below one prefix, shared by all subscribers. The feed polls only while it has
 * subscribers, each time at the recorder that is current.
 */
export class TopicFeed {
  readonly #options: TopicFeedOptions;
  readonly #broadcast: Broadcast<TopicChange, TopicChange>;
  readonly #ticker: NodeJS.Timeout;
  #state: TopicChange = {
    isConnected: false,
    recording: null,
    count: 0,
    leftOut: 0,
    isTruncated: false,
    ...NO_TOPIC_CHANGES,
  };
  #cursor: string | null = null;
  #reading: Promise<void> | null = null;
  #idleTicks = 0;
  #arriving = 0;
  #nextAt = 0;
  #nextStatusAt = 0;

  constructor(options: TopicFeedOptions) {
    this.#options = options;
    this.#broadcast = new Broadcast(() => ({ ...this.#state, ...NO_TOPIC_CHANGES }), {
      history: MAX_KEPT,
      maxWeight: MAX_KEPT_CHARACTERS,
      weigh: charactersOf,
    });
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    this.#ticker.unref();
  }

  /** Returns the current counts, followed by each change. Errors: those of a broker that cannot be queried. */
  async watch(options: SubscriberOptions): Promise<LiveSource<TopicEvent>> {
    this.#arriving += 1;
    try {
      if (this.#cursor === null || this.#nextAt <= performance.now()) await this.#readChanges();
      return this.#broadcast.subscribe(options);
    } finally {
      this.#arriving -= 1;
    }
  }

  /** Whether there are no subscribers and no callers that are about to subscribe. */
  get isIdle(): boolean {
    return this.#broadcast.subscriberCount + this.#arriving === 0;
  }

  close(error?: unknown): void {
    clearInterval(this.#ticker);
    this.#broadcast.close(error);
  }

  #tick(): void {
    this.#idleTicks = this.isIdle ? this.#idleTicks + 1 : 0;
    if (this.#idleTicks > IDLE_TICKS) this.#options.onIdle();
    if (this.#broadcast.subscriberCount === 0 || this.#nextAt > performance.now()) return;
    this.#readChanges().catch((error: unknown) => {
      // If the broker cannot be queried, the last reported state stays.
      if (!(error instanceof ServiceError)) this.#options.onFault(error);
      else this.#publish({ ...this.#state, ...NO_TOPIC_CHANGES });
    });
  }

  #readChanges(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #readNow(): Promise<void> {
    const begun = performance.now();
    const since = this.#cursor;
    try {
      const { cursor, isContinued, counts, ...lists } = await this.#options.changes(since);
      const recording = await this.#recording();
      this.#cursor = cursor;
      const state = { ...this.#state, ...counts, ...lists, recording };
      if (since !== null && isContinued) this.#publish(state);
      else this.#begin(state);
    } finally {
      // The first request waits for the recording to begin, so its duration does not predict that of the next one.
      const rest = since === null ? 0 : Math.min(LONGEST_REST_MS, (performance.now() - begun) * REST);
      // Slightly less than one tick, because a timer may fire early.
      this.#nextAt = begun + Math.max(TICK_MS * 0.9, rest);
    }
  }

  async #recording(): Promise<TopicChange['recording']> {
    if (this.#nextStatusAt > performance.now()) return this.#state.recording;
    const { state, reason } = await this.#options.status();
    this.#nextStatusAt = performance.now() + STATUS_MS;
    return { state, reason };
  }

  /** Starts with a new state that cannot be derived from the events sent so far. */
  #begin(state: TopicChange): void {
    this.#state = { ...state, ...NO_TOPIC_CHANGES, isConnected: this.#options.isConnected() };
    this.#broadcast.reset();
  }

  #publish(change: TopicChange): void {
    const state = { ...change, isConnected: this.#options.isConnected() };
    if (isDeepStrictEqual(state, { ...this.#state, ...NO_TOPIC_CHANGES })) return;
    this.#state = state;
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
