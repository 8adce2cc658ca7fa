import type { ListedTopic } from '../../../data-plane/topic-tree/control/topic-control.ts';
import type { KindCounts } from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import { TopicTree } from '../../../data-plane/topic-tree/tree/topic-tree.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';

const MAX_BYTES = 128 * 1_048_576;

/**
 * The topics of one kind, read repeatedly from a broker's lists. A topic counts as used when it appears, or when its
 * payload changed. It is removed when a completely read list does not contain it.
 */
export class MirroredKind {
  readonly tree: TopicTree;
  uses = 0;
  #seen = new Set<string>();
  /** Topics of the previous reading, if it was complete. `null` otherwise. */
  #seenBefore: Set<string> | null = null;
  #pages = 0;
  #reportedCount = 0;
  /** Number of topics of the current reading for which the tree had no room. */
  #unlisted = 0;
  #counts: KindCounts = { count: 0, leftOut: 0, isTruncated: false };
  readonly #maxTopics: number;

  constructor(maxTopics: number, payloadLimit: number) {
    this.#maxTopics = maxTopics;
    this.tree = new TopicTree({ limit: maxTopics, maxBytes: MAX_BYTES, payloadLimit });
  }

  get counts(): KindCounts {
    return { ...this.#counts, count: this.tree.size };
  }

  begin(): void {
    this.#seen = new Set();
    this.#pages = 0;
    this.#reportedCount = 0;
    this.#unlisted = 0;
  }

  /** Adds one page. `count` is the broker's value, or `null` if it reports none. */
  *add(topics: readonly ListedTopic[], count: number | null, now: number): SlicedTask<void> {
    this.#pages += 1;
    this.#reportedCount = Math.max(this.#reportedCount, count ?? 0);
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
   * Completes a reading. A list of several pages may have shifted during the reading. Then a missing topic is removed
   * only if the previous reading did not contain it either.
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
      leftOut: isCut ? Math.max(this.#unlisted, this.#reportedCount - this.tree.size) : 0,
      isTruncated: isTruncated || isCut || isFull,
    };
  }
}

function isSame(known: string | undefined, data: Buffer | null, payloadLimit: number): boolean {
  if (data === null || known === undefined) return data === null && known === undefined;
  return known === data.subarray(0, payloadLimit).toString('base64');
}
