import type { RecordedTopic } from '../model/topic-recorder.ts';
import { hashOfText } from './hashing.ts';
import { Previews } from './previews.ts';
import { MAX_RECENT_BYTES, RecentTopics } from './recent-topics.ts';
import { NONE } from './rows.ts';
import { Ticks } from './ticks.ts';
import { TopicLevels } from './topic-levels.ts';
import { TopicUses } from './topic-uses.ts';

/** Levels, uses and previews of one tree, and their references: a use has a node, and may have a preview. */
export class TopicStore {
  levels = new TopicLevels();
  uses = new TopicUses();
  readonly ticks = new Ticks();
  #previews = new Previews();
  /** `null` until a listed topic is used again. */
  #recent: RecentTopics | null = null;

  get bytes(): number {
    return this.#rowBytes + (this.#recent?.bytes ?? 0);
  }

  get #rowBytes(): number {
    return this.levels.bytes + this.uses.bytes + this.#previews.bytes;
  }

  /** Memory, including the maximum that the cache of recent topics may take. */
  get #claimedBytes(): number {
    return this.#rowBytes + (this.#recent ? MAX_RECENT_BYTES : 0);
  }

  hasRoomFor(topic: string, maxBytes: number): boolean {
    const growth = this.levels.growth(topic) + this.uses.growth;
    return growth === 0 ? this.#claimedBytes <= maxBytes : this.#claimedBytes + growth + RESERVE <= maxBytes;
  }

  find(topic: string, hash = hashOfText(topic, 0, topic.length)): number {
    const { uses, levels } = this;
    const recent = this.#recent?.find(topic, hash) ?? NONE;
    if (recent !== NONE) return recent;
    for (let use = uses.byTopic.first(hash); use !== NONE; use = uses.byTopic.next(use)) {
      if (uses.hashOf(use) !== hash || !levels.isTopic(uses.nodeOf(use), topic)) continue;
      this.#recent?.set(topic, hash, use);
      return use;
    }
    return NONE;
  }

  /** Creates the cache of recent topics if its maximum size fits within `maxBytes`. */
  expectMore(maxBytes: number): void {
    if (this.#recent === null && this.#rowBytes + MAX_RECENT_BYTES + RESERVE <= maxBytes)
      this.#recent = new RecentTopics();
  }

  add(topic: string, hash: number, tick: number): number {
    const use = this.uses.add(hash, tick);
    this.uses.setNode(use, this.levels.add(topic, use));
    return use;
  }

  remove(use: number): void {
    this.#recent?.remove(this.uses.hashOf(use), use);
    this.#previews.remove(this.uses.previewOf(use));
    this.levels.remove(this.uses.nodeOf(use));
    this.uses.remove(use);
  }

  topicOf(use: number): string {
    return this.levels.topicOf(this.uses.nodeOf(use));
  }

  /**
   * Stores the first bytes of a payload in place of the old preview. Stores nothing if all previews would exceed half
   * of `maxBytes`, or the tree `maxBytes`.
   */
  preview(use: number, payload: Uint8Array, limit: number, maxBytes: number): void {
    this.forgetPreview(use);
    const growth = this.#previews.growth(Math.min(payload.length, limit));
    if (growth > 0) {
      const isWithin =
        this.#previews.bytes + growth <= maxBytes / 2 && this.#claimedBytes + growth + RESERVE <= maxBytes;
      if (!isWithin) return;
    }
    this.uses.setPreview(use, this.#previews.add(payload, limit));
  }

  forgetPreview(use: number): void {
    const preview = this.uses.previewOf(use);
    if (preview === NONE) return;
    this.#previews.remove(preview);
    this.uses.setPreview(use, NONE);
  }

  forgetPreviews(): void {
    this.#previews = new Previews();
    this.uses.clearPreviews();
  }

  recorded(use: number, withPayload: boolean): RecordedTopic {
    const { uses, ticks } = this;
    const preview = withPayload ? uses.previewOf(use) : NONE;
    return {
      topic: this.topicOf(use),
      messages: uses.messagesOf(use),
      firstSeen: ticks.timeOf(uses.firstTickOf(use)),
      lastSeen: ticks.timeOf(uses.lastTickOf(use)),
      qos: uses.qosOf(use),
      retain: uses.retainOf(use),
      payload: preview === NONE ? null : this.#previews.get(preview),
    };
  }

  /**
   * Frees memory if three quarters of it are unused. Beyond MAX_MOVED topics nothing is moved; free rows are reused.
   */
  shrink(): void {
    const { levels, uses, bytes } = this;
    if (uses.oldest === NONE) {
      if (bytes < MIN_EMPTY_BYTES) return;
      this.#recent = null;
      this.levels = new TopicLevels();
      this.uses = new TopicUses();
      this.#previews = new Previews();
      return;
    }
    const spare = levels.spareBytes + uses.spareBytes + this.#previews.spareBytes;
    if (bytes < MIN_SHRINK_BYTES || spare < bytes * 0.75 || uses.size > MAX_MOVED) return;
    this.#recent = null;
    const nodeOf = levels.compact(uses.compact());
    uses.renumber(nodeOf, this.#previews.compact());
  }
}

/** Reserve for hash buckets and sorted blocks, which grow in addition to rows: one piece of each, and a margin. */
const RESERVE = 512 * 1024;
/** Maximum number of topics to move. Visiting all free rows takes about 100 ms after a million topics. */
const MAX_MOVED = 8_192;
const MIN_SHRINK_BYTES = 4 * 1024 * 1024;
const MIN_EMPTY_BYTES = 1024 * 1024;
