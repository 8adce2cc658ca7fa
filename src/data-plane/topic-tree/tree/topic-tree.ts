import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type {
  FindTopics,
  LevelPage,
  ListLevels,
  ReadChanges,
  RecordedTopic,
  TopicChanges,
  TopicLevel,
  TopicPage,
} from '../model/topic-recorder.ts';
import { BoundedList, charactersOf } from './bounded-list.ts';
import { hashOfText } from './hashing.ts';
import { NONE } from './rows.ts';
import { sortedPage } from './sorted-topics.ts';
import { ChangeReader } from './topic-changes.ts';
import { TopicFinder } from './topic-finder.ts';
import { ROOT } from './topic-levels.ts';
import { topicOfPrefix } from './topic-order.ts';
import { TopicStore } from './topic-store.ts';
import { TopicWalk } from './topic-walk.ts';

/** Lower values do not remove listed topics. */
export interface TopicTreeOptions {
  readonly limit: number;
  /** Maximum memory in bytes. Beyond it, new topics are not listed. Previews take at most half of it. */
  readonly maxBytes: number;
  readonly payloadLimit: number;
  /** Called for topics that are not listed. A topic that is not admitted is neither listed nor counted. */
  readonly admits?: ((topic: string) => boolean) | undefined;
}

/**
 * The topics of one kind and what is recorded of them. A topic takes 90 to 210 bytes. The tree has no filters, TTL or
 * clock: the recorder passes the time in epoch milliseconds. Times have an error of at most 250 ms.
 */
export class TopicTree {
  limit: number;
  maxBytes: number;
  admits: ((topic: string) => boolean) | undefined;
  #payloadLimit: number;
  #store = new TopicStore();
  #changes = new ChangeReader(this.#store);
  /** Number of uses of topics that were not listed because of `limit` or `maxBytes`. */
  leftOut = 0;
  leftOutAt: number | null = null;

  constructor({ limit, maxBytes, payloadLimit, admits }: TopicTreeOptions) {
    this.limit = limit;
    this.maxBytes = maxBytes;
    this.admits = admits;
    this.#payloadLimit = payloadLimit;
  }

  get payloadLimit(): number {
    return this.#payloadLimit;
  }

  set payloadLimit(bytes: number) {
    this.#payloadLimit = bytes;
    if (bytes === 0) this.#store.forgetPreviews();
  }

  get size(): number {
    return this.#store.levels.topicCountOf(ROOT);
  }

  get bytes(): number {
    return this.#store.bytes + this.#changes.bytes;
  }

  /**
   * Records a use of a topic. `payload`: `null` deletes the stored preview. Returns false if the topic is not listed.
   */
  record(topic: string, now: number, qos: 0 | 1 | 2, retain: boolean, payload: Uint8Array | null): boolean {
    const store = this.#store;
    const tick = store.ticks.advance(now);
    const hash = hashOfText(topic, 0, topic.length);
    let use = store.find(topic, hash);
    if (use === NONE) {
      if (this.admits?.(topic) === false) return false;
      if (this.size >= this.limit || !store.hasRoomFor(topic, this.maxBytes - this.#changes.bytes)) {
        this.leftOut += 1;
        this.leftOutAt = now;
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

  touch(topic: string, now: number): void {
    const { uses, ticks } = this.#store;
    const use = this.#store.find(topic);
    if (use !== NONE) uses.touch(use, ticks.advance(now));
  }

  /**
   * Removes at most `atMost` topics last used at `lastUse` or before, the oldest first. Topics for which `isSubscribed`
   * returns true stay, and their last use is set to now. Returns whether there may be more.
   */
  expire(lastUse: number, now: number, atMost: number, isSubscribed?: (topic: string) => boolean): boolean {
    const store = this.#store;
    const { uses, ticks } = store;
    const until = ticks.at(lastUse);
    const tick = ticks.advance(now);
    // Held topics get the current tick. They must not be examined again in this call.
    const last = isSubscribed ? Math.min(until, tick - 1) : until;
    for (let left = atMost; uses.oldest !== NONE && uses.lastTickOf(uses.oldest) <= last; left -= 1) {
      if (left === 0) return true;
      if (isSubscribed?.(store.topicOf(uses.oldest))) uses.touch(uses.oldest, tick);
      else this.#remove(uses.oldest);
    }
    store.shrink();
    return false;
  }

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
   * Finds topics in slices of a few milliseconds. `assertWanted` is called between slices and may throw to cancel the
   * search. Errors: INVALID if `filter` is not valid.
   */
  async find(request: Omit<FindTopics, 'kind'>, assertWanted = () => {}): Promise<TopicPage> {
    const { after, order, offset = 0, first, withCount = false, withPayloads = true } = request;
    // If the tree is cleared meanwhile, the search continues in the old store.
    const store = this.#store;
    const finder = new TopicFinder(store.levels, request, assertWanted);
    if (order !== undefined) return sortedPage(store, finder, request, order);
    const topics = new BoundedList<RecordedTopic>(first);
    const { hasMore, count } = await finder.list(
      after ?? null,
      offset,
      (node) => topics.take(() => store.recorded(store.levels.useOf(node), withPayloads), charactersOf),
      withCount,
    );
    return { topics: topics.items, hasMore, totalCount: withCount ? count : null };
  }

  levels({ of, after, first, withPayloads = true }: Omit<ListLevels, 'kind'>): LevelPage {
    const store = this.#store;
    const { levels } = store;
    const parent = of === null ? ROOT : levels.find(of);
    if (parent === NONE) return { levels: [], hasMore: false, totalCount: 0 };
    const list = new BoundedList<TopicLevel>(first);
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
   * Each use of a topic is reported once. `isContinued` is false after five minutes without requests, or if more than
   * 16,384 topics expired or 30,000 topics were used.
   */
  changes(request: Omit<ReadChanges, 'kind'>, now: number): Omit<TopicChanges, 'counts'> {
    return this.#changes.read(request, now);
  }

  /** Removes all matching topics in slices. Topics that are added meanwhile may stay. */
  async remove(matches: (topic: string) => boolean): Promise<number> {
    return runInSlices(this.#removing(this.#store, matches), SLICE_MS);
  }

  clear(): void {
    this.#store = new TopicStore();
    this.#changes = new ChangeReader(this.#store);
    this.leftOut = 0;
    this.leftOutAt = null;
  }

  *#removing(store: TopicStore, matches: (topic: string) => boolean): SlicedTask<number> {
    const { levels } = store;
    const walk = new TopicWalk(levels, [], null);
    let count = 0;
    for (let next: string | null = ''; next !== null && store === this.#store; ) {
      const matching: number[] = [];
      walk.start(next);
      for (let left = Math.max(STEPS, walk.depth); left > 0 && walk.node !== NONE; left -= 1) {
        const use = levels.useOf(walk.node);
        if (use !== NONE) {
          const topic = store.topicOf(use);
          if (matches(topic)) matching.push(use);
          left -= topic.length / CHARACTERS;
        }
        walk.next(true);
      }
      next = walk.node === NONE ? null : levels.topicOf(walk.node);
      for (const use of matching) this.#remove(use);
      count += matching.length;
      yield;
    }
    if (store === this.#store) store.shrink();
    return count;
  }

  #remove(use: number): void {
    this.#changes.willRemove(use);
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

const SLICE_MS = 4;
/** Topics to examine, and possibly remove, between two checks of the time. They take well below 1 ms. */
const STEPS = 200;
/** Characters of a topic that are processed in the time of one step. */
const CHARACTERS = 200;
