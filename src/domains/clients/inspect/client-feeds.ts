import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { ClientFeed } from './client-feed.ts';
import { type ClientFilter, filterKey, matcherOf } from './client-filter.ts';
import { type ClientListState, type ClientRegistryEvent, partsOf } from './client-listing.ts';
import type { AppliedDifference, SortedClients } from './sorted-clients.ts';

/** What a subscriber receives. */
export interface ClientSelection extends ClientFilter {
  /** Default: CLIENTS. COUNTS: snapshots have no clients. */
  readonly form?: 'CLIENTS' | 'COUNTS';
}

/** Maximum number of different selections per broker, besides the one of all clients. */
export const MAX_SELECTIONS = 500;
/** Maximum number of clients in the stored changes: of all clients, and of each other selection. */
const MAX_STORED = { all: 100_000, selected: 10_000 };
/** Maximum of changed clients times selections. Beyond it subscribers get a new snapshot instead of the change. */
const MAX_COMPARED = 200_000;

interface Selected {
  readonly feed: ClientFeed;
  /** Stops following the group of the selection. */
  readonly stop: () => void;
  /** Epoch milliseconds since when the feed has no subscribers; `null` if it has some. */
  idleSince: number | null;
}

/**
 * Feeds of one broker: subscribers with equal selections share one. A changed client is compared with each selection,
 * so the number of selections is limited: beyond it the feeds without subscribers are closed, and if all have some, a
 * subscriber is refused.
 */
export class ClientFeeds {
  readonly #clients: SortedClients;
  readonly #state: () => ClientListState;
  readonly #all: ClientFeed;
  readonly #selected = new Map<string, Selected>();

  constructor(clients: SortedClients, state: () => ClientListState) {
    this.#clients = clients;
    this.#state = state;
    this.#all = this.#create({}, MAX_STORED.all);
  }

  get isWatched(): boolean {
    return this.#feeds().some(({ broadcast }) => broadcast.subscriberCount > 0);
  }

  /** Errors: RATE_LIMITED. */
  subscribe(selection: ClientSelection, options: SubscriberOptions): LiveSource<ClientRegistryEvent> {
    return this.#feedOf(selection).broadcast.subscribe(options);
  }

  publish(difference: AppliedDifference): void {
    const parts = partsOf(difference);
    for (const part of parts) this.#all.publish(part);
    const compared = (difference.changed.length + difference.removed.length) * this.#selected.size;
    for (const { feed } of this.#selected.values()) {
      if (compared > MAX_COMPARED) feed.reset();
      else for (const part of parts) feed.publish(part);
    }
  }

  /** Evicts the feeds that have had no subscribers for `idleMs`. Until then subscribers may resume. */
  evictIdle(idleMs: number): void {
    const now = Date.now();
    for (const [key, selected] of this.#selected) {
      if (selected.feed.broadcast.subscriberCount > 0) selected.idleSince = null;
      else selected.idleSince ??= now;
      if (selected.idleSince === null || now - selected.idleSince < idleMs) continue;
      selected.stop();
      this.#selected.delete(key);
    }
  }

  /** Call after all clients were dropped from memory. */
  reset(): void {
    for (const feed of this.#feeds()) feed.reset();
  }

  close(): void {
    for (const { stop } of this.#selected.values()) stop();
    for (const { broadcast } of this.#feeds()) broadcast.close();
  }

  #feeds(): ClientFeed[] {
    return [this.#all, ...Array.from(this.#selected.values(), ({ feed }) => feed)];
  }

  #feedOf(selection: ClientSelection): ClientFeed {
    const { form = 'CLIENTS', ...filter } = selection;
    if (form === 'CLIENTS' && matcherOf(filter) === null) return this.#all;
    const key = `${form} ${filterKey(filter)}`;
    const known = this.#selected.get(key);
    if (known !== undefined) return known.feed;
    if (this.#selected.size >= MAX_SELECTIONS) this.evictIdle(0);
    if (this.#selected.size >= MAX_SELECTIONS) {
      throw new ServiceError(
        'RATE_LIMITED',
        `At most ${MAX_SELECTIONS} different selections of clients can be followed per broker: end another subscription first`,
      );
    }
    const feed = this.#create(selection, MAX_STORED.selected);
    const stop = selection.group?.follow(() => feed.reset()) ?? (() => undefined);
    this.#selected.set(key, { feed, stop, idleSince: null });
    return feed;
  }

  #create({ form, ...filter }: ClientSelection, maxStored: number): ClientFeed {
    return new ClientFeed({
      matches: matcherOf(filter),
      clients: () => this.#clients.matching(filter),
      undecided: () => this.#clients.search(filter).undecided,
      state: this.#state,
      countsOnly: form === 'COUNTS',
      maxStored,
    });
  }
}
