import { History } from '../../../gateway/live/history.ts';

/** A topic that is not listed any more, and the tick in which it was listed for the first time. */
export interface ExpiredTopic {
  readonly topic: string;
  readonly firstTick: number;
}

/**
 * The topics that were listed until lately, numbered, for those who ask for changes.
 *
 * Drop policy: the newest 16,384 within two megabytes are kept, and none while nobody asked for five minutes; who asks for more is told
 * that it is not known.
 */
export class ExpiredTopics {
  readonly #history = new History<ExpiredTopic>(0, {
    limit: 16_384,
    maxWeight: 2 * 1024 * 1024,
    weigh: ({ topic }) => topic.length + ENTRY_BYTES,
  });
  /** Epoch milliseconds; null: nobody does. */
  #askedAt: number | null = null;

  get bytes(): number {
    return this.#history.weight;
  }

  /** Somebody asks: from now on they are kept. Answers the number of the last one. */
  ask(now: number): number {
    this.#askedAt = now;
    return this.#history.last;
  }

  /** False: nobody would ask for those that expire now. */
  isAsked(now: number): boolean {
    if (this.#askedAt === null) return false;
    if (now - this.#askedAt < KEEP_MS) return true;
    this.#askedAt = null;
    this.#history.clear();
    return false;
  }

  add(expired: ExpiredTopic): void {
    this.#history.add(expired);
  }

  /** Those after the one of this number, which `reaches` has to have said yes to. */
  *after(number: number): Iterable<ExpiredTopic> {
    for (let next = number + 1; next <= this.#history.last; next += 1) {
      const expired = this.#history.at(next);
      if (expired) yield expired;
    }
  }

  /** Whether all after the one of this number are known. */
  reaches(number: number): boolean {
    return this.#history.reaches(number);
  }
}

/** Of an entry beside its characters. */
const ENTRY_BYTES = 80;
const KEEP_MS = 5 * 60_000;
