import type { Client, ConnectPacket } from 'aedes';
import { networkOf } from '../../../platform/limits/network.ts';
import type { AccessControl, Identity } from '../access.ts';
import type { BrokerLimits, QueueLimits } from '../limits.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import { NOWHERE } from '../store/consumed-publish.ts';
import { filterWeight } from '../store/filter-weight.ts';
import type { Session, SessionAbout } from '../store/session.ts';
import type { WillPacket } from '../store/will-store.ts';
import { NEVER_EXPIRES, setSessionEnd, subscriptionsOf } from './aedes-internals.ts';
import type { ClientRegistry } from './client-registry.ts';
import type { RefusalReason } from './connect-refusal.ts';
import { type Connection, SESSION_TAKEN_OVER } from './connection.ts';
import { type ByteBudget, SendWindow } from './send-window.ts';
import { willProperties } from './will-properties.ts';

interface AdmissionOptions {
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly access: AccessControl;
  readonly limits: BrokerLimits;
  readonly onReturn: (clientId: string, connection: Connection) => void;
}

/** Admits clients and subscriptions by access control and limits. Admitted clients stay when a limit is reached. */
export class Admission {
  readonly #options: AdmissionOptions;
  /** Weight of the filters of connections with a clean session. The store has the weight of persistent sessions. */
  #filterWeight = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Returns why the client is refused; `null` if it is admitted. A persistent session is on disk then. */
  async admit(
    client: Client,
    connection: Connection,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<RefusalReason | null> {
    const { access, registry, store, limits } = this.#options;
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
    this.#options.onReturn(clientId, connection);
    const wasEnded = (connection.isCleanStart && store.endSession(clientId)) || isOver;
    if (connection.protocolVersion >= 5) setSessionEnd(client, connection.isClean);
    if (connection.isClean) {
      if (wasEnded) await store.commit();
      return null;
    }
    connection.isDraining = true;
    store.sessions.open(clientId, aboutOf(connection), connection);
    this.#dropForbidden(connection.identity);
    await store.commit();
    return null;
  }

  /** Removes forbidden subscriptions from a resumed session, as Mosquitto does since 2.0.12. */
  #dropForbidden(identity: Identity): void {
    const { access, store } = this.#options;
    const { clientId } = identity;
    for (const filter of store.sessions.get(clientId)?.subscriptions.keys() ?? []) {
      if (!access.maySubscribe(identity, filter)) store.sessions.unsubscribe(clientId, filter);
    }
  }

  refusal(identity: Identity, filter: string, usage: FilterUsage): FilterRefusal | null {
    const { access } = this.#options;
    if (filter.startsWith('$share/') || filter.startsWith(NOWHERE)) return 'FORBIDDEN';
    if (!usage.isSubscribed && this.#exceedsLimit(filter, usage)) return 'TOO_MANY';
    return access.maySubscribe(identity, filter) ? null : 'FORBIDDEN';
  }

  #exceedsLimit(filter: string, { count, weight }: FilterUsage): boolean {
    const { limits, store } = this.#options;
    const own = weight + filterWeight(filter);
    if (count >= limits.maxFilters || own > limits.maxFilterWeight) return true;
    const total = this.#filterWeight + store.sessions.filterWeight - weight + own;
    return total > limits.maxTotalFilterWeight && own > limits.maxTotalFilterWeight / 1_000;
  }

  /** The same for a connected client. aedes also calls `authorizeSubscribe` for the filters of a resumed session. */
  refusalFor(client: Client, connection: Connection, filter: string): FilterRefusal | null {
    const { identity, filters: count, filterWeight: weight } = connection;
    if (!identity) return 'FORBIDDEN';
    // A resumed session already has the filter.
    const session = connection.isClean ? undefined : this.#options.store.sessions.get(identity.clientId);
    const isSubscribed = subscriptionsOf(client)[filter] !== undefined || session?.subscriptions.has(filter) === true;
    return this.refusal(identity, filter, { isSubscribed, count, weight });
  }

  /** Whether the session stores a filter of SUBSCRIBE. aedes passes refused filters to the persistence, too. */
  mayStore({ identity }: Connection, filter: string): boolean {
    if (!identity) return false;
    const session = this.#options.store.sessions.get(identity.clientId);
    return this.refusal(identity, filter, session ? filterUsageOf(session, filter) : NO_FILTERS) === null;
  }

  /** Returns whether the subscription is granted. A granted subscription is counted. */
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
    if (!this.#options.registry.open.has(connection)) return;
    if (connection.isClean) this.#filterWeight += weight - connection.filterWeight;
    connection.filterWeight = weight;
  }
}

/** The topic filters of a client: whether it already has the filter in question, their number and their weight. */
interface FilterUsage {
  readonly isSubscribed: boolean;
  readonly count: number;
  readonly weight: number;
}

const NO_FILTERS: FilterUsage = { isSubscribed: false, count: 0, weight: 0 };

export const filterUsageOf = ({ subscriptions, filterWeight: weight }: Session, filter: string): FilterUsage => ({
  isSubscribed: subscriptions.has(filter),
  count: subscriptions.size,
  weight,
});

const REFUSALS = { REFUSED: 'credentials', THROTTLED: 'throttled', BUSY: 'busy' } as const;

export function aboutOf(connection: Connection): SessionAbout {
  const { identity, address, remotePort, protocolVersion, keepalive, listener, expirySeconds } = connection;
  return {
    username: identity?.username ?? null,
    address,
    remotePort,
    protocol: listener.protocol,
    protocolVersion,
    keepalive,
    listener: { port: listener.port, host: listener.host },
    lastConnect: connection.connectedAt,
    lastDisconnect: connection.previousDisconnect,
    expirySeconds,
  };
}

/** FORBIDDEN: denied by access control, or not supported. TOO_MANY: a limit of `BrokerLimits` is reached. */
export type FilterRefusal = 'FORBIDDEN' | 'TOO_MANY';

/** Copies the fields of CONNECT to the connection, and removes those that aedes would apply itself. */
export function readConnect(connection: Connection, packet: ConnectPacket, limits: QueueLimits, all: ByteBudget): void {
  const { protocolVersion = 4, clean = true, properties = {} } = packet;
  connection.protocolVersion = protocolVersion;
  connection.keepalive = packet.keepalive ?? 0;
  connection.isCleanStart = clean;
  connection.hasNoId = packet.clientId === '';
  if (protocolVersion === 5) {
    connection.expirySeconds = expiryOf(properties.sessionExpiryInterval ?? 0);
    connection.maxPacketBytes = properties.maximumPacketSize ?? null;
    const { receiveMaximum } = properties;
    const { onlineMessages: maxQueued, sessionBytes: maxQueuedBytes } = limits;
    if (receiveMaximum) connection.window = new SendWindow(receiveMaximum, { maxQueued, maxQueuedBytes, all });
  } else connection.expirySeconds = clean ? 0 : null;
  connection.isClean = connection.expirySeconds === 0;
  if (!packet.will) return;
  const { topic, payload, qos, retain } = packet.will;
  const willOptions = packet.will.properties;
  connection.will = {
    topic,
    payload: Buffer.from(payload),
    qos: qos ?? 0,
    retain: retain ?? false,
    properties: willProperties(willOptions),
    delayInterval: willOptions?.willDelayInterval ?? 0,
  };
  if (!willOptions?.willDelayInterval) return;
  // The timer of aedes keeps the client in memory and is lost at a restart. `SessionExpiry` delays the will instead.
  const delaySeconds = Math.min(willOptions.willDelayInterval, connection.expirySeconds ?? Number.POSITIVE_INFINITY);
  (packet.will as WillPacket).delaySeconds = delaySeconds;
  willOptions.willDelayInterval = 0;
}

export function expiryOf(interval: number): number | null {
  return interval >= NEVER_EXPIRES ? null : interval;
}
