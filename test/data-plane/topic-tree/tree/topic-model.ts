import type { FindTopics } from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import { filterMatches } from '../../../../src/protocol/mqtt/filter-match.ts';

interface ModelTopic {
  readonly topic: string;
  messages: number;
  firstSeen: number;
  lastSeen: number;
  payload: string | null;
}

/** What a topic tree has to do, over a plain map and as plainly as can be. Times are multiples of a tick. */
export class TopicModel {
  readonly topics = new Map<string, ModelTopic>();
  leftOut = 0;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  record(topic: string, now: number, payload: string | null): boolean {
    const known = this.topics.get(topic);
    if (!known && this.topics.size >= this.#limit) {
      this.leftOut += 1;
      return false;
    }
    const { messages = 0, firstSeen = now } = known ?? {};
    this.topics.set(topic, { topic, messages: messages + 1, firstSeen, lastSeen: now, payload });
    return true;
  }

  expire(lastUse: number): void {
    for (const { topic, lastSeen } of this.topics.values()) if (lastSeen <= lastUse) this.topics.delete(topic);
  }

  /** Sorted. `prefix` is whole levels, without a last `/`. */
  find({ prefix, search = '', filter, after }: Omit<FindTopics, 'kind' | 'first'>): ModelTopic[] {
    return [...this.topics.values()]
      .filter(({ topic }) => prefix === undefined || `${topic}/`.startsWith(`${prefix}/`))
      .filter(({ topic }) => topic.toLowerCase().includes(search.toLowerCase()))
      .filter(({ topic }) => filter === undefined || filterMatches(filter, topic))
      .filter(({ topic }) => after === undefined || compareByLevel(topic, after) > 0)
      .sort((a, b) => compareByLevel(a.topic, b.topic));
  }

  levels(of: string | null): { name: string; topicCount: number }[] {
    const counts = new Map<string, number>();
    for (const topic of this.topics.keys()) {
      if (of !== null && !topic.startsWith(`${of}/`)) continue;
      const name = topic.slice(of === null ? 0 : of.length + 1).split('/')[0] as string;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return [...counts].map(([name, topicCount]) => ({ name, topicCount })).sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

export function compareByLevel(a: string, b: string): number {
  const levels = a.split('/');
  const others = b.split('/');
  for (let at = 0; at < Math.min(levels.length, others.length); at += 1) {
    const [level = '', other = ''] = [levels[at], others[at]];
    if (level !== other) return level < other ? -1 : 1;
  }
  return levels.length - others.length;
}

/** A repeatable source of chance: a failure names its seed. */
export function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    const mixed = Math.imul(state ^ (state >>> 16), 0x45d9f3b);
    return ((mixed ^ (mixed >>> 13)) >>> 0) % below;
  };
}
