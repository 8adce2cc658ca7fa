import type { Client, ConnectPacket } from 'aedes';
import type { AccessControl, Identity } from './access.ts';
import type { BrokerStore } from './broker-store.ts';
import type { ClientRegistry } from './client-registry.ts';
import { type Connection, subscriptionsOf } from './connection.ts';
import { NOWHERE } from './consumed-publish.ts';
import type { BrokerLimits } from './limits.ts';

/** MQTT 3.1.1 CONNACK return codes. */
export const ACCEPTED = 0;
const IDENTIFIER_REJECTED = 2;
export const SERVER_UNAVAILABLE = 3;
const NOT_AUTHORIZED = 5;

export interface AdmissionOptions {
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly access: AccessControl;
  readonly limits: Pick<BrokerLimits, 'maxConnections' | 'maxSessions' | 'maxFilters'>;
}

/**
 * What a client may have of the broker: a connection, a session, topic filters. Access control decides who may, the limits how
 * many; a client beyond a limit is refused, those that are in stay. A client id that is connected already is taken over.
 */
export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** The CONNACK return code. With ACCEPTED, a session that is to stay is on disk. */
  async admit(
    client: Client,
    connection: Connection,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<number> {
    const { access, registry, store, limits } = this.#options;
    const clientId = client.id;
    if (connection.hasNoId && !connection.isClean) return IDENTIFIER_REJECTED;
    if (registry.connectedCount >= limits.maxConnections && !registry.connection(clientId)) return SERVER_UNAVAILABLE;
    registry.claimed(connection, username ?? null);
    const verdict = await access.authenticate({ clientId, username, password });
    if (verdict === 'BUSY') return SERVER_UNAVAILABLE;
    if (verdict === 'REFUSED' || connection.will?.topic.startsWith('$CONTROL/')) return NOT_AUTHORIZED;
    // aedes takes over too, but later, when the old connection would delete the new one's will.
    const older = registry.connection(clientId)?.client;
    if (older) await new Promise<void>((resolve) => older.close(resolve));
    const isNewSession = !connection.isClean && !registry.session(clientId);
    if (isNewSession && store.sessions.count >= limits.maxSessions) return SERVER_UNAVAILABLE;
    // Disconnected meanwhile, perhaps because its account was changed.
    if (connection.isClosed || client.closed) return SERVER_UNAVAILABLE;
    connection.identity = { clientId, username: username ?? null };
    connection.previousDisconnect = registry.session(clientId)?.about?.lastDisconnect ?? null;
    if (connection.isClean) return ACCEPTED;
    connection.isDraining = true;
    const { address, remotePort, protocolVersion, keepalive, listener, previousDisconnect } = connection;
    store.sessions.open(clientId, {
      username: username ?? null,
      address,
      remotePort,
      protocol: listener.protocol,
      protocolVersion,
      keepalive,
      listener: { port: listener.port, host: listener.host },
      lastConnect: Date.now(),
      lastDisconnect: previousDisconnect,
    });
    this.#dropForbidden(connection.identity);
    await store.commit();
    return ACCEPTED;
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

  /** Whether a client may have a filter, by access and by how many it has. aedes asks for those of a returning session, too. */
  maySubscribe(client: Client, connection: Connection, filter: string): boolean {
    const { access, limits } = this.#options;
    const { identity } = connection;
    if (!identity || filter.startsWith('$share/') || filter.startsWith(NOWHERE)) return false;
    if (connection.filters >= limits.maxFilters && !subscriptionsOf(client)[filter]) return false;
    return access.maySubscribe(identity, filter);
  }

  /** Grants the subscription and counts it, or says no. */
  subscribe(client: Client, connection: Connection, filter: string, qos: 0 | 1 | 2): boolean {
    if (!this.maySubscribe(client, connection, filter)) return false;
    if (!subscriptionsOf(client)[filter]) connection.filters += 1;
    if (qos < connection.lowestQos) connection.lowestQos = qos;
    return true;
  }
}

/** Keeps on the connection what its CONNECT said. */
export function noteConnect(connection: Connection, packet: ConnectPacket): void {
  connection.protocolVersion = packet.protocolVersion ?? 4;
  connection.keepalive = packet.keepalive ?? 0;
  connection.isClean = packet.clean ?? true;
  connection.hasNoId = packet.clientId === '';
  if (!packet.will) return;
  const { topic, payload, qos, retain } = packet.will;
  connection.will = { topic, payload: Buffer.from(payload), qos: qos ?? 0, retain: retain ?? false };
}
