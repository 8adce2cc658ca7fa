import { ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type {
  RecorderState,
  RecorderStatus,
  TopicKind,
  TopicQuestions,
  TopicRecorder,
} from '../model/topic-recorder.ts';
import { MAX_PAYLOAD_LIMIT } from '../model/topic-settings.ts';
import { listedPages } from './listed-pages.ts';
import { MirroredKind } from './mirrored-kind.ts';
import { getTopicLimits, type TopicLimits } from './topic-control.ts';

interface MirroredTopicsOptions {
  readonly caller: ControlCaller;
  /** Maximum age of results in milliseconds. Default: 3,000. */
  readonly freshMs?: number;
  /**
   * Results may also be older by this factor of the time that a reading takes, to limit the load of the broker.
   * Default: 10.
   */
  readonly rest?: number;
  /** Maximum number of topics of each kind. Further topics are counted but not listed. Default: 200,000. */
  readonly maxTopics?: number;
  /** Maximum memory of both trees. Default: 256 MiB. */
  readonly maxBytes?: number;
}

/** Maximum duration of one reading. */
const READING_MS = 30_000;

type Kinds = Readonly<Record<TopicKind, MirroredKind>>;

/**
 * The topics of a broker that supports only the documented commands. Its lists are read while results are requested,
 * and compared with the previous ones.
 *
 * Values that the broker does not report are derived: `firstSeen` is the first reading with the topic, `lastSeen` the
 * last reading with a changed payload, and `messages` the number of such readings. `qos` is 0 and `retain` is false.
 * The broker may truncate payloads without reporting it.
 *
 * If a reading fails, the previous topics stay, and the status reports the error and the age. Errors of `ask`: those of
 * the broker if nothing has been read yet, except for `status`. NOT_SUPPORTED_BY_BROKER for a kind that the broker does
 * not report.
 */
export class MirroredTopics implements Pick<TopicRecorder, 'ask'> {
  readonly #caller: ControlCaller;
  readonly #freshMs: number;
  readonly #rest: number;
  readonly #maxTopics: number;
  readonly #kinds: Kinds;
  /** Epoch milliseconds of the first and the last complete reading. `null` if there was none. */
  #since: number | null = null;
  #readAt: number | null = null;
  /** End and duration of the last reading, whether or not it succeeded. */
  #triedAt = 0;
  #tookMs = 0;
  #problem: ServiceError | null = null;
  #tells: Readonly<Record<TopicKind, boolean>> = { PUBLISHED: true, SUBSCRIBED: true };
  #reading: Promise<void> | null = null;

  constructor(options: MirroredTopicsOptions) {
    const { caller, freshMs = 3_000, rest = 10, maxTopics = 200_000, maxBytes = 256 * 1_048_576 } = options;
    this.#caller = caller;
    this.#freshMs = freshMs;
    this.#rest = rest;
    this.#maxTopics = maxTopics;
    const bounds = { maxTopics, maxBytes: maxBytes / 2, payloadLimit: MAX_PAYLOAD_LIMIT };
    this.#kinds = {
      PUBLISHED: new MirroredKind(bounds),
      SUBSCRIBED: new MirroredKind({ ...bounds, payloadLimit: 0 }),
    };
  }

  async ask<Type extends keyof TopicQuestions>(
    type: Type,
    question: TopicQuestions[Type]['question'],
  ): Promise<TopicQuestions[Type]['answer']>;
  async ask(type: keyof TopicQuestions, question: TopicQuestions[keyof TopicQuestions]['question']): Promise<unknown> {
    await this.#refresh();
    if (type === 'status') return this.#status();
    if (this.#since === null && this.#problem !== null) throw this.#problem;
    const { kind, ...rest } = question as { readonly kind: TopicKind };
    if (!this.#tells[kind]) {
      throw new ServiceError('NOT_SUPPORTED_BY_BROKER', UNTOLD[kind], { info: { reason: UNTOLD[kind] } });
    }
    return this.#answer(type, this.#kinds[kind], rest);
  }

  #answer(type: Exclude<keyof TopicQuestions, 'status'>, { tree, counts }: MirroredKind, question: object): unknown {
    switch (type) {
      case 'find':
        return tree.find(question as TopicQuestions['find']['question']);
      case 'levels':
        return tree.levels(question as TopicQuestions['levels']['question']);
      case 'topic':
        return tree.get((question as TopicQuestions['topic']['question']).topic);
      case 'changes':
        return { ...tree.changes(question as TopicQuestions['changes']['question'], Date.now()), counts };
    }
  }

  #status(): RecorderStatus {
    const { PUBLISHED, SUBSCRIBED } = this.#kinds;
    return {
      state: this.#state(),
      reason: this.#reason(),
      since: this.#since,
      deniedFilters: [],
      published: PUBLISHED.counts,
      subscribed: this.#tells.SUBSCRIBED ? SUBSCRIBED.counts : null,
      subscribedReason: this.#tells.SUBSCRIBED ? null : UNTOLD.SUBSCRIBED,
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
    return `${problem.message}; what is told is ${seconds} s old`;
  }

  /**
   * Reads the lists again if they are old. Concurrent callers wait for the same reading. Rejects only for unexpected
   * errors.
   */
  async #refresh(): Promise<void> {
    const restMs = Math.max(this.#freshMs, this.#tookMs * this.#rest);
    if (this.#reading === null) {
      // If the clock was set back, the age must not stay negative.
      const age = Math.abs(Date.now() - this.#triedAt);
      if (age < restMs) return;
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
      this.#tookMs = Math.max(0, this.#triedAt - begun);
    }
  }

  async #readLists(begun: number): Promise<void> {
    const { PUBLISHED, SUBSCRIBED } = this.#kinds;
    const limits = await this.#limits();
    PUBLISHED.begin();
    SUBSCRIBED.begin();
    const pages = listedPages(this.#caller, { maxTopics: this.#maxTopics, endsAt: begun + READING_MS });
    const tells = { PUBLISHED: false, SUBSCRIBED: false };
    let isTruncated = false;
    let page = await pages.next();
    for (; page.done !== true; page = await pages.next()) {
      const { published, subscribed } = page.value;
      tells.PUBLISHED ||= published !== null;
      tells.SUBSCRIBED ||= subscribed !== null;
      isTruncated ||= page.value.isTruncated;
      const now = Date.now();
      if (published !== null) await runInSlices(PUBLISHED.add(published.topics, published.count, now));
      if (subscribed !== null) await runInSlices(SUBSCRIBED.add(subscribed.topics, subscribed.count, now));
    }
    if (!tells.PUBLISHED && !tells.SUBSCRIBED) {
      throw new ServiceError('BROKER_REJECTED', 'The broker told no list of topics that can be read');
    }
    await PUBLISHED.end(page.value, isTruncated, limits?.publishLimit ?? null);
    await SUBSCRIBED.end(page.value, isTruncated, limits?.subscribeLimit ?? null);
    this.#tells = tells;
  }

  /** Limits of the broker. `null` if it does not report them. */
  async #limits(): Promise<TopicLimits | null> {
    try {
      return await getTopicLimits(this.#caller);
    } catch (error) {
      if (error instanceof ServiceError && !AWAY.has(error.code)) return null;
      throw error;
    }
  }
}

const AWAY: ReadonlySet<string> = new Set(['BROKER_UNREACHABLE', 'BROKER_TIMEOUT']);

const UNTOLD: Readonly<Record<TopicKind, string>> = {
  PUBLISHED: 'The broker does not tell which topics messages were published to',
  SUBSCRIBED: 'The broker does not tell which topics are subscribed to',
};
