/**
 * Fan-out of one observed state (a broker's clients, a project's brokers) to many subscribers.
 *
 * A subscriber gets a snapshot with the number of the last change in it, then every later change. The newest changes
 * are stored once, and a subscriber is a position in them. A subscriber more than `limit` changes behind gets one GAP
 * and a new snapshot; so does one that still reads a snapshot when MAX_SNAPSHOTS newer ones were taken. A subscriber
 * resumes from the last number of an earlier subscription if the changes since then are stored.
 *
 * Numbers start at random, so that numbers of another process are not valid here. All subscribers get the same event
 * object, which must not be modified.
 */

import { History } from '../../platform/live/history.ts';
import { SlicedCalls } from '../../platform/scheduling/sliced-task.ts';
import type { LiveSource, SubscriberOptions } from './live-source.ts';
import { type Ending, type Feed, Subscriber, type Snapshot as Taken } from './subscriber.ts';

interface Position {
  /** 0 if a subscription cannot resume from this event. */
  readonly sequence: number;
  /** Number of further events that belong to the same snapshot; 1 for a GAP, because a snapshot follows. */
  readonly partsLeft: number;
}

type SnapshotEvent<Snapshot> = Position & { readonly kind: 'SNAPSHOT'; readonly snapshot: Snapshot };
type ChangeEvent<Change> = Position & { readonly kind: 'CHANGE'; readonly change: Change };
type GapEvent = Position & { readonly kind: 'GAP'; readonly missed: number };
type ResumedEvent = Position & { readonly kind: 'RESUMED' };

export type BroadcastEvent<Snapshot, Change> = SnapshotEvent<Snapshot> | ChangeEvent<Change> | GapEvent | ResumedEvent;

export function stateIn<Snapshot, Change>(event: BroadcastEvent<Snapshot, Change>): Snapshot | Change | null {
  if (event.kind === 'SNAPSHOT') return event.snapshot;
  return event.kind === 'CHANGE' ? event.change : null;
}

export interface BroadcastOptions<Snapshot, Change> {
  /** Stored changes, for slow and resuming subscribers. Default: 1,000. The oldest are dropped first. */
  readonly history?: number;
  /** Of all stored changes, in the unit of `weigh`. Default: 100,000. The oldest are dropped first. */
  readonly maxWeight?: number;
  /** Default: 1 for each change. */
  weigh?(change: Change): number;
  /** Splits a large snapshot into a first part and changes that complete it. Default: one part. */
  split?(snapshot: Snapshot): { readonly first: Snapshot; readonly rest: readonly Change[] };
}

/** Maximum age of a shared snapshot in milliseconds, even if nothing changed: a snapshot may state its age. */
const SNAPSHOT_MS = 1_000;
/** Share of a subscriber's `limit` by which a shared snapshot may be behind, because it must be read first. */
const SNAPSHOT_SHARE = 0.1;
const MAX_SNAPSHOTS = 32;
const MAX_START = 2 ** 48;

export class Broadcast<Snapshot, Change> {
  readonly #snapshot: () => Snapshot;
  readonly #options: BroadcastOptions<Snapshot, Change>;
  readonly #history: History<BroadcastEvent<Snapshot, Change>>;
  readonly #calls = new SlicedCalls();
  readonly #feed: Feed<BroadcastEvent<Snapshot, Change>>;
  readonly #subscribers = new Set<Subscriber<BroadcastEvent<Snapshot, Change>>>();
  readonly #waiting = new Set<Subscriber<BroadcastEvent<Snapshot, Change>>>();
  #taken: (Taken<BroadcastEvent<Snapshot, Change>> & { readonly at: number }) | null = null;
  readonly #inParts: WeakRef<Taken<BroadcastEvent<Snapshot, Change>>>[] = [];
  #end: Ending | null = null;

  constructor(snapshot: () => Snapshot, options: BroadcastOptions<Snapshot, Change> = {}) {
    const { history = 1_000, maxWeight = 100_000 } = options;
    this.#snapshot = snapshot;
    this.#options = options;
    this.#history = new History(1 + Math.floor(Math.random() * MAX_START), {
      limit: history,
      maxWeight,
      weigh: (event) => (event.kind === 'CHANGE' ? (options.weigh?.(event.change) ?? 1) : 1),
    });
    this.#feed = {
      history: this.#history,
      snapshot: (limit) => this.#snapshotNow(limit * SNAPSHOT_SHARE),
      gap: (missed) => ({ kind: 'GAP', sequence: 0, partsLeft: 1, missed }),
      resumed: (sequence) => ({ kind: 'RESUMED', sequence, partsLeft: 0 }),
      ending: () => this.#end,
      wait: (subscriber) => this.#waiting.add(subscriber),
      wakeSoon: (wake) => this.#calls.add(wake),
      leave: (subscriber) => this.#remove(subscriber),
    };
  }

  get sequence(): number {
    return this.#history.last;
  }

  get subscriberCount(): number {
    return this.#subscribers.size;
  }

  publish(change: Change): void {
    this.#history.add({ kind: 'CHANGE', sequence: this.#history.last + 1, partsLeft: 0, change });
    if (this.#taken?.parts?.length === 1) this.#taken = null;
    this.#wakeAll();
  }

  /** Drops the history, because changes were missed. All subscribers get a GAP and a new snapshot. */
  reset(): void {
    this.#taken = null;
    this.#history.clear();
    this.#wakeAll();
  }

  subscribe(options: SubscriberOptions = {}): LiveSource<BroadcastEvent<Snapshot, Change>> {
    const subscriber = new Subscriber<BroadcastEvent<Snapshot, Change>>(this.#feed, options);
    if (this.#end === null && !subscriber.isOver) this.#subscribers.add(subscriber);
    return subscriber;
  }

  /** Ends every stream after its unread events, with the error if there is one. */
  close(error?: unknown): void {
    this.#end ??= { error };
    this.#subscribers.clear();
    this.#wakeAll();
  }

  #remove(subscriber: Subscriber<BroadcastEvent<Snapshot, Change>>): void {
    this.#subscribers.delete(subscriber);
    this.#waiting.delete(subscriber);
    if (this.#subscribers.size === 0) this.#taken = null;
  }

  #wakeAll(): void {
    for (const { wake } of this.#waiting) this.#calls.add(wake);
    this.#waiting.clear();
  }

  #snapshotNow(behind: number): Taken<BroadcastEvent<Snapshot, Change>> {
    const now = performance.now();
    const known = this.#taken;
    if (known !== null && now - known.at <= SNAPSHOT_MS && this.#isCurrent(known, behind)) return known;
    const parts = this.#partsOf(this.#snapshot());
    const taken = { at: now, sequence: this.sequence, parts };
    this.#taken = taken;
    if (parts.length > 1) {
      this.#inParts.push(new WeakRef(taken));
      const oldest = this.#inParts.length > MAX_SNAPSHOTS ? this.#inParts.shift()?.deref() : undefined;
      if (oldest) oldest.parts = null;
    }
    return taken;
  }

  /** Whether the snapshot and the stored changes after it give the current state. */
  #isCurrent({ sequence, parts }: Taken<BroadcastEvent<Snapshot, Change>>, behind: number): boolean {
    const isUsable = parts !== null && (parts.length > 1 || sequence === this.sequence);
    return isUsable && this.sequence - sequence <= behind && this.#history.reaches(sequence);
  }

  #partsOf(snapshot: Snapshot): readonly BroadcastEvent<Snapshot, Change>[] {
    const { first, rest } = this.#options.split?.(snapshot) ?? { first: snapshot, rest: [] };
    const position = (index: number): Position => {
      const partsLeft = rest.length - index;
      return { sequence: partsLeft === 0 ? this.sequence : 0, partsLeft };
    };
    return [
      { kind: 'SNAPSHOT', ...position(0), snapshot: first },
      ...rest.map((change, index) => ({ kind: 'CHANGE', ...position(index + 1), change }) as const),
    ];
  }
}
