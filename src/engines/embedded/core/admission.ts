import type { Client } from 'aedes';
import { networkOf } from '../../../platform/limits/network.ts';
import type { Identity } from '../access.ts';
import { NOWHERE } from '../store/aedes-packets.ts';
import type { Session } from '../store/session.ts';
import { filterWeight } from '../topic-rules.ts';
import { setSessionEnd, subscriptionsOf } from './aedes-internals.ts';
import type { RefusalReason } from './connect-refusal.ts';
import { type Connection, SESSION_TAKEN_OVER } from './connection.ts';
import type { CoreParts } from './core-parts.ts';
import type { SessionExpiry } from './session-expiry.ts';

/** Admits clients and subscriptions by access control and limits. Admitted clients stay when a limit is reached. */
export class Admission {
  readonly #parts: CoreParts;
  readonly #expiry: SessionExpiry;
  /** Weight of the filters of connections with a clean session. The store has the weight of persistent sessions. */
  #filterWeight = 0;

  constructor(parts: CoreParts, expiry: SessionExpiry) {
    this.#parts = parts;
    this.#expiry = expiry;
  }

  /** Returns why the client is refused; `null` if it is admitted. A persistent session is on disk then. */
  async admit(
    client: Client,
    connection: Connection,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<RefusalReason | null> {
    const { access, registry, store, limits } = this.#parts;
    const clientId = client.id;
    if (connection.hasNoId && !connection.isClean && connection.protocolVersion < 5) return 'client_id';
    if (registry.connectedCount >= limits.maxConnections && !registry.connection(clientId)) return 'connections';
    registry.claimed(connection, username ?? null);
    const network = networkOf(connection.address);
    const isWanted = () => !connection.isClosed && !client.closed;
    const verdict = await access.authenticate({ clientId, username, password, network, isWanted });
    if (verdict !== 'ACCEPTED') return isWanted() ? REFUSALS[verdict] : 'closed';
    if (connection.will?.topic.startsWith('$CONTROL/')) return 'will';
    // aedes would close the old connection later, which would delete the will of the new connection.
    const older = registry.connection(clientId);
    await older?.disconnect(SESSION_TAKEN_OVER);
    if (older?.isClean) store.incoming.clear(clientId);
    // MQTT 5: the old connection had resumed a session that ends with it.
    const isOver = older?.expirySeconds === 0 && store.endSession(clientId);
    const hasSession = registry.session(clientId) !== undefined;
    // MQTT 5: the connection resumes an earlier session although its own Session Expiry Interval is 0.
    if (hasSession && !connection.isCleanStart) connection.isClean = false;
    const isNewSession = !connection.isClean && !hasSession;
    if (isNewSession && store.sessions.count >= limits.maxSessions) return 'sessions';
    // The connection was closed meanwhile, for example because its account was changed.
    if (connection.isClosed || client.closed) return 'closed';
    connection.identity = { clientId, username: username ?? null };
    connection.connectedAt = Date.now();
    connection.previousDisconnect = registry.session(clientId)?.about?.lastDisconnect ?? null;
    this.#expiry.returned(clientId, connection);
    const wasEnded = (connection.isCleanStart && store.endSession(clientId)) || isOver;
    if (connection.protocolVersion >= 5) setSessionEnd(client, connection.isClean);
    if (connection.isClean) {
      if (wasEnded) await store.commit();
      return null;
    }
    connection.isDraining = true;
    store.sessions.open(clientId, connection.about, connection);
    this.#dropForbidden(connection.identity);
    await store.commit();
    return null;
  }

  /** Removes forbidden subscriptions from a resumed session, as Mosquitto does since 2.0.12. */
  #dropForbidden(identity: Identity): void {
    const { access, store } = this.#parts;
    const { clientId } = identity;
    for (const filter of store.sessions.get(clientId)?.subscriptions.keys() ?? []) {
      if (!access.maySubscribe(identity, filter)) store.sessions.unsubscribe(clientId, filter);
    }
  }

  refusal(identity: Identity, filter: string, usage: FilterUsage): FilterRefusal | null {
    const { access } = this.#parts;
    if (filter.startsWith('$share/') || filter.startsWith(NOWHERE)) return 'FORBIDDEN';
    if (!usage.isSubscribed && this.#exceedsLimit(filter, usage)) return 'TOO_MANY';
    return access.maySubscribe(identity, filter) ? null : 'FORBIDDEN';
  }

  #exceedsLimit(filter: string, { count, weight }: FilterUsage): boolean {
    const { limits, store } = this.#parts;
    const own = weight + filterWeight(filter);
    if (count >= limits.maxFilters || own > limits.maxFilterWeight) return true;
    const total = this.#filterWeight + store.sessions.filterWeight - weight + own;
    return total > limits.maxTotalFilterWeight && own > limits.maxTotalFilterWeight / 1_000;
  }

  /** The same for a connected client. aedes also calls `authorizeSubscribe` for the filters of a resumed session. */
  refusalFor(client: Client, connection: Connection, filter: string): FilterRefusal | null {
    const { identity, filters: count, filterWeight: weight } = connection;
    if (!identity) return 'FORBIDDEN';
    const session = connection.isClean ? undefined : this.#parts.store.sessions.get(identity.clientId);
    const isSubscribed = subscriptionsOf(client)[filter] !== undefined || session?.subscriptions.has(filter) === true;
    return this.refusal(identity, filter, { isSubscribed, count, weight });
  }

  /** Whether the session stores a filter of SUBSCRIBE. aedes passes refused filters to the persistence, too. */
  mayStore({ identity }: Connection, filter: string): boolean {
    if (!identity) return false;
    const session = this.#parts.store.sessions.get(identity.clientId);
    return this.refusal(identity, filter, filterUsageOf(session, filter)) === null;
  }

  subscribe(client: Client, connection: Connection, filter: string, qos: 0 | 1 | 2): boolean {
    if (this.refusalFor(client, connection, filter) !== null) return false;
    if (!subscriptionsOf(client)[filter]) {
      connection.filters += 1;
      this.#weigh(connection, connection.filterWeight + filterWeight(filter));
    }
    if (qos < connection.lowestQos) connection.lowestQos = qos;
    return true;
  }

  unsubscribed(client: Client, connection: Connection): void {
    const filters = Object.keys(subscriptionsOf(client));
    if (filters.length === connection.filters) return;
    connection.filters = filters.length;
    this.#weigh(
      connection,
      filters.reduce((sum, filter) => sum + filterWeight(filter), 0),
    );
  }

  closed(connection: Connection): void {
    if (connection.isClean) this.#filterWeight -= connection.filterWeight;
    connection.filterWeight = 0;
  }

  #weigh(connection: Connection, weight: number): void {
    // aedes continues with a SUBSCRIBE whose connection is closed.
    if (!this.#parts.registry.open.has(connection)) return;
    if (connection.isClean) this.#filterWeight += weight - connection.filterWeight;
    connection.filterWeight = weight;
  }
}

type FilterUsage = ReturnType<typeof filterUsageOf>;

/** Number and weight of the topic filters of a session, and whether it has this one. */
export const filterUsageOf = (session: Session | undefined, filter: string) => ({
  isSubscribed: session?.subscriptions.has(filter) ?? false,
  count: session?.subscriptions.size ?? 0,
  weight: session?.filterWeight ?? 0,
});

const REFUSALS = { REFUSED: 'credentials', THROTTLED: 'throttled', BUSY: 'busy' } as const;

/** FORBIDDEN: denied by access control, or not supported. TOO_MANY: a limit of `BrokerLimits` is reached. */
export type FilterRefusal = 'FORBIDDEN' | 'TOO_MANY';
