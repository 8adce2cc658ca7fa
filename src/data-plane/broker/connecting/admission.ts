import { networkOf } from '../../../platform/limits/network.ts';
import { TAKEN_OVER } from '../../../protocol/mosquitto-log/log-line.ts';
import { type Connection, SESSION_TAKEN_OVER } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import type { SessionExpiry } from '../sessions/session-expiry.ts';
import type { Session } from '../store/session.ts';
import type { Subscription, SubscriptionRecord } from '../store/subscription.ts';
import { isShared } from '../store/subscription-index.ts';
import type { Identity } from './access.ts';
import type { RefusalReason } from './connect-refusal.ts';
import { filterWeight } from './topic-rules.ts';

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
    connection: Connection,
    clientId: string,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<RefusalReason | null> {
    const { access, registry, store, limits, reserved, faults, onTakenOver } = this.#parts;
    faults.beforeAdmission(clientId);
    if (registry.connectedCount >= limits.maxConnections && !registry.connection(clientId)) return 'connections';
    registry.claimed(connection, username ?? null);
    const network = username === undefined ? '' : networkOf(connection.address);
    const isWanted = () => !connection.isClosing;
    const verdict = await access.authenticate({ clientId, username, password, network, isWanted });
    if (verdict !== 'ACCEPTED') return isWanted() ? REFUSALS[verdict] : 'closed';
    const { will, isCleanStart } = connection.request;
    if (will?.topic.startsWith('$CONTROL/')) return 'will';
    // Otherwise any account could take over, and so cut, the connections by which it may be disabled.
    const isReserved = reserved !== undefined && clientId.startsWith(reserved.prefix);
    if (isReserved && username !== reserved.username) return 'client_id';
    const otherOwner = isReserved ? undefined : this.#otherOwner(clientId, username ?? null);
    if (otherOwner !== undefined && access.hasAccount(otherOwner)) return 'session_owner';
    const older = registry.connection(clientId);
    if (older) {
      onTakenOver?.(older, connection);
      await older.disconnect(SESSION_TAKEN_OVER);
    }
    if (older?.isClean) store.incoming.clear(clientId);
    // MQTT 5: the old connection had resumed a session that ends with it.
    // The session of a deleted account: its messages must not reach another account.
    const isOver = (older?.expirySeconds === 0 || otherOwner !== undefined) && store.endSession(clientId);
    const hasSession = registry.session(clientId) !== undefined;
    // MQTT 5: the connection resumes an earlier session although its own Session Expiry Interval is 0.
    if (hasSession && !isCleanStart) connection.isClean = false;
    const isNewSession = !connection.isClean && !hasSession;
    if (isNewSession && store.sessions.count >= limits.maxSessions) return 'sessions';
    const endsSession = hasSession && (isCleanStart || connection.isClean);
    if (store.hasDiskFault && (isNewSession || endsSession || isOver)) return 'storage';
    // The connection was closed meanwhile, for example because its account was changed.
    if (connection.isClosing) return 'closed';
    const identity = { clientId, username: username ?? null };
    connection.identity = {
      ...identity,
      connectedAt: Date.now(),
      previousDisconnect: registry.session(clientId)?.about?.lastDisconnect ?? null,
      previousEnd: older ? TAKEN_OVER : null,
      couldPublishWill: will !== null && access.mayPublish(identity, will.topic),
    };
    this.#expiry.returned(clientId, connection);
    store.wills.remove(clientId);
    const wasEnded = (isCleanStart && store.endSession(clientId)) || isOver;
    if (connection.isClean) {
      if (wasEnded) await store.commit();
      return null;
    }
    connection.flow.isDraining = true;
    connection.session = store.sessions.open(clientId, connection.about, connection);
    this.#dropForbidden(connection, identity);
    // Nothing of a session that is resumed has to be on disk before CONNACK.
    if (!isNewSession && !wasEnded && store.hasDiskFault) return null;
    await store.commit();
    return null;
  }

  /**
   * The account of the existing session, if sessions are bound to accounts and this is another one; `null` is the
   * account of clients without a user name. A session without a stored account belongs to the first that resumes it.
   */
  #otherOwner(clientId: string, username: string | null): string | null | undefined {
    const { registry, bindsSessions } = this.#parts;
    if (bindsSessions?.() !== true) return undefined;
    const owner = registry.connection(clientId)?.identity ?? registry.session(clientId)?.about;
    return owner && owner.username !== username ? owner.username : undefined;
  }

  /** Removes forbidden subscriptions from a resumed session, as Mosquitto does since 2.0.12. */
  #dropForbidden(connection: Connection, identity: Identity): void {
    const { access, store, onDenied } = this.#parts;
    const { clientId } = identity;
    for (const filter of store.sessions.get(clientId)?.subscriptions.keys() ?? []) {
      if (access.maySubscribe(identity, filter)) continue;
      store.sessions.unsubscribe(clientId, filter);
      onDenied?.(connection, { action: 'SUBSCRIBE', topic: filter, cause: 'FORBIDDEN', reasonCode: null });
    }
  }

  refusal(identity: Identity, filter: string, usage: FilterUsage): FilterRefusal | null {
    const { access } = this.#parts;
    if (!usage.isSubscribed && this.#exceedsLimit(filter, usage)) return 'TOO_MANY';
    return access.maySubscribe(identity, filter) ? null : 'FORBIDDEN';
  }

  #exceedsLimit(filter: string, { count, weight }: FilterUsage): boolean {
    const { limits, store } = this.#parts;
    const own = weight + filterWeight(filter);
    if (count >= limits.maxFilters || own > limits.maxFilterWeight) return true;
    if (isShared(filter) && !store.subscriptions.group(filter) && this.#hasNoRoomForGroup(count)) return true;
    const total = this.#filterWeight + store.sessions.filterWeight - weight + own;
    return total > limits.maxTotalFilterWeight && own > limits.maxTotalFilterWeight / 1_000;
  }

  #hasNoRoomForGroup(count: number): boolean {
    const { limits, store } = this.#parts;
    const { groupCount } = store.subscriptions;
    const isSmall = count < limits.maxSharedGroups / 100;
    return groupCount >= (isSmall ? limits.maxSharedGroups : limits.maxSharedGroups / 2);
  }

  /** The same for a connected client. */
  refusalFor(
    { identity, session, subscriptions, filterWeight: weight }: Connection,
    filter: string,
  ): FilterRefusal | null {
    if (!identity) return 'FORBIDDEN';
    if (session) return this.refusal(identity, filter, filterUsageOf(session, filter));
    return this.refusal(identity, filter, {
      isSubscribed: subscriptions.has(filter),
      count: subscriptions.size,
      weight,
    });
  }

  /** Adds a subscription that ends with the connection. */
  addTransient(connection: Connection, filter: string, record: SubscriptionRecord): Subscription {
    const { subscriptions, identity } = connection;
    const subscription = { holder: connection, clientId: identity?.clientId ?? '', topic: filter, ...record };
    const previous = subscriptions.get(filter);
    subscriptions.set(filter, subscription);
    this.#parts.store.subscriptions.add(subscription, previous);
    if (!previous) this.#weigh(connection, filterWeight(filter));
    return subscription;
  }

  /** Returns whether there was such a subscription. */
  removeTransient(connection: Connection, filter: string): boolean {
    const subscription = connection.subscriptions.get(filter);
    if (!subscription) return false;
    connection.subscriptions.delete(filter);
    this.#parts.store.subscriptions.remove(subscription);
    this.#weigh(connection, -filterWeight(filter));
    return true;
  }

  closed(connection: Connection): void {
    for (const filter of [...connection.subscriptions.keys()]) this.removeTransient(connection, filter);
  }

  #weigh(connection: Connection, weight: number): void {
    connection.filterWeight += weight;
    this.#filterWeight += weight;
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
