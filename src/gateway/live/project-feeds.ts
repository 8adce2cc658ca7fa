import type { Broadcast } from './broadcast.ts';

export interface ProjectFeed<Snapshot, Change> {
  readonly broadcast: Broadcast<Snapshot, Change>;
  readonly hasPendingSubscriber?: boolean;
}

interface Entry<Feed> {
  readonly projectId: string;
  /** `null`: all objects of the project. */
  readonly only: ReadonlySet<string> | null;
  readonly feed: Feed;
}

/** Feeds of projects, one for each set of visible objects: gaps in the sequence numbers would reveal other objects. */
export class ProjectFeeds<Feed extends ProjectFeed<unknown, unknown>> {
  readonly #create: (projectId: string, only: ReadonlySet<string> | null) => Feed;
  readonly #entries = new Map<string, Entry<Feed>>();

  constructor(create: (projectId: string, only: ReadonlySet<string> | null) => Feed) {
    this.#create = create;
  }

  of(projectId: string, only: ReadonlySet<string> | null): Feed {
    const key = JSON.stringify([projectId, ...(only === null ? [] : [[...only].sort()])]);
    const known = this.#entries.get(key);
    if (known !== undefined) return known.feed;
    for (const [other, { feed }] of this.#entries) {
      if (feed.broadcast.subscriberCount === 0 && feed.hasPendingSubscriber !== true) this.#entries.delete(other);
    }
    const feed = this.#create(projectId, only);
    this.#entries.set(key, { projectId, only, feed });
    return feed;
  }

  /** Feeds in which an object of a project is visible. */
  *containing(projectId: string, id: string): Generator<Feed> {
    for (const entry of this.#entries.values()) {
      if (entry.projectId === projectId && (entry.only?.has(id) ?? true)) yield entry.feed;
    }
  }

  /** Evicts a feed that failed, so that the next subscriber gets a new one. */
  evict(feed: Feed): void {
    for (const [key, entry] of this.#entries) if (entry.feed === feed) this.#entries.delete(key);
  }

  close(): void {
    for (const { feed } of this.#entries.values()) feed.broadcast.close();
    this.#entries.clear();
  }
}
