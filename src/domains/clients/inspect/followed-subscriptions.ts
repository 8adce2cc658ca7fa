import { hash } from 'node:crypto';
import { MAX_COUNTED, MAX_LISTED } from '../../../protocol/apis/clients/unknown-fields.ts';
import type { LogLine } from '../../../protocol/mosquitto-log/log-line.ts';
import type { ClientEntry } from './client-entry.ts';

export type SubscriptionsLine = Extract<LogLine, { kind: 'SUBSCRIBED' | 'UNSUBSCRIBED' }>;

/** Memory of a listed subscription without its filter, and of a counted one. */
const LISTED_BYTES = 100;
const COUNTED_BYTES = 50;

/**
 * Stores the subscriptions of all clients within `maxBytes`. Beyond MAX_LISTED, the subscriptions of a client are only
 * counted, by 48 bits of a hash of their filters, so that a repeated SUBSCRIBE counts once.
 */
export class FollowedSubscriptions {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  apply(entry: ClientEntry, line: SubscriptionsLine): void {
    if (line.filter === null) entry.uncounted ??= 'TRUNCATED';
    else if (line.kind === 'SUBSCRIBED') this.#add(entry, line.filter, line.qos);
    else this.#delete(entry, line.filter);
  }

  #add(entry: ClientEntry, filter: string, qos: number): void {
    if (entry.subscriptions.has(filter)) entry.subscriptions.set(filter, qos);
    else if (isCounted(entry, filter)) return;
    else if (entry.subscriptions.size < MAX_LISTED && this.#reserve(cost(filter))) entry.subscriptions.set(filter, qos);
    else if ((entry.unlisted?.size ?? 0) < MAX_COUNTED && this.#reserve(COUNTED_BYTES)) {
      entry.unlisted ??= new Set();
      entry.unlisted.add(hashOf(filter));
    } else entry.uncounted ??= 'LIMIT';
  }

  #delete(entry: ClientEntry, filter: string): void {
    if (entry.subscriptions.delete(filter)) this.#bytes -= cost(filter);
    else if (entry.unlisted?.delete(hashOf(filter))) this.#bytes -= COUNTED_BYTES;
  }

  clear(entry: ClientEntry): void {
    for (const filter of entry.subscriptions.keys()) this.#bytes -= cost(filter);
    this.#bytes -= (entry.unlisted?.size ?? 0) * COUNTED_BYTES;
    entry.subscriptions.clear();
    entry.unlisted = null;
  }

  #reserve(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maxBytes) return false;
    this.#bytes += bytes;
    return true;
  }
}

const cost = (filter: string): number => filter.length + LISTED_BYTES;

const isCounted = ({ unlisted }: ClientEntry, filter: string): boolean => unlisted?.has(hashOf(filter)) === true;

const hashOf = (filter: string): number => hash('sha256', filter, 'buffer').readUIntBE(0, 6);
