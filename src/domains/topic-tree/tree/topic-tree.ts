import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type {
  AskChanges,
  FindTopics,
  LevelPage,
  ListLevels,
  RecordedTopic,
  TopicChanges,
  TopicLevel,
  TopicPage,
} from '../model/topic-recorder.ts';
import { AnswerList, AnswerRoom, charactersOf } from './answer-list.ts';
import { hashOfText } from './hashing.ts';
import { NONE } from './rows.ts';
import { TopicChangeTeller } from './topic-changes.ts';
import { TopicFinder } from './topic-finder.ts';
import { ROOT } from './topic-levels.ts';
import { topicOfPrefix } from './topic-order.ts';
import { TopicStore } from './topic-store.ts';
import { TopicWalk } from './topic-walk.ts';

/** Settable at any time; less of it keeps what is listed. */
export interface TopicTreeOptions {
  /** Topics at most; later ones are left out until others are gone. */
  readonly limit: number;
  /**
   * What the tree with all that belongs to it may take, in bytes. It grows by small pieces and is never copied, so this holds at each
   * moment. Where it is reached, new topics are left out. Previews may take half of it: beyond that, the preview of a later payload is
   * dropped, with the topic's older one; those of other topics stay.
   */
  readonly maxBytes: number;
  /** Bytes that are kept of each topic's last payload; 0: none. */
  readonly payloadLimit: number;
  /** Asked for topics that are not listed, before the limits: one that is not admitted is neither listed nor counted. Default: all are. */
  readonly admits?: ((topic: string) => boolean) | undefined;
}

/**
 * Topics of one kind with what is recorded of them: about 90 bytes for a topic whose levels others have, too, and 210 for one that has
 * three levels to itself. It knows no filters, no TTL and no clock: whoever records tells the time, in epoch milliseconds, and what
 * expires. Times are true to a quarter of a second; one before that of the last use counts as that.
 */
export class TopicTree {
  limit: number;
  maxBytes: number;
  admits: ((topic: string) => boolean) | undefined;
  #payloadLimit: number;
  #store = new TopicStore();
  #changes = new TopicChangeTeller(this.#store);
  #leftOut = 0;
  #leftOutAt: number | null = null;

  constructor({ limit, maxBytes, payloadLimit, admits }: TopicTreeOptions) {
    this.limit = limit;
    this.maxBytes = maxBytes;
    this.admits = admits;
    this.#payloadLimit = payloadLimit;
  }

  get payloadLimit(): number {
    return this.#payloadLimit;
  }

  /** 0 drops all previews at once; less than before holds for later payloads. */
  set payloadLimit(bytes: number) {
    this.#payloadLimit = bytes;
    if (bytes === 0) this.#store.forgetPreviews();
  }

  /** Topics that are listed. */
  get size(): number {
    return this.#store.levels.topicCountOf(ROOT);
  }

  /** What the tree and its previews take. */
  get bytes(): number {
    return this.#store.bytes + this.#changes.bytes;
  }

  /** Uses of topics that were not listed because of the limit or of `maxBytes`, since the tree was made or cleared. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** When that last happened; null: never. */
  get leftOutAt(): number | null {
    return this.#leftOutAt;
  }

  /**
   * One more use of a topic. False: it is not listed, because it is not admitted, or because the tree is full, which is counted in
   * `leftOut`. `payload` is the whole payload, whose first bytes are copied; null: nothing is kept of it, and an older preview goes.
   */
  record(topic: string, now: number, qos: 0 | 1 | 2, retain: boolean, payload: Uint8Array | null): boolean {
    const store = this.#store;
    const tick = store.ticks.advance(now);
    const hash = hashOfText(topic, 0, topic.length);
    let use = store.find(topic, hash);
    if (use === NONE) {
      if (this.admits?.(topic) === false) return false;
      if (this.size >= this.limit || !store.hasRoomFor(topic, this.maxBytes - this.#changes.bytes)) {
        this.#leftOut += 1;
        this.#leftOutAt = now;
        return false;
      }
      use = store.add(topic, hash, tick);
    } else {
      store.expectMore(this.maxBytes - this.#changes.bytes);
      store.uses.touch(use, tick);
    }
    store.uses.count(use, qos, retain);
    if (payload === null || this.#payloadLimit === 0) store.forgetPreview(use);
    else store.preview(use, payload, this.#payloadLimit, this.maxBytes - this.#changes.bytes);
    return true;
  }

  /** As if the topic were used now, which counts no message; nothing for one that is not listed. */
  touch(topic: string, now: number): void {
    const { uses, ticks } = this.#store;
    const use = this.#store.find(topic);
    if (use !== NONE) uses.touch(use, ticks.advance(now));
  }

  /**
   * Removes the topics last used at `lastUse` or before, the oldest first and at most `atMost` at a time (a hundred take well
   * below a millisecond). `isHeld` is asked for each: those for which it says true stay, as if they were used now, which counts no message.
   * True: there may be more.
   */
  expire(lastUse: number, now: number, atMost: number, isHeld?: (topic: string) => boolean): boolean {
    const store = this.#store;
    const { uses, ticks } = store;
    const until = ticks.at(lastUse);
    const tick = ticks.advance(now);
    // Those that are held are used now, and not to be asked for again.
    const last = isHeld ? Math.min(until, tick - 1) : until;
    for (let left = atMost; uses.oldest !== NONE && uses.lastTickOf(uses.oldest) <= last; left -= 1) {
      if (left === 0) return true;
      if (isHeld?.(store.topicOf(uses.oldest))) uses.touch(uses.oldest, tick);
      else this.#remove(uses.oldest);
    }
    store.shrink();
    return false;
  }

  /** The listed topics at and below a prefix of whole levels. A last `/` or `/#` is ignored; without one, `''` and `#`: all. */
  count(prefix?: string): number {
    const topic = topicOfPrefix(prefix);
    const { levels } = this.#store;
    const node = topic === null ? ROOT : levels.find(topic);
    return node === NONE ? 0 : levels.topicCountOf(node);
  }

  has(topic: string): boolean {
    return this.#store.find(topic) !== NONE;
  }

  get(topic: string): RecordedTopic | null {
    const use = this.#store.find(topic);
    return use === NONE ? null : this.#store.recorded(use, true);
  }

  /**
   * Long looks go in slices of a few milliseconds, between which topics are recorded and expire. What was listed throughout is found,
   * once. `assertWanted` is asked between them: what it throws ends the look. Errors: INVALID for a `filter` that is none.
   */
  async find(question: Omit<FindTopics, 'kind'>, assertWanted = () => {}): Promise<TopicPage> {
    const { after, offset = 0, first, withCount = false, withPayloads = true } = question;
    // Cleared meanwhile: this one is looked through to its end.
    const store = this.#store;
    const finder = new TopicFinder(store.levels, question, assertWanted);
    const topics = new AnswerList<RecordedTopic>(first, new AnswerRoom());
    const { hasMore, count } = await finder.list(
      after ?? null,
      offset,
      (node) => topics.take(() => store.recorded(store.levels.useOf(node), withPayloads), charactersOf),
      withCount,
    );
    return { topics: topics.items, hasMore, totalCount: withCount ? count : null };
  }

  /** None for a level that is not there. */
  levels({ of, after, first, withPayloads = true }: Omit<ListLevels, 'kind'>): LevelPage {
    const store = this.#store;
    const { levels } = store;
    const parent = of === null ? ROOT : levels.find(of);
    if (parent === NONE) return { levels: [], hasMore: false, totalCount: 0 };
    const list = new AnswerList<TopicLevel>(first, new AnswerRoom());
    let node = after === undefined ? levels.firstChildOf(parent) : levels.childAfter(parent, after);
    for (; node !== NONE; node = levels.siblingOf(node)) {
      const child = node;
      const isTaken = list.take(
        () => this.#level(store, child, of, withPayloads),
        ({ topic, recorded }) => topic.length + (recorded ? charactersOf(recorded) : 0),
      );
      if (!isTaken) break;
    }
    return { levels: list.items, hasMore: node !== NONE, totalCount: levels.childCountOf(parent) };
  }

  /**
   * What became different since the answer that gave `since`: each use of a topic is told of once. What expired is kept only while
   * somebody asks; who has not asked for five minutes, or missed more than 16,384 that expired or 30,000 that were used, is told that
   * all may be different (`isContinued`).
   */
  changes(question: Omit<AskChanges, 'kind'>, now: number): Omit<TopicChanges, 'counts'> {
    return this.#changes.answer(question, now);
  }

  /** Removes all topics for which it says true, in slices of a few milliseconds; later ones are not looked at. Answers how many. */
  async remove(matches: (topic: string) => boolean): Promise<number> {
    return runInSlices(this.#removing(this.#store, matches), SLICE_MS);
  }

  /** As it was when it was made, and its memory given back. */
  clear(): void {
    this.#store = new TopicStore();
    this.#changes = new TopicChangeTeller(this.#store);
    this.#leftOut = 0;
    this.#leftOutAt = null;
  }

  *#removing(store: TopicStore, matches: (topic: string) => boolean): SlicedTask<number> {
    const { levels } = store;
    const walk = new TopicWalk(levels, [], null);
    let count = 0;
    for (let next: string | null = ''; next !== null && store === this.#store; ) {
      const gone: number[] = [];
      walk.start(next);
      // To tell a place takes as long as it has levels.
      for (let left = Math.max(STEPS, walk.depth); left > 0 && walk.node !== NONE; left -= 1) {
        const use = levels.useOf(walk.node);
        if (use !== NONE) {
          const topic = store.topicOf(use);
          if (matches(topic)) gone.push(use);
          left -= topic.length / CHARACTERS;
        }
        walk.next(true);
      }
      next = walk.node === NONE ? null : levels.topicOf(walk.node);
      for (const use of gone) this.#remove(use);
      count += gone.length;
      yield;
    }
    if (store === this.#store) store.shrink();
    return count;
  }

  #remove(use: number): void {
    this.#changes.goes(use);
    this.#store.remove(use);
  }

  #level(store: TopicStore, node: number, of: string | null, withPayloads: boolean): TopicLevel {
    const { levels } = store;
    const name = levels.textOf(node);
    const use = levels.useOf(node);
    return {
      name,
      topic: of === null ? name : `${of}/${name}`,
      topicCount: levels.topicCountOf(node),
      childCount: levels.childCountOf(node),
      recorded: use === NONE ? null : store.recorded(use, withPayloads),
    };
  }
}

/** Of an event loop that serves a broker, too. */
const SLICE_MS = 4;
/** Topics that are looked at, and perhaps removed, between two looks at the time: well below a millisecond. */
const STEPS = 200;
/** Of a topic that are looked at in the time of a step. */
const CHARACTERS = 200;
