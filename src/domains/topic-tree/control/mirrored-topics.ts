import { getTopicLimits } from '../../../data-plane/topic-tree/control/topic-control.ts';
import type {
  QueryTopics,
  RecorderState,
  RecorderStatus,
  TopicKind,
  TopicRequests,
  TopicResponses,
} from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import { MAX_PAYLOAD_LIMIT } from '../../../data-plane/topic-tree/model/topic-settings.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import { MirroredKind } from './mirrored-kind.ts';
import { readTopicPages } from './topic-pages.ts';

interface MirroredTopicsOptions {
  readonly caller: ControlCaller;
  /** Maximum age of responses in milliseconds. Default: 3,000. */
  readonly maxAgeMs?: number | undefined;
  /** The maximum age is at least the duration of the last reading of the lists, times this. Default: 10. */
  readonly readingFactor?: number;
  /** Maximum number of topics of each kind. Further topics are counted but not listed. Default: 200,000. */
  readonly maxTopics?: number;
}

const MAX_TOPICS = 200_000;
const READING_MS = 30_000;

/**
 * The topics of a broker that supports only the documented commands. A request reads the lists again if they are old,
 * and compares them with the previous ones. `firstSeen` is the first reading with the topic, `lastSeen` the last
 * reading with a changed payload. If a reading fails, the previous topics stay, and the status reports the error.
 */
export class MirroredTopics {
  readonly #options: MirroredTopicsOptions;
  readonly #kinds: Readonly<Record<TopicKind, MirroredKind>>;
  /** Epoch milliseconds of the first and the last complete reading. `null` if there was none. */
  #since: number | null = null;
  #readAt: number | null = null;
  #triedAt = 0;
  #durationMs = 0;
  #problem: ServiceError | null = null;
  #isListed: Readonly<Record<TopicKind, boolean>> = { PUBLISHED: true, SUBSCRIBED: true };
  #reading: Promise<void> | null = null;

  constructor(options: MirroredTopicsOptions) {
    this.#options = options;
    const { maxTopics = MAX_TOPICS } = options;
    this.#kinds = {
      PUBLISHED: new MirroredKind(maxTopics, MAX_PAYLOAD_LIMIT),
      SUBSCRIBED: new MirroredKind(maxTopics, 0),
    };
  }

  readonly query: QueryTopics = async (type, request) => {
    await this.#refresh();
    return this.#responses[type](request);
  };

  readonly #responses: {
    readonly [Type in keyof TopicRequests]: (
      request: TopicRequests[Type],
    ) => TopicResponses[Type] | Promise<TopicResponses[Type]>;
  } = {
    status: () => this.#status(),
    find: ({ kind, ...request }) => this.#mirrored(kind).tree.find(request),
    levels: ({ kind, ...request }) => this.#mirrored(kind).tree.levels(request),
    topic: ({ kind, topic }) => this.#mirrored(kind).tree.get(topic),
    changes: ({ kind, ...request }) => {
      const { tree, counts } = this.#mirrored(kind);
      return { ...tree.changes(request, Date.now()), counts };
    },
  };

  #mirrored(kind: TopicKind): MirroredKind {
    if (this.#since === null && this.#problem !== null) throw this.#problem;
    if (this.#isListed[kind]) return this.#kinds[kind];
    throw new ServiceError('NOT_SUPPORTED_BY_BROKER', NOT_LISTED[kind], { info: { reason: NOT_LISTED[kind] } });
  }

  #status(): RecorderStatus {
    const { PUBLISHED, SUBSCRIBED } = this.#kinds;
    return {
      state: this.#state(),
      reason: this.#reason(),
      since: this.#since,
      asOf: this.#readAt,
      isComplete: null,
      deniedFilters: [],
      published: PUBLISHED.counts,
      subscribed: this.#isListed.SUBSCRIBED ? SUBSCRIBED.counts : null,
      subscribedReason: this.#isListed.SUBSCRIBED ? null : NOT_LISTED.SUBSCRIBED,
      memoryBytes: PUBLISHED.tree.bytes + SUBSCRIBED.tree.bytes,
      messages: PUBLISHED.uses,
      tellsRetain: false,
    };
  }

  #state(): RecorderState {
    if (this.#problem === null) return 'RECORDING';
    return AWAY.has(this.#problem.code) ? 'UNREACHABLE' : 'DENIED';
  }

  #reason(): string | null {
    const problem = this.#problem;
    if (problem === null) return null;
    if (this.#readAt === null) return problem.message;
    const seconds = Math.round((Date.now() - this.#readAt) / 1_000);
    return `${problem.message}; the listed topics are ${seconds} s old`;
  }

  /** Reads the lists again if they are old. Concurrent callers share one reading. Rejects for bugs only. */
  async #refresh(): Promise<void> {
    if (this.#reading === null) {
      const { maxAgeMs = 3_000, readingFactor = 10 } = this.#options;
      // If the clock was set back, the age must not stay negative.
      const age = Math.abs(Date.now() - this.#triedAt);
      if (age < Math.max(maxAgeMs, this.#durationMs * readingFactor)) return;
      this.#reading = this.#read().finally(() => {
        this.#reading = null;
      });
    }
    await this.#reading;
  }

  async #read(): Promise<void> {
    const begun = Date.now();
    try {
      await this.#readLists(begun);
      this.#readAt = Date.now();
      this.#since ??= begun;
      this.#problem = null;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#problem = error;
    } finally {
      this.#triedAt = Date.now();
      this.#durationMs = Math.max(0, this.#triedAt - begun);
    }
  }

  async #readLists(begun: number): Promise<void> {
    const { PUBLISHED, SUBSCRIBED } = this.#kinds;
    const { caller, maxTopics = MAX_TOPICS } = this.#options;
    const limits = await this.#limits();
    PUBLISHED.begin();
    SUBSCRIBED.begin();
    const pages = readTopicPages(caller, maxTopics, begun + READING_MS);
    const isListed = { PUBLISHED: false, SUBSCRIBED: false };
    let isTruncated = false;
    let page = await pages.next();
    for (; page.done !== true; page = await pages.next()) {
      const { published, subscribed } = page.value;
      isListed.PUBLISHED ||= published !== null;
      isListed.SUBSCRIBED ||= subscribed !== null;
      isTruncated ||= page.value.isTruncated;
      const now = Date.now();
      if (published !== null) await runInSlices(PUBLISHED.add(published.topics, published.count, now));
      if (subscribed !== null) await runInSlices(SUBSCRIBED.add(subscribed.topics, subscribed.count, now));
    }
    if (!isListed.PUBLISHED && !isListed.SUBSCRIBED) {
      throw new ServiceError('BROKER_REJECTED', 'The broker returned no valid list of topics');
    }
    await PUBLISHED.end(page.value, isTruncated, limits?.publishLimit ?? null);
    await SUBSCRIBED.end(page.value, isTruncated, limits?.subscribeLimit ?? null);
    this.#isListed = isListed;
  }

  async #limits() {
    try {
      return await getTopicLimits(this.#options.caller);
    } catch (error) {
      if (error instanceof ServiceError && !AWAY.has(error.code)) return null;
      throw error;
    }
  }
}

const AWAY: ReadonlySet<string> = new Set(['BROKER_UNREACHABLE', 'BROKER_TIMEOUT']);

const NOT_LISTED: Readonly<Record<TopicKind, string>> = {
  PUBLISHED: 'The broker does not list the topics of published messages',
  SUBSCRIBED: 'The broker does not list the topics of subscriptions',
};
