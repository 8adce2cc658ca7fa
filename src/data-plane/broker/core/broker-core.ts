import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import { ReadingTimeLimit } from '../../../protocol/mqtt/reading-time-limit.ts';
import { ClientControl } from '../clients/client-control.ts';
import { type Connection, SERVER_SHUTTING_DOWN } from '../clients/connection.ts';
import { KeepAlive } from '../clients/keep-alive.ts';
import { Admission } from '../connecting/admission.ts';
import { ConnectHandler } from '../connecting/connect-handler.ts';
import type { Requester } from '../control/control-server.ts';
import { Delivery } from '../delivery/delivery.ts';
import { SubscribeHandler } from '../delivery/subscribe-handler.ts';
import { type PacketHandlers, PacketReader } from '../packets/packet-reader.ts';
import { CONNECT_TIMEOUT } from '../packets/refused-packet.ts';
import { InternalPublisher } from '../publishing/internal-publisher.ts';
import { PublishHandler } from '../publishing/publish-handler.ts';
import { PublishTap } from '../publishing/publish-tap.ts';
import { RetainedDelivery } from '../retained/retained-delivery.ts';
import { SessionExpiry } from '../sessions/session-expiry.ts';
import type { BrokerCoreOptions, CoreParts } from './core-parts.ts';
import { Faults } from './faults.ts';
import { PacketHandler } from './packet-handler.ts';

/** The client sent no CONNECT in time. */
const NO_CONNECT = { reasonCode: CONNECT_TIMEOUT, rule: null };

/** The MQTT broker. */
export class BrokerCore {
  readonly clients: ClientControl;
  readonly tap = new PublishTap();
  readonly publisher: InternalPublisher;
  readonly #parts: CoreParts;
  readonly #admission: Admission;
  readonly #connect: ConnectHandler;
  readonly #delivery: Delivery;
  readonly #publishHandler: PublishHandler;
  readonly #sessionExpiry: SessionExpiry;
  readonly #retained: RetainedDelivery;
  readonly #keepAlive: KeepAlive;
  readonly #handlers: PacketHandlers;

  constructor(options: BrokerCoreOptions) {
    const faults = new Faults(options.onFault, options.store);
    const onProtocolError: CoreParts['onProtocolError'] = (connection, error) => {
      connection.closedBy ??= error.reasonCode;
      options.onProtocolError?.(connection, error);
    };
    const parts: CoreParts = { ...options, faults, time: new ReadingTimeLimit(), tap: this.tap, onProtocolError };
    this.#parts = parts;
    parts.store.load();
    const delivery = new Delivery(parts);
    this.#delivery = delivery;
    this.#retained = new RetainedDelivery(parts, delivery);
    this.publisher = new InternalPublisher(parts, delivery);
    const expiry = new SessionExpiry(parts, this.publisher);
    this.#sessionExpiry = expiry;
    const admission = new Admission(parts, expiry);
    this.#admission = admission;
    this.#connect = new ConnectHandler(parts, admission, delivery);
    const subscribe = new SubscribeHandler(parts, admission, this.#retained);
    this.clients = new ClientControl(parts, admission, subscribe, expiry);
    const publish = new PublishHandler(parts, delivery);
    this.#publishHandler = publish;
    this.#keepAlive = new KeepAlive(parts.registry.open, parts.limits, (connection) =>
      parts.onProtocolError?.(connection, NO_CONNECT),
    );
    const { handle } = new PacketHandler({ ...parts, connect: this.#connect, publish, subscribe });
    this.#handlers = {
      handle,
      settled: (connection, packetId) => delivery.settled(connection, packetId),
      closing: (connection) => {
        parts.registry.closing(connection);
        expiry.closing(connection);
      },
      ended: (connection) => this.#closed(connection),
    };
  }

  /** Publishes the wills and resumes the session expiry of the last run. Call it before clients may connect. */
  async resume(): Promise<void> {
    await this.#sessionExpiry.resume(Date.now());
  }

  get refusedPublishes(): number {
    return this.#publishHandler.refused;
  }

  get droppedDeliveries(): number {
    return this.#delivery.dropped;
  }

  readonly accept = (connection: Connection, stream: Duplex): void => {
    if (stream.closed) return;
    const parts = this.#parts;
    parts.registry.open.add(connection);
    connection.open(new PacketReader(connection, parts, this.#handlers), parts.limits.drainTimeoutMs);
  };

  /** Closes the connections of these user names (`null`: none); sessions stay. See `SessionExpiry` for wills. */
  readonly kick = (usernames: Iterable<string | null>): void => {
    for (const username of usernames) {
      for (const connection of [...this.#parts.registry.claimedBy(username)]) void connection.kick();
    }
  };

  #closed(connection: Connection): void {
    this.#retained.closed(connection);
    this.#admission.closed(connection);
    const now = Date.now();
    const { registry } = this.#parts;
    const clientId = connection.identity?.clientId;
    const isOffline = registry.closed(connection, now);
    this.#parts.onClosed?.(connection);
    this.#delivery.closed(connection);
    if (isOffline && clientId !== undefined) this.#sessionExpiry.closed(clientId, connection, now);
  }

  /** The client as the sender of a control request. */
  requester(connection: Connection): Requester {
    const { access } = this.#parts;
    const { identity } = connection;
    return {
      maySend: (topic) => identity !== null && access.mayPublish(identity, topic),
      receives: (topic) =>
        identity !== null &&
        access.mayReceive(identity, topic) &&
        [...connection.holder.subscriptions.keys()].some((filter) => filterMatches(filter, topic)),
      send: async (topic, payload) => {
        if (connection.isClosing) return;
        this.#delivery.sendResponse(connection, topic, Buffer.from(payload));
        // The command may close the connection, and what waits in the stream would be lost.
        await turn();
      },
    };
  }

  async close(): Promise<void> {
    this.#connect.close();
    const open = [...this.#parts.registry.open];
    await Promise.all(open.map((connection) => connection.disconnect(SERVER_SHUTTING_DOWN)));
    for (const connection of open) {
      connection.destroy();
      // The `close` event of the stream would be emitted after the journal was closed.
      this.#closed(connection);
    }
    this.#keepAlive.close();
    this.#retained.close();
    this.#sessionExpiry.close();
  }
}
