import { randomUUID } from 'node:crypto';
import { type Connection, SESSION_TAKEN_OVER } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import type { Delivery } from '../delivery/delivery.ts';
import type { ConnectPacket } from '../packets/incoming-packet.ts';
import { connack5, connackOf } from '../packets/packet-bytes.ts';
import { DiskFault } from '../store/waiting-writes.ts';
import type { Admission } from './admission.ts';
import { readConnect, storedWillOf } from './connect-packet.ts';
import { connackCodeOf, type RefusalReason, willRefusal } from './connect-refusal.ts';

/** Milliseconds until a throttled client gets CONNACK, because many clients reconnect as soon as they are refused. */
const THROTTLED_DELAY_MS = 1_000;
/** Maximum number of clients that wait for this CONNACK. Further clients are refused immediately. */
const MAX_DELAYED = 2_000;

const FAULT = 'a client could not be let in';

/** Handles CONNECT: admits or refuses the client, takes over its session, stores its will, and sends CONNACK. */
export class ConnectHandler {
  readonly #parts: CoreParts;
  readonly #admission: Admission;
  readonly #delivery: Delivery;
  readonly #windowBytes = { total: 0 };
  #delayed = 0;
  #isClosed = false;

  constructor(parts: CoreParts, admission: Admission, delivery: Delivery) {
    this.#parts = parts;
    this.#admission = admission;
    this.#delivery = delivery;
  }

  take(connection: Connection, sent: ConnectPacket): void {
    const { limits, faults } = this.#parts;
    // As in Mosquitto, which ignores the password, too.
    const packet = sent.username === '' ? { ...sent, username: undefined, password: undefined } : sent;
    connection.isConnecting = true;
    // A refusal is reported after the socket was closed.
    connection.rememberAddress();
    readConnect(connection, packet, limits, this.#windowBytes);
    const refusal = willRefusal(packet.will, packet.protocolVersion);
    if (refusal !== null) {
      this.#refuse(connection, packet, 'will', refusal);
      return;
    }
    // As Mosquitto names clients without an id.
    const clientId = packet.clientId || `auto-${randomUUID()}`;
    this.#admit(connection, packet, clientId).catch((error: unknown) => {
      if (error instanceof DiskFault) {
        this.#refuse(connection, packet, 'storage');
        return;
      }
      faults.ofConnection(undefined, FAULT, error);
      faults.failed(connection);
      this.#refuse(connection, packet, 'error');
    });
  }

  /** Lets no more clients in. */
  close(): void {
    this.#isClosed = true;
  }

  async #admit(connection: Connection, packet: ConnectPacket, clientId: string): Promise<void> {
    const { registry, faults } = this.#parts;
    const reason = await this.#admission.admit(connection, clientId, packet.username, packet.password);
    if (reason !== null) {
      this.#refuse(connection, packet, reason);
      return;
    }
    // Connections of the client that were admitted at the same time.
    for (let other = registry.connection(clientId); other && !other.isClosing; other = registry.connection(clientId)) {
      await other.disconnect(SESSION_TAKEN_OVER);
    }
    if (connection.isClosing || this.#isClosed) return;
    faults.run(connection, FAULT, () => this.#accept(connection, packet, clientId));
  }

  #accept(connection: Connection, { protocolVersion, will, clientId: sentId }: ConnectPacket, clientId: string): void {
    const { store, registry, limits, faults } = this.#parts;
    // [MQTT-3.2.2-2]
    const sessionPresent = connection.session?.isResumed ?? false;
    const connack =
      protocolVersion === 5
        ? connack5(sessionPresent, limits.maxPacketBytes, sentId === '' ? clientId : null)
        : connackOf(protocolVersion, 0, sessionPresent);
    if (!connection.accepts(connack.length)) {
      connection.close();
      return;
    }
    if (will) {
      connection.storedWill = storedWillOf(will, connection);
      store.wills.put(clientId, connection.storedWill);
    }
    registry.connected(clientId, connection);
    this.#parts.onConnected?.(connection);
    connection.write(connack, null);
    connection.isConnecting = false;
    connection.isReady = true;
    connection.counters.alive();
    faults.ready(connection);
    connection.readOn();
    this.#delivery.ready(connection);
  }

  #refuse(
    connection: Connection,
    { clientId, username, password, protocolVersion, will }: ConnectPacket,
    reason: RefusalReason,
    reasonCode = connackCodeOf(reason, protocolVersion),
  ): void {
    this.#parts.onRefused?.(connection, {
      reason,
      clientId,
      username: username ?? null,
      hasPassword: password !== undefined,
      willTopic: reason === 'will' ? (will?.topic ?? null) : null,
      reasonCode,
    });
    const send = () => connection.closeWith(connackOf(protocolVersion, reasonCode));
    if (reason !== 'throttled' || this.#delayed >= MAX_DELAYED) {
      send();
      return;
    }
    this.#delayed += 1;
    setTimeout(() => {
      this.#delayed -= 1;
      send();
    }, THROTTLED_DELAY_MS).unref();
  }
}
