import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { KindCounts } from '../model/topic-recorder.ts';
import { TopicTree } from '../tree/topic-tree.ts';
import type { ListedTopic } from './topic-control.ts';

export interface MirroredKindOptions {
  /** Later ones are counted and left out. */
  readonly maxTopics: number;
  readonly maxBytes: number;
  /** Bytes that are kept of each payload. */
  readonly payloadLimit: number;
}

/**
 * The topics of one kind as a broker's lists tell them, read again and again. A topic counts as used when it is there for the first time
 * or its payload has become another one, and is gone when a list that was read to its end does not have it.
 */
export class MirroredKind {
  readonly tree: TopicTree;
  /** Uses that were seen. */
  uses = 0;
  #seen = new Set<string>();
  /** Of the reading before, where its list could have moved while it was read; null: it could not. */
  #seenBefore: Set<string> | null = null;
  #pages = 0;
  /** Those told of by the reading that is under way. */
  #told = 0;
  /** Of those the ones that the tree had no room for. */
  #unlisted = 0;
  #counts: KindCounts = { count: 0, leftOut: 0, isTruncated: false };
  readonly #maxTopics: number;

  constructor({ maxTopics, maxBytes, payloadLimit }: MirroredKindOptions) {
    this.#maxTopics = maxTopics;
    this.tree = new TopicTree({ limit: maxTopics, maxBytes, payloadLimit });
  }

  get counts(): KindCounts {
    return { ...this.#counts, count: this.tree.size };
  }

  begin(): void {
    this.#seen = new Set();
    this.#pages = 0;
    this.#told = 0;
    this.#unlisted = 0;
  }

  /** One page. `count` as the broker tells it; null: it does not. */
  *add(topics: readonly ListedTopic[], count: number | null, now: number): SlicedTask<void> {
    this.#pages += 1;
    this.#told = Math.max(this.#told, count ?? 0);
    for (const [index, { topic, payload }] of topics.entries()) {
      if (index % 100 === 99) yield;
      if (!this.#seen.has(topic) && this.#seen.size >= this.#maxTopics) {
        this.#unlisted += 1;
        continue;
      }
      this.#seen.add(topic);
      const known = this.tree.get(topic);
      const data = payload === null ? null : Buffer.from(payload.data, 'base64');
      if (known !== null && isSame(known.payload?.data, data, this.tree.payloadLimit)) continue;
      if (this.tree.record(topic, now, 0, false, data)) this.uses += 1;
      else this.#unlisted += 1;
    }
  }

  /**
   * `isWhole`: the lists were read to their end. A list of several pages may have moved while it was read: a topic that it does not have
   * is gone only when the reading before did not have it either.
   */
  async end(isWhole: boolean, isTruncated: boolean, limit: number | null): Promise<void> {
    const seen = this.#seen;
    const before = this.#pages > 1 ? this.#seenBefore : null;
    const isSure = this.#pages <= 1 || this.#seenBefore !== null;
    if (isWhole && isSure) {
      await this.tree.remove((topic) => !seen.has(topic) && before?.has(topic) !== true);
    }
    this.#seenBefore = isWhole ? seen : null;
    this.#seen = new Set();
    const isCut = !isWhole || this.#unlisted > 0;
    const isFull = limit !== null && limit > 0 && this.tree.size >= limit;
    this.#counts = {
      count: this.tree.size,
      leftOut: isCut ? Math.max(this.#unlisted, this.#told - this.tree.size) : 0,
      isTruncated: isTruncated || isCut || isFull,
    };
  }
}

/** A broker may have cut what it tells, and the tree what it keeps. */
function isSame(known: string | undefined, data: Buffer | null, payloadLimit: number): boolean {
  if (data === null || known === undefined) return data === null && known === undefined;
  return known === data.subarray(0, payloadLimit).toString('base64');
}
