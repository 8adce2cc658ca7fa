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
import { type HeldBytes, SendWindow } from './send-window.ts';
import { willProperties } from './will-properties.ts';

export interface AdmissionOptions {
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly access: AccessControl;
  readonly limits: Pick<
    BrokerLimits,
    'maxConnections' | 'maxSessions' | 'maxFilters' | 'maxFilterWeight' | 'maxTotalFilterWeight'
  >;
  /** A client that was away is let in, before its session is looked at. */
  readonly onReturn: (clientId: string, connection: Connection) => void;
}

/**
 * What a client may have of the broker: a connection, a session, topic filters. Access control decides who may, the limits how
 * many; a client beyond a limit is refused, those that are in stay. A client id that is connected already is taken over.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  /** Of the filters of connections whose session ends with them; those of other sessions the store knows. */
  #filterWeight = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Why the client is not let in; `null` if it is: then a session that is to stay is on disk. */
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
    // aedes takes over too, but later, when the old connection would delete the new one's will.
    const older = registry.connection(clientId);
    await older?.end(SESSION_TAKEN_OVER);
    if (older?.isClean) store.incoming.clear(clientId);
    // MQTT 5: the connection had taken up a session that was to end with it.
    const isOver = older?.expirySeconds === 0 && store.endSession(clientId);
    const hasSession = registry.session(clientId) !== undefined;
    // MQTT 5: an earlier session goes on although this connection wants none that outlives it.
    if (hasSession && !connection.isCleanStart) connection.isClean = false;
    const isNewSession = !connection.isClean && !hasSession;
    if (isNewSession && store.sessions.count >= limits.maxSessions) return 'sessions';
    // Disconnected meanwhile, perhaps because its account was changed.
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

  /**
   * A session that returns loses the subscriptions that it may not have any more, for good: what stays in the store has messages
   * queued for it. Mosquitto does so since 2.0.12; 2.0.11 leaves them.
   */
  #dropForbidden(identity: Identity): void {
    const { access, store } = this.#options;
    const { clientId } = identity;
    for (const filter of store.sessions.get(clientId)?.subscriptions.keys() ?? []) {
      if (!access.maySubscribe(identity, filter)) store.sessions.unsubscribe(clientId, filter);
    }
  }

  /** The reason why a client with these filters may not subscribe to `filter`; `null` if it may. */
  refusal(identity: Identity, filter: string, held: HeldFilters): FilterRefusal | null {
    const { access } = this.#options;
    if (filter.startsWith('$share/') || filter.startsWith(NOWHERE)) return 'FORBIDDEN';
    if (!held.isAmong && this.#isTooMuch(filter, held)) return 'TOO_MANY';
    return access.maySubscribe(identity, filter) ? null : 'FORBIDDEN';
  }

  #isTooMuch(filter: string, { count, weight }: HeldFilters): boolean {
    const { limits, store } = this.#options;
    const own = weight + filterWeight(filter);
    if (count >= limits.maxFilters || own > limits.maxFilterWeight) return true;
    const total = this.#filterWeight + store.sessions.filterWeight - weight + own;
    return total > limits.maxTotalFilterWeight && own > limits.maxTotalFilterWeight / 1_000;
  }

  /** The same for a connected client. aedes asks for the filters of a returning session, too. */
  refusalFor(client: Client, connection: Connection, filter: string): FilterRefusal | null {
    const { identity, filters: count, filterWeight: weight } = connection;
    if (!identity) return 'FORBIDDEN';
    // The session has it already if the client returns.
    const session = connection.isClean ? undefined : this.#options.store.sessions.get(identity.clientId);
    const isAmong = subscriptionsOf(client)[filter] !== undefined || session?.subscriptions.has(filter) === true;
    return this.refusal(identity, filter, { isAmong, count, weight });
  }

  /** Whether the session of a connected client keeps a filter of a SUBSCRIBE, of which aedes hands over those it refuses, too. */
  mayKeep({ identity }: Connection, filter: string): boolean {
    if (!identity) return false;
    const session = this.#options.store.sessions.get(identity.clientId);
    return this.refusal(identity, filter, session ? heldBy(session, filter) : NO_FILTERS) === null;
  }

  /** Grants the subscription and counts it, or says no. */
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

  left(connection: Connection): void {
    if (connection.isClean) this.#filterWeight -= connection.filterWeight;
    connection.filterWeight = 0;
  }

  #weigh(connection: Connection, weight: number): void {
    // aedes goes on with a SUBSCRIBE whose connection has ended.
    if (!this.#options.registry.open.has(connection)) return;
    if (connection.isClean) this.#filterWeight += weight - connection.filterWeight;
    connection.filterWeight = weight;
  }
}

/** The filters that a client has: whether one is among them, how many there are, and their weight. */
export interface HeldFilters {
  readonly isAmong: boolean;
  readonly count: number;
  readonly weight: number;
}

const NO_FILTERS: HeldFilters = { isAmong: false, count: 0, weight: 0 };

export const heldBy = ({ subscriptions, filterWeight: weight }: Session, filter: string): HeldFilters => ({
  isAmong: subscriptions.has(filter),
  count: subscriptions.size,
  weight,
});

const REFUSALS = { REFUSED: 'credentials', THROTTLED: 'throttled', BUSY: 'busy' } as const;

function aboutOf(connection: Connection): SessionAbout {
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

/** FORBIDDEN: by access control, or nobody may have it. TOO_MANY: beyond `maxFilters`, or a bound on their weight. */
export type FilterRefusal = 'FORBIDDEN' | 'TOO_MANY';

/** Keeps on the connection what its CONNECT said, and takes from it what aedes would act on by itself. */
export function noteConnect(connection: Connection, packet: ConnectPacket, limits: QueueLimits, all: HeldBytes): void {
  const { protocolVersion = 4, clean = true, properties = {} } = packet;
  connection.protocolVersion = protocolVersion;
  connection.keepalive = packet.keepalive ?? 0;
  connection.isCleanStart = clean;
  connection.hasNoId = packet.clientId === '';
  if (protocolVersion === 5) {
    connection.expirySeconds = expiryOf(properties.sessionExpiryInterval ?? 0);
    connection.maxPacketBytes = properties.maximumPacketSize ?? null;
    const { receiveMaximum } = properties;
    const { onlineMessages: maxHeld, sessionBytes: maxHeldBytes } = limits;
    if (receiveMaximum) connection.window = new SendWindow(receiveMaximum, { maxHeld, maxHeldBytes, all });
  } else connection.expirySeconds = clean ? 0 : null;
  connection.isClean = connection.expirySeconds === 0;
  if (!packet.will) return;
  const { topic, payload, qos, retain } = packet.will;
  const about = packet.will.properties;
  connection.will = {
    topic,
    payload: Buffer.from(payload),
    qos: qos ?? 0,
    retain: retain ?? false,
    properties: willProperties(about),
    delayInterval: about?.willDelayInterval ?? 0,
  };
  if (!about?.willDelayInterval) return;
  // aedes would keep the client for that long and forget the will at the next start; `Departures` does it.
  const delaySeconds = Math.min(about.willDelayInterval, connection.expirySeconds ?? Number.POSITIVE_INFINITY);
  (packet.will as WillPacket).delaySeconds = delaySeconds;
  about.willDelayInterval = 0;
}

/** Seconds; null: never. */
export function expiryOf(interval: number): number | null {
  return interval >= NEVER_EXPIRES ? null : interval;
}
