import { FITS, type FilterMode } from '../../text-filter.ts';
import type { ConnectedClientSummary } from './inspect-control.ts';

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
  readonly removed: readonly string[];
}

/** More changes than this at once are cheaper sorted in than inserted one by one. */
const MANY_CHANGES = 500;
/** Filtered lists that are kept, so that the next page of one costs nothing; the oldest is dropped. */
const MAX_FILTERED = 8;

/** Clients in the order of their ids (code units), found by id, by place and by filter. Filters are case-sensitive. */
export class SortedClients {
  readonly #byId = new Map<string, ConnectedClientSummary>();
  #sorted: ConnectedClientSummary[] = [];
  #filtered = new Map<string, readonly ConnectedClientSummary[]>();

  get size(): number {
    return this.#byId.size;
  }

  get(clientid: string): ConnectedClientSummary | null {
    return this.#byId.get(clientid) ?? null;
  }

  all(): readonly ConnectedClientSummary[] {
    return this.#sorted;
  }

  /** Answers what was different from before; other numbers in `queues` alone are taken over and make no difference. */
  apply({ changed, removed }: ClientDifference): ClientDifference {
    const news: ConnectedClientSummary[] = [];
    const other: ConnectedClientSummary[] = [];
    for (const client of changed) {
      const before = this.#byId.get(client.clientid);
      const isNews = !before || !isSame(before, client);
      if (isNews) news.push(client);
      if (isNews || !isEqual(before.queues, client.queues)) other.push(client);
    }
    // Once each: a second removal of one id would hit its neighbour in the order.
    const gone = [...new Set(removed)].filter((clientid) => this.#byId.has(clientid));
    const difference = { changed: news, removed: gone };
    if (other.length === 0 && gone.length === 0) return difference;
    this.#filtered.clear();
    if (other.length + gone.length > MANY_CHANGES) {
      for (const clientid of gone) this.#byId.delete(clientid);
      for (const client of other) this.#byId.set(client.clientid, client);
      this.#sort();
    } else {
      for (const clientid of gone) this.#delete(clientid);
      for (const client of other) this.#put(client);
    }
    return difference;
  }

  /** The list as it is now, whole; answers what was different from before. */
  replace(clients: readonly ConnectedClientSummary[]): ClientDifference {
    const present = new Set(clients.map(({ clientid }) => clientid));
    const removed = [...this.#byId.keys()].filter((clientid) => !present.has(clientid));
    return this.apply({ changed: clients, removed });
  }

  clear(): void {
    this.#byId.clear();
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
    const index = indexFrom(this.#sorted, client.clientid);
    const known = this.#byId.has(client.clientid);
    this.#byId.set(client.clientid, client);
    this.#sorted.splice(index, known ? 1 : 0, client);
  }

  #delete(clientid: string): void {
    this.#byId.delete(clientid);
    this.#sorted.splice(indexFrom(this.#sorted, clientid), 1);
  }

  #sort(): void {
    this.#sorted = [...this.#byId.values()].sort((a, b) => (a.clientid < b.clientid ? -1 : 1));
  }
}

/** Place of the first client whose id is not before `clientid`. */
export function indexFrom(clients: readonly ConnectedClientSummary[], clientid: string): number {
  let low = 0;
  let high = clients.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((clients[middle]?.clientid ?? '') < clientid) low = middle + 1;
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
