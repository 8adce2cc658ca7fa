/**
 * Fan-out of one observed thing (a broker's clients, a project's brokers) to many subscribers who may read slowly.
 *
 * Each subscriber first gets the snapshot as it is then, followed by every change, each with the sequence number of the
 * observed thing. Nothing happens between the two: taking the snapshot and joining are one synchronous step. A subscriber
 * has a queue of `limit` changes; one that falls further behind loses its queue, is told so by one GAP with the number of
 * changes left out, and starts again with a snapshot. Memory is therefore bounded by subscribers × limit.
 */
export type BroadcastEvent<Snapshot, Change> =
  | { readonly kind: 'SNAPSHOT'; readonly sequence: number; readonly snapshot: Snapshot }
  | { readonly kind: 'CHANGE'; readonly sequence: number; readonly change: Change }
  | { readonly kind: 'GAP'; readonly sequence: number; readonly missed: number }
  /** Nothing was left out since the number that the subscriber named; the changes after it follow. */
  | { readonly kind: 'RESUMED'; readonly sequence: number };

export const DEFAULT_QUEUE_LIMIT = 1_000;

export interface SubscriberOptions {
  readonly limit?: number;
  /** Ends the stream with an error: the subscriber's rights ended. */
  readonly signal?: AbortSignal;
  /** The number of the last event that an earlier subscription had: changes after it are told again while they are kept. */
  readonly after?: number | null;
}

export class Broadcast<Snapshot, Change> {
  readonly #snapshot: () => Snapshot;
  readonly #subscribers = new Set<Subscriber<Snapshot, Change>>();
  #sequence = 0;
  #closed = false;

  constructor(snapshot: () => Snapshot) {
    this.#snapshot = snapshot;
  }

  get sequence(): number {
    return this.#sequence;
  }

  get subscriberCount(): number {
    return this.#subscribers.size;
  }

  publish(change: Change): void {
    this.#sequence += 1;
    const event = { kind: 'CHANGE', sequence: this.#sequence, change } as const;
    for (const subscriber of this.#subscribers) subscriber.push(event);
  }

  subscribe({
    limit = DEFAULT_QUEUE_LIMIT,
    signal,
  }: SubscriberOptions = {}): AsyncIterableIterator<BroadcastEvent<Snapshot, Change>> {
    const subscriber = new Subscriber<Snapshot, Change>(
      limit,
      () => ({ kind: 'SNAPSHOT', sequence: this.#sequence, snapshot: this.#snapshot() }),
      () => this.#subscribers.delete(subscriber),
    );
    if (this.#closed) subscriber.end();
    else this.#subscribers.add(subscriber);
    if (signal) {
      const abort = () => subscriber.fail(signal.reason);
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort, { once: true });
    }
    return subscriber;
  }

  /** Ends every subscriber's stream after what is queued. */
  close(): void {
    this.#closed = true;
    for (const subscriber of this.#subscribers) subscriber.end();
  }
}

class Subscriber<Snapshot, Change> implements AsyncIterableIterator<BroadcastEvent<Snapshot, Change>> {
  readonly #limit: number;
  readonly #takeSnapshot: () => BroadcastEvent<Snapshot, Change>;
  readonly #leave: () => void;
  #queue: BroadcastEvent<Snapshot, Change>[] = [];
  #missed = 0;
  #stale: 'START' | 'GAP' | 'RESYNC' | null = 'START';
  #ended = false;
  #failure: { readonly error: unknown } | null = null;
  #waiting: (() => void) | null = null;

  constructor(limit: number, takeSnapshot: () => BroadcastEvent<Snapshot, Change>, leave: () => void) {
    this.#limit = limit;
    this.#takeSnapshot = takeSnapshot;
    this.#leave = leave;
  }

  push(event: BroadcastEvent<Snapshot, Change>): void {
    // Before the snapshot is read there is nothing to add to: it will hold this change.
    if (this.#stale === 'START' || this.#stale === 'RESYNC') return;
    if (this.#stale === 'GAP') {
      this.#missed += 1;
      return;
    }
    if (this.#queue.length >= this.#limit) {
      this.overflow();
      this.#missed += 1;
      return;
    }
    this.#queue.push(event);
    this.#wake();
  }

  overflow(): void {
    if (this.#stale !== null) return;
    this.#missed += this.#queue.length;
    this.#queue = [];
    this.#stale = 'GAP';
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#leave();
    this.#wake();
  }

  fail(error: unknown): void {
    if (this.#ended) return;
    this.#queue = [];
    this.#failure = { error };
    this.end();
  }

  async next(): Promise<IteratorResult<BroadcastEvent<Snapshot, Change>>> {
    for (;;) {
      if (this.#failure) {
        const { error } = this.#failure;
        this.#failure = null;
        throw error;
      }
      if (!this.#ended) {
        const fresh = this.#resync();
        if (fresh) return { done: false, value: fresh };
      }
      const event = this.#queue.shift();
      if (event) return { done: false, value: event };
      if (this.#ended) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<BroadcastEvent<Snapshot, Change>>> {
    this.#queue = [];
    this.#stale = null;
    this.end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #resync(): BroadcastEvent<Snapshot, Change> | null {
    if (this.#stale === null) return null;
    const snapshot = this.#takeSnapshot();
    if (this.#stale === 'GAP') {
      const missed = this.#missed;
      this.#missed = 0;
      this.#stale = 'RESYNC';
      return { kind: 'GAP', sequence: snapshot.sequence, missed };
    }
    this.#stale = null;
    return snapshot;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.();
  }
}
