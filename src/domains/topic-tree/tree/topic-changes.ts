import { randomUUID } from 'node:crypto';
import { History } from '../../../gateway/live/history.ts';
import {
  NO_TOPIC_CHANGES,
  type ReadChanges,
  type RecordedTopic,
  type TopicChangeLists,
  type TopicChanges,
} from '../model/topic-recorder.ts';
import { BoundedList, CharacterBudget, charactersOf } from './bounded-list.ts';
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
  readonly #expired = new ExpiredTopics();

  constructor(store: TopicStore) {
    this.#store = store;
  }

  get bytes(): number {
    return this.#expired.bytes;
  }

  /** Must be called before a use is deleted. */
  willRemove(use: number): void {
    const { ticks, uses } = this.#store;
    if (!this.#expired.isRequested(ticks.timeOf(ticks.now))) return;
    this.#expired.add({ topic: this.#store.topicOf(use), firstTick: uses.firstTickOf(use) });
  }

  read(request: Omit<ReadChanges, 'kind'>, now: number): Omit<TopicChanges, 'counts'> {
    const until = this.#store.ticks.end(now);
    const cursor = `${this.#id}.${until}.${this.#expired.requested(now)}`;
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
    const room = new CharacterBudget();
    const added = new BoundedList<RecordedTopic>(first, room);
    const changed = new BoundedList<RecordedTopic>(first, room);
    const expired = new BoundedList<string>(first, room);
    const base = prefix === null ? null : store.levels.find(prefix);
    let looked = 0;
    for (let use = uses.newest; use !== NONE && uses.lastTickOf(use) > since; use = uses.olderOf(use)) {
      looked += 1;
      if (looked > MAX_LOOKS) return null;
      const firstTick = uses.firstTickOf(use);
      if (firstTick > until) continue;
      if (base !== null && !store.levels.isBelow(uses.nodeOf(use), base)) continue;
      const list = firstTick > since ? added : changed;
      list.take(() => store.recorded(use, withPayloads), charactersOf);
    }
    for (const { topic, firstTick } of this.#expired.after(number)) {
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
const MAX_LOOKS = 30_000;

/** A topic that is no longer listed, and the tick in which it was first listed. */
interface ExpiredTopic {
  readonly topic: string;
  readonly firstTick: number;
}

/**
 * The recently expired topics, numbered. The newest 16,384 within 2 MiB are stored. If no changes are requested for
 * five minutes, all are deleted.
 */
class ExpiredTopics {
  readonly #history = new History<ExpiredTopic>(0, {
    limit: 16_384,
    maxWeight: 2 * 1024 * 1024,
    weigh: ({ topic }) => topic.length + ENTRY_BYTES,
  });
  #requestedAt: number | null = null;

  get bytes(): number {
    return this.#history.weight;
  }

  requested(now: number): number {
    this.#requestedAt = now;
    return this.#history.last;
  }

  isRequested(now: number): boolean {
    if (this.#requestedAt === null) return false;
    if (now - this.#requestedAt < KEEP_MS) return true;
    this.#requestedAt = null;
    this.#history.clear();
    return false;
  }

  add(expired: ExpiredTopic): void {
    this.#history.add(expired);
  }

  *after(number: number): Iterable<ExpiredTopic> {
    for (let next = number + 1; next <= this.#history.last; next += 1) {
      const expired = this.#history.at(next);
      if (expired) yield expired;
    }
  }

  reaches(number: number): boolean {
    return this.#history.reaches(number);
  }
}

const ENTRY_BYTES = 80;
const KEEP_MS = 5 * 60_000;
