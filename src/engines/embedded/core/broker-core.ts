import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { Aedes, type Client } from 'aedes';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import { ReadingTime } from '../../../protocol/mqtt/reading-time.ts';
import type { Requester } from '../control/control-server.ts';
import type { ClientRef } from '../store/incoming-store.ts';
import { Persistence } from '../store/persistence.ts';
import { Admission } from './admission.ts';
import { subscriptionsOf, useSafeBrokerTables, useSafeClientTables } from './aedes-internals.ts';
import { ClientControl } from './client-control.ts';
import { clientHooks } from './client-hooks.ts';
import { type Connection, TOPIC_FILTER_INVALID } from './connection.ts';
import type { BrokerCoreOptions, CoreParts } from './core-parts.ts';
import { Delivery } from './delivery.ts';
import { Faults } from './faults.ts';
import { guardPersistence } from './guarded-persistence.ts';
import { InternalPublisher } from './internal-publisher.ts';
import type { IncomingPacket } from './mqtt-packet-internals.ts';
import { guardPackets, meterPackets } from './packet-guard.ts';
import { SubscribeOrder } from './packet-queue.ts';
import { sequenceProblem } from './packet-sequence.ts';
import { PublishHandler } from './publish-handler.ts';
import { PublishTap } from './publish-tap.ts';
import { RetainedDelivery } from './retained-delivery.ts';
import { SessionExpiry } from './session-expiry.ts';
import { readInSlices } from './sliced-reading.ts';
import { guardSubscribe, guardUnsubscribe, hasValidFilters } from './subscription-packets.ts';

/** Called after each change of subscriptions that end with their connection. */
interface TransientSubscriptionListener {
  subscribed(client: Client, subscriptions: readonly { readonly topic: string; readonly qos: 0 | 1 | 2 }[]): void;
  /** Also called for filters that the client had not subscribed to, and for all filters when the connection ends. */
  unsubscribed(client: Client, filter: string): void;
}

/** The MQTT broker: aedes 2.0.0-beta.1 with its own admission of clients, handling of publishes, and delivery. */
export class BrokerCore {
  readonly clients: ClientControl;
  readonly tap = new PublishTap();
  readonly publisher: InternalPublisher;
  transientSubscriptionListener: TransientSubscriptionListener | null = null;
  readonly #parts: CoreParts;
  readonly #aedes: Aedes;
  readonly #admission: Admission;
  readonly #delivery: Delivery;
  readonly #publishHandler: PublishHandler;
  readonly #sessionExpiry: SessionExpiry;
  readonly #connections = new WeakMap<Client, Connection>();
  readonly #retained: RetainedDelivery;

  private constructor(options: BrokerCoreOptions) {
    const faults = new Faults(options.onFault, options.store);
    const parts: CoreParts = { ...options, faults, time: new ReadingTime(), tap: this.tap };
    this.#parts = parts;
    this.#retained = new RetainedDelivery(parts);
    this.#aedes = this.#createAedes();
    useSafeBrokerTables(this.#aedes);
    const delivery = new Delivery(parts, this.#aedes);
    this.#delivery = delivery;
    this.publisher = new InternalPublisher(parts, delivery);
    const expiry = new SessionExpiry(parts, this.publisher);
    this.#sessionExpiry = expiry;
    const admission = new Admission(parts, expiry);
    this.#admission = admission;
    this.clients = new ClientControl(parts, admission, delivery);
    const publishHandler = new PublishHandler(parts, delivery);
    this.#publishHandler = publishHandler;
    const connectionOf = (client: Client) => this.#connections.get(client);
    Object.assign(this.#aedes, clientHooks({ ...parts, connectionOf, admission, publishHandler, expiry, delivery }));
  }

  #createAedes(): Aedes {
    const { store, limits, faults } = this.#parts;
    const connectionOf = (client: ClientRef) => this.#connections.get(client as Client);
    const persistence = new Persistence(
      store,
      (client, filter) => {
        const connection = connectionOf(client);
        return connection !== undefined && this.#admission.mayStore(connection, filter);
      },
      (client) => Boolean(connectionOf(client)?.window),
    );
    const onFault = (client: ClientRef, error: unknown) =>
      faults.ofConnection(this.#connectionOf(client), "a client's packet could not be handled", error);
    return new Aedes({
      // A new id for each run: message numbers restart, and the id identifies the wills of earlier runs.
      id: randomUUID(),
      persistence: guardPersistence(persistence, { store, retained: this.#retained, onFault }),
      // A common limit on deliveries would let one slow client stall every publisher.
      concurrency: 0,
      queueLimit: 1_000,
      connectTimeout: limits.connectTimeoutMs,
      drainTimeout: limits.drainTimeoutMs,
      maximumPacketSize: limits.maxPacketBytes,
      topicAliasMaximum: TOPIC_ALIASES,
    });
  }

  #connectionOf(client: ClientRef): Connection | undefined {
    const connection = this.#connections.get(client as Client);
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
    const guarded = (client: Client, work: (connection: Connection | undefined) => void) => {
      const connection = this.#connections.get(client);
      faults.run(connection, 'what a client asked for could not be completed', () => work(connection));
    };
    aedes.on('client', (client) =>
      guarded(client, (connection) => {
        if (connection && !connection.isClosed) registry.connected(client.id, connection);
      }),
    );
    aedes.on('connackSent', (_connack, client) => this.#connections.get(client)?.readOn());
    aedes.on('clientReady', (client) =>
      guarded(client, (connection) => {
        if (!connection) return;
        connection.isReady = true;
        faults.ready(connection);
        this.#delivery.drained(client, connection);
      }),
    );
    aedes.on('subscribe', (subscriptions, client) =>
      guarded(client, (connection) => this.#subscribed(client, connection, subscriptions)),
    );
    aedes.on('unsubscribe', (filters, client) =>
      guarded(client, (connection) => this.#unsubscribed(client, connection, filters)),
    );
    // The event of EventEmitter, which the types of aedes do not declare: the persistence has failed.
    (aedes as NodeJS.EventEmitter).on('error', (error: Error) => onProblem('the broker core failed', error));
  }

  #subscribed(
    client: Client,
    connection: Connection | undefined,
    subscriptions: readonly { readonly topic: string; readonly qos: number }[],
  ): void {
    // aedes emits `subscribe` also after the connection has ended.
    if (this.transientSubscriptionListener !== null && client.clean && !client.closed) {
      // Values above 2 are reason codes of refused subscriptions.
      const granted = subscriptions.flatMap(({ topic, qos }) => (isQos(qos) ? [{ topic, qos }] : []));
      this.transientSubscriptionListener.subscribed(client, granted);
    }
    connection?.subscribing?.settled(subscriptions);
    this.#retained.subscribed(connection);
  }

  #unsubscribed(client: Client, connection: Connection | undefined, filters: readonly string[]): void {
    if (connection) this.#admission.unsubscribed(client, connection);
    if (this.transientSubscriptionListener === null || !client.clean) return;
    for (const filter of filters) this.transientSubscriptionListener.unsubscribed(client, filter);
  }

  /** Publishes the wills and resumes the session expiry of the last run. Call it before clients may connect. */
  async resume(): Promise<void> {
    await this.#sessionExpiry.resume(Date.now());
  }

  get refusedPublishes(): number {
    return this.#publishHandler.refused;
  }

  get droppedDeliveries(): number {
    return this.#delivery.budget.dropped;
  }

  readonly accept = (connection: Connection, stream: Duplex): void => {
    const { registry, access, limits, faults, time, store } = this.#parts;
    registry.open.add(connection);
    stream.once('close', () => {
      faults.run(undefined, 'the end of a connection could not be handled', () => this.#closed(connection));
    });
    const client = this.#aedes.handle(stream);
    connection.client = client;
    this.#connections.set(client, connection);
    useSafeClientTables(client);
    const session = () => store.sessions.get(client.id);
    const before = (packet: IncomingPacket) => {
      if (!hasValidFilters(packet)) return TOPIC_FILTER_INVALID;
      guardSubscribe(packet, (subscriptions) => {
        connection.subscribing ??= new SubscribeOrder(connection);
        connection.subscribing.began(subscriptions);
      });
      guardUnsubscribe(packet, connection, access);
      return sequenceProblem(connection, packet, session);
    };
    guardPackets(client, connection, faults, before);
    connection.readOn = readInSlices(client, connection, time);
    meterPackets(client, connection, limits.maxPacketBytes, (packetId) => {
      this.#delivery.settled(client, connection, packetId);
    });
  };

  /** Closes the connections of these user names (`null`: none) without publishing wills; sessions stay. */
  readonly kick = (usernames: Iterable<string | null>): void => {
    for (const username of usernames) {
      for (const connection of [...this.#parts.registry.claimedBy(username)]) void connection.kick();
    }
  };

  #closed(connection: Connection): void {
    connection.subscribing?.close();
    connection.window?.close();
    this.#retained.closed(connection);
    this.#admission.closed(connection);
    const now = Date.now();
    const { registry } = this.#parts;
    const clientId = connection.identity?.clientId;
    const isOffline = registry.closed(connection, now);
    if (isOffline && clientId !== undefined) this.#sessionExpiry.closed(clientId, connection, now);
  }

  /** The client as the sender of a control request. */
  requester(client: Client): Requester {
    const { access } = this.#parts;
    const connection = this.#connections.get(client);
    const identity = connection?.identity;
    return {
      maySend: (topic) => Boolean(identity && access.mayPublish(identity, topic)),
      receives: (topic) =>
        Boolean(identity && access.mayReceive(identity, topic)) &&
        Object.keys(subscriptionsOf(client)).some((filter) => filterMatches(filter, topic)),
      send: (topic, payload) =>
        new Promise((resolve) => {
          const message = { topic, payload: Buffer.from(payload), qos: 0, retain: false, dup: false } as const;
          // aedes calls `authorizeForward` before `publish` returns.
          if (connection) connection.isReceivingResponse = true;
          client.publish({ cmd: 'publish', ...message }, () => resolve());
          if (connection) connection.isReceivingResponse = false;
        }),
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
    this.#retained.close();
    this.#sessionExpiry.close();
  }
}

const isQos = (qos: number): qos is 0 | 1 | 2 => qos <= 2;

/** MQTT 5: Topic Alias Maximum, as in Mosquitto. */
const TOPIC_ALIASES = 10;
