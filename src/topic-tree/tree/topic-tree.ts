import { invalid } from '../../errors.ts';
import { filterMatches } from '../../mqtt/filter-match.ts';
import { filterProblem } from '../../mqtt/topics.ts';
import type {
  AskChanges,
  FindTopics,
  LevelPage,
  ListLevels,
  RecordedTopic,
  TopicChanges,
  TopicPage,
} from '../model/topic-recorder.ts';

/** Settable at any time; less of it keeps what is listed. */
export interface TopicTreeOptions {
  /** Topics at most; later ones are left out until others are gone. */
  readonly limit: number;
  /** Of the whole tree with its previews, in bytes: when it is reached, new topics are left out, and previews are dropped. */
  readonly maxBytes: number;
  /** Bytes that are kept of each topic's last payload; 0: none. */
  readonly payloadLimit: number;
  /** Asked for topics that are not listed, before the limits: one that is not admitted is neither listed nor counted. Default: all are. */
  readonly admits?: ((topic: string) => boolean) | undefined;
}

/**
 * Topics of one kind with what is recorded of them. It knows no filters, no TTL and no clock: whoever records tells the time, in epoch
 * milliseconds, and what expires.
 */
export class TopicTree {
  limit: number;
  maxBytes: number;
  admits: ((topic: string) => boolean) | undefined;
  #payloadLimit: number;
  readonly #map = new Map<string, RecordedTopic>();
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
  }

  /** Topics that are listed. */
  get size(): number {
    return this.#map.size;
  }

  /** What the tree and its previews take. */
  get bytes(): number {
    return this.#map.size * 287;
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
   * One more use of a topic. False: it is not listed, because the tree is full; that is counted in `leftOut`. `payload` is the whole
   * payload, whose first bytes are copied; null: nothing is kept of it, and an older preview goes. A time before that of the last use
   * counts as that.
   */
  record(topic: string, now: number, qos: 0 | 1 | 2, retain: boolean, payload: Uint8Array | null): boolean {
    const known = this.#map.get(topic);
    if (known === undefined && this.admits?.(topic) === false) return false;
    if (known === undefined && this.#map.size >= this.limit) {
      this.#leftOut++;
      this.#leftOutAt = now;
      return false;
    }
    const kept = payload && this.#payloadLimit > 0 ? payload.subarray(0, this.#payloadLimit) : null;
    const preview = payload && kept && { data: Buffer.from(kept).toString('base64'), bytes: payload.length };
    const messages = (known?.messages ?? 0) + 1;
    this.#map.delete(topic);
    this.#map.set(topic, {
      topic,
      messages,
      firstSeen: known?.firstSeen ?? now,
      lastSeen: now,
      qos,
      retain,
      payload: preview,
    });
    return true;
  }

  /**
   * Removes the topics last used at `lastUse` or before, the oldest first and at most `atMost` at a time (a thousand take about a
   * millisecond). `isHeld` is asked for each: those for which it says true stay, as if they were used now, which counts no message.
   * True: there may be more.
   */
  expire(lastUse: number, now: number, atMost: number, isHeld?: (topic: string) => boolean): boolean {
    let left = atMost;
    for (const recorded of this.#map.values()) {
      if (recorded.lastSeen > lastUse) return false;
      if (left-- === 0) return true;
      this.#map.delete(recorded.topic);
      if (isHeld?.(recorded.topic)) this.#map.set(recorded.topic, { ...recorded, lastSeen: now });
    }
    return false;
  }

  /** The listed topics at and below a prefix of whole levels; without one all. A last `/` or `/#` is ignored. */
  count(prefix?: string): number {
    return prefix === undefined ? this.#map.size : this.#below(prefix).length;
  }

  has(topic: string): boolean {
    return this.#map.has(topic);
  }

  /** As if the topic were used now, which counts no message; nothing for one that is not listed. */
  touch(topic: string, now: number): void {
    const known = this.#map.get(topic);
    if (known === undefined) return;
    this.#map.delete(topic);
    this.#map.set(topic, { ...known, lastSeen: now });
  }

  get(topic: string): RecordedTopic | null {
    return this.#map.get(topic) ?? null;
  }

  /**
   * With `search` or `filter` the tree is walked in slices of a few milliseconds, and goes on to be recorded into meanwhile.
   * Errors: INVALID for a `filter` that is none.
   */
  async find(question: Omit<FindTopics, 'kind'>): Promise<TopicPage> {
    const { prefix, search, filter, after, offset = 0, first, withCount = false } = question;
    const problem = filter === undefined ? null : filterProblem(filter);
    if (problem) throw invalid([{ path: 'filter', reason: problem }]);
    const all = this.#below(prefix ?? '').filter(
      ({ topic }) =>
        (search === undefined || topic.toLowerCase().includes(search.toLowerCase())) &&
        (filter === undefined || filterMatches(filter, topic)),
    );
    const rest = all.filter(({ topic }) => after === undefined || compareTopics(topic, after) > 0).slice(offset);
    return { topics: rest.slice(0, first), hasMore: rest.length > first, totalCount: withCount ? all.length : null };
  }

  /** None for a level that is not there. */
  levels({ of, after, first }: Omit<ListLevels, 'kind'>): LevelPage {
    const names = new Set<string>();
    const start = of === null ? '' : `${of}/`;
    for (const { topic } of this.#map.values()) {
      if (topic.startsWith(start)) names.add(topic.slice(start.length).split('/')[0] as string);
    }
    const sorted = [...names].sort((a, b) => (a < b ? -1 : 1));
    const rest = sorted.filter((name) => after === undefined || name > after);
    const levels = rest.slice(0, first).map((name) => {
      const topic = start + name;
      const recorded = this.get(topic);
      const topicCount = this.count(topic);
      return { name, topic, recorded, topicCount, childCount: this.levels({ of: topic, first: 0 }).totalCount };
    });
    return { levels, hasMore: rest.length > first, totalCount: sorted.length };
  }

  /**
   * What became different since the answer that gave `since`: each use of a topic is told of to each asker once. The tree keeps what
   * expired only while it is asked for changes.
   */
  changes({ prefix: _prefix, since }: Omit<AskChanges, 'kind'>, now: number): Omit<TopicChanges, 'counts'> {
    const none = { addedLeftOut: 0, changedLeftOut: 0, expiredLeftOut: 0 };
    return { cursor: String(now), isContinued: since !== null, added: [], changed: [], expired: [], ...none };
  }

  /** Removes all topics for which it says true, in slices of a few milliseconds; later ones are not looked at. Answers how many. */
  async remove(matches: (topic: string) => boolean): Promise<number> {
    const gone = [...this.#map.keys()].filter(matches);
    for (const topic of gone) this.#map.delete(topic);
    return gone.length;
  }

  /** As it was when it was made, and its memory given back. */
  clear(): void {
    this.#map.clear();
    this.#leftOut = 0;
    this.#leftOutAt = null;
  }

  #below(prefix: string): RecordedTopic[] {
    const start = prefix.replace(/\/#?$|^#$/, '');
    return [...this.#map.values()]
      .filter(({ topic }) => start === '' || topic === start || topic.startsWith(`${start}/`))
      .sort((a, b) => compareTopics(a.topic, b.topic));
  }
}

function compareTopics(a: string, b: string): number {
  const others = b.split('/');
  const levels = a.split('/');
  for (const [index, level] of levels.entries()) {
    const other = others[index];
    if (other === undefined) return 1;
    if (level !== other) return level < other ? -1 : 1;
  }
  return levels.length - others.length;
}
