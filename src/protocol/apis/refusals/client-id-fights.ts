import { LRUCache } from 'lru-cache';
import { entryLimit } from '../../../platform/limits/entry-limit.ts';

/** One of two connections with the same client id. Values that are not known are `null`. */
export interface Rival {
  readonly username: string | null;
  readonly address: string | null;
}

/** Client ids whose last takeovers are remembered. */
const MAX_IDS = 10_000;
/** Takeovers of one client id within REPEATED_MS that are a fight, also between equal rivals. */
const REPEATED = 3;
const REPEATED_MS = 60_000;
const RETURNED_MS = 10 * 60_000;

interface Takeovers {
  /** Milliseconds of `performance`, oldest first; at most REPEATED. */
  readonly times: readonly number[];
  /** The address of the connection that was closed last. */
  readonly closedAddress: string | null;
}

/**
 * Distinguishes clients that fight for one client id from one client that reconnects before the broker has noticed the
 * end of its previous connection. A takeover belongs to a fight if one of these is true:
 *
 *   1. The new connection has another user name.
 *   2. The new connection has the address from which the last takeover within RETURNED_MS removed a connection, and the
 *      closed connection has another address: two hosts alternate.
 *   3. It is at least the third takeover of the client id within REPEATED_MS.
 */
export class ClientIdFights {
  /** `null` until the first takeover, which most brokers never have: 1.4 kB for each broker. */
  #takeovers: LRUCache<string, Takeovers> | null = null;

  /** @param now milliseconds of `performance` */
  isFight(clientId: string, closed: Rival, by: Rival, now: number): boolean {
    this.#takeovers ??= new LRUCache(entryLimit(MAX_IDS));
    const { times: before = [], closedAddress = null } = this.#takeovers.get(clientId) ?? {};
    const last = before.at(-1) ?? Number.NEGATIVE_INFINITY;
    const times = [...before, now].slice(-REPEATED);
    this.#takeovers.set(clientId, { times, closedAddress: closed.address });
    if (closed.username !== by.username) return true;
    const hasReturned = by.address !== null && by.address === closedAddress && by.address !== closed.address;
    if (hasReturned && now - last <= RETURNED_MS) return true;
    return times.length === REPEATED && now - (times[0] ?? now) <= REPEATED_MS;
  }
}
