import type { Session } from '../store/session.ts';
import type { SessionStore } from '../store/session-store.ts';
import { subscriptionsOf } from './aedes-internals.ts';
import type { Connection } from './connection.ts';
import { SortedIds } from './sorted-ids.ts';

/** What the connections that ended had counted, so that totals never fall. */
export interface Totals {
  published: number;
  publishedBytes: number;
  delivered: number;
  deliveredBytes: number;
  packetsIn: number;
  answers: number;
  bytesRead: number;
  bytesWritten: number;
}

/**
 * Who is connected here, and who left a persistent session: client ids with their connection, their session, or both.
 * `onChange` is told each client id whose state changed; it looks up what became of it.
 */
export class ClientRegistry {
  readonly #sessions: SessionStore;
  readonly #connections = new Map<string, Connection>();
  readonly #open = new Set<Connection>();
  readonly #byUsername = new Map<string | null, Set<Connection>>();
  readonly #ended: Totals = emptyTotals();
  readonly #listeners = new Set<(clientId: string) => void>();
  readonly #ids = new SortedIds((clientId) => this.#connections.has(clientId) || this.session(clientId) !== undefined);
  #maximum = 0;

  constructor(sessions: SessionStore) {
    this.#sessions = sessions;
    sessions.onMember = (clientId) => this.#ids.changed(clientId);
  }

  get connectedCount(): number {
    return this.#connections.size;
  }

  get maximumConnected(): number {
    return this.#maximum;
  }

  /** Sockets, whether or not their client was let in. */
  get open(): ReadonlySet<Connection> {
    return this.#open;
  }

  get offlineCount(): number {
    let count = 0;
    for (const { id } of this.#sessions.all()) if (!this.#connections.has(id)) count += 1;
    return count;
  }

  /** Subscriptions of connected clients and of the sessions of the others. */
  subscriptionCount(): number {
    let count = 0;
    for (const { client } of this.#connections.values())
      if (client) count += Object.keys(subscriptionsOf(client)).length;
    for (const session of this.#sessions.all()) {
      if (!this.#connections.has(session.id)) count += session.subscriptions.size;
    }
    return count;
  }

  connection(clientId: string): Connection | undefined {
    return this.#connections.get(clientId);
  }

  session(clientId: string): Session | undefined {
    return this.#sessions.get(clientId);
  }

  onChange(listener: (clientId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when the state of this client id changes. */
  nextChange(clientId: string): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.onChange((changed) => {
        if (changed !== clientId) return;
        stop();
        resolve();
      });
    });
  }

  opened(connection: Connection): void {
    this.#open.add(connection);
  }

  /** Its CONNECT came; whether it is let in is not known yet. */
  claimed(connection: Connection, username: string | null): void {
    if (!this.#open.has(connection)) return;
    connection.claimedUsername = username;
    const connections = this.#byUsername.get(username);
    if (connections) connections.add(connection);
    else this.#byUsername.set(username, new Set([connection]));
  }

  /** Connections that came with a user name, let in or not; null: those without one. */
  claimedBy(username: string | null): Iterable<Connection> {
    return this.#byUsername.get(username) ?? [];
  }

  connected(clientId: string, connection: Connection): void {
    this.#connections.set(clientId, connection);
    const session = this.#sessions.get(clientId);
    if (session) session.online = true;
    this.#maximum = Math.max(this.#maximum, this.#connections.size);
    this.#changed(clientId);
  }

  /** Says whether its client id is without a connection now; not when it was never let in, or was taken over. */
  closed(connection: Connection, now: number): boolean {
    if (!this.#open.delete(connection)) return false;
    connection.isClosed = true;
    this.#unclaim(connection);
    addTotals(this.#ended, connection);
    const clientId = connection.identity?.clientId;
    if (clientId === undefined) return false;
    const current = this.#connections.get(clientId);
    if (current === connection) this.#connections.delete(clientId);
    // Taken over: the client id belongs to a newer connection already.
    else if (current) return false;
    const session = this.#sessions.get(clientId);
    // Otherwise a newer connection, which is just being let in, has opened it.
    const isLeft = !session || session.owner === connection;
    if (session && isLeft) {
      session.dropped += droppedOn(connection);
      this.#sessions.leave(session, now, connection.expirySeconds, connection.traffic);
    }
    this.#changed(clientId);
    return isLeft;
  }

  /** The session of a client that is not connected ended. */
  changed(clientId: string): void {
    this.#changed(clientId);
  }

  totals(): Totals {
    const totals = { ...this.#ended };
    for (const connection of this.#open) addTotals(totals, connection);
    return totals;
  }

  /** All client ids, ascending by code unit. Later changes leave the list as it is. */
  sortedIds(): readonly string[] {
    return this.#ids.all();
  }

  #unclaim(connection: Connection): void {
    const { claimedUsername } = connection;
    if (claimedUsername === undefined) return;
    const connections = this.#byUsername.get(claimedUsername);
    connections?.delete(connection);
    if (connections?.size === 0) this.#byUsername.delete(claimedUsername);
  }

  #changed(clientId: string): void {
    this.#ids.changed(clientId);
    for (const listener of this.#listeners) listener(clientId);
  }
}

/** Messages that one connection lost: QoS 0 that passed it by, and QoS 1 and 2 that its Receive Maximum left no room for. */
export const droppedOn = ({ dropped, window }: Connection): number => dropped + (window?.dropped ?? 0);

const emptyTotals = (): Totals => ({
  published: 0,
  publishedBytes: 0,
  delivered: 0,
  deliveredBytes: 0,
  packetsIn: 0,
  answers: 0,
  bytesRead: 0,
  bytesWritten: 0,
});

function addTotals(totals: Totals, from: Readonly<Totals>): void {
  totals.published += from.published;
  totals.publishedBytes += from.publishedBytes;
  totals.delivered += from.delivered;
  totals.deliveredBytes += from.deliveredBytes;
  totals.packetsIn += from.packetsIn;
  totals.answers += from.answers;
  totals.bytesRead += from.bytesRead;
  totals.bytesWritten += from.bytesWritten;
}
