import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../../platform/errors.ts';
import type {
  KindCounts,
  RecordedTopic,
  RecorderStatus,
  TopicChanges,
  TopicKind,
  TopicQuestions,
} from '../model/topic-recorder.ts';
import type { TopicSettings } from '../model/topic-settings.ts';
import { TopicTree } from '../tree/topic-tree.ts';
import { areSameFilters, RecordedTopics } from './recorded-topics.ts';
import { SteadyClock } from './steady-clock.ts';

export interface TopicRecordingOptions {
  readonly settings: TopicSettings;
  /** Of all that is recorded, in bytes: beyond it new topics are left out. */
  readonly maxBytes: number;
  /** Asked when a filter would expire: somebody is known to hold it, so it stays, as if it were subscribed to now. Default: nobody. */
  readonly isHeld?: ((filter: string) => boolean) | undefined;
  readonly clock?: SteadyClock;
}

/** Questions about what is recorded; how it comes here is known to who records. */
export type RecordingQuestion = Exclude<keyof TopicQuestions, 'status'>;

export type RecordingStatus = Pick<RecorderStatus, 'published' | 'memoryBytes' | 'messages'> & {
  readonly since: number;
  readonly subscribed: KindCounts;
};

type Answer<Type extends RecordingQuestion> = TopicQuestions[Type]['answer'];

/** How often what expires is looked for (ms): a topic goes so much later than its TTL has it, and recording has that resolution. */
const TICK_MS = 125;
/** What expires goes in pieces of so many topics, and for so long (ms) without the event loop in between: messages wait meanwhile. */
const PIECE = 100;
const SLICE_MS = 2;

/**
 * What is recorded of the topics of one broker, from when it is made until it is closed: whoever hears messages and subscriptions tells
 * them here. Filters, limits and TTL are those of the settings, at any time; memory is one limit for all of it. A topic goes a TTL
 * after its last use by a clock that does not jump, whatever becomes of the broker.
 *
 * Errors of `ask`: INVALID for a `filter` that is none; BROKER_UNREACHABLE where it is closed before the answer.
 */
export class TopicRecording {
  readonly #clock: SteadyClock;
  readonly #maxBytes: number;
  readonly #isHeld: ((filter: string) => boolean) | undefined;
  readonly #id = randomBytes(6).toString('hex');
  readonly #since: number;
  readonly #published: TopicTree;
  readonly #subscribed: TopicTree;
  #settings: TopicSettings;
  #messages = 0;
  /** Of the clock, a tick ago at most: for each message the clock itself would cost as much as the tree. */
  #now: number;
  readonly #ticks: NodeJS.Timeout;
  #slice: NodeJS.Immediate | null = null;
  #removing: Promise<unknown> = Promise.resolve();
  /** The removal after the one that is under way; null: none is due. */
  #nextRemoving: Promise<void> | null = null;
  #isClosed = false;

  constructor({ settings, maxBytes, isHeld, clock = new SteadyClock() }: TopicRecordingOptions) {
    this.#clock = clock;
    this.#maxBytes = maxBytes;
    this.#isHeld = isHeld;
    this.#settings = settings;
    this.#now = clock.now();
    this.#since = this.#now;
    const { publishLimit, subscribeLimit, payloadLimit } = settings;
    const { has, hasSubscription } = new RecordedTopics(settings);
    this.#published = new TopicTree({ limit: publishLimit, maxBytes, payloadLimit, admits: has });
    this.#subscribed = new TopicTree({ limit: subscribeLimit, maxBytes, payloadLimit: 0, admits: hasSubscription });
    this.#ticks = setInterval(() => this.#tick(), TICK_MS);
    this.#ticks.unref();
  }

  /** A message. Its payload may change afterwards. */
  record(topic: string, payload: Uint8Array, qos: 0 | 1 | 2, retain: boolean): void {
    if (this.#published.record(topic, this.#now, qos, retain, payload)) this.#messages += 1;
  }

  /** A filter that somebody subscribed to now, or has subscribed to when this begins. False: it is not listed. */
  subscribed(filter: string, qos: 0 | 1 | 2): boolean {
    this.#subscribed.maxBytes = this.#maxBytes - this.#published.bytes;
    const isListed = this.#subscribed.record(filter, this.#now, qos, false, null);
    this.#published.maxBytes = this.#maxBytes - this.#subscribed.bytes;
    return isListed;
  }

  /** The last one who held a filter holds it no more: it goes one TTL from now. */
  released(filter: string): void {
    this.#subscribed.touch(filter, this.#now);
  }

  /** A topic of messages is listed. */
  has(topic: string): boolean {
    return this.#published.has(topic);
  }

  /** A topic filter is listed. */
  hasSubscription(filter: string): boolean {
    return this.#subscribed.has(filter);
  }

  get settings(): TopicSettings {
    return this.#settings;
  }

  get status(): RecordingStatus {
    return {
      since: this.#since + this.#clock.shift(),
      published: this.#countsOf(this.#published),
      subscribed: this.#countsOf(this.#subscribed),
      memoryBytes: this.#published.bytes + this.#subscribed.bytes,
      messages: this.#messages,
    };
  }

  /** Holds from now on; resolves when what is not to be recorded any more is gone. */
  async apply(settings: TopicSettings): Promise<void> {
    const before = this.#settings;
    this.#settings = settings;
    this.#published.limit = settings.publishLimit;
    this.#subscribed.limit = settings.subscribeLimit;
    this.#published.payloadLimit = settings.payloadLimit;
    this.#tick();
    if (areSameFilters(before, settings)) return;
    const { has, hasSubscription } = new RecordedTopics(settings);
    this.#published.admits = has;
    this.#subscribed.admits = hasSubscription;
    await this.#removeUnwanted();
  }

  /** `assertWanted` is asked now and then by what takes long: what it throws ends it. */
  async ask<Type extends RecordingQuestion>(
    type: Type,
    question: TopicQuestions[Type]['question'],
    assertWanted?: () => void,
  ): Promise<Answer<Type>> {
    this.#now = this.#clock.now();
    return (await this.#answers[type](question as never, assertWanted)) as Answer<Type>;
  }

  /** Safe to call twice; nothing is recorded any more, long work ends, and the memory is given back. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#ticks);
    if (this.#slice) clearImmediate(this.#slice);
    this.#slice = null;
    this.#published.clear();
    this.#subscribed.clear();
  }

  readonly #answers: {
    readonly [Type in RecordingQuestion]: (
      question: TopicQuestions[Type]['question'],
      assertWanted?: () => void,
    ) => Answer<Type> | Promise<Answer<Type>>;
  } = {
    find: async ({ kind, ...question }, assertWanted) => {
      const page = await this.#tree(kind).find(question, () => {
        if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', 'The recording of topics has ended');
        assertWanted?.();
      });
      return { ...page, topics: page.topics.map(this.#told) };
    },
    levels: ({ kind, ...question }) => {
      const page = this.#tree(kind).levels(question);
      const levels = page.levels.map((level) => ({ ...level, recorded: level.recorded && this.#told(level.recorded) }));
      return { ...page, levels };
    },
    topic: ({ kind, topic }) => {
      const recorded = this.#tree(kind).get(topic);
      return recorded && this.#told(recorded);
    },
    changes: ({ kind, since, ...question }): TopicChanges => {
      const tree = this.#tree(kind);
      // One of another recording is none.
      const own = `${this.#id}.`;
      const cursor = since?.startsWith(own) ? since.slice(own.length) : null;
      const changes = tree.changes({ ...question, since: cursor }, this.#now);
      return {
        ...changes,
        cursor: own + changes.cursor,
        isContinued: since === null ? changes.isContinued : cursor !== null && changes.isContinued,
        added: changes.added.map(this.#told),
        changed: changes.changed.map(this.#told),
        counts: this.#countsOf(tree),
      };
    },
  };

  /** Whoever comes while a removal is under way has the next one in common, by the filters of then: however often they change, two are due. */
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

  /** Used then or before: expired. */
  #expiredAt(): number {
    return this.#now - this.#settings.ttlSeconds * 1_000;
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
      hasMore = this.#subscribed.expire(until, this.#now, PIECE, this.#isHeld) || hasMore;
    }
    if (hasMore) this.#slice = setImmediate(this.#expire);
  };

  readonly #told = (recorded: RecordedTopic): RecordedTopic => {
    const shift = this.#clock.shift();
    if (shift === 0) return recorded;
    return { ...recorded, firstSeen: recorded.firstSeen + shift, lastSeen: recorded.lastSeen + shift };
  };
}
