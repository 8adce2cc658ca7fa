import type { ClientEntry } from './client-entry.ts';

/** Per client. */
const MAX_SUBSCRIPTIONS = 1_000;
/** Memory of a stored subscription without its filter. */
const SUBSCRIPTION_BYTES = 100;

/** Stores the subscriptions of all clients within `maxBytes`. Beyond it lists of subscriptions are incomplete. */
export class FollowedSubscriptions {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @param filter `null` if the log line was truncated */
  add(entry: ClientEntry, filter: string | null, qos: number): void {
    const isNew = filter !== null && !entry.subscriptions.has(filter);
    const bytes = isNew ? cost(filter) : 0;
    const isFull = isNew && (entry.subscriptions.size >= MAX_SUBSCRIPTIONS || this.#bytes + bytes > this.#maxBytes);
    if (filter === null || isFull) {
      entry.subscriptionsComplete = false;
      return;
    }
    this.#bytes += bytes;
    entry.subscriptions.set(filter, qos);
  }

  /** @param filter `null` if the log line was truncated */
  delete(entry: ClientEntry, filter: string | null): void {
    if (filter === null) entry.subscriptionsComplete = false;
    else if (entry.subscriptions.delete(filter)) this.#bytes -= cost(filter);
  }

  clear({ subscriptions }: ClientEntry): void {
    for (const filter of subscriptions.keys()) this.#bytes -= cost(filter);
    subscriptions.clear();
  }
}

const cost = (filter: string): number => filter.length + SUBSCRIPTION_BYTES;
