import type { History } from '../../platform/live/history.ts';
import { LiveSource, OVER, type SubscriberOptions } from './live-source.ts';

export interface Ending {
  readonly error: unknown;
}

export interface Snapshot<Event> {
  readonly sequence: number;
  /** At least one event. `null` if the snapshot was dropped because of newer ones. */
  parts: readonly Event[] | null;
}

export interface Feed<Event> {
  readonly history: History<Event>;
  /** A new or a recent snapshot. The changes since then are in the history, and are far fewer than `limit`. */
  snapshot(limit: number): Snapshot<Event>;
  gap(missed: number): Event;
  resumed(sequence: number): Event;
  /** `null` while changes may still be added. */
  ending(): Ending | null;
  wait(subscriber: Subscriber<Event>): void;
  wakeSoon(wake: () => void): void;
  leave(subscriber: Subscriber<Event>): void;
}

const DEFAULT_LIMIT = 1_000;

/** One reader of a Broadcast: a position in its history, and the unread parts of a snapshot. */
export class Subscriber<Event> extends LiveSource<Event> {
  readonly #feed: Feed<Event>;
  readonly #limit: number;
  readonly #after: number | null;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = () => this.#fail(this.#signal?.reason);
  #position = 0;
  #snapshot: Snapshot<Event> | null = null;
  #part = 0;
  #isBehind: 'START' | 'GAP' | null = 'START';
  #failure: { readonly error: unknown } | null = null;
  #onWake: (() => void) | null = null;
  #isClosed = false;

  constructor(feed: Feed<Event>, { limit = DEFAULT_LIMIT, signal, after }: SubscriberOptions) {
    super();
    this.#feed = feed;
    this.#limit = limit;
    this.#after = after ?? null;
    this.#signal = signal;
    if (signal?.aborted) this.#fail(signal.reason);
    else signal?.addEventListener('abort', this.#abort, { once: true });
  }

  readonly wake = (): void => {
    const onWake = this.#onWake;
    this.#onWake = null;
    onWake?.();
  };

  get isOver(): boolean {
    if (this.#failure !== null) return false;
    if (this.#isClosed) return true;
    const ending = this.#feed.ending();
    return ending !== null && ending.error === undefined && !this.#hasMore();
  }

  take(): Event | null {
    if (this.#failure !== null) {
      const { error } = this.#failure;
      this.#failure = null;
      throw error;
    }
    if (this.#isClosed) return null;
    const ending = this.#feed.ending();
    if (ending !== null && !this.#hasMore()) {
      this.#close();
      if (ending.error !== undefined) throw ending.error;
      return null;
    }
    if (this.#isBehind !== null) this.#start(this.#isBehind);
    return this.#nextPart() ?? this.#nextChange();
  }

  wait(wake: () => void): void {
    if (this.#failure !== null || this.#feed.ending() !== null || this.#isClosed) this.#feed.wakeSoon(wake);
    else {
      this.#onWake = wake;
      this.#feed.wait(this);
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#close();
    this.#feed.wakeSoon(this.wake);
    return OVER;
  }

  /** Whether events are left after the end of the feed. No new snapshot is started then. */
  #hasMore(): boolean {
    return this.#isBehind === null && (this.#snapshot !== null || this.#position < this.#feed.history.last);
  }

  #start(state: 'START' | 'GAP'): void {
    this.#isBehind = null;
    this.#part = 0;
    const after = state === 'START' ? this.#after : null;
    if (after !== null && this.#canResumeFrom(after)) {
      this.#snapshot = { sequence: after, parts: [this.#feed.resumed(after)] };
    } else {
      this.#snapshot = this.#feed.snapshot(this.#limit);
    }
    this.#position = this.#snapshot.sequence;
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
    if (this.#position === history.last) return null;
    const event = this.#canResumeFrom(this.#position) ? history.at(this.#position + 1) : undefined;
    if (event === undefined) return this.#gap();
    this.#position += 1;
    return event;
  }

  #gap(): Event {
    this.#isBehind = 'GAP';
    this.#snapshot = null;
    return this.#feed.gap(this.#feed.history.last - this.#position);
  }

  #canResumeFrom(sequence: number): boolean {
    const { history } = this.#feed;
    return history.reaches(sequence) && history.last - sequence <= this.#limit;
  }

  #fail(error: unknown): void {
    if (this.#isClosed) return;
    this.#failure = { error };
    this.#close();
    this.#feed.wakeSoon(this.wake);
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#snapshot = null;
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#feed.leave(this);
  }
}
