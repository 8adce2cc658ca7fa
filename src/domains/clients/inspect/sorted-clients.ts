import { FITS, type FilterMode } from '../../../platform/text/text-filter.ts';
import { keyOf } from './client-key.ts';
import type { ConnectedClientSummary } from './inspect-data.ts';

/** What a client has to fit, all of it. */
export interface ClientFilter {
  /** Compared with client id and user name; either may match. Empty: every client does. */
  readonly value: string;
  readonly mode: FilterMode;
  /** A client of whom nobody knows counts as connected. */
  readonly connected?: boolean;
  /** The whole user name. */
  readonly username?: string;
}

export interface ClientDifference {
  readonly changed: readonly ConnectedClientSummary[];
  /** Keys of those that went. */
  readonly removed: readonly string[];
}

/** More changes than this at once are cheaper sorted in than inserted one by one. */
const MANY_CHANGES = 500;
/** Filtered lists that are kept, so that the next page of one costs nothing; the oldest is dropped. */
const MAX_FILTERED = 8;

/** Clients in the order of their keys (code units), found by key, by id, by place and by filter. Filters are case-sensitive. */
export class SortedClients {
  readonly #byKey = new Map<string, ConnectedClientSummary>();
  #sorted: ConnectedClientSummary[] = [];
  #filtered = new Map<string, readonly ConnectedClientSummary[]>();

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): ConnectedClientSummary | null {
    return this.#byKey.get(key) ?? null;
  }

  /** One, or of a cluster one for each node that has it. */
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

  /** Answers what was different from before; other numbers in `queues` alone are taken over and make no difference. */
  apply({ changed, removed }: ClientDifference): ClientDifference {
    const news: ConnectedClientSummary[] = [];
    const other: ConnectedClientSummary[] = [];
    for (const client of changed) {
      const before = this.#byKey.get(keyOf(client));
      const isNews = !before || !isSame(before, client);
      if (isNews) news.push(client);
      if (isNews || !isEqual(before.queues, client.queues)) other.push(client);
    }
    // Once each: a second removal of one id would hit its neighbour in the order.
    const gone = [...new Set(removed)].filter((key) => this.#byKey.has(key));
    const difference = { changed: news, removed: gone };
    if (other.length === 0 && gone.length === 0) return difference;
    this.#filtered.clear();
    if (other.length + gone.length > MANY_CHANGES) {
      for (const key of gone) this.#byKey.delete(key);
      for (const client of other) this.#byKey.set(keyOf(client), client);
      this.#sort();
    } else {
      for (const key of gone) this.#delete(key);
      for (const client of other) this.#put(client);
    }
    return difference;
  }

  /** The list as it is now, whole; answers what was different from before. */
  replace(clients: readonly ConnectedClientSummary[]): ClientDifference {
    const present = new Set(clients.map(keyOf));
    const removed = [...this.#byKey.keys()].filter((key) => !present.has(key));
    return this.apply({ changed: clients, removed });
  }

  clear(): void {
    this.#byKey.clear();
    this.#sorted = [];
    this.#filtered.clear();
  }

  /** The same filter on the same clients is answered from memory. */
  matching({ value, mode, connected, username }: ClientFilter): readonly ConnectedClientSummary[] {
    const key = JSON.stringify([mode, value, connected, username]);
    const known = this.#filtered.get(key);
    if (known) return known;
    const fits = FITS[mode];
    const found = this.#sorted.filter(
      (client) =>
        (connected === undefined || (client.connected !== false) === connected) &&
        (username === undefined || client.username === username) &&
        (value === '' || fits(client.clientid, value) || fits(client.username, value)),
    );
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

  #sort(): void {
    this.#sorted = [...this.#byKey.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }
}

/** Place of the first client whose key is not before `key`. */
export function indexFrom(clients: readonly ConnectedClientSummary[], key: string): number {
  let low = 0;
  let high = clients.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(clients[middle] as ConnectedClientSummary) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Messages come and go all the time: what waits for a client now is nothing that happened to it. */
function isSame(a: ConnectedClientSummary, b: ConnectedClientSummary): boolean {
  if (a === b) return true;
  const keys = Object.keys(b) as (keyof ConnectedClientSummary)[];
  if (Object.keys(a).length !== keys.length) return false;
  return keys.every((key) => (key === 'queues' ? !a.queues === !b.queues : isEqual(a[key], b[key])));
}

const isEqual = (a: unknown, b: unknown): boolean =>
  a === b || (typeof b === 'object' && b !== null && JSON.stringify(a) === JSON.stringify(b));
