import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { Aedes } from 'aedes';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import { ReadingTimeLimit } from '../../../protocol/mqtt/reading-time-limit.ts';
import { MAX_TOPIC_LEVELS } from '../../../protocol/mqtt/topics.ts';
import { BrokerClient } from '../clients/broker-client.ts';
import { ClientControl } from '../clients/client-control.ts';
import { clientHooks } from '../clients/client-hooks.ts';
import type { Connection } from '../clients/connection.ts';
import { KeepAlive } from '../clients/keep-alive.ts';
import { Admission } from '../connecting/admission.ts';
import { dropUnseenMessages, handleConnect, handleDisconnect } from '../connecting/aedes-connect.ts';
import { aedesRefusalOf, NO_CONNECT } from '../connecting/aedes-refusals.ts';
import type { Requester } from '../control/control-server.ts';
import { Delivery } from '../delivery/delivery.ts';
import { SubscribeHandler } from '../delivery/subscribe-handler.ts';
import { replaceWriter } from '../packets/mqtt-packet-internals.ts';
import { connectionOf, type PacketHandlers, PacketReader } from '../packets/packet-reader.ts';
import { sequenceProblem } from '../packets/packet-sequence.ts';
import { writePacket } from '../packets/packet-writer.ts';
import { InternalPublisher } from '../publishing/internal-publisher.ts';
import { PublishHandler } from '../publishing/publish-handler.ts';
import { PublishTap } from '../publishing/publish-tap.ts';
import { RetainedDelivery } from '../retained/retained-delivery.ts';
import { guardPersistence } from '../sessions/guarded-persistence.ts';
import { SessionExpiry } from '../sessions/session-expiry.ts';
import type { ClientRef } from '../store/incoming-store.ts';
import { Persistence } from '../store/persistence.ts';
import { setMaxTopicLevels, useSafeBrokerTables } from './aedes-internals.ts';
import type { BrokerCoreOptions, CoreParts } from './core-parts.ts';
import { Faults } from './faults.ts';

/** The MQTT broker: aedes 2.0.0-beta.1 with its own admission of clients, handling of publishes, and delivery. */
export class BrokerCore {
  readonly clients: ClientControl;
  readonly tap = new PublishTap();
  readonly publisher: InternalPublisher;
  readonly #parts: CoreParts;
  readonly #aedes: Aedes;
  readonly #admission: Admission;
  readonly #delivery: Delivery;
  readonly #publishHandler: PublishHandler;
  readonly #sessionExpiry: SessionExpiry;
  readonly #subscribeHandler: SubscribeHandler;
  readonly #retained: RetainedDelivery;
  readonly #keepAlive: KeepAlive;

  private constructor(options: BrokerCoreOptions) {
    const faults = new Faults(options.onFault, options.store);
    const parts: CoreParts = { ...options, faults, time: new ReadingTimeLimit(), tap: this.tap };
    this.#parts = parts;
    this.#aedes = this.#createAedes();
    useSafeBrokerTables(this.#aedes);
    dropUnseenMessages(this.#aedes);
    setMaxTopicLevels(this.#aedes, MAX_TOPIC_LEVELS);
    const delivery = new Delivery(parts);
    this.#delivery = delivery;
    this.#retained = new RetainedDelivery(parts, delivery);
    this.publisher = new InternalPublisher(parts, delivery);
    const expiry = new SessionExpiry(parts, this.publisher);
    this.#sessionExpiry = expiry;
    const admission = new Admission(parts, expiry);
    this.#admission = admission;
    this.#subscribeHandler = new SubscribeHandler(parts, admission, this.#retained);
    this.clients = new ClientControl(parts, admission, this.#subscribeHandler);
    const publishHandler = new PublishHandler(parts, delivery);
    this.#publishHandler = publishHandler;
    Object.assign(this.#aedes, clientHooks({ ...parts, admission, publishHandler, expiry }));
    this.#keepAlive = new KeepAlive(parts.registry.open, parts.limits, (connection) =>
      parts.onProtocolError?.(connection, NO_CONNECT),
    );
  }

  #createAedes(): Aedes {
    replaceWriter(writePacket);
    const { store, limits, faults } = this.#parts;
    const persistence = new Persistence(store);
    const onFault = (client: ClientRef, error: unknown) =>
      faults.ofConnection(this.#connectionOf(client), "a client's packet could not be handled", error);
    return new Aedes({
      // A new id for each run: message numbers restart, and the id identifies the wills of earlier runs.
      id: randomUUID(),
      persistence: guardPersistence(persistence, { store, onFault }),
      // A common limit on deliveries would let one slow client stall every publisher.
      concurrency: 0,
      queueLimit: 1_000,
      drainTimeout: limits.drainTimeoutMs,
      maximumPacketSize: limits.maxPacketBytes,
      // As in Mosquitto. MQTT 3.1 has a maximum of 23 characters, which many of its clients exceed.
      maxClientsIdLength: MAX_CLIENT_ID,
      topicAliasMaximum: TOPIC_ALIASES,
    });
  }

  #connectionOf(client: ClientRef): Connection | undefined {
    const connection = connectionOf(client);
    if (connection) return connection;
    return [...this.#parts.registry.open].find((open) => open.identity?.clientId === client.id);
  }

  static async start(options: BrokerCoreOptions): Promise<BrokerCore> {
    const core = new BrokerCore(options);
    core.#followEvents();
    await core.#aedes.listen();
    return core;
  }

  #followEvents(): void {
    const { faults, registry, onProblem } = this.#parts;
    const aedes = this.#aedes;
    const guarded = (client: object, work: (client: BrokerClient, connection: Connection) => void) => {
      const connection = connectionOf(client);
      if (!connection) return;
      faults.run(connection, 'what a client asked for could not be completed', () =>
        work(client as BrokerClient, connection),
      );
    };
    aedes.on('client', (added) =>
      guarded(added, (client, connection) => {
        if (!connection.isClosed) registry.connected(client.id, connection);
      }),
    );
    aedes.on('connackSent', (connack, admitted) =>
      guarded(admitted, (client, connection) => {
        // aedes also emits it for a refused client, which it then closes.
        if ((connack.reasonCode ?? connack.returnCode ?? 0) !== 0) return;
        connection.isReady = true;
        connection.lastPacketAt = Math.trunc(performance.now());
        faults.ready(connection);
        client._parser.readOn();
        this.#delivery.ready(client, connection);
      }),
    );
    const refused = (refusedClient: object, error: Error) =>
      guarded(refusedClient, (_client, connection) => {
        const problem = aedesRefusalOf(error);
        if (problem) this.#parts.onProtocolError?.(connection, problem);
      });
    aedes.on('connectionError', refused);
    aedes.on('clientError', refused);
    // The event of EventEmitter, which the types of aedes do not declare: the persistence has failed.
    (aedes as NodeJS.EventEmitter).on('error', (error: Error) => onProblem('the broker core failed', error));
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
    const reader = (client: BrokerClient) => new PacketReader(client, connection, parts, this.#handlers);
    connection.client = new BrokerClient(this.#aedes, stream, reader);
  };

  readonly #handlers: PacketHandlers = {
    before: (client, connection, packet) => {
      if (handleConnect(this.#aedes, client, packet) || handleDisconnect(client, packet)) return 'DONE';
      const { cmd } = packet;
      // aedes reports a refusal after it has closed the socket.
      if (connection.identity === null || cmd === 'connect') connection.rememberAddress();
      if (connection.identity === null || (cmd !== 'subscribe' && cmd !== 'unsubscribe'))
        return sequenceProblem(connection, packet);
      return this.#subscribeHandler[cmd](client, connection, packet) ?? 'DONE';
    },
    ended: (connection) => this.#closed(connection),
    settled: (client, connection, packetId) => this.#delivery.settled(client, connection, packetId),
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
    this.#delivery.closed(connection);
    if (isOffline && clientId !== undefined) this.#sessionExpiry.closed(clientId, connection, now);
  }

  /** The client as the sender of a control request. */
  requester(client: BrokerClient): Requester {
    const { access } = this.#parts;
    const connection = connectionOf(client);
    const identity = connection?.identity;
    return {
      maySend: (topic) => Boolean(identity && access.mayPublish(identity, topic)),
      receives: (topic) =>
        connection !== undefined &&
        Boolean(identity && access.mayReceive(identity, topic)) &&
        [...connection.holder.subscriptions.keys()].some((filter) => filterMatches(filter, topic)),
      send: async (topic, payload) => {
        if (!connection || client.closed) return;
        this.#delivery.sendResponse(connection, topic, Buffer.from(payload));
        // The command may close the connection, and what waits in the stream would be lost.
        await turn();
      },
    };
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#aedes.close(resolve));
    const { registry } = this.#parts;
    for (const connection of [...registry.open]) {
      connection.destroy();
      // The `close` event of the stream would be emitted after the journal was closed.
      this.#closed(connection);
    }
    this.#keepAlive.close();
    this.#retained.close();
    this.#sessionExpiry.close();
  }
}

/** MQTT 5: Topic Alias Maximum, as in Mosquitto. */
const TOPIC_ALIASES = 10;
const MAX_CLIENT_ID = 65_535;
