import { randomUUID } from 'node:crypto';
import { History } from '../../../platform/live/history.ts';
import {
  MAX_RESPONSE_CHARACTERS,
  NO_TOPIC_CHANGES,
  type ReadChanges,
  type RecordedTopic,
  type TopicChangeLists,
  type TopicChanges,
} from '../model/topic-recorder.ts';
import { BoundedList, charactersOf } from './bounded-list.ts';
import { NONE } from './rows.ts';
import { isAtOrBelow, topicOfPrefix } from './topic-order.ts';
import type { TopicStore } from './topic-store.ts';

/**
 * Returns the changes since a previous result. A cursor holds the last tick and the number of the last expired topic.
 * Above twenty requests per second in total, a topic may be reported as changed twice.
 */
export class ChangeReader {
  readonly #store: TopicStore;
  /** Identifies this tree in cursors. Cursors of other trees are not accepted. */
  readonly #id = randomUUID();
  /** The recently expired topics, for clients that request changes. */
  readonly #expired = new History<ExpiredTopic>(0, {
    limit: 16_384,
    maxWeight: 2 * 1024 * 1024,
    weigh: ({ topic }) => topic.length + ENTRY_BYTES,
  });
  /** Time of the last request in epoch milliseconds. `null` if expired topics are not stored. */
  #requestedAt: number | null = null;

  constructor(store: TopicStore) {
    this.#store = store;
  }

  get bytes(): number {
    return this.#expired.weight;
  }

  /** Must be called before a use is deleted. */
  willRemove(use: number): void {
    const { ticks, uses } = this.#store;
    if (this.#requestedAt === null) return;
    if (ticks.timeOf(ticks.now) - this.#requestedAt >= KEEP_MS) {
      this.#requestedAt = null;
      this.#expired.clear();
      return;
    }
    this.#expired.add({ topic: this.#store.topicOf(use), firstTick: uses.firstTickOf(use) });
  }

  read(request: Omit<ReadChanges, 'kind'>, now: number): Omit<TopicChanges, 'counts'> {
    const until = this.#store.ticks.end(now);
    this.#requestedAt = now;
    const cursor = `${this.#id}.${until}.${this.#expired.last}`;
    const { since } = request;
    if (since === null) return { cursor, isContinued: true, ...NO_TOPIC_CHANGES };
    const [id, tick = '', number = ''] = since.split('.');
    const isKnown = id === this.#id && Number(tick) <= until && this.#expired.reaches(Number(number));
    const changes = isKnown ? this.#changes(request, Number(tick), until, Number(number)) : null;
    return { cursor, isContinued: changes !== null, ...(changes ?? NO_TOPIC_CHANGES) };
  }

  #changes(request: Omit<ReadChanges, 'kind'>, since: number, until: number, number: number): TopicChangeLists | null {
    const { first, withPayloads = true } = request;
    const prefix = topicOfPrefix(request.prefix);
    const store = this.#store;
    const { uses } = store;
    const budget = { left: MAX_RESPONSE_CHARACTERS };
    const added = new BoundedList<RecordedTopic>(first, budget);
    const changed = new BoundedList<RecordedTopic>(first, budget);
    const expired = new BoundedList<string>(first, budget);
    const base = prefix === null ? null : store.levels.find(prefix);
    let examined = 0;
    for (let use = uses.newest; use !== NONE && uses.lastTickOf(use) > since; use = uses.olderOf(use)) {
      examined += 1;
      if (examined > MAX_EXAMINED) return null;
      const firstTick = uses.firstTickOf(use);
      if (firstTick > until) continue;
      if (base !== null && !store.levels.isBelow(uses.nodeOf(use), base)) continue;
      const list = firstTick > since ? added : changed;
      list.take(() => store.recorded(use, withPayloads), charactersOf);
    }
    for (let next = number + 1; next <= this.#expired.last; next += 1) {
      const { topic, firstTick } = this.#expired.at(next) as ExpiredTopic;
      // A topic that was both listed and removed since then is not reported. A topic that is listed again is also in
      // `added`.
      if (firstTick > since || !isAtOrBelow(topic, prefix)) continue;
      expired.take(
        () => topic,
        (text) => text.length,
      );
    }
    return {
      added: added.items,
      changed: changed.items,
      expired: expired.items,
      addedLeftOut: added.leftOut,
      changedLeftOut: changed.leftOut,
      expiredLeftOut: expired.leftOut,
    };
  }
}

/** Maximum number of topics examined for one result. This blocks the event loop for some ten milliseconds. */
const MAX_EXAMINED = 30_000;

/** A topic that is no longer listed, and the tick in which it was first listed. */
interface ExpiredTopic {
  readonly topic: string;
  readonly firstTick: number;
}

const ENTRY_BYTES = 80;
/** Without requests for this time, expired topics are deleted and no longer stored. */
const KEEP_MS = 5 * 60_000;
