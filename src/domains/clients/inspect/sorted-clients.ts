import { cursorOf, placeIn } from '../../../platform/sorting/places.ts';
import { keyOf } from '../../../protocol/apis/clients/client-key.ts';
import type { ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import { type BacklogOf, listedBacklog } from './client-backlogs.ts';
import { type ClientFilter, type Fits, filterKey, matcherOf, needsBacklogs } from './client-filter.ts';
import type { PageOfOrder, SortedPage } from './client-order.ts';

export interface ClientPageQuery extends ClientFilter, PageOfOrder {}

export interface ClientDifference {
  readonly changed: readonly ConnectedClientSummary[];
  /** Keys. */
  readonly removed: readonly string[];
}

export interface AppliedDifference extends ClientDifference {
  /** The replaced and removed clients by their keys. */
  readonly previous: ReadonlyMap<string, ConnectedClientSummary>;
}

interface Found {
  readonly clients: readonly ConnectedClientSummary[];
  readonly undecided: number;
}

/** Above this number of changes, sorting again is cheaper than inserting one by one. */
const MANY_CHANGES = 500;
/** Number of cached filtered lists, so that their next pages need no search. The oldest is dropped. */
const MAX_FILTERED = 8;

/** The clients of one broker in the order of their keys (code units), found by key, client id, index and filter. */
export class SortedClients {
  readonly #byKey = new Map<string, ConnectedClientSummary>();
  #sorted: ConnectedClientSummary[] = [];
  #filtered = new Map<string, Found>();

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): ConnectedClientSummary | null {
    return this.#byKey.get(key) ?? null;
  }

  /** In a cluster there may be one client of this id per node. */
  withId(clientid: string): ConnectedClientSummary[] {
    const found: ConnectedClientSummary[] = [];
    for (let index = indexFrom(this.#sorted, clientid); this.#sorted[index]?.clientid === clientid; index += 1) {
      found.push(this.#sorted[index] as ConnectedClientSummary);
    }
    return found;
  }

  all(): readonly ConnectedClientSummary[] {
    return this.#sorted;
  }

  /** Returns the changed clients, without those of which only numbers in `queues` differ. */
  apply({ changed, removed }: ClientDifference): AppliedDifference {
    const reported: ConnectedClientSummary[] = [];
    const stored: ConnectedClientSummary[] = [];
    const previous = new Map<string, ConnectedClientSummary>();
    for (const client of changed) {
      const key = keyOf(client);
      const known = this.#byKey.get(key);
      const isChange = !known || !isSame(known, client);
      if (isChange) reported.push(client);
      if (isChange && known) previous.set(key, known);
      if (isChange || !isEqual(known.queues, client.queues)) stored.push(client);
    }
    // Each key once: a second removal would remove the next client in the order.
    const existing = [...new Set(removed)].filter((key) => this.#byKey.has(key));
    for (const key of existing) previous.set(key, this.#byKey.get(key) as ConnectedClientSummary);
    const difference = { changed: reported, removed: existing, previous };
    if (stored.length === 0 && existing.length === 0) return difference;
    this.#filtered.clear();
    if (stored.length + existing.length > MANY_CHANGES) {
      for (const key of existing) this.#byKey.delete(key);
      for (const client of stored) this.#byKey.set(keyOf(client), client);
      this.#sorted = [...this.#byKey.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    } else {
      for (const key of existing) this.#delete(key);
      for (const client of stored) this.#put(client);
    }
    return difference;
  }

  replace(clients: readonly ConnectedClientSummary[]): AppliedDifference {
    const present = new Set(clients.map(keyOf));
    const removed = [...this.#byKey.keys()].filter((key) => !present.has(key));
    return this.apply({ changed: clients, removed });
  }

  clear(): void {
    this.#byKey.clear();
    this.#sorted = [];
    this.#filtered.clear();
  }

  /** In the order of keys. */
  matching(filter: ClientFilter): readonly ConnectedClientSummary[] {
    return this.search(filter).clients;
  }

  /** `undecided`: number of clients that may match, because a value that the filter needs is unknown. */
  search(filter: ClientFilter, backlogOf: BacklogOf = listedBacklog): Found {
    const fits = matcherOf(filter, backlogOf);
    if (fits === null) return { clients: this.#sorted, undecided: 0 };
    const { clientIds } = filter;
    if (clientIds !== undefined)
      return foundIn(
        [...new Set(clientIds)].sort().flatMap((id) => this.withId(id)),
        fits,
      );
    // Backlogs change with every message, and members of a group without a change of the clients.
    if (needsBacklogs(filter) || filter.group !== undefined) return foundIn(this.#sorted, fits);
    const key = filterKey(filter);
    const known = this.#filtered.get(key);
    if (known) return known;
    const found = foundIn(this.#sorted, fits);
    if (this.#filtered.size >= MAX_FILTERED) this.#filtered.delete(this.#filtered.keys().next().value ?? '');
    this.#filtered.set(key, found);
    return found;
  }

  #put(client: ConnectedClientSummary): void {
    const key = keyOf(client);
    const index = indexFrom(this.#sorted, key);
    const known = this.#byKey.has(key);
    this.#byKey.set(key, client);
    this.#sorted.splice(index, known ? 1 : 0, client);
  }

  #delete(key: string): void {
    this.#byKey.delete(key);
    this.#sorted.splice(indexFrom(this.#sorted, key), 1);
  }
}

function foundIn(list: readonly ConnectedClientSummary[], fits: Fits): Found {
  const clients: ConnectedClientSummary[] = [];
  let undecided = 0;
  for (const client of list) {
    const isFitting = fits(client);
    if (isFitting) clients.push(client);
    else if (isFitting === null) undecided += 1;
  }
  return { clients, undecided };
}

const BY_KEY = { field: 'ConnectedClient', direction: 'asc' } as const;

/** In the order of the keys. Errors: INVALID. */
export function pageByKey(
  list: readonly ConnectedClientSummary[],
  { offset = 0, count = -1, after }: PageOfOrder,
): SortedPage {
  const first = (after === undefined ? 0 : indexAfter(list, placeIn(after, BY_KEY).key)) + Math.max(0, offset);
  const clients = list.slice(first, count < 0 ? undefined : first + count);
  const cursor = (client: ConnectedClientSummary) => cursorOf({ value: null, key: keyOf(client) }, BY_KEY);
  return { clients, totalCount: list.length, offset: Math.min(first, list.length), cursorOf: cursor };
}

/** Index of the first client whose key is not less than `key`. */
function indexFrom(clients: readonly ConnectedClientSummary[], key: string): number {
  let low = 0;
  let high = clients.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(clients[middle] as ConnectedClientSummary) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the first client whose key is greater than `key`. */
function indexAfter(clients: readonly ConnectedClientSummary[], key: string): number {
  const index = indexFrom(clients, key);
  const client = clients[index];
  return client !== undefined && keyOf(client) === key ? index + 1 : index;
}

/** Ignores the numbers in `queues`, which change with every message. */
function isSame(a: ConnectedClientSummary, b: ConnectedClientSummary): boolean {
  if (a === b) return true;
  const keys = Object.keys(b) as (keyof ConnectedClientSummary)[];
  if (Object.keys(a).length !== keys.length) return false;
  return keys.every((key) => (key === 'queues' ? !a.queues === !b.queues : isEqual(a[key], b[key])));
}

const isEqual = (a: unknown, b: unknown): boolean =>
  a === b || (typeof b === 'object' && b !== null && JSON.stringify(a) === JSON.stringify(b));
