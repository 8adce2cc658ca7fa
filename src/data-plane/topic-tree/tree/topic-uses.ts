import { HashChains } from './hash-chains.ts';
import { NONE, Rows } from './rows.ts';

/**
 * One row per listed topic with what is recorded of its use: number of messages, times in ticks, preview. Indexed by
 * the hash of the topic, and linked from the topic that was used longest ago to the one used last.
 */
export class TopicUses {
  readonly #rows = new Rows(COLUMNS);
  readonly byTopic = new HashChains(this.#rows, NEXT, (use) => this.hashOf(use));
  oldest = NONE;
  newest = NONE;

  get size(): number {
    return this.#rows.size;
  }

  get bytes(): number {
    return this.#rows.bytes + this.byTopic.bytes;
  }

  get spareBytes(): number {
    return this.#rows.spareBytes;
  }

  get growth(): number {
    return this.#rows.growth(1);
  }

  hashOf(use: number): number {
    return this.#rows.get(use, HASH);
  }

  olderOf(use: number): number {
    return this.#rows.get(use, OLDER);
  }

  nodeOf(use: number): number {
    return this.#rows.get(use, NODE);
  }

  firstTickOf(use: number): number {
    return this.#rows.get(use, FIRST) >>> 0;
  }

  lastTickOf(use: number): number {
    return this.#rows.get(use, LAST) >>> 0;
  }

  messagesOf(use: number): number {
    return (this.#rows.get(use, MESSAGES) >>> 0) + (this.#rows.get(use, FLAGS) >>> OVERFLOW_SHIFT) * 2 ** 32;
  }

  qosOf(use: number): 0 | 1 | 2 {
    return (this.#rows.get(use, FLAGS) & QOS) as 0 | 1 | 2;
  }

  retainOf(use: number): boolean {
    return (this.#rows.get(use, FLAGS) & RETAIN) !== 0;
  }

  previewOf(use: number): number {
    return this.#rows.get(use, PREVIEW);
  }

  setPreview(use: number, preview: number): void {
    this.#rows.set(use, PREVIEW, preview);
  }

  setNode(use: number, node: number): void {
    this.#rows.set(use, NODE, node);
  }

  add(hash: number, tick: number): number {
    const use = this.#rows.add();
    this.#rows.set(use, NODE, NONE);
    this.#rows.set(use, MESSAGES, 0);
    this.#rows.set(use, FIRST, tick);
    this.#rows.set(use, LAST, tick);
    this.#rows.set(use, FLAGS, 0);
    this.#rows.set(use, PREVIEW, NONE);
    this.#rows.set(use, HASH, hash);
    this.byTopic.add(use, hash);
    this.#append(use);
    return use;
  }

  count(use: number, qos: 0 | 1 | 2, retain: boolean): void {
    const messages = this.#rows.get(use, MESSAGES) + 1;
    this.#rows.set(use, MESSAGES, messages);
    const overflow = (this.#rows.get(use, FLAGS) >>> OVERFLOW_SHIFT) + (messages === 0 ? 1 : 0);
    this.#rows.set(use, FLAGS, (overflow << OVERFLOW_SHIFT) | (retain ? RETAIN : 0) | qos);
  }

  touch(use: number, tick: number): void {
    this.#rows.set(use, LAST, tick);
    if (use === this.newest) return;
    this.#cut(use);
    this.#append(use);
  }

  remove(use: number): void {
    this.#cut(use);
    this.byTopic.remove(use, this.hashOf(use));
    this.#rows.remove(use);
  }

  clearPreviews(): void {
    // Free rows are also written, because their PREVIEW column has no meaning.
    for (let use = 0; use < this.#rows.end; use += 1) this.#rows.set(use, PREVIEW, NONE);
  }

  /** Frees unused memory. Returns the map from old numbers to new ones. The caller must then call `renumber`. */
  compact(): (use: number) => number {
    const numberOf = this.#rows.compact();
    this.byTopic.renumber(numberOf, () => {});
    for (let use = 0; use < this.#rows.end; use += 1) {
      this.#renumber(use, OLDER, numberOf);
      this.#renumber(use, NEWER, numberOf);
    }
    if (this.oldest !== NONE) this.oldest = numberOf(this.oldest);
    if (this.newest !== NONE) this.newest = numberOf(this.newest);
    return numberOf;
  }

  renumber(nodeOf: (node: number) => number, previewOf: (preview: number) => number): void {
    for (let use = 0; use < this.#rows.end; use += 1) {
      this.#renumber(use, NODE, nodeOf);
      this.#renumber(use, PREVIEW, previewOf);
    }
  }

  #renumber(use: number, column: number, numberOf: (number: number) => number): void {
    const number = this.#rows.get(use, column);
    if (number !== NONE) this.#rows.set(use, column, numberOf(number));
  }

  #append(use: number): void {
    this.#rows.set(use, OLDER, this.newest);
    this.#rows.set(use, NEWER, NONE);
    if (this.newest === NONE) this.oldest = use;
    else this.#rows.set(this.newest, NEWER, use);
    this.newest = use;
  }

  #cut(use: number): void {
    const older = this.#rows.get(use, OLDER);
    const newer = this.#rows.get(use, NEWER);
    if (older === NONE) this.oldest = newer;
    else this.#rows.set(older, NEWER, newer);
    if (newer === NONE) this.newest = older;
    else this.#rows.set(newer, OLDER, older);
  }
}

const NODE = 0;
const MESSAGES = 1;
const FIRST = 2;
const LAST = 3;
const OLDER = 4;
const NEWER = 5;
const PREVIEW = 6;
/** QoS, retain flag, and in the upper bits the number of overflows of MESSAGES. */
const FLAGS = 7;
const HASH = 8;
const NEXT = 9;
const COLUMNS = 10;

const QOS = 3;
const RETAIN = 4;
const OVERFLOW_SHIFT = 3;
