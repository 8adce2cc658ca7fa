import type { RecordedTopic } from '../model/topic-recorder.ts';
import { hashOfText } from './hashing.ts';
import { Previews } from './previews.ts';
import { MAX_RECENT_BYTES, RecentTopics } from './recent-topics.ts';
import { NONE } from './rows.ts';
import { Ticks } from './ticks.ts';
import { TopicLevels } from './topic-levels.ts';
import { TopicUses } from './topic-uses.ts';

/** Levels, uses and previews of one tree, and how they belong together: a use is of a node, and may have a preview. */
export class TopicStore {
  #levels = new TopicLevels();
  #uses = new TopicUses();
  readonly ticks = new Ticks();
  #previews = new Previews();
  /** Null: no listed topic was used again so far. */
  #recent: RecentTopics | null = null;

  get levels(): TopicLevels {
    return this.#levels;
  }

  get uses(): TopicUses {
    return this.#uses;
  }

  get bytes(): number {
    return this.#rowBytes + (this.#recent?.bytes ?? 0);
  }

  get #rowBytes(): number {
    return this.levels.bytes + this.uses.bytes + this.#previews.bytes;
  }

  /** With all that recent topics may take. */
  get #claimedBytes(): number {
    return this.#rowBytes + (this.#recent ? MAX_RECENT_BYTES : 0);
  }

  /** Whether one more topic leaves it within so many bytes. */
  hasRoomFor(topic: string, maxBytes: number): boolean {
    const growth = this.levels.growth(topic) + this.uses.growth;
    return growth === 0 ? this.#claimedBytes <= maxBytes : this.#claimedBytes + growth + RESERVE <= maxBytes;
  }

  /** The use of a topic, of which the hash is told where it is known; NONE: it is not listed. */
  find(topic: string, hash = hashOfText(topic, 0, topic.length)): number {
    const { uses, levels } = this;
    const recent = this.#recent?.find(topic, hash) ?? NONE;
    if (recent !== NONE) return recent;
    for (let use = uses.first(hash); use !== NONE; use = uses.next(use)) {
      if (uses.hashOf(use) !== hash || !levels.isTopic(uses.nodeOf(use), topic)) continue;
      this.#recent?.set(topic, hash, use);
      return use;
    }
    return NONE;
  }

  /** Topics are used again: those of late are kept at hand, where there is room for them. */
  expectMore(maxBytes: number): void {
    if (this.#recent === null && this.#rowBytes + MAX_RECENT_BYTES + RESERVE <= maxBytes)
      this.#recent = new RecentTopics();
  }

  /** Lists a topic that is not. */
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

  /** Keeps the first bytes of a payload in place of those before; none where they would take more than half of `maxBytes`, or more. */
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
   * Gives memory back where three quarters of it are free, and all at once where nothing is listed. It takes some milliseconds for the
   * topics that are left, so not while they are many: what is free then is kept for later ones.
   */
  shrink(): void {
    const { levels, uses, bytes } = this;
    if (uses.oldest === NONE) {
      if (bytes < MIN_EMPTY_BYTES) return;
      this.#recent = null;
      this.#levels = new TopicLevels();
      this.#uses = new TopicUses();
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

/** Beside rows, buckets and blocks of children grow; a piece of each, and something to spare. */
const RESERVE = 512 * 1024;
/** Topics at a time; all free rows are looked at, too, which after a million topics takes some tenth of a second. */
const MAX_MOVED = 8_192;
const MIN_SHRINK_BYTES = 4 * 1024 * 1024;
/** About twice what an empty tree takes. */
const MIN_EMPTY_BYTES = 1024 * 1024;
