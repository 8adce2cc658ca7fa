import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../../platform/errors.ts';
import type {
  KindCounts,
  RecordedTopic,
  TopicChanges,
  TopicKind,
  TopicRequests,
  TopicResponses,
} from '../model/topic-recorder.ts';
import type { TopicSettings } from '../model/topic-settings.ts';
import { TopicTree } from '../tree/topic-tree.ts';
import { RecordedTopics } from './recorded-topics.ts';
import { SteadyClock } from './steady-clock.ts';

export interface TopicRecordingOptions {
  readonly settings: TopicSettings;
  readonly maxBytes: number;
  /** Called when a filter would expire. If a client is known to be subscribed, the filter stays. */
  readonly isSubscribed?: ((filter: string) => boolean) | undefined;
  readonly clock?: SteadyClock;
}

/** Requests about recorded topics. `status` also depends on the connection, so the recorder returns it. */
export type RecordingRequest = Exclude<keyof TopicRequests, 'status'>;

/** Interval of expiry in milliseconds, and resolution of recorded times. */
const TICK_MS = 125;
/** Expired topics are removed in pieces of this many, for at most SLICE_MS per iteration. Messages wait meanwhile. */
const PIECE = 100;
const SLICE_MS = 2;

/**
 * The recorded topics of one broker, from creation to close. One memory limit applies to everything. A topic expires a
 * TTL after its last use, whatever the state of the connection. Errors of `query`: INVALID if `filter` is not valid,
 * BROKER_UNREACHABLE if the recording is closed meanwhile.
 */
export class TopicRecording {
  readonly #clock: SteadyClock;
  readonly #maxBytes: number;
  readonly #isSubscribed: ((filter: string) => boolean) | undefined;
  readonly #id = randomBytes(6).toString('hex');
  readonly #since: number;
  /** Time of the clock since which no use was missed. */
  #wholeSince: number;
  readonly #published: TopicTree;
  readonly #subscribed: TopicTree;
  settings: TopicSettings;
  #messages = 0;
  /** Time of the clock at the last tick. Reading the clock for each message would cost as much as the tree. */
  #now: number;
  readonly #ticks: NodeJS.Timeout;
  #slice: NodeJS.Immediate | null = null;
  #removing: Promise<unknown> = Promise.resolve();
  /** The removal that follows the running one. `null` if none is pending. */
  #nextRemoving: Promise<void> | null = null;
  #isClosed = false;

  constructor({ settings, maxBytes, isSubscribed, clock = new SteadyClock() }: TopicRecordingOptions) {
    this.#clock = clock;
    this.#maxBytes = maxBytes;
    this.#isSubscribed = isSubscribed;
    this.settings = settings;
    this.#now = clock.now();
    this.#since = this.#now;
    this.#wholeSince = this.#now;
    const { publishLimit, subscribeLimit, payloadLimit } = settings;
    const { has, hasSubscription } = new RecordedTopics(settings);
    this.#published = new TopicTree({ limit: publishLimit, maxBytes, payloadLimit, admits: has });
    this.#subscribed = new TopicTree({ limit: subscribeLimit, maxBytes, payloadLimit: 0, admits: hasSubscription });
    this.#ticks = setInterval(() => this.#tick(), TICK_MS);
    this.#ticks.unref();
  }

  record(topic: string, payload: Uint8Array, qos: 0 | 1 | 2, retain: boolean): void {
    if (this.#published.record(topic, this.#now, qos, retain, payload)) this.#messages += 1;
  }

  /** Records a filter that a client subscribes to. Returns false if it is not listed. */
  subscribed(filter: string, qos: 0 | 1 | 2): boolean {
    this.#subscribed.maxBytes = this.#maxBytes - this.#published.bytes;
    const isListed = this.#subscribed.record(filter, this.#now, qos, false, null);
    this.#published.maxBytes = this.#maxBytes - this.#subscribed.bytes;
    return isListed;
  }

  /** Called when no client is subscribed to the filter any longer. It expires one TTL from now. */
  released(filter: string): void {
    this.#subscribed.touch(filter, this.#now);
  }

  has(topic: string): boolean {
    return this.#published.has(topic);
  }

  hasSubscription(filter: string): boolean {
    return this.#subscribed.has(filter);
  }

  /** Called when uses may have been missed until now. */
  missed(): void {
    this.#wholeSince = this.#clock.now();
  }

  get status() {
    const published = this.#countsOf(this.#published);
    const subscribed = this.#countsOf(this.#subscribed);
    const isWhole = this.#clock.now() - this.#wholeSince >= this.settings.ttlSeconds * 1_000;
    return {
      since: this.#since + this.#clock.shift(),
      isComplete: isWhole && !published.isTruncated && !subscribed.isTruncated,
      published,
      subscribed,
      memoryBytes: this.#published.bytes + this.#subscribed.bytes,
      messages: this.#messages,
    };
  }

  /** Applies settings immediately. Resolves when topics that no longer match the filters are removed. */
  async apply(settings: TopicSettings): Promise<void> {
    const { filters, excludedFilters } = this.settings;
    this.settings = settings;
    this.#published.limit = settings.publishLimit;
    this.#subscribed.limit = settings.subscribeLimit;
    this.#published.payloadLimit = settings.payloadLimit;
    this.#tick();
    if (isDeepStrictEqual([filters, excludedFilters], [settings.filters, settings.excludedFilters])) return;
    this.missed();
    const { has, hasSubscription } = new RecordedTopics(settings);
    this.#published.admits = has;
    this.#subscribed.admits = hasSubscription;
    await this.#removeUnwanted();
  }

  async query<Type extends RecordingRequest>(
    type: Type,
    request: TopicRequests[Type],
    assertWanted?: () => void,
  ): Promise<TopicResponses[Type]> {
    this.#now = this.#clock.now();
    return this.#responses[type](request, assertWanted);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#ticks);
    if (this.#slice) clearImmediate(this.#slice);
    this.#slice = null;
    this.#published.clear();
    this.#subscribed.clear();
  }

  readonly #responses: {
    readonly [Type in RecordingRequest]: (
      request: TopicRequests[Type],
      assertWanted?: () => void,
    ) => TopicResponses[Type] | Promise<TopicResponses[Type]>;
  } = {
    find: async ({ kind, ...request }, assertWanted) => {
      const page = await this.#tree(kind).find(request, () => {
        if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', 'The recording of topics has ended');
        assertWanted?.();
      });
      return { ...page, topics: page.topics.map(this.#onWallClock) };
    },
    levels: ({ kind, ...request }) => {
      const page = this.#tree(kind).levels(request);
      const levels = page.levels.map((level) => ({
        ...level,
        recorded: level.recorded && this.#onWallClock(level.recorded),
      }));
      return { ...page, levels };
    },
    topic: ({ kind, topic }) => {
      const recorded = this.#tree(kind).get(topic);
      return recorded && this.#onWallClock(recorded);
    },
    changes: ({ kind, since, ...request }): TopicChanges => {
      const tree = this.#tree(kind);
      // A cursor of another recording is not accepted.
      const own = `${this.#id}.`;
      const cursor = since?.startsWith(own) ? since.slice(own.length) : null;
      const changes = tree.changes({ ...request, since: cursor }, this.#now);
      return {
        ...changes,
        cursor: own + changes.cursor,
        isContinued: since === null ? changes.isContinued : cursor !== null && changes.isContinued,
        added: changes.added.map(this.#onWallClock),
        changed: changes.changed.map(this.#onWallClock),
        counts: this.#countsOf(tree),
      };
    },
  };

  /** Calls during a running removal share the next one. At most two removals are pending. */
  #removeUnwanted(): Promise<void> {
    this.#nextRemoving ??= this.#removing.then(async () => {
      this.#nextRemoving = null;
      for (const tree of [this.#published, this.#subscribed])
        await tree.remove((topic) => tree.admits?.(topic) === false);
    });
    this.#removing = this.#nextRemoving;
    return this.#nextRemoving;
  }

  #tree(kind: TopicKind): TopicTree {
    return kind === 'PUBLISHED' ? this.#published : this.#subscribed;
  }

  #countsOf(tree: TopicTree): KindCounts {
    const { size, leftOut, leftOutAt } = tree;
    const isTruncated = leftOutAt !== null && leftOutAt > this.#expiredAt();
    return { count: size, leftOut, isTruncated };
  }

  #expiredAt(): number {
    return this.#now - this.settings.ttlSeconds * 1_000;
  }

  #tick(): void {
    this.#now = this.#clock.now();
    this.#subscribed.maxBytes = this.#maxBytes - this.#published.bytes;
    this.#published.maxBytes = this.#maxBytes - this.#subscribed.bytes;
    if (this.#slice === null) this.#expire();
  }

  readonly #expire = (): void => {
    this.#slice = null;
    const until = this.#expiredAt();
    const end = performance.now() + SLICE_MS;
    let hasMore = true;
    while (hasMore && performance.now() < end) {
      hasMore = this.#published.expire(until, this.#now, PIECE);
      hasMore = this.#subscribed.expire(until, this.#now, PIECE, this.#isSubscribed) || hasMore;
    }
    if (hasMore) this.#slice = setImmediate(this.#expire);
  };

  readonly #onWallClock = (recorded: RecordedTopic): RecordedTopic => {
    const shift = this.#clock.shift();
    if (shift === 0) return recorded;
    return { ...recorded, firstSeen: recorded.firstSeen + shift, lastSeen: recorded.lastSeen + shift };
  };
}
