import { Listeners } from '../../../platform/listeners.ts';
import { SortedIds } from '../delivery/sorted-ids.ts';
import type { Session } from '../store/session.ts';
import type { SessionStore } from '../store/session-store.ts';
import type { Connection } from './connection.ts';

const COUNTERS = [
  'published',
  'publishedBytes',
  'delivered',
  'deliveredBytes',
  'packetsIn',
  'responses',
  'bytesRead',
  'bytesWritten',
] as const;

type Totals = Record<(typeof COUNTERS)[number], number>;

/** The clients of the broker by client id: those with a connection, with a persistent session, or with both. */
export class ClientRegistry {
  readonly #sessions: SessionStore;
  readonly #connections = new Map<string, Connection>();
  /** All open connections, also of clients that are not admitted yet. */
  readonly open = new Set<Connection>();
  readonly #byUsername = new Map<string | null, Set<Connection>>();
  readonly #ended = Object.fromEntries(COUNTERS.map((name) => [name, 0])) as Totals;
  readonly #listeners = new Listeners<[clientId: string]>();
  readonly #ids = new SortedIds((clientId) => this.#connections.has(clientId) || this.session(clientId) !== undefined);
  #numClosing = 0;
  maximumConnected = 0;

  constructor(sessions: SessionStore) {
    this.#sessions = sessions;
    sessions.onMember = (clientId) => this.#ids.changed(clientId);
  }

  get connectedCount(): number {
    return this.#connections.size;
  }
  get offlineCount(): number {
    return [...this.#sessions.all()].filter(({ id }) => !this.#connections.has(id)).length;
  }

  connection(clientId: string): Connection | undefined {
    return this.#connections.get(clientId);
  }

  session(clientId: string): Session | undefined {
    return this.#sessions.get(clientId);
  }

  readonly onChange = this.#listeners.add;

  nextChange(clientId: string): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.onChange((changed) => {
        if (changed !== clientId) return;
        stop();
        resolve();
      });
    });
  }

  claimed(connection: Connection, username: string | null): void {
    if (!this.open.has(connection)) return;
    connection.claimedUsername = username;
    const connections = this.#byUsername.get(username);
    if (connections) connections.add(connection);
    else this.#byUsername.set(username, new Set([connection]));
  }

  /** Connections whose CONNECT has this user name, also of clients that are not admitted. `null`: no user name. */
  claimedBy(username: string | null): Iterable<Connection> {
    return this.#byUsername.get(username) ?? [];
  }

  connected(clientId: string, connection: Connection): void {
    this.#connections.set(clientId, connection);
    const session = this.#sessions.get(clientId);
    if (session) session.online = true;
    this.maximumConnected = Math.max(this.maximumConnected, this.#connections.size);
    this.changed(clientId);
  }

  /** The connection is being closed; its client is listed until `closed`. */
  closing(connection: Connection): void {
    if (this.open.has(connection)) this.#numClosing += 1;
  }

  /** Whether a connection is closed, but its client still listed. */
  get isClosing(): boolean {
    return this.#numClosing > 0;
  }

  /** Returns whether the client is offline now: it was admitted, and its session was not taken over. */
  closed(connection: Connection, now: number): boolean {
    if (!this.open.delete(connection)) return false;
    this.#numClosing -= 1;
    this.#unclaim(connection);
    addTotals(this.#ended, connection);
    const clientId = connection.identity?.clientId;
    if (clientId === undefined) return false;
    const current = this.#connections.get(clientId);
    if (current === connection) this.#connections.delete(clientId);
    else if (current) return false;
    const session = this.#sessions.get(clientId);
    // Otherwise a newer connection, which is being admitted, has opened the session.
    const isOffline = !session || session.owner === connection;
    if (session && isOffline) {
      session.dropped += droppedOn(connection);
      this.#sessions.leave(session, now, connection.expirySeconds, connection.counters.traffic);
    }
    this.changed(clientId);
    return isOffline;
  }

  changed(clientId: string): void {
    this.#ids.changed(clientId);
    this.#listeners.notify(clientId);
  }

  totals(): Totals {
    const totals = { ...this.#ended };
    for (const connection of this.open) addTotals(totals, connection);
    return totals;
  }

  /** All client ids in the order of their code units. The list does not change later. */
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
}

/** Dropped messages of a connection: QoS 0 because the client reads too slowly, QoS 1 and 2 by its Receive Maximum. */
export const droppedOn = ({ counters, flow }: Connection): number => counters.dropped + (flow.window?.dropped ?? 0);

/** Called for each connection every few seconds, so it reads no names from a list. */
function addTotals(totals: Totals, { counters: from, bytesRead, bytesWritten }: Connection): void {
  totals.published += from.published;
  totals.publishedBytes += from.publishedBytes;
  totals.delivered += from.delivered;
  totals.deliveredBytes += from.deliveredBytes;
  totals.packetsIn += from.packetsIn;
  totals.responses += from.responses;
  totals.bytesRead += bytesRead;
  totals.bytesWritten += bytesWritten;
}
