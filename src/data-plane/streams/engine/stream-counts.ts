import type { StreamCounters } from '../model/stream-report.ts';

export class StreamCounts {
  readonly since: number;
  received = 0;
  published = 0;
  stored = 0;
  filtered = 0;
  failed = 0;
  notStored = 0;
  replayed = 0;
  lastReceived: number | null = null;
  #lastError: StreamCounters['lastError'] = null;
  /** Two fields instead of an object, because most messages of a stream may be filtered. */
  #lastFilteredAt = 0;
  #lastFilteredReason: string | null = null;

  constructor(since: number) {
    this.since = since;
  }

  fail(at: number, reason: string): void {
    this.failed += 1;
    this.#lastError = { at, reason };
  }

  notStore(at: number, reason: string): void {
    this.notStored += 1;
    this.#lastError = { at, reason };
  }

  filter(at: number, reason: string): void {
    this.filtered += 1;
    this.#lastFilteredAt = at;
    this.#lastFilteredReason = reason;
  }

  snapshot(): StreamCounters {
    const { since, received, published, stored, filtered, failed, notStored, replayed, lastReceived } = this;
    const reason = this.#lastFilteredReason;
    return {
      since,
      received,
      published,
      stored,
      filtered,
      failed,
      notStored,
      replayed,
      lastReceived,
      lastError: this.#lastError,
      lastFiltered: reason === null ? null : { at: this.#lastFilteredAt, reason },
    };
  }
}
