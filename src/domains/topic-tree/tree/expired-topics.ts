import { History } from '../../../gateway/live/history.ts';

/** A topic that is no longer listed, and the tick in which it was first listed. */
interface ExpiredTopic {
  readonly topic: string;
  readonly firstTick: number;
}

/**
 * The recently expired topics, numbered, for clients that request changes.
 *
 * Drop policy: the newest 16,384 topics within 2 MiB are stored. If no changes are requested for five minutes, all are
 * deleted. A client that missed topics is notified by `isContinued: false`.
 */
export class ExpiredTopics {
  readonly #history = new History<ExpiredTopic>(0, {
    limit: 16_384,
    maxWeight: 2 * 1024 * 1024,
    weigh: ({ topic }) => topic.length + ENTRY_BYTES,
  });
  /** Time of the last request in epoch milliseconds. `null` if expired topics are not stored. */
  #requestedAt: number | null = null;

  get bytes(): number {
    return this.#history.weight;
  }

  /** Marks a request: expired topics are stored from now on. Returns the number of the last one. */
  requested(now: number): number {
    this.#requestedAt = now;
    return this.#history.last;
  }

  /** Whether topics that expire now have to be stored. */
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

  /** Returns the topics after a number. Requires that `reaches(number)` is true. */
  *after(number: number): Iterable<ExpiredTopic> {
    for (let next = number + 1; next <= this.#history.last; next += 1) {
      const expired = this.#history.at(next);
      if (expired) yield expired;
    }
  }

  /** Whether all topics after a number are still stored. */
  reaches(number: number): boolean {
    return this.#history.reaches(number);
  }
}

/** Approximate bytes of an entry in addition to its characters. */
const ENTRY_BYTES = 80;
const KEEP_MS = 5 * 60_000;
