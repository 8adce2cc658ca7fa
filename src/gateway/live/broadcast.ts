/**
 * Fan-out of one observed thing (a broker's clients, a project's brokers) to many subscribers who may read slowly.
 *
 * Each subscriber first gets the snapshot as it is then, followed by every change, each with the sequence number of the
 * observed thing. Nothing happens between the two: a snapshot knows the number of the change that it was taken after. One that comes
 * in parts is large, so it is given to who comes a moment later as well, with the changes since. The newest changes
 * are kept, once for all: a subscriber is a place in them, so a slow one holds nothing of its own. One that falls more than
 * `limit` changes behind, or behind what is kept, is told so by one GAP with the number of changes left out, and starts again
 * with a snapshot; so is one that is still reading the parts of a snapshot when MAX_SNAPSHOTS newer ones were taken. One that was
 * here before and names the last number it had goes on from there while that is kept.
 *
 * Numbers begin anywhere, so that those of another process or an earlier run mean nothing here. An event is one object for all who
 * get it (GAP and RESUMED aside), so that what is made of it can be made once: nobody may change it.
 */

import { SlicedCalls } from '../../platform/scheduling/sliced-task.ts';
import { History } from './history.ts';
import type { LiveSource } from './live-source.ts';
import { type Ending, type Feed, Subscriber, type Snapshot as Taken } from './subscriber.ts';

/** What all events say of the place in the sequence. */
interface Place {
  /** 0 where nobody can go on from. */
  readonly sequence: number;
  /** How many more events the snapshot goes on for; a GAP says 1, for the snapshot that follows. */
  readonly partsLeft: number;
}

export type SnapshotEvent<Snapshot> = Place & { readonly kind: 'SNAPSHOT'; readonly snapshot: Snapshot };
export type ChangeEvent<Change> = Place & { readonly kind: 'CHANGE'; readonly change: Change };
export type GapEvent = Place & { readonly kind: 'GAP'; readonly missed: number };
/** Nothing was left out since the number that the subscriber named; the changes after it follow. */
export type ResumedEvent = Place & { readonly kind: 'RESUMED' };

/** Whoever replaces what is held at SNAPSHOT and applies each CHANGE holds the truth after each event with `partsLeft` 0. */
export type BroadcastEvent<Snapshot, Change> = SnapshotEvent<Snapshot> | ChangeEvent<Change> | GapEvent | ResumedEvent;

/** What a SNAPSHOT or a CHANGE tells; null: the event tells nothing of what is observed. */
export function stateIn<Snapshot, Change>(event: BroadcastEvent<Snapshot, Change>): Snapshot | Change | null {
  if (event.kind === 'SNAPSHOT') return event.snapshot;
  return event.kind === 'CHANGE' ? event.change : null;
}

export interface BroadcastOptions<Snapshot, Change> {
  /** Changes kept for those who read slowly or come back. Default 1,000; the oldest go first. */
  readonly history?: number;
  /** What the kept changes may weigh together, in the unit of `weigh`. Default 100,000. */
  readonly maxWeight?: number;
  /** Default: 1 for each change. */
  weigh?(change: Change): number;
  /** For snapshots too large for one event: the first part, and changes that make the whole of it. Default: one part. */
  split?(snapshot: Snapshot): { readonly first: Snapshot; readonly rest: readonly Change[] };
}

export interface SubscriberOptions {
  /** Changes that the subscriber may be behind. Default 1,000; never more than are kept. */
  readonly limit?: number;
  /** Ends the stream with its reason as error: the subscriber's rights ended. */
  readonly signal?: AbortSignal;
  /** The number of the last event that an earlier subscription had: changes after it are told again while they are kept. */
  readonly after?: number | null | undefined;
}

/** A snapshot is taken anew after this time even if nothing changed: it may tell how old it is. */
const SNAPSHOT_MS = 1_000;
/** This share of the changes that who comes now may be behind make a snapshot too old for it: it is still to be read. */
const SNAPSHOT_SHARE = 0.1;
/** Snapshots in parts that are kept for readers who are not through with them. */
const MAX_SNAPSHOTS = 32;
/** Far from 0 and from the largest safe integer. */
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
  /** Those in parts that somebody may be reading, the oldest first. */
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
      leave: (subscriber) => this.#left(subscriber),
    };
  }

  /** Of the last change. */
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

  /**
   * What is observed was lost from sight, so changes no longer lead from what was told to what is: nobody can go on from earlier
   * numbers, and all who are subscribed start again with a snapshot, after a GAP.
   */
  forget(): void {
    this.#taken = null;
    this.#history.clear();
    this.#wakeAll();
  }

  subscribe(options: SubscriberOptions = {}): LiveSource<BroadcastEvent<Snapshot, Change>> {
    const subscriber = new Subscriber<BroadcastEvent<Snapshot, Change>>(this.#feed, options);
    if (this.#end === null && !subscriber.isOver) this.#subscribers.add(subscriber);
    return subscriber;
  }

  /** Ends every subscriber's stream after what it has not read yet, by the error if there is one. */
  close(error?: unknown): void {
    this.#end ??= { error };
    this.#subscribers.clear();
    this.#wakeAll();
  }

  #left(subscriber: Subscriber<BroadcastEvent<Snapshot, Change>>): void {
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
    if (known !== null && now - known.at <= SNAPSHOT_MS && this.#leadsToNow(known, behind)) return known;
    const parts = this.#partsOf(this.#snapshot());
    const taken = { at: now, place: this.sequence, parts };
    this.#taken = taken;
    if (parts.length > 1) {
      this.#inParts.push(new WeakRef(taken));
      const oldest = this.#inParts.length > MAX_SNAPSHOTS ? this.#inParts.shift()?.deref() : undefined;
      if (oldest) oldest.parts = null;
    }
    return taken;
  }

  #leadsToNow({ place, parts }: Taken<BroadcastEvent<Snapshot, Change>>, behind: number): boolean {
    const isWhole = parts !== null && (parts.length > 1 || place === this.sequence);
    return isWhole && this.sequence - place <= behind && this.#history.reaches(place);
  }

  #partsOf(snapshot: Snapshot): readonly BroadcastEvent<Snapshot, Change>[] {
    const { first, rest } = this.#options.split?.(snapshot) ?? { first: snapshot, rest: [] };
    const place = (index: number): Place => {
      const partsLeft = rest.length - index;
      return { sequence: partsLeft === 0 ? this.sequence : 0, partsLeft };
    };
    return [
      { kind: 'SNAPSHOT', ...place(0), snapshot: first },
      ...rest.map((change, index) => ({ kind: 'CHANGE', ...place(index + 1), change }) as const),
    ];
  }
}
