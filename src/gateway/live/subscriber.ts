import type { SubscriberOptions } from './broadcast.ts';
import type { History } from './history.ts';
import { type LiveSource, nextOf, OVER } from './live-source.ts';

export interface Ending {
  /** Undefined: just the end. */
  readonly error: unknown;
}

/** The whole at one moment, in parts. */
export interface Snapshot<Event> {
  /** Number of the last change that is in it. */
  readonly place: number;
  /** One event at least. Null: let go, since newer ones were taken. */
  parts: readonly Event[] | null;
}

/** What subscribers read: the kept changes, and the events that stand for the whole. */
export interface Feed<Event> {
  readonly history: History<Event>;
  /** Of now, or of a moment ago: the changes since then are kept, and far fewer than `limit`. */
  snapshot(limit: number): Snapshot<Event>;
  gap(missed: number): Event;
  resumed(sequence: number): Event;
  /** Not null: nothing is added any more. */
  ending(): Ending | null;
  /** Calls the subscriber's `wake` soon after the next change. */
  wait(subscriber: Subscriber<Event>): void;
  /** Calls `wake` in another turn of the event loop. */
  wakeSoon(wake: () => void): void;
  leave(subscriber: Subscriber<Event>): void;
}

const DEFAULT_LIMIT = 1_000;

/** One reader of a Broadcast: a place in its kept changes, and the rest of the snapshot that it is reading. */
export class Subscriber<Event> implements LiveSource<Event> {
  readonly #feed: Feed<Event>;
  readonly #limit: number;
  readonly #after: number | null;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = () => this.#fail(this.#signal?.reason);
  /** Number of the last change that was told, or is in the snapshot that was. */
  #place = 0;
  /** Null: it was read. */
  #snapshot: Snapshot<Event> | null = null;
  #part = 0;
  #isBehind: 'START' | 'GAP' | null = 'START';
  #failure: { readonly error: unknown } | null = null;
  #waits: (() => void) | null = null;
  #hasLeft = false;

  constructor(feed: Feed<Event>, { limit = DEFAULT_LIMIT, signal, after }: SubscriberOptions) {
    this.#feed = feed;
    this.#limit = limit;
    this.#after = after ?? null;
    this.#signal = signal;
    if (signal?.aborted) this.#fail(signal.reason);
    else signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** For the feed: there is something to take. */
  readonly wake = (): void => {
    const waits = this.#waits;
    this.#waits = null;
    waits?.();
  };

  get isOver(): boolean {
    if (this.#failure !== null) return false;
    if (this.#hasLeft) return true;
    const ending = this.#feed.ending();
    return ending !== null && ending.error === undefined && !this.#hasMore();
  }

  take(): Event | null {
    if (this.#failure !== null) {
      const { error } = this.#failure;
      this.#failure = null;
      throw error;
    }
    if (this.#hasLeft) return null;
    const ending = this.#feed.ending();
    if (ending !== null && !this.#hasMore()) {
      this.#leave();
      if (ending.error !== undefined) throw ending.error;
      return null;
    }
    if (this.#isBehind !== null) this.#begin(this.#isBehind);
    return this.#nextPart() ?? this.#nextChange();
  }

  wait(wake: () => void): void {
    if (this.#failure !== null || this.#feed.ending() !== null || this.#hasLeft) this.#feed.wakeSoon(wake);
    else {
      this.#waits = wake;
      this.#feed.wait(this);
    }
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    return nextOf<Event>(this);
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#leave();
    this.#feed.wakeSoon(this.wake);
    return OVER;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** What is left to read once nothing is added any more; a snapshot of what has ended is not begun. */
  #hasMore(): boolean {
    return this.#isBehind === null && (this.#snapshot !== null || this.#place < this.#feed.history.last);
  }

  #begin(state: 'START' | 'GAP'): void {
    this.#isBehind = null;
    this.#part = 0;
    const after = state === 'START' ? this.#after : null;
    if (after !== null && this.#keeps(after)) {
      this.#snapshot = { place: after, parts: [this.#feed.resumed(after)] };
    } else {
      this.#snapshot = this.#feed.snapshot(this.#limit);
    }
    this.#place = this.#snapshot.place;
  }

  #nextPart(): Event | null {
    if (this.#snapshot === null) return null;
    const { parts } = this.#snapshot;
    const part = parts?.[this.#part];
    if (parts === null || part === undefined) return this.#gap();
    this.#part += 1;
    if (this.#part === parts.length) this.#snapshot = null;
    return part;
  }

  #nextChange(): Event | null {
    const { history } = this.#feed;
    if (this.#place === history.last) return null;
    const event = this.#keeps(this.#place) ? history.at(this.#place + 1) : undefined;
    if (event === undefined) return this.#gap();
    this.#place += 1;
    return event;
  }

  #gap(): Event {
    this.#isBehind = 'GAP';
    this.#snapshot = null;
    return this.#feed.gap(this.#feed.history.last - this.#place);
  }

  #keeps(place: number): boolean {
    const { history } = this.#feed;
    return history.reaches(place) && history.last - place <= this.#limit;
  }

  #fail(error: unknown): void {
    if (this.#hasLeft) return;
    this.#failure = { error };
    this.#leave();
    this.#feed.wakeSoon(this.wake);
  }

  #leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#snapshot = null;
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#feed.leave(this);
  }
}
