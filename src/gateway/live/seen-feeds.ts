import type { Broadcast } from './broadcast.ts';

/** What those who see the same things of a project follow together. */
export interface SeenFeed<Snapshot, Change> {
  readonly broadcast: Broadcast<Snapshot, Change>;
  /** Somebody is about to subscribe. */
  readonly isAwaited?: boolean;
}

interface Kept<Feed> {
  readonly projectId: string;
  /** Null: all that the project has. */
  readonly only: ReadonlySet<string> | null;
  readonly feed: Feed;
}

/**
 * The feeds of projects. Whoever sees only some things of a project follows these as a whole of their own: numbers that leave some out
 * would tell that there are others.
 *
 * Kept are feeds that somebody watches, and those that somebody did until another one is made.
 */
export class SeenFeeds<Feed extends SeenFeed<unknown, unknown>> {
  readonly #make: (projectId: string, only: ReadonlySet<string> | null) => Feed;
  readonly #kept = new Map<string, Kept<Feed>>();

  constructor(make: (projectId: string, only: ReadonlySet<string> | null) => Feed) {
    this.#make = make;
  }

  of(projectId: string, only: ReadonlySet<string> | null): Feed {
    const key = JSON.stringify([projectId, ...(only === null ? [] : [[...only].sort()])]);
    const known = this.#kept.get(key);
    if (known !== undefined) return known.feed;
    for (const [other, { feed }] of this.#kept) {
      if (feed.broadcast.subscriberCount === 0 && feed.isAwaited !== true) this.#kept.delete(other);
    }
    const feed = this.#make(projectId, only);
    this.#kept.set(key, { projectId, only, feed });
    return feed;
  }

  /** Those in which something of a project is seen. */
  *seeing(projectId: string, id: string): Generator<Feed> {
    for (const kept of this.#kept.values()) {
      if (kept.projectId === projectId && (kept.only?.has(id) ?? true)) yield kept.feed;
    }
  }

  /** It cannot be followed: the next who asks gets another one. */
  drop(feed: Feed): void {
    for (const [key, kept] of this.#kept) if (kept.feed === feed) this.#kept.delete(key);
  }

  /** Ends all. */
  close(): void {
    for (const { feed } of this.#kept.values()) feed.broadcast.close();
    this.#kept.clear();
  }
}
